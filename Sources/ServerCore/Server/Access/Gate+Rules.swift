import Synchronization

extension Gate {
    /// One set of rules.
    ///
    /// A class, so that reading it costs one reference.
    final class Rules: Sendable {
        let book: AccountBook
        let origins: Origins
        let hsts: String?
        let logInPage: (@Sendable (LogInPrompt) -> Response)?
        private let hosts: HostNames
        /// The last known host: nearly always the next one too.
        private let lastHost = Mutex("")
        /// The same as received.
        private let lastHostBytes = Mutex<[UInt8]>([])
        /// Different for each set of rules.
        let number = UInt64.random(in: 0 ... .max)

        init(_ rules: AccessRules, bound: [String], certified: [String]) {
            book = AccountBook(rules)
            hosts = HostNames(allowed: rules.allowedHosts, bound: bound, certified: certified)
            origins = Origins(allowed: rules.corsOrigins)
            hsts = rules.hstsSeconds.map { "max-age=\($0)" }
            logInPage = rules.logInPage
        }

        func knows(host: ArraySlice<UInt8>) -> Bool {
            if lastHostBytes.withLock({ $0.elementsEqual(host) }) { return true }
            guard hosts.knows(authority: RequestHead.text(host)) else { return false }
            lastHostBytes.withLock { $0 = Array(host) }
            return true
        }

        func knows(authority: String) -> Bool {
            if lastHost.withLock({ $0 == authority }) { return true }
            guard hosts.knows(authority: authority) else { return false }
            lastHost.withLock { $0 = authority }
            return true
        }
    }
}
