import Synchronization

/// Listens, and answers requests with its handlers.
///
/// Add the handlers, then call ``run()``; ``shutDown(grace:)``, from anywhere, ends it. After that it can be started
/// again. Keep a reference to it while it is to serve: a server that nobody refers to any more is shut down.
///
/// SIGPIPE is ignored in the whole process from the first start on; an app must not restore its default action. Each
/// server may take three quarters of the descriptors for connections, unless ``Limits/connections`` says otherwise.
public final class Server: Sendable {
    private enum Phase {
        case idle
        /// Being started; it ends at once if it was shut down meanwhile.
        case starting(isShutDown: Bool)
        case running(Runtime)
        case ending(Runtime)
    }

    private struct State {
        var handlers: [any Handler] = []
        var phase = Phase.idle
        /// How often it was shut down.
        var shutDowns = 0
        /// Resumed when it is idle again.
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// Throws if nobody wants the server any more that is being started.
        func checkStart() throws {
            if case .starting(isShutDown: true) = phase { throw CancellationError() }
            try Task.checkCancellation()
        }
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

    deinit {
        guard case .running(let runtime) = state.withLock(\.phase) else { return }
        runtime.tellEnd()
        Task { await runtime.shutDown(grace: .zero) }
    }

    /// Adds a handler, asked before those added earlier: the last one first.
    ///
    /// To be called before ``start(_:)``. Its log-in page, if it has one, is used where the access rules have none.
    public func add(_ handler: any Handler) {
        if let page = handler.logInPage { gate.offer(logInPage: page) }
        state.withLock { $0.handlers.insert(handler, at: 0) }
    }

    /// Replaces the access rules for requests that begin from now on; trusted proxies stay the same, and the log-in
    /// page if the new rules have none.
    public func replaceAccess(_ rules: AccessRules) {
        gate.replace(rules)
        for handler in state.withLock({ $0.handlers }) { handler.accessChanges() }
    }

    /// Begins to listen; after ``shutDown(grace:)``, again.
    ///
    /// Waits for a shutdown that is under way.
    ///
    /// - Parameter prepare: called last, before any request is answered, while connections already wait: to give up
    ///   privileges that listening needed. If it throws, no request is answered.
    /// - Returns: the addresses, with the real numbers of ports that were given as 0.
    /// - Throws: ``ListenError``; ``TLSError`` or ``AccessRuleError`` for the configuration of TLS and proxies; what
    ///   `prepare` throws; ``ServerError/isRunning``; `CancellationError` if it was shut down, or the task cancelled,
    ///   meanwhile.
    @discardableResult
    public func start(_ prepare: () throws -> Void = {}) async throws -> [ListenAddress] {
        try await begin(prepare).addresses
    }

    private func begin(_ prepare: () throws -> Void) async throws -> Runtime {
        let handlers = try await beginStart()
        do {
            let logIn = LogInHandler(gate) { for handler in handlers { handler.sessionEnds() } }
            let runtime = try await Runtime.start(
                configuration, handlers: [logIn] + handlers, access: gate, counters: counters)
            runtime.tellBegin()
            do {
                try state.withLock { try $0.checkStart() }
                try prepare()
                try await runtime.accept()
                try state.withLock { state in
                    try state.checkStart()
                    state.phase = .running(runtime)
                }
            } catch {
                runtime.tellEnd()
                await runtime.shutDown(grace: .zero)
                throw error
            }
            return runtime
        } catch {
            becomeIdle()
            throw error
        }
    }

    /// Waits until the server has ended, if it is ending, and enters the start.
    /// - Returns: the handlers.
    /// - Throws: ``ServerError/isRunning``; `CancellationError` if it was shut down once more meanwhile.
    private func beginStart() async throws -> [any Handler] {
        let shutDowns = state.withLock(\.shutDowns)
        while true {
            let (phase, handlers) = try state.withLock { state in
                guard state.shutDowns == shutDowns else { throw CancellationError() }
                let phase = state.phase
                if case .idle = phase { state.phase = .starting(isShutDown: false) }
                return (phase, state.handlers)
            }
            switch phase {
            case .idle: return handlers
            case .starting, .running: throw ServerError.isRunning
            case .ending: await untilIdle()
            }
        }
    }

