/// A numeric address; IPv4 as an IPv4-mapped IPv6 address.
///
/// RFC 4291 §2.5.5.2.
package struct NetworkAddress: Hashable, Sendable {
    /// 128 bits in network order.
    package let bits: UInt128

    private static let mapped: UInt128 = 0xFFFF << 32

    /// Whether this is an IPv4 address.
    package var isIPv4: Bool { bits >> 32 == 0xFFFF }

    /// Parses a numeric address without a port; brackets and a zone are removed.
    ///
    /// RFC 4291 §2.2.
    /// - Parameter text: `192.0.2.1`, `2001:db8::1`, `[::1]`, `fe80::1%eth0`.
    package init?(_ text: some StringProtocol) {
        var bytes = Array(text.utf8)[...]
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") { bytes = bytes.dropFirst().dropLast() }
        if let zone = bytes.firstIndex(of: UInt8(ascii: "%")) { bytes = bytes[..<zone] }
        guard
            let bits = bytes.contains(UInt8(ascii: ":"))
                ? Self.ipv6(bytes) : Self.ipv4(bytes).map({ Self.mapped | UInt128($0) })
        else { return nil }
        self.bits = bits
    }

    /// The network that belongs to one customer: for IPv6 its first 64 bits, for IPv4 the address itself.
    package var network: NetworkAddress {
        isIPv4 ? self : NetworkAddress(bits: (bits >> 64) << 64)
    }

    private init(bits: UInt128) { self.bits = bits }

    private static func ipv4(_ text: ArraySlice<UInt8>) -> UInt32? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bits: UInt32 = 0
        for part in parts {
            guard part.count <= 3, part.count == 1 || part.first != UInt8(ascii: "0"), let value = ASCII.decimal(part),
                value <= 255
            else { return nil }
            bits = bits << 8 | UInt32(value)
        }
        return bits
    }

    private static func ipv6(_ text: ArraySlice<UInt8>) -> UInt128? {
        var groups: [UInt16] = []
        var gap: Int?
        var rest = text
        if rest.starts(with: "::".utf8) {
            gap = 0
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let group = rest.prefix { $0 != UInt8(ascii: ":") }
            rest = rest.dropFirst(group.count)
            if rest.isEmpty, group.contains(UInt8(ascii: ".")) {
                guard let last = ipv4(group) else { return nil }
                groups += [UInt16(last >> 16), UInt16(last & 0xFFFF)]
                break
            }
            guard (1...4).contains(group.count) else { return nil }
            var value: UInt16 = 0
            for byte in group {
                guard let digit = ASCII.hexValue(byte) else { return nil }
                value = value << 4 | UInt16(digit)
            }
            groups.append(value)
            guard groups.count <= 8 else { return nil }
            if rest.starts(with: "::".utf8) {
                guard gap == nil else { return nil }
                gap = groups.count
                rest = rest.dropFirst(2)
            } else if !rest.isEmpty {
                rest = rest.dropFirst()
                guard !rest.isEmpty else { return nil }
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        return groups.count == 8 ? groups.reduce(0) { $0 << 16 | UInt128($1) } : nil
    }
}

/// A network in CIDR notation: `10.0.0.0/8`, `2001:db8::/32`, or one address.
///
/// RFC 4632 §3.1.
package struct Network: Hashable, Sendable {
    private let bits: UInt128
    private let mask: UInt128

    /// Parses `address/length`.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = NetworkAddress(first) else { return nil }
        var length: Int64 = 128
        if parts.count > 1 {
            guard let given = ASCII.decimal(parts[1].utf8), given <= (address.isIPv4 ? 32 : 128) else { return nil }
            length = address.isIPv4 ? given + 96 : given
        }
        mask = length == 0 ? 0 : UInt128.max << UInt128(128 - length)
        bits = address.bits & mask
    }

    /// Whether an address is in this network.
    package func contains(_ address: NetworkAddress) -> Bool { address.bits & mask == bits }
}
