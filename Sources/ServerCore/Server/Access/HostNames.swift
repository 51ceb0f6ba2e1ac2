#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The names under which this server knows itself.
///
/// A page of another site can make its own name resolve to this server's address (DNS rebinding), and then has the same
/// origin for the browser; only its `Host` gives it away. Addresses are not names, and nobody else can own `localhost`
/// (RFC 6761 §6.3). All other names must be this server's own: a name without a dot, or below `.local`, is answered by
/// the fastest machine on a network of strangers. (Programs that are not browsers may use names without a dot: see
/// ``Gate``.)
struct HostNames: Sendable {
    private var exact: Set<String> = ["localhost"]
    /// Names below these are known, at any depth.
    private var domains = [".localhost"]
    /// Names directly below these are known, as with a certificate for `*.example.com`.
    ///
    /// RFC 9525 §6.3.
    private var parents: Set<String> = []
    private let isOpen: Bool

    /// Suffixes of home and office networks that do not exist in public DNS.
    ///
    /// RFC 6762 Appendix G, RFC 8375.
    private static let homeSuffixes = ["local", "lan", "home", "home.arpa", "internal", "intranet", "localdomain"]

    /// Collects the known names.
    /// - Parameters:
    ///   - allowed: `files.example.com`, `.example.com` (also written `*.example.com`) with all below it, or `*`.
    ///   - bound: the addresses at which the server listens; names among them are its own.
    ///   - certified: the host names of its certificate.
    ///   - machine: this machine's own name.
    init(
        allowed: [String], bound: [String] = [], certified: [String] = [], machine: String = HostNames.machineName
    ) {
        isOpen = allowed.contains("*")
        let own = machine.lowercased()
        let label = String(own.prefix { $0 != "." })
        if !label.isEmpty {
            exact.formUnion([own, label] + Self.homeSuffixes.map { "\(label).\($0)" })
        }
        exact.formUnion(bound.map { $0.lowercased() })
        for name in certified.map({ $0.lowercased() }) {
            if name.hasPrefix("*.") { parents.insert(String(name.dropFirst(2))) } else { exact.insert(name) }
        }
        for name in allowed.map({ $0.lowercased() }) {
            if name.hasPrefix("*.") {
                domains.append(String(name.dropFirst()))
            } else if name.hasPrefix(".") {
                domains.append(name)
                exact.insert(String(name.dropFirst()))
            } else {
                exact.insert(name)
            }
        }
    }

    /// Whether a request for this authority is meant for this server; an empty one occurs in HTTP/1.0.
    func knows(authority: String) -> Bool {
        guard !isOpen, !authority.isEmpty else { return true }
        var host = Self.host(of: authority).lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        // What looks like an address but is invalid is not a name either.
        guard host.first != "[" else { return NetworkAddress(host) != nil }
        return exact.contains(host) || NetworkAddress(host) != nil
            || domains.contains { host.hasSuffix($0) && host != $0 } || isBelowParent(host)
    }

    /// Whether an authority is a name of a single label, as only local networks have.
    static func isBare(_ authority: String) -> Bool {
        let host = host(of: authority)
        return !host.isEmpty && host.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "[") }
    }

    private func isBelowParent(_ host: String) -> Bool {
        guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
        return parents.contains(String(host[host.index(after: dot)...]))
    }

    /// An authority without its port.
    static func host(of authority: some StringProtocol) -> String {
        if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") { return String(authority[...close]) }
        return String(authority.prefix { $0 != ":" })
    }

    /// The result of `gethostname`; empty when it fails.
    static var machineName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&buffer, 255) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
