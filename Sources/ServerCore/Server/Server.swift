public import DirectoryRoot

/// Listens, and answers with its handlers.
public final class Server: Sendable {
    public init(configuration: ServerConfiguration) throws { fatalError() }

    /// Adds a handler, asked before those added earlier. Before ``run()``.
    public func add(_ handler: any Handler) { fatalError() }

    /// Serves until ``shutDown(grace:)`` has ended everything or the task is cancelled.
    public func run() async throws { fatalError() }

    /// No new connections; running transfers get `grace` to finish.
    public func shutDown(grace: Duration) async { fatalError() }
}

/// Everything a server is told; every member has the default that the command line shows.
public struct ServerConfiguration: Sendable {
    public var root: DirectoryRoot
    public var pathPrefix = ""

    public init(root: DirectoryRoot) { self.root = root }
}
