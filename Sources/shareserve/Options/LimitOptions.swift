import ArgumentParser

/// How much of everything is taken, and for how long.
struct LimitOptions: SettingsGroup {
    @Option(help: .init("Connections in all.", valueName: "number"))
    var maxConnections: String?

    @Option(help: .init("Connections from one address.", valueName: "number"))
    var maxConnectionsPerAddress: String?

    @Option(help: .init("Requests being worked on at once.", valueName: "number"))
    var maxRequests: String?

    @Option(help: .init("Bytes of a request's head.", valueName: "size"))
    var maxHeadSize: String?

    @Option(help: .init("Field lines of a request.", valueName: "number"))
    var maxFields: String?

    @Option(help: .init("For a request's head to come.", valueName: "time"))
    var headTimeout: String?

    @Option(help: .init("Without any byte of an upload.", valueName: "time"))
    var bodyTimeout: String?

    @Option(help: .init("Without any byte taken of a download.", valueName: "time"))
    var readTimeout: String?

    @Option(help: .init("Between two requests of a connection.", valueName: "time"))
    var idleTimeout: String?

    @Option(help: .init("For running transfers when the server is told to end; default: 30s.", valueName: "time"))
    var shutdownTimeout: String?

    @Option(help: .init("Bytes a second for each connection.", valueName: "size"))
    var limitRate: String?

    @Option(
        help: .init(
            "Members that a WebDAV listing of infinite depth holds; 0 refuses such; default: 10000.",
            valueName: "number"))
    var propfindLimit: String?

    @Option(help: .init("Threads for the disk.", valueName: "number"))
    var ioThreads: String?

    @Option(help: .init("Event loops for the network; default: half the processors.", valueName: "number"))
    var eventLoops: String?
}
