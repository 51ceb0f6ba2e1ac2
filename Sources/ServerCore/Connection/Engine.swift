import CSyscalls
import DirectoryRoot
import Logging
import NIOCore
import Synchronization

/// What all connections of a server share; while the server runs, only counters and one flag change.
final class Engine: Sendable {
    let limits: Limits
    let handlers: [any Handler]
    let access: any AccessControl
    let proxies: TrustedProxies
    let pool: PoolThreads
    let io: IOPool
    let far: FarPools
    let root: DirectoryRoot
    let passwords: WorkQueue
    let logger: Logger
    let headLimits: HTTP1HeadParser.Limits
    let scratch = ScratchBuffers()
    let pipes = KernelPipes()
    let memory: MemoryBudgets
    /// The rate limit of all connections together.
    private let rate: RateBucket?
    /// The value of `Allow`: all methods of all handlers.
    let allow: String
    let methods: [Method]
    private let shuttingDown = Atomic<Bool>(false)
    let hasAborted = Atomic<Bool>(false)
    private let inFlight = Atomic<Int>(0)
    /// The number of admissions that are being decided off the event loops.
    let undecided = Atomic<Int>(0)
    private let streams = Atomic<Int>(0)
    private let threadWarning = RareWarning()
    /// That accepting a connection failed.
    let acceptWarning = RareWarning()

    let counters: Counters
    let accessLog: AccessLog?
    /// The most connections in all.
    let maxConnections: Int
    /// How long a connection may be idle, in seconds; read with every request.
    let idleSeconds: UInt32
    /// The most open files that each loop may cache: all loops together, an eighth of the allowed descriptors.
    let cachedFiles: Int
    let perAddress: ConnectionsPerAddress
    let loopStates: LoopStates

    /// Creates an engine; given another one of the same server, it shares the limits for all connections with it.
    init(
        configuration: ServerConfiguration, handlers: [any Handler], access: any AccessControl, proxies: TrustedProxies,
        loopStates: LoopStates, pool: PoolThreads, counters: Counters, sharing other: Engine? = nil
    ) {
        self.counters = counters
        rate = other?.rate ?? RateBucket(configuration.limits.totalRate)
        accessLog = configuration.accessLog
        let budget = DescriptorBudget(
            limit: Int(sys_raise_file_limit() - sys_inherited_files()),
            connections: configuration.limits.connections(
                areSecure: configuration.tls != nil, memory: UsableMemory.bytes),
            eventLoops: loopStates.count)
        cachedFiles = min(OpenFileCache.capacity, max(1, budget.files / 8 / loopStates.count))
        self.loopStates = loopStates
        maxConnections = budget.connections
        sys_limit_open_files(Int32(clamping: budget.files))
        limits = configuration.limits
        memory = other?.memory ?? MemoryBudgets(limits)
        perAddress = other?.perAddress ?? ConnectionsPerAddress(limits, of: budget.connections)
        idleSeconds = Limits.ticks(limits.idleTime)
        self.handlers = handlers
        self.access = access
        self.proxies = proxies
        self.pool = pool
        let passwords = WorkQueue(
            pool, atOnce: Processors.count / 2, longest: 256,
            full: "Too many people are logging in at once. Try again in a few seconds.")
        self.passwords = passwords
        io = IOPool(threads: pool, passwords: passwords, limits)
        far = other?.far ?? FarPools(below: configuration.root, beside: pool, passwords: passwords, limits)
        root = configuration.root
        logger = configuration.logger
        headLimits = HTTP1HeadParser.Limits(limits)
        var methods: [Method] = [.options]
        for method in handlers.flatMap(\.methods) where !methods.contains(method) { methods.append(method) }
        if methods.contains(.get), !methods.contains(.head) { methods.append(.head) }
        self.methods = methods
        allow = methods.map(\.rawValue).sorted().joined(separator: ", ")
    }

    var isShuttingDown: Bool { shuttingDown.load(ordering: .relaxed) }

    func beginShutDown() { shuttingDown.store(true, ordering: .relaxed) }

    /// Has admissions that nobody has begun to decide refused: all connections are being closed.
    func beginAbort() { hasAborted.store(true, ordering: .relaxed) }

    /// The rate limits of a new connection.
    func pace(on loop: any EventLoop) -> Pace {
        Pace(own: RateBucket(limits.connectionRate), all: rate, on: loop, of: self)
    }

