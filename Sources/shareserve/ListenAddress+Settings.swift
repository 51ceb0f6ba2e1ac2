import ServerCore

extension ListenAddress {
    /// The addresses at which the settings want to listen, each once: all of the machine's when they name none.
    ///
    /// - Throws: ``StartError`` for what is neither an address, a name nor the path of a socket.
    static func all(_ settings: Settings, port: Int) throws(StartError) -> [ListenAddress] {
        let everywhere: [ListenAddress] = [.anyIPv6(port: port), .anyIPv4(port: port)]
        var places: [ListenAddress] = []
        for text in try settings.commaSeparatedList("bind") {
            let named = text == "*" ? everywhere : [try ListenAddress(setting: text, port: port)]
            places += named.filter { !places.contains($0) }
        }
        return places.isEmpty ? everywhere : places
    }

    /// An address, a name, or the path of a socket (anything with a slash or the prefix `unix:`).
    private init(setting: String, port: Int) throws(StartError) {
        if setting.hasPrefix("unix:") {
            guard setting != "unix:" else { throw .usage("bind: 'unix:' needs the path of a socket behind it") }
            self = .unix(path: String(setting.dropFirst(5)))
        } else if setting.contains("://") {
            throw .usage("bind: '\(setting)' is no address such as 192.0.2.1 or ::1")
        } else if setting.contains("/") {
            self = .unix(path: setting)
        } else if setting.contains("]:") || setting.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
            throw .usage("bind: '\(setting)' is no address; the port goes to --port")
        } else if setting != "0", setting.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
            // The resolver would take 8080 for 0.0.31.144.
            throw .usage("bind: '\(setting)' is no address; the port goes to --port")
        } else {
            let isBracketed = setting.hasPrefix("[") && setting.hasSuffix("]")
            let host = isBracketed ? String(setting.dropFirst().dropLast()) : setting
            guard !Self.lacksInterface(host) else {
                throw .usage("bind: '\(setting)': a link-local address needs its interface, as in fe80::1%eth0")
            }
            self = .internet(host: host, port: port)
        }
    }

    /// Whether it is in fe80::/10, which every interface has, without naming the interface.
    private static func lacksInterface(_ host: String) -> Bool {
        let isLinkLocal = ["fe8", "fe9", "fea", "feb"].contains(where: host.lowercased().hasPrefix)
        return isLinkLocal && host.contains(":") && !host.contains("%")
    }
}
