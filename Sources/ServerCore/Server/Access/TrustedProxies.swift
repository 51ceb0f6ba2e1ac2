/// What is believed about a client that comes through a proxy, and from which proxies.
///
/// Of the chain of hops that `Forwarded` (RFC 7239) or `X-Forwarded-For` tells, only what trusted proxies wrote is
/// read: from the right, up to and with the first address that is no trusted proxy itself. `Forwarded` is read only
/// where the other fields tell neither address nor scheme.
package struct TrustedProxies: Sendable {
    /// A client as it is believed to be.
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

    /// Reads addresses and networks.
    /// - Parameter texts: `10.0.0.0/8`, `::1`, or `unix` for whoever comes over a Unix-domain socket.
    /// - Throws: ``AccessRuleError`` naming the one that is neither.
    package init(_ texts: [String]) throws(AccessRuleError) {
        var networks: [Network] = []
        for text in texts where text != "unix" {
            guard let network = Network(text) else { throw AccessRuleError("“\(text)” is no address or network") }
            networks.append(network)
        }
        self.networks = networks
        trustsUnix = texts.contains("unix")
    }

    /// Whether nobody is trusted, so that nothing needs to be asked.
    package var isEmpty: Bool { networks.isEmpty && !trustsUnix }

    /// The client behind a connection.
    /// - Parameters:
    ///   - connection: the client as the connection itself shows it.
    ///   - fields: of the request.
    /// - Returns: `connection` as it is, unless its address is a trusted proxy's.
    package func client(of connection: Client, fields: RequestFields) -> Client {
        guard isTrusted(connection.address) else { return connection }
        // Most proxies write the older fields and let a `Forwarded` of the client pass.
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
        // Proxies that add to one list and replace another leave lists of unequal lengths: they match at the right.
        return (0..<max(addresses.count, schemes.count, hosts.count)).reversed().map { back in
            func item(_ list: [String]) -> String? { back < list.count ? list[list.count - 1 - back] : nil }
            return Hop(address: item(addresses), scheme: item(schemes), host: item(hosts))
        }
    }

    /// The address of `192.0.2.1`, `192.0.2.1:4711` or `[2001:db8::1]:4711`; nil for a hidden one.
    private static func numeric(_ node: String) -> String? {
        var host = node[...]
        if NetworkAddress(host) == nil {
            guard let colon = node.lastIndex(of: ":") else { return nil }
            host = node[..<colon]
            guard NetworkAddress(host) != nil, host.hasPrefix("[") || !host.contains(":") else { return nil }
        }
        if host.hasPrefix("[") { host = host.dropFirst().dropLast() }
        // A zone means nothing here, and may be any text: the log has the address as it is.
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
