import CSyscalls
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A server while it listens: its threads, event loops and listening sockets.
final class Runtime: Sendable {
    let engine: Engine
    /// What sends those on who come without TLS; nil where nothing does.
    private let redirecting: Engine?
    /// Where it can be reached.
    let addresses: [ListenAddress]
    /// Where those who come without TLS are sent to `addresses`; nil for nowhere.
    let redirectPort: Int?
    private let group: MultiThreadedEventLoopGroup
    private let loopStates: LoopStates
    private let sockets: ListeningSockets
    /// TLS, where there is any.
    let contexts: TLSContexts?
    private let ending = Mutex(Ending())

    private struct Ending {
        var hasBegun = false
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

    /// Starts the threads and listens on every address, or on none; nobody is let in before ``accept()``.
    static func start(
        _ configuration: ServerConfiguration, handlers: [any Handler], access: any AccessControl, counters: Counters
    ) async throws -> Runtime {
        let proxies = try TrustedProxies(configuration.access.trustedProxies)
        let loops = configuration.eventLoops > 0 ? configuration.eventLoops : max(1, Processors.count / 2)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let threads = configuration.ioThreads > 0 ? configuration.ioThreads : min(32, max(8, Processors.count * 4))
        let pool = PoolThreads(count: threads)
        let engine = Engine(
            configuration: configuration, handlers: handlers, access: access, proxies: proxies, eventLoops: loops,
            pool: pool, counters: counters)
        let loopStates = try await LoopStates(group)
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
                    sockets.channels += more.channels
                    redirectPort = places.first?.port
                } catch {
                    await sockets.close()
                    throw error
                }
            }
            // Before the first requests, so that what these bring back stays: later it would count as theirs.
            sys_forget_code()
            return Runtime(
                engine: engine, redirecting: redirecting, addresses: addresses, redirectPort: redirectPort,
                group: group, loopStates: loopStates, sockets: sockets, contexts: contexts)
        } catch {
            // Why it can't begin matters more.
            try? await group.shutdownGracefully()
            await pool.shutDown()
            throw error
        }
    }

    /// Lets in those who come, and those who came already.
    func accept() async throws {
        for listener in sockets.channels { try await listener.setOption(.autoRead, value: true).get() }
    }

    /// Listens without TLS at the hosts of `addresses`, and sends everybody to where it is.
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
            proxies: engine.proxies, eventLoops: loopStates.count, pool: engine.pool, counters: engine.counters,
            sharing: engine)
        let (sockets, places) = try await Listener(group: group, engine: plain, loopStates: loopStates, contexts: nil)
            .bindAll(hosts)
        return (plain, sockets, places)
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

    /// Stops listening, lets requests in work finish for `grace`, then ends everything.
    func shutDown(grace: Duration) async {
        let isFirst = ending.withLock { ending in
            let isFirst = !ending.hasBegun
            ending.hasBegun = true
            return isFirst
        }
        guard isFirst else { return await untilEnded() }
        await sockets.close()
        // Only now, so that nobody whose connection ends for it comes back to be taken once more.
        engine.beginShutDown()
        redirecting?.beginShutDown()
        let clock = ContinuousClock()
        let end = clock.now + grace
        await loopStates.inEach { $0.eachMember { $0.drain() } }
        while clock.now < end, await loopStates.memberCount() > 0 {
            // Cancelled or not, the loop ends with the grace time.
            try? await clock.sleep(until: min(end, clock.now + .milliseconds(20)))
        }
        await loopStates.inEach { $0.eachMember { $0.abort() } }
        // The tasks of those that were cut off still tell their loops so. A disk may keep one for long.
        let last = clock.now + .seconds(1)
        while clock.now < last, engine.isInFlight { try? await clock.sleep(for: .milliseconds(5)) }
        try? await group.shutdownGracefully()
        await endThreads()
        engine.accessLog?.flush(within: .seconds(2))
        let waiters = ending.withLock { ending in
            ending.isOver = true
            let waiters = ending.waiters
            ending.waiters = []
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for the threads to end, but not for long.
    ///
    /// One that hangs in a disk may never, and goes with the process, as does one that is still at work for somebody who
    /// was cut off. No name changes by halves.
    private func endThreads() async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        Task { [engine] in
            await engine.pool.shutDown()
            await engine.far.shutDown()
            end.yield()
        }
        Task {
            // Nobody cancels it.
            try? await Task.sleep(for: Self.patience)
            end.yield()
        }
        for await _ in ends { return }
    }

    private static let patience: Duration = .seconds(3)
}
