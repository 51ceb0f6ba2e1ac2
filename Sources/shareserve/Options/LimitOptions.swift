import ArgumentParser

/// How much of everything is taken, and for how long.
struct LimitOptions: SettingsGroup {
    @Option(
        help: .init(
            "Files and connections that the process may have open; default: what the system lets it have.",
            valueName: "number"))
    var maxOpenFiles: String?

    @Option(
        help: .init(
            "Connections in all; default: 16384, with TLS 4096, or what open files allow.", valueName: "number"))
    var maxConnections: String?

    @Option(
        help: .init(
            "Connections from one address; default: three quarters of all, from 4096 in all on.", valueName: "number"))
    var maxConnectionsPerAddress: String?

    @Option(help: .init("Requests being worked on at once; default: 8192.", valueName: "number"))
    var maxRequests: String?

    @Option(help: .init("HTTP/2 streams of all connections at once; default: 4096.", valueName: "number"))
    var maxStreams: String?

    @Option(help: .init("Bytes of a request's head; default: 64K.", valueName: "size"))
    var maxHeadSize: String?

    @Option(
        help: .init(
            "Memory for heads, XML, JSON and small files that have come in part, of all requests together; default: 32M.",
            valueName: "size"))
    var maxRequestMemory: String?

    @Option(
        help: .init(
            "Memory for listings and the like that clients are slow to take, of all connections together; default: 64M.",
            valueName: "size"))
    var maxAnswerMemory: String?

    @Option(help: .init("Field lines of a request; default: 128.", valueName: "number"))
    var maxFields: String?

    @Option(help: .init("For a request's head to come; default: 20s.", valueName: "time"))
    var headTimeout: String?

    @Option(help: .init("Without any byte of an upload; default: 30s.", valueName: "time"))
    var bodyTimeout: String?

    @Option(help: .init("Without any byte taken of a download; default: 60s.", valueName: "time"))
    var readTimeout: String?

    @Option(help: .init("Between two requests of a connection; default: 75s.", valueName: "time"))
    var idleTimeout: String?

    @Option(help: .init("For running transfers when the server is told to end; default: 30s.", valueName: "time"))
    var shutdownTimeout: String?

    @Option(help: .init("Bytes a second for each connection; default: no limit.", valueName: "size"))
    var limitRate: String?

    @Option(help: .init("Bytes a second for all connections together; default: no limit.", valueName: "size"))
    var limitTotalRate: String?

    @Option(help: .init("Spans of a file in one answer; default: 64.", valueName: "number"))
    var maxRanges: String?

    @Option(help: .init("Files of one form; default: 20000.", valueName: "number"))
    var maxFormParts: String?

    @Option(help: .init("Archives being sent at once; default: 64.", valueName: "number"))
    var maxArchives: String?

    @Option(help: .init("Searches at once; default: 16.", valueName: "number"))
    var maxSearches: String?

    @Option(
        help: .init(
            "Trees and large files being copied or deleted at once; others wait. Default: half of --io-threads.",
            valueName: "number"))
    var maxTreeWalks: String?

    @Option(help: .init("Folders being listed for browsers at once; default: 256.", valueName: "number"))
    var maxListings: String?

    @Option(help: .init("WebDAV listings at once; default: 256.", valueName: "number"))
    var maxPropfinds: String?

    @Option(help: .init("Bytes of a WebDAV request's XML; default: 1M.", valueName: "size"))
    var maxXmlSize: String?

    @Option(help: .init("Depth of a WebDAV request's XML; default: 256, which is the most.", valueName: "number"))
    var maxXmlDepth: String?

    @Option(help: .init("WebDAV locks in all; default: 10000.", valueName: "number"))
    var maxLocks: String?

    @Option(help: .init("WebDAV locks of one user; default: 1000.", valueName: "number"))
    var maxLocksPerUser: String?

    @Option(
        help: .init(
            "Members that a WebDAV listing of infinite depth holds; 0 refuses such; default: 10000.",
            valueName: "number"))
    var propfindLimit: String?

    @Option(help: .init("Threads for the disk; default: four for each processor, from 8 to 32.", valueName: "number"))
    var ioThreads: String?

    @Option(help: .init("Event loops for the network; default: half the processors.", valueName: "number"))
    var eventLoops: String?
}
