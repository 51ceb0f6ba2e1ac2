#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The names under which this server knows itself.
///
/// A page of another site can have its own name point to this server's address (DNS rebinding), and is then of the same
/// origin to the browser; only the `Host` that it sends gives it away. Addresses and names that nobody can hold in public
/// DNS are no danger: `localhost`, names without a dot, `.local` and the like.
struct HostNames: Sendable {
    private let exact: Set<String>
    private let suffixes: [String]
    private let isOpen: Bool

    /// Collects what is known.
    /// - Parameters:
    ///   - allowed: `files.example.com`, `.example.com` (also written `*.example.com`) with all below it, or `*`.
    ///   - machine: this machine's own name.
    init(allowed: [String], machine: String = HostNames.machineName) {
        var exact: Set<String> = ["localhost"]
        var suffixes = [".localhost", ".local"]
        let own = machine.lowercased()
        if !own.isEmpty {
            let label = own.prefix { $0 != "." }
            exact.formUnion([own, String(label)])
            // Suffixes of home and office networks that public DNS does not have. RFC 6762 Appendix G.
            for suffix in ["lan", "home", "home.arpa", "internal", "intranet", "localdomain", "fritz.box"] {
                exact.insert("\(label).\(suffix)")
            }
        }
        for name in allowed.map({ $0.lowercased() }) {
            if name.hasPrefix("*.") {
                suffixes.append(String(name.dropFirst()))
            } else if name.hasPrefix(".") {
                suffixes.append(name)
                exact.insert(String(name.dropFirst()))
            } else {
                exact.insert(name)
            }
        }
        self.exact = exact
        self.suffixes = suffixes
        isOpen = allowed.contains("*")
    }

    /// Whether a request for this authority is meant for this server; an empty one is HTTP/1.0's.
    func knows(authority: String) -> Bool {
        guard !isOpen, !authority.isEmpty else { return true }
        var host = Self.host(of: authority).lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        // What looks like an address and is none is no name either.
        guard host.first != "[" else { return NetworkAddress(host) != nil }
        return NetworkAddress(host) != nil || !host.contains(".") || exact.contains(host)
            || suffixes.contains { host.hasSuffix($0) && host != $0 }
    }

    /// An authority without its port.
    static func host(of authority: some StringProtocol) -> String {
        if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") { return String(authority[...close]) }
        return String(authority.prefix { $0 != ":" })
    }

    /// What `gethostname` says; empty when it fails.
    static var machineName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, 255) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
