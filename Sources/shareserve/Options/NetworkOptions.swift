import ArgumentParser

/// Options for the addresses of the server.
enum NetworkOptions: SettingsSection {
    static let settings: [Setting] = [
        .number(
            "port", short: .customShort("p", allowingJoined: true), as: "port",
            "Port; 0 takes a free one and prints it. Default: 8080."),
        .list(
            "bind", short: .customShort("b"), as: "address",
            "Address to listen at, or the path of a Unix-domain socket; may be repeated. Default: every address."),
        .text("path-prefix", as: "path", "Everything lies below this path, as in /files."),
    ]
}
