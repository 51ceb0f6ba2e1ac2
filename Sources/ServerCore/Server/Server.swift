import Synchronization

/// Listens, and answers requests with its handlers.
///
/// Add the handlers, then call ``run()``; ``shutDown(grace:)``, from anywhere, ends it.
public final class Server: Sendable {
    private struct State {
        var handlers: [any Handler] = []
        var runtime: Runtime?
    }

    private let configuration: ServerConfiguration
    private let gate: Gate
    private let state = Mutex(State())
    let counters = Counters()

    /// A server that is not listening yet.
    public init(configuration: ServerConfiguration) {
        self.configuration = configuration
        let hosts = configuration.addresses.compactMap { if case .internet(let host, _) = $0 { host } else { nil } }
        gate = Gate(
            configuration.access, root: configuration.root, prefix: configuration.pathPrefix, bound: hosts)
    }

    /// Adds a handler, asked before those added earlier.
    ///
    /// To be called before ``start(_:)``.
    public func add(_ handler: any Handler) {
        state.withLock { $0.handlers.insert(handler, at: 0) }
    }

    /// Replaces the access rules for requests that begin from now on; trusted proxies stay the same.
    public func replaceAccess(_ rules: AccessRules) {
        gate.replace(rules)
        for handler in state.withLock({ $0.handlers }) { handler.accessChanges() }
    }

    /// Begins to listen.
    ///
    /// - Parameter prepare: called last, before any request is answered, while connections already wait: to give up
    ///   privileges that listening needed. If it throws, no request is answered.
    /// - Returns: the addresses, with the real numbers of ports that were given as 0.
    /// - Throws: ``ListenError``; ``TLSError`` or ``AccessRuleError`` for the configuration of TLS and proxies; what
    ///   `prepare` throws.
    @discardableResult
    public func start(_ prepare: () throws -> Void = {}) async throws -> [ListenAddress] {
        let handlers = state.withLock { $0.handlers }
        let logIn = LogInHandler(gate) { for handler in handlers { handler.sessionEnds() } }
        let runtime = try await Runtime.start(
            configuration, handlers: [logIn] + handlers, access: gate, counters: counters)
        do {
            try prepare()
            try await runtime.accept()
        } catch {
            await runtime.shutDown(grace: .zero)
            throw error
        }
        state.withLock { $0.runtime = runtime }
        return runtime.addresses
    }

    /// The port that redirects clients without TLS to the addresses with TLS, with its real number.
    ///
    /// nil if none is configured, and before ``start(_:)``.
    public var redirectPort: Int? { state.withLock { $0.runtime }?.redirectPort }

    /// The SHA-256 fingerprint of the certificate for new connections; nil without TLS, and before ``start(_:)``.
    public var certificateFingerprint: String? { state.withLock { $0.runtime }?.contexts?.fingerprint }

    /// Reads the certificate's files again now; they are also watched for changes.
    ///
    /// Open connections keep the old certificate.
    ///
    /// - Throws: ``TLSError``; then the old certificate stays in use.
    public func reloadCertificate() throws { try state.withLock { $0.runtime }?.contexts?.reload() }

    /// Serves until ``shutDown(grace:)`` has ended everything or the task is cancelled; begins to listen if
    /// ``start(_:)`` was not called.
    public func run() async throws {
        if state.withLock({ $0.runtime == nil }) { try await start() }
        guard let runtime = state.withLock({ $0.runtime }) else { return }
        let housekeeping = Housekeeping(
            root: configuration.root, io: runtime.engine.io, logger: configuration.logger,
            pause: { try await runtime.pause(for: $0) })
        // On its threads: those of libdispatch could have one of these wait until the system has another for them.
        let keeping = Task(executorPreference: runtime.engine.pool) { await housekeeping.keep() }
        let contexts = runtime.contexts
        let watching = Task(executorPreference: runtime.engine.pool) {
            await contexts?.watch(every: .seconds(2)) { try await runtime.pause(for: $0) }
        }
        defer {
            keeping.cancel()
            watching.cancel()
        }
        await withTaskCancellationHandler {
            await runtime.untilEnded()
        } onCancel: {
            Task { await runtime.shutDown(grace: .zero) }
        }
    }

    /// Accepts no new connections; running transfers get `grace` to finish.
    public func shutDown(grace: Duration) async {
        let (handlers, runtime) = state.withLock { ($0.handlers, $0.runtime) }
        for handler in handlers { handler.serverEnds() }
        await runtime?.shutDown(grace: grace)
    }
}
