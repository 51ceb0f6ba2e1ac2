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
    private let root: DirectoryRoot
    private let passwords: WorkQueue
    let logger: Logger
    let headLimits: HTTP1HeadParser.Limits
    let scratch = ScratchBuffers()
    let memory: MemoryBudgets
    /// The rate limit of all connections together.
    private let rate: RateBucket?
    /// The value of `Allow`: all methods of all handlers.
    let allow: String
    private let methods: Set<Method>
    private let shuttingDown = Atomic<Bool>(false)
    private let hasAborted = Atomic<Bool>(false)
    private let inFlight = Atomic<Int>(0)
    /// The number of admissions that are being decided off the event loops.
    private let undecided = Atomic<Int>(0)
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

    /// Creates an engine; given another one of the same server, it shares the limits for all connections with it.
    init(
        configuration: ServerConfiguration, handlers: [any Handler], access: any AccessControl, proxies: TrustedProxies,
        eventLoops: Int, pool: PoolThreads, counters: Counters, sharing other: Engine? = nil
    ) {
        self.counters = counters
        rate = other?.rate ?? RateBucket(configuration.limits.totalRate)
        accessLog = configuration.accessLog
        let budget = DescriptorBudget(
            limit: Int(sys_raise_file_limit() - sys_inherited_files()),
            connections: configuration.limits.connections(
                areSecure: configuration.tls != nil, memory: UsableMemory.bytes),
            eventLoops: eventLoops)
        cachedFiles = min(OpenFileCache.capacity, max(1, budget.files / 8 / eventLoops))
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
        var methods: Set<Method> = [.options]
        for handler in handlers { methods.formUnion(handler.methods) }
        if methods.contains(.get) { methods.insert(.head) }
        self.methods = methods
        allow = methods.map(\.rawValue).sorted().joined(separator: ", ")
    }

    var isShuttingDown: Bool { shuttingDown.load(ordering: .relaxed) }

    func beginShutDown() { shuttingDown.store(true, ordering: .relaxed) }

    /// Has admissions that nobody has begun to decide refused: all connections are being closed.
    func beginAbort() { hasAborted.store(true, ordering: .relaxed) }

    /// The rate limits of a new connection.
    func pace(on loop: any EventLoop) -> Pace { Pace(own: RateBucket(limits.connectionRate), all: rate, on: loop) }

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

    /// Counts a response, if there was one, and writes the request's line in the access log.
    func record(
        _ head: RequestHead, peer: String, user: String?, version: String, status: Int, bytes: Int64, beganAt: Int64
    ) {
        if status != AccessRecord.abandoned { counters.answered(status) }
        guard let accessLog else { return }
        let isBrief = accessLog.format == .text
        let record = AccessRecord(
            peer: peer, user: user, method: head.bytes[head.methodRange], target: head.target, version: version,
            status: status, bytes: bytes, time: .now,
            milliseconds: max(0, sys_coarse_milliseconds() - beganAt),
            referer: isBrief ? nil : head.lines("referer").first,
            agent: isBrief ? nil : head.lines("user-agent").first)
        accessLog.writer.add(record, accessLog.format)
    }

    /// Records a GET that was answered immediately with a whole file, without the fields that only the longer log
    /// formats have.
    func recordGet(of target: [UInt8], peer: String, bytes: Int64) {
        counters.answered(200)
        guard let accessLog else { return }
        let record = AccessRecord(
            peer: peer, user: nil, method: Self.get, target: target[...], version: "HTTP/1.1", status: 200,
            bytes: bytes, time: .now, milliseconds: 0, referer: nil, agent: nil)
        accessLog.writer.add(record, accessLog.format)
    }

    private static let get = Array("GET".utf8)[...]

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

    /// The head as the access control sees it: with the real client's data, if a trusted proxy supplies it.
    /// - Throws: 413 when it announces a larger body than is allowed.
    func view(
        of head: RequestHead, _ target: RequestTarget, peer: String, scheme: String
    ) throws(HTTPError) -> RequestHeadView {
        if let limit = limits.bodyBytes, let length = head.contentLength, length > limit {
            throw HTTPError.bodyTooLarge
        }
        var client = TrustedProxies.Client(
            address: peer, scheme: scheme,
            authority: (target.authority ?? head[.host]).map { RequestHead.text($0) } ?? "")
        if !proxies.isEmpty { client = proxies.client(of: client, fields: RequestFields(head: head)) }
        return RequestHeadView(
            head: head, method: head.method, target: target, authority: client.authority, scheme: client.scheme,
            peer: client.address)
    }

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

    /// Resolves off the event loop what an admission left open, in as many steps as it takes.
    /// - Parameters:
    ///   - admission: the first result.
    ///   - done: gets the final result, on a thread of the pool or synchronously.
    func settle(_ admission: Admission, _ done: @escaping @Sendable (Admission) -> Void) {
        switch admission {
        case .allow, .count, .refuse: done(admission)
        case .check(let question):
            guard pool.begin() else { return done(.refuse(withoutThread())) }
            undecided.wrappingAdd(1, ordering: .relaxed)
            pool.submit { self.decide(question, done) }
        case .verify(let question):
            undecided.wrappingAdd(1, ordering: .relaxed)
            if passwords.submit({ self.decide(question, done) }) { return }
            done(.refuse(Response(passwords.refusal)))
            undecided.wrappingSubtract(1, ordering: .releasing)
        }
    }

    private func decide(
        _ question: () throws(RootError) -> Admission, _ done: @escaping @Sendable (Admission) -> Void
    ) {
        settle(outcome(of: question), done)
        undecided.wrappingSubtract(1, ordering: .releasing)
    }

    private func outcome(of question: () throws(RootError) -> Admission) -> Admission {
        guard !hasAborted.load(ordering: .relaxed) else { return .refuse(Response(HTTPError.shuttingDown)) }
        do throws(RootError) {
            return try question()
        } catch {
            return .refuse(response(to: error))
        }
    }

    /// Asks the handlers, newest first, and tells `settle`, before the response is sent, whether it has any content.
    func route(_ request: Request, settling settle: (@Sendable (Bool) -> Void)?) -> Answer {
        let answer = route(request)
        guard let settle else { return answer }
        return .later { request in
            let response: Response
            do {
                response = try await answer.response(to: request)
            } catch {
                settle(false)
                throw error
            }
            settle(response.status == .ok || response.status == .partialContent)
            return response
        }
    }

    /// The pool for what is at `path` in a share.
    func io(for path: SharePath, in share: Share) -> IOPool { share.farDevice(of: path).map { far[$0] } ?? io }

    /// An admitted request, with the pool for the disk that it is about.
    /// - Parameters:
    ///   - view: what the access control saw.
    ///   - share: the share that it granted.
    ///   - prefix: the prefix of every address of that share.
    ///   - path: the path in the share.
    ///   - body: the body, still to be received.
    /// - Returns: the request.
    func request(
        _ view: RequestHeadView, share: Share, prefix: String, path: SharePath, body: RequestBody
    ) -> Request {
        let request = Request(
            storage: RequestStorage(view, share: share, prefix: prefix, path: path, body: body, io: io))
        if root.hasFarMounts { assignPool(to: request) }
        return request
    }

    /// Assigns the pool of the far disk that any of a request's fields refers to, if one does.
    private func assignPool(to request: Request) {
        func device(of reference: ArraySlice<UInt8>) -> UInt64? {
            (try? request.resolve(reference: reference).path).flatMap { request.share.farDevice(of: $0) }
        }
        var found = request.share.farDevice(of: request.path)
        if found == nil, request.method == .copy || request.method == .move {
            found = request.fields.bytes("destination").first.flatMap { device(of: $0) }
        }
        if found == nil, let field = request.fields["if"], let header = try? IfHeader(header: field) {
            found = header.lists.lazy.compactMap { $0.resource.flatMap { device(of: Array($0.utf8)[...]) } }.first
        }
        if let found { request.storage.io = far[found] }
    }

    /// The threads that may wait for a file's disk.
    func threads(for entry: Entry) -> PoolThreads {
        guard root.isBehindMount(entry), let threads = far[entry.attributes.device].threads else { return pool }
        return threads
    }

    /// Asks the handlers; for a far disk, once it responds.
    private func route(_ request: Request) -> Answer {
        guard request.io.isFar else { return find(request) }
        do {
            try request.io.requireAnswering()
        } catch {
            return .now(Response(error))
        }
        return find(request)
    }

    /// Asks the handlers, with the listed path if its names are in another Unicode normalization form than the
    /// client's.
    private func find(_ request: Request) -> Answer {
        guard request.mayRespell(request.path) else { return handle(request) }
        return .later { request in
            let listed = try await request.listedEquivalent(of: request.path)
            let request = listed.map { request.listed(at: $0) } ?? request
            return try await self.handle(request).response(to: request)
        }
    }

    /// Asks the handlers, newest first.
    private func handle(_ request: Request) -> Answer {
        for handler in handlers {
            let answer = handler.answer(request)
            if case .pass = answer { continue }
            return answer
        }
        let method = request.method
        guard methods.contains(method) else {
            return .now(.text(.notImplemented, "This server does not know the method \(method.rawValue)."))
        }
        if method == .options { return .now(Response(.ok, fields: ["Allow": allow])) }
        guard method == .get || method == .head else {
            var response = Response.text(.methodNotAllowed, "\(method.rawValue) does not work at this address.")
            response.fields["Allow"] = methods.map(\.rawValue).filter { $0 != method.rawValue }.sorted()
                .joined(separator: ", ")
            return .now(response)
        }
        return .now(.text(.notFound, "There is nothing at this address."))
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
            return Response(error)
        case let error as RootError: return response(to: HTTPError(error))
        case is CancellationError:
            return Response(.shuttingDown)
        default:
            logger.error("a request failed", metadata: ["error": "\(String(reflecting: error))"])
            return .text(.internalServerError, "The server failed. Ask its administrator.")
        }
    }
}
