/// What is trusted about a client behind a proxy, and which proxies are trusted.
///
/// Of the chain of hops in `Forwarded` (RFC 7239) or `X-Forwarded-For`, only what trusted proxies wrote is used: from
/// the right, up to and including the first address that is not itself a trusted proxy. `Forwarded` is used only if the
/// other fields give neither address nor scheme.
package struct TrustedProxies: Sendable {
    /// A client as far as it is known from trusted sources.
    package struct Client: Equatable, Sendable {
        /// The numeric address; `unix` for a Unix-domain socket.
        package var address: String
        /// `http` or `https`.
        package var scheme: String
        /// The host and port that the client asked for.
        package var authority: String
    }

    private let networks: [Network]
    private let trustsUnix: Bool

    /// Parses addresses and networks.
    /// - Parameter texts: `10.0.0.0/8`, `::1`, or `unix` for clients on a Unix-domain socket.
    /// - Throws: ``AccessRuleError`` with the text that is neither.
    package init(_ texts: [String]) throws(AccessRuleError) {
        var networks: [Network] = []
        for text in texts where text != "unix" {
            guard let network = Network(text) else { throw AccessRuleError("“\(text)” is no address or network") }
            networks.append(network)
        }
        self.networks = networks
        trustsUnix = texts.contains("unix")
    }

    /// Whether no proxy is trusted, so that nothing needs to be examined.
    package var isEmpty: Bool { networks.isEmpty && !trustsUnix }

    /// The client behind a connection.
    /// - Parameters:
    ///   - connection: the client according to the connection itself.
    ///   - fields: of the request.
    /// - Returns: `connection` unchanged, unless its address is a trusted proxy's.
    package func client(of connection: Client, fields: RequestFields) -> Client {
        guard isTrusted(connection.address) else { return connection }
        // Most proxies write the older fields, and pass on a `Forwarded` from the client.
        if let forwarded = fields["forwarded"], fields["x-forwarded-for"] == nil, fields["x-forwarded-proto"] == nil {
            return follow(Self.hops(forwarded: forwarded), from: connection)
        }
        return follow(
            Self.hops(
                addresses: fields["x-forwarded-for"], schemes: fields["x-forwarded-proto"],
                hosts: fields["x-forwarded-host"]),
            from: connection)
    }

    private func isTrusted(_ address: String) -> Bool {
        guard let numeric = NetworkAddress(address) else { return address == "unix" && trustsUnix }
        return networks.contains { $0.contains(numeric) }
    }

    private struct Hop {
        var address: String?
        var scheme: String?
        var host: String?
    }

    private func follow(_ hops: [Hop], from connection: Client) -> Client {
        var client = connection
        for hop in hops.reversed() {
            if let scheme = hop.scheme?.lowercased(), scheme == "http" || scheme == "https" { client.scheme = scheme }
            if let host = hop.host, RequestTarget.isAuthority(Array(host.utf8)[...]) { client.authority = host }
            guard let address = hop.address.flatMap(Self.numeric) else { break }
            client.address = address
            guard isTrusted(address) else { break }
        }
        return client
    }

    private static func hops(forwarded: String) -> [Hop] {
        split(forwarded, at: UInt8(ascii: ",")).suffix(32).map { element in
            let parameters = HeaderParameters(Array(";".utf8) + element)
            func text(_ name: String) -> String? { parameters[name].map { String(decoding: $0, as: UTF8.self) } }
            return Hop(address: text("for"), scheme: text("proto"), host: text("host"))
        }
    }

    private static func hops(addresses: String?, schemes: String?, hosts: String?) -> [Hop] {
        func list(_ text: String?) -> [String] {
            (text ?? "").utf8.split(separator: UInt8(ascii: ",")).suffix(32)
                .map { String(decoding: ASCII.trimmed(Array($0)), as: UTF8.self) }
        }
        let (addresses, schemes, hosts) = (list(addresses), list(schemes), list(hosts))
        // Proxies that append to one list and replace another leave lists of different lengths: they correspond from
        // the right.
        return (0..<max(addresses.count, schemes.count, hosts.count)).reversed().map { back in
            func item(_ list: [String]) -> String? { back < list.count ? list[list.count - 1 - back] : nil }
            return Hop(address: item(addresses), scheme: item(schemes), host: item(hosts))
        }
    }

    /// The address in `192.0.2.1`, `192.0.2.1:4711` or `[2001:db8::1]:4711`; nil for an obfuscated one.
    private static func numeric(_ node: String) -> String? {
        var host = node[...]
        if NetworkAddress(host) == nil {
            guard let colon = node.lastIndex(of: ":") else { return nil }
            host = node[..<colon]
            guard NetworkAddress(host) != nil, host.hasPrefix("[") || !host.contains(":") else { return nil }
        }
        if host.hasPrefix("[") { host = host.dropFirst().dropLast() }
        // A zone has no meaning here, and may be any text, which would be written to the log.
        return String(decoding: host.utf8.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
    }

    private static func split(_ text: String, at separator: UInt8) -> [[UInt8]] {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == separator, !isQuoted { parts.append([]) } else { parts[parts.count - 1].append(byte) }
        }
        return parts
    }
}
