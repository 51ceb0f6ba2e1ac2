import Dispatch
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A running server: its threads, event loops and listening sockets.
final class Runtime: Sendable {
    let engine: Engine
    /// The engine that redirects clients without TLS; nil when there is none.
    private let redirecting: Engine?
    /// The addresses where it can be reached.
    let addresses: [ListenAddress]
    /// The port at which clients without TLS are redirected to `addresses`; nil for none.
    let redirectPort: Int?
    private let group: MultiThreadedEventLoopGroup
    private let loopStates: LoopStates
    private let sockets: ListeningSockets
    /// The TLS contexts, if TLS is used.
    let contexts: TLSContexts?
    private let ending = Mutex(Ending())
    /// What runs beside the connections until the end.
    private let chores = Mutex<[Task<Void, Never>]>([])

    private struct Ending {
        var hasBegun = false
        /// When those requests are ended that are still in progress.
        var graceEnd: ContinuousClock.Instant?
        /// The event loops take no more tasks.
        var loopsEnd = false
        var isOver = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private init(
        engine: Engine, redirecting: Engine?, addresses: [ListenAddress], redirectPort: Int?,
        group: MultiThreadedEventLoopGroup, loopStates: LoopStates, sockets: ListeningSockets, contexts: TLSContexts?
    ) {
        self.engine = engine
        self.redirecting = redirecting
        self.addresses = addresses
        self.redirectPort = redirectPort
        self.group = group
        self.loopStates = loopStates
        self.sockets = sockets
        self.contexts = contexts
    }

    /// Starts the threads and listens on every address, or on none; connections are accepted only after ``accept()``.
    static func start(
        _ configuration: ServerConfiguration, handlers: [any Handler], access: any AccessControl, counters: Counters
    ) async throws -> Runtime {
        let proxies = try TrustedProxies(configuration.access.trustedProxies)
        let loops = Processors.eventLoops(configuration.eventLoops)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let pool = PoolThreads(count: Processors.ioThreads(configuration.ioThreads))
        let loopStates = try await LoopStates(group)
        let engine = Engine(
            configuration: configuration, handlers: handlers, access: access, proxies: proxies, loopStates: loopStates,
            pool: pool, counters: counters)
        do {
            var contexts: TLSContexts?
            if let tls = configuration.tls {
                let protocols = tls.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
                contexts = try TLSContexts(
                    tls, root: configuration.root, protocols: protocols, learn: access.learn(ownNames:),
                    logger: configuration.logger)
            }
            let listener = Listener(group: group, engine: engine, loopStates: loopStates, contexts: contexts)
            var (sockets, addresses) = try await listener.bindAll(configuration.addresses)
            var redirecting: Engine?
            var redirectPort: Int?
            if contexts != nil, let port = configuration.redirectPort {
                do {
                    let (plain, more, places) = try await redirect(
                        to: addresses, from: port, configuration, engine, group, loopStates)
                    redirecting = plain
                    sockets.sockets += more.sockets
                    redirectPort = places.first?.port
                } catch {
                    await sockets.close()
                    throw error
                }
            }
            return Runtime(
                engine: engine, redirecting: redirecting, addresses: addresses, redirectPort: redirectPort,
                group: group, loopStates: loopStates, sockets: sockets, contexts: contexts)
        } catch {
            // The reason why it can't start matters more.
            try? await group.shutdownGracefully()
            await pool.shutDown()
            throw error
        }
    }

    /// Accepts connections, including those that are already waiting, and does what has to be done meanwhile.
    func accept() async throws {
        for socket in sockets.sockets { try await socket.accept() }
        let housekeeping = Housekeeping(
            root: engine.root, io: engine.io, logger: engine.logger, pause: { [self] in try await pause(for: $0) })
        // On its threads: those of libdispatch could have one of these wait until the system has another for them.
        chores.withLock { chores in
            chores.append(Task(executorPreference: engine.pool) { await housekeeping.keep() })
            guard let contexts else { return }
            chores.append(
                Task(executorPreference: engine.pool) {
                    await contexts.watch(every: .seconds(2)) { [self] in try await pause(for: $0) }
                })
        }
    }

    /// Tells the handlers that requests may come.
    func tellBegin() { for handler in engine.handlers { handler.serverBegins() } }

    /// Tells the handlers that no more requests will come.
    func tellEnd() { for handler in engine.handlers { handler.serverEnds() } }

