import ArgumentParser

/// Where the share is reached.
struct NetworkOptions: SettingsGroup {
    @Option(
        name: [.customShort("p", allowingJoined: true), .long],
        help: .init("Port; 0 takes a free one and prints it. Default: 8080.", valueName: "port"))
    var port: String?

    @Option(
        name: .shortAndLong,
        help: .init(
            "Address to listen at, or the path of a Unix-domain socket; may be repeated. Default: every address.",
            valueName: "address"))
    var bind: [String] = []

    @Option(help: .init("Everything lies below this path, as in /files.", valueName: "path"))
    var pathPrefix: String?
}