    /// Counts a connection from its address; if it is accepted, it must be given to
    /// ``ConnectionsPerAddress/leave(_:)``.
    /// - Returns: whether it is accepted: if there are too many, an idle connection is closed for it, or one whose
    ///   client makes no progress; for a client that has too many already, only one of its own.
    func takes(_ newcomer: any LoopMember, in state: LoopState) -> Bool {
        if makesWay(for: newcomer, in: state),
            counters.openConnections < maxConnections || state.shedIdlest() || state.shedSlowest()
        {
            return true
        }
        perAddress.leave(newcomer.network)
        return false
    }

    /// Releases what was counted for a connection that ``takes(_:in:)`` accepted.
    func release(_ member: any LoopMember, from state: LoopState) {
        state.leave(member)
        counters.closed()
        perAddress.leave(member.network)
    }

    /// Counts a connection from its address; it must be given to ``ConnectionsPerAddress/leave(_:)`` in any case.
    /// - Returns: whether one more is allowed: if there are too many, an idle connection from there is closed, or one
    ///   that makes no progress.
    func makesWay(for newcomer: any LoopMember, in state: LoopState) -> Bool {
        perAddress.enter(newcomer.network) || state.shedIdlest(for: newcomer) || state.shedSlowest(for: newcomer)
    }

    /// The response when the system has no thread that a request could be answered on.
    func withoutThread() -> Response {
        threadWarning.log("requests are refused: the system has no more threads for this process", to: logger)
        return Response(HTTPError.noThread)
    }

    /// Takes one of the places for requests that are answered by tasks; false when all are taken.
    func enterFlight() -> Bool {
        guard inFlight.wrappingAdd(1, ordering: .relaxed).newValue <= limits.requestsInFlight else {
            leaveFlight()
            return false
        }
        return true
    }

    func leaveFlight() { inFlight.wrappingSubtract(1, ordering: .relaxed) }

    /// Whether there is no room to spare for requests whose clients have gone, and to whom no answer was promised: half
    /// of the places are taken, or much of the memory for bodies, or the server is just ending.
    ///
    /// Their connections count no longer, so that nothing else limits how many a client leaves behind.
    var isCrowded: Bool {
        inFlight.load(ordering: .relaxed) > limits.requestsInFlight / 2 || memory.waitingBodies.isCrowded
            || hasAborted.load(ordering: .relaxed)
    }

    /// Whether a task is answering a request, or the admission of one is being decided: both report to event loops.
    var isInFlight: Bool { inFlight.load(ordering: .relaxed) > 0 || undecided.load(ordering: .acquiring) > 0 }

    /// Counts an HTTP/2 stream; must be balanced by ``leaveStreams()`` whatever the result.
    /// - Parameter hasFew: whether its connection has few other streams; half of the places are reserved for such.
    /// - Returns: false when there are too many.
    func enterStreams(hasFew: Bool) -> Bool {
        let count = streams.wrappingAdd(1, ordering: .relaxed).newValue
        return count <= (hasFew ? limits.streams : limits.streams / 2)
    }

    /// Counts the end of an HTTP/2 stream.
    func leaveStreams() { streams.wrappingSubtract(1, ordering: .relaxed) }

    /// The body of a request that has none; reading it reports whether that is valid in its coding.
    func emptyBody(of head: RequestHead) -> RequestBody {
        RequestBody(length: 0, pipe: nil, coding: BodyCoding(head, maxRatio: limits.expansionRatio))
    }

    /// A body that the exchange's transport delivers: `length` bytes, or nil if only its end determines that.
    func body(of head: RequestHead, length: Int64?, for exchange: Exchange) -> RequestBody {
        RequestBody(
            length: length,
            pipe: BodyPipe(
                upstream: exchange, pace: exchange.pace, memory: memory.wholeRequests, formNames: memory.formNames,
                waiting: memory.waitingBodies),
            coding: BodyCoding(head, maxRatio: limits.expansionRatio))
    }

    /// Writes a failed system call to the server's log.
    func log(_ error: RootError) {
        guard case .system(let failed) = error else { return }
        var metadata: Logger.Metadata = ["call": "\(failed.call)", "errno": "\(failed.errno)"]
        if let file = failed.file { metadata["file"] = "\(file)" }
        logger.error("a system call failed", metadata: metadata)
    }

    /// Turns whatever a handler throws into a response.
    func response(to error: any Error) -> Response {
        switch error {
        case let error as HTTPError:
            if let cause = error.cause { log(cause) }
            return sound(Response(error))
        case let error as RootError: return response(to: HTTPError(error))
        case is CancellationError:
            return Response(.shuttingDown)
        default:
            logger.error("a request failed", metadata: ["error": "\(String(reflecting: error))"])
            return .text(.internalServerError, "The server failed. Ask its administrator.")
        }
    }
}
