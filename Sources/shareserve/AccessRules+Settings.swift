import DirectoryRoot
import Logging
import ServerCore

extension AccessRules {
    /// The access rules in the settings; reads the password file again each time.
    init(_ settings: Settings) throws(StartError) {
        self.init()
        let rules = try settings.list("auth")
        do throws(AccessRuleError) {
            for rule in rules { try add(rule: rule) }
        } catch {
            throw .usage("auth: \(error.reason)")
        }
        if let path = settings.text("auth-file") {
            let text = try SettingFile.text(path, as: "password file")
            do throws(AccessRuleError) {
                try add(file: text)
            } catch {
                throw .usage("\(path): \(error.reason)")
            }
            // A file that has become empty must not open the share to everyone.
            guard isOn else { throw .usage("\(path) names nobody") }
        }
        allowedHosts = try settings.commaSeparatedList("allowed-host")
        corsOrigins = try settings.commaSeparatedList("cors")
        trustedProxies = try settings.commaSeparatedList("trusted-proxy")
        if let host = allowedHosts.first(where: {
            $0.contains("/") || $0.contains(" ") || $0.utf8.count { $0 == UInt8(ascii: ":") } == 1
        }) {
            throw .usage("allowed-host: '\(host)' is not a name such as files.example.com or .example.com")
        }
        if let origin = corsOrigins.first(where: { $0 != "*" && $0 != "null" && !Self.isOrigin($0) }) {
            throw .usage("cors: '\(origin)' is not an origin such as https://app.example.com")
        }
        hstsSeconds = try settings.number("hsts", in: 0...1_000_000_000)
    }

    /// Warns of each rule for a path at which nothing is: with a typing mistake, it keeps nobody out.
    ///
    /// On a thread of its own: the disk that a path is on may not answer.
    /// - Parameters:
    ///   - root: the shared directory.
    ///   - logger: gets the warnings.
    func tellMissingPlaces(in root: DirectoryRoot, _ logger: Logger) {
        let places = places.filter { !$0.isRoot }
        guard !places.isEmpty else { return }
        _ = OwnThread.start("rules") {
            let share = Share(root: root)
            for place in places {
                do throws(RootError) {
                    _ = try share.attributes(of: place)
                } catch .notFound {
                    logger.warning(
                        "a rule of --auth is for a path at which nothing is", metadata: ["path": "\(place)"])
                } catch {
                    // Something is there.
                }
            }
        }
    }

    /// Whether a browser could send this as an `Origin`: a scheme and a host, no pattern, and nothing after them but a
    /// slash.
    private static func isOrigin(_ text: String) -> Bool {
        guard let colon = text.firstRange(of: "://") else { return false }
        var host = text[colon.upperBound...]
        if host.last == "/" { host.removeLast() }
        return colon.lowerBound > text.startIndex && !host.isEmpty
            && !host.contains { $0.isWhitespace || "/*?#@".contains($0) }
    }
}