    /// The port that redirects clients without TLS to the addresses with TLS, with its real number.
    ///
    /// nil if none is configured, and while it does not run.
    public var redirectPort: Int? { runtime?.redirectPort }

    /// The SHA-256 fingerprint of the certificate for new connections; nil without TLS, and while it does not run.
    public var certificateFingerprint: String? { runtime?.contexts?.fingerprint }

    /// Reads the certificate's files again now; they are also watched for changes.
    ///
    /// Open connections keep the old certificate.
    ///
    /// - Throws: ``TLSError``; then the old certificate stays in use.
    public func reloadCertificate() throws { try runtime?.contexts?.reload() }

    private var runtime: Runtime? {
        switch state.withLock(\.phase) {
        case .idle, .starting: nil
        case .running(let runtime), .ending(let runtime): runtime
        }
    }

    /// Serves until ``shutDown(grace:)`` has ended everything; begins to listen if ``start(_:)`` was not called.
    ///
    /// Cancelling the task shuts the server down without any grace.
    ///
    /// - Throws: what ``start(_:)`` throws, but for `CancellationError`.
    public func run() async throws {
        let running: Runtime
        do {
            if let runtime { running = runtime } else { running = try await begin {} }
        } catch is CancellationError {
            return
        }
        await withTaskCancellationHandler {
            await untilOver(running)
        } onCancel: {
            Task { await self.end(running, grace: .zero) }
        }
    }

    /// Accepts no new connections; running transfers get `grace` to finish.
    ///
    /// Returns when everything has ended. While the server is being started, that ends as soon as it can. Called again
    /// meanwhile, the transfers get no more grace than that call gives them.
    public func shutDown(grace: Duration) async {
        let running = state.withLock { state -> Runtime? in
            state.shutDowns &+= 1
            switch state.phase {
            case .running(let runtime), .ending(let runtime): return runtime
            case .starting: state.phase = .starting(isShutDown: true)
            case .idle: break
            }
            return nil
        }
        if let running { await end(running, grace: grace) } else { await untilIdle() }
    }

    /// Shuts down what runs now, or shortens its grace; if that has ended already, does nothing.
    private func end(_ running: Runtime, grace: Duration) async {
        let isFirst = state.withLock { state in
            guard case .running(let runtime) = state.phase, runtime === running else { return false }
            state.phase = .ending(running)
            return true
        }
        guard isFirst else {
            await running.shutDown(grace: grace)
            return await untilOver(running)
        }
        running.tellEnd()
        await running.shutDown(grace: grace)
        becomeIdle()
    }

    private func becomeIdle() {
        let waiters = state.withLock { state in
            state.phase = .idle
            let waiters = state.waiters
            state.waiters = []
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the server neither starts nor runs nor ends.
    package func untilIdle() async {
        await wait { if case .idle = $0 { false } else { true } }
    }

    private func untilOver(_ running: Runtime) async {
        await wait { phase in
            switch phase {
            case .idle, .starting: false
            case .running(let runtime), .ending(let runtime): runtime === running
            }
        }
    }

    /// Waits until the server is idle, if it is now in a phase that is to be waited for.
    private func wait(_ isAwaited: (Phase) -> Bool) async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                let waits = isAwaited(state.phase)
                if waits { state.waiters.append(continuation) }
                return waits
            }
            if !waits { continuation.resume() }
        }
    }
}

/// A server was used in a way that it cannot serve.
public enum ServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It has been started already, and has not ended.
    case isRunning

    /// One line, without a full stop.
    public var description: String {
        switch self {
        case .isRunning: "the server is running or being started already"
        }
    }
}
