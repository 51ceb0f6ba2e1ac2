#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The addresses of this machine, for the lines at start-up.
enum ReachableAddresses {
    /// IPv4 and IPv6 addresses of all interfaces that are up, loopback first; without link-local IPv6 addresses, since
    /// no URL can hold their scope.
    static func all() -> [String] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return ["127.0.0.1"] }
        defer { unsafe freeifaddrs(list) }
        var found: [String] = []
        var next = unsafe list
        while let interface = unsafe next?.pointee {
            unsafe next = unsafe interface.ifa_next
            guard unsafe interface.ifa_flags & UInt32(IFF_UP) != 0, let address = unsafe interface.ifa_addr,
                let text = unsafe numeric(address), !text.hasPrefix("fe80:"), !found.contains(text)
            else { continue }
            found.append(text)
        }
        return found.filter(isLoopback) + found.filter { !isLoopback($0) }
    }

    /// Whether only this machine can reach `address`.
    static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("127.") || address == "::1" || address == "localhost"
    }

    /// The address as it stands in a URL: IPv6 in brackets.
    static func host(_ address: String) -> String {
        address.contains(":") ? "[\(address)]" : address
    }

    private static func numeric(_ address: UnsafeMutablePointer<sockaddr>) -> String? {
        let length: Int
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET: length = MemoryLayout<sockaddr_in>.size
        case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard unsafe getnameinfo(address, socklen_t(length), &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