    /// Listens without TLS at the hosts of `addresses`, and redirects all requests to TLS.
    private static func redirect(
        to addresses: [ListenAddress], from port: Int, _ configuration: ServerConfiguration, _ engine: Engine,
        _ group: MultiThreadedEventLoopGroup, _ loopStates: LoopStates
    ) async throws -> (Engine, ListeningSockets, [ListenAddress]) {
        var target = 443
        let hosts: [ListenAddress] = addresses.compactMap { address in
            guard case .internet(let host, let number) = address else { return nil }
            target = number
            return .internet(host: host, port: port)
        }
        let plain = Engine(
            configuration: configuration, handlers: [], access: RedirectAccess(port: target, secure: engine.access),
            proxies: engine.proxies, loopStates: loopStates, pool: engine.pool, counters: engine.counters,
            sharing: engine)
        let (sockets, places) = try await Listener(group: group, engine: plain, loopStates: loopStates, contexts: nil)
            .bindAll(hosts)
        return (plain, sockets, places)
    }

    /// Waits by a timer of an event loop.
    ///
    /// libdispatch's timers wake threads of its own, at the very moments when it looks at these, for which it opens a
    /// file: it ends the process when it cannot.
    /// - Throws: when the event loops have ended.
    func pause(for time: Duration) async throws {
        try await withCheckedThrowingContinuation { continuation in
            // Under the lock, since loops that have ended would report the task as a fault, and never end it.
            let isOver = ending.withLock { ending in
                if !ending.loopsEnd {
                    group.any().scheduleTask(in: TimeAmount(time)) {}.futureResult
                        .whenComplete { continuation.resume(with: $0) }
                }
                return ending.loopsEnd
            }
            if isOver { continuation.resume(throwing: CancellationError()) }
        }
    }

    /// Returns when everything has ended.
    func untilEnded() async {
        await withCheckedContinuation { continuation in
            let isOver = ending.withLock { ending in
                if !ending.isOver { ending.waiters.append(continuation) }
                return ending.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// Stops listening, lets requests in progress finish for `grace`, then ends everything.
    ///
    /// Called again, they get no more time than that call gives them.
    func shutDown(grace: Duration) async {
        let end = ContinuousClock.now + grace
        let isFirst = ending.withLock { ending in
            let isFirst = !ending.hasBegun
            ending.hasBegun = true
            ending.graceEnd = min(ending.graceEnd ?? end, end)
            return isFirst
        }
        guard isFirst else { return await untilEnded() }
        // On a thread of its own: those of libdispatch, which would be woken here again and again, must not run at the
        // moment when it looks at them, as ``pause(for:)`` says.
        let thread = PoolThreads(count: 1, named: "end")
        if thread.begin() {
            await withTaskExecutorPreference(thread) { await endAll() }
            thread.end {}
        } else {
            await endAll()
        }
        for chore in chores.withLock({ $0 }) { chore.cancel() }
        let waiters = ending.withLock { ending in
            ending.isOver = true
            let waiters = ending.waiters
            ending.waiters = []
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func endAll() async {
        await sockets.close()
        // Only now, so that a client whose connection ends does not come back and get accepted once more.
        engine.beginShutDown()
        redirecting?.beginShutDown()
        let clock = ContinuousClock()
        await loopStates.inEach { $0.eachMember { $0.drain() } }
        while let end = ending.withLock(\.graceEnd), clock.now < end, await loopStates.memberCount() > 0 {
            // The event loops have not ended yet.
            try? await pause(for: min(end - clock.now, .milliseconds(20)))
        }
        engine.beginAbort()
        await loopStates.inEach { $0.eachMember { $0.abort() } }
        // The tasks of aborted connections still report to their loops. A disk may delay one for long.
        let last = clock.now + Self.patience
        while clock.now < last, engine.isInFlight { try? await pause(for: .milliseconds(5)) }
        ending.withLock { $0.loopsEnd = true }
        try? await group.shutdownGracefully()
        endThreads(by: last + .seconds(1))
        // The last requests are gone by now, and with them what they had counted.
        engine.access.giveBack(within: Self.patience)
        engine.accessLog?.flush(within: .seconds(2))
    }

    /// Waits for the threads to end, but not for long.
    ///
    /// A thread that hangs in a disk operation may never end, and dies with the process, as does one that still works
    /// for an aborted connection. No name is ever changed by halves.
    private func endThreads(by last: ContinuousClock.Instant) {
        let ends = DispatchGroup()
        for threads in [engine.pool] + engine.far.threads {
            ends.enter()
            threads.end { ends.leave() }
        }
        // Blocks this thread, since the event loops' timers have ended.
        _ = ends.wait(timeout: .now() + .milliseconds(Int((last - .now) / .milliseconds(1))))
    }

    /// How long the disk is waited for after the connections have ended.
    private static let patience: Duration = .seconds(3)
}
