import CSyscalls
import DirectoryRoot
import Logging
import NIOCore
import Synchronization

/// What every connection of a server shares; nothing in it changes while the server runs but counters and one flag.
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
    let wholeRequests: ByteBudget
    /// For the names in forms, which are kept for as long as a form takes: others' requests have their own.
    let formNames: ByteBudget
    /// For what came of bodies before it was asked for.
    let unaskedBodies: ByteBudget
    /// Of all connections together.
    private let rate: RateBucket?
    /// The value of `Allow`: all methods that any handler knows.
    let allow: String
    private let methods: Set<Method>
    private let shuttingDown = Atomic<Bool>(false)
    private let inFlight = Atomic<Int>(0)
    private let streams = Atomic<Int>(0)

    let counters: Counters
    let accessLog: AccessLog?
    /// Connections in all.
    let maxConnections: Int
    /// How long a connection may be idle: asked for with every request.
    let idleSeconds: UInt32
    /// Open files that each loop may keep for the next who ask for them: an eighth of those that there may be,
    /// together.
    let cachedFiles: Int
    let perAddress: ConnectionsPerAddress
    /// For what of bodies waits for its readers.
    let waitingBodies: SoftByteBudget
    /// For what clients of HTTP/2 may send of long bodies before any of it is read.
    let windows: ByteBudget
    /// For what is made in memory on HTTP/1.
    let answers: SoftByteBudget
    /// For what waits above the socket, on TLS and HTTP/2: files too.
    let unsent: SoftByteBudget

    /// An engine; with another one of the same server, it shares what there is for all of its connections.
    init(
        configuration: ServerConfiguration, handlers: [any Handler], access: any AccessControl, proxies: TrustedProxies,
        eventLoops: Int, pool: PoolThreads, counters: Counters, sharing other: Engine? = nil
    ) {
        self.counters = counters
        rate = other?.rate ?? RateBucket(configuration.limits.totalRate)
        accessLog = configuration.accessLog
        let budget = DescriptorBudget(
            limit: Int(sys_raise_file_limit()),
            connections: configuration.limits.connections(
                areSecure: configuration.tls != nil, memory: UsableMemory.bytes),
            eventLoops: eventLoops)
        cachedFiles = min(OpenFileCache.capacity, max(1, budget.files / 8 / eventLoops))
        maxConnections = budget.connections
        sys_limit_open_files(Int32(clamping: budget.files))
        limits = configuration.limits
        wholeRequests = other?.wholeRequests ?? ByteBudget(limits.requestMemory)
        formNames = other?.formNames ?? ByteBudget(limits.requestMemory)
        unaskedBodies = other?.unaskedBodies ?? ByteBudget(limits.answerMemory)
        waitingBodies = other?.waitingBodies ?? SoftByteBudget(limits.answerMemory)
        windows = other?.windows ?? ByteBudget(limits.requestMemory / 2)
        answers = other?.answers ?? SoftByteBudget(limits.answerMemory)
        unsent = other?.unsent ?? SoftByteBudget(limits.answerMemory)
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

    /// What a new connection keeps to.
    func pace() -> Pace { Pace(own: RateBucket(limits.connectionRate), all: rate) }

    /// Counts a connection from its address, which is to be given to ``ConnectionsPerAddress/leave(_:)`` if it is
    /// taken.
    /// - Returns: whether it is: where there are too many, an idle one goes, or one whose client does not go on; for
    ///   who has too many already, only one of theirs.
    func takes(_ newcomer: any LoopMember, in state: LoopState) -> Bool {
        if makesWay(for: newcomer, in: state),
            counters.openConnections < maxConnections || state.shedIdlest() || state.shedSlowest()
        {
            return true
        }
        perAddress.leave(newcomer.network)
        return false
    }

    /// Gives back what a connection was counted for that ``takes(_:in:)`` let in.
    func release(_ member: any LoopMember, from state: LoopState) {
        state.leave(member)
        counters.closed()
        perAddress.leave(member.network)
    }

    /// Counts a connection from its address, which is to be given to ``ConnectionsPerAddress/leave(_:)`` in any case.
    /// - Returns: whether there may be one more: where there are too many, an idle one from there goes, or one that
    ///   does not go on.
    func makesWay(for newcomer: any LoopMember, in state: LoopState) -> Bool {
        perAddress.enter(newcomer.network) || state.shedIdlest(for: newcomer) || state.shedSlowest(for: newcomer)
    }

    /// Counts an answer, if there was one, and writes the request's line in the access log.
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

    /// Records a GET that was answered with a whole file as soon as it came, without looking at the fields that only
    /// the longer forms of the log tell.
    func recordGet(of target: [UInt8], peer: String, bytes: Int64) {
        counters.answered(200)
        guard let accessLog else { return }
        let record = AccessRecord(
            peer: peer, user: nil, method: Self.get, target: target[...], version: "HTTP/1.1", status: 200,
            bytes: bytes, time: .now, milliseconds: 0, referer: nil, agent: nil)
        accessLog.writer.add(record, accessLog.format)
    }

    private static let get = Array("GET".utf8)[...]

    /// Takes one of the places for requests that tasks answer; false when all are taken.
    func enterFlight() -> Bool {
        guard inFlight.wrappingAdd(1, ordering: .relaxed).newValue <= limits.requestsInFlight else {
            leaveFlight()
            return false
        }
        return true
    }

    func leaveFlight() { inFlight.wrappingSubtract(1, ordering: .relaxed) }

    /// Some task is at a request.
    var isInFlight: Bool { inFlight.load(ordering: .relaxed) > 0 }

    /// Counts a stream of HTTP/2; to be given to ``leaveStreams()`` whatever the answer.
    /// - Parameter hasFew: whether its connection has few others; half of the places are for such streams.
    /// - Returns: false when there are too many.
    func enterStreams(hasFew: Bool) -> Bool {
        let count = streams.wrappingAdd(1, ordering: .relaxed).newValue
        return count <= (hasFew ? limits.streams : limits.streams / 2)
    }

    /// Counts a stream of HTTP/2 that is over.
    func leaveStreams() { streams.wrappingSubtract(1, ordering: .relaxed) }

    /// A head as the rules of access see it: from the client itself, where trusted proxies tell of it.
    /// - Throws: 413 when it announces a larger body than there may be.
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

    /// The body of a request that brings none; whoever reads it hears whether that can be, in its coding.
    func emptyBody(of head: RequestHead) -> RequestBody {
        RequestBody(length: 0, pipe: nil, coding: BodyCoding(head, maxRatio: limits.expansionRatio))
    }

    /// A body that the exchange's carrier brings: `length` bytes, or nil when only its end will tell.
    func body(of head: RequestHead, length: Int64?, for exchange: Exchange) -> RequestBody {
        RequestBody(
            length: length,
            pipe: BodyPipe(
                upstream: exchange, pace: exchange.pace, memory: wholeRequests, formNames: formNames,
                waiting: waitingBodies),
            coding: BodyCoding(head, maxRatio: limits.expansionRatio))
    }

    /// Asks off the loop what an admission left open, as often as it takes.
    /// - Parameters:
    ///   - admission: the first word.
    ///   - done: gets the last one, on a thread of the pool or right here.
    func settle(_ admission: Admission, _ done: @escaping @Sendable (Admission) -> Void) {
        switch admission {
        case .allow, .count, .refuse: done(admission)
        case .check(let question): pool.submit { self.settle(self.outcome(of: question), done) }
        case .verify(let question):
            let isTaken = passwords.submit { self.settle(self.outcome(of: question), done) }
            if !isTaken { done(.refuse(Response(passwords.refusal))) }
        }
    }

    private func outcome(of question: () throws(RootError) -> Admission) -> Admission {
        do throws(RootError) {
            return try question()
        } catch {
            return .refuse(response(to: error))
        }
    }

    /// Asks the handlers, newest first, and tells `settle` before the answer is sent whether it brings any content.
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

    /// A request that was admitted, with the pool of the disk that it is about.
    /// - Parameters:
    ///   - view: what the access control saw.
    ///   - share: what it opened.
    ///   - prefix: what every address of it begins with.
    ///   - path: in it.
    ///   - body: what is still to come.
    /// - Returns: the request.
    func request(
        _ view: RequestHeadView, share: Share, prefix: String, path: SharePath, body: RequestBody
    ) -> Request {
        let request = Request(
            storage: RequestStorage(view, share: share, prefix: prefix, path: path, body: body, io: io))
        if root.hasFarMounts { assignPool(to: request) }
        return request
    }

    /// Gives a request the pool of the far disk that it is about, if it is about one, in whichever of its fields.
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

    /// Asks the handlers; about a far disk, when it answers.
    private func route(_ request: Request) -> Answer {
        guard request.io.isFar else { return find(request) }
        do {
            try request.io.requireAnswering()
        } catch {
            return .now(Response(error))
        }
        return find(request)
    }

    /// Asks the handlers, for what the disk has where the client's letters are put together otherwise.
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

    /// Writes a failed system call into the server's log.
    func log(_ error: RootError) {
        guard case .system(let failed) = error else { return }
        logger.error("a system call failed", metadata: ["call": "\(failed.call)", "errno": "\(failed.errno)"])
    }

    /// Turns whatever a handler throws into its answer.
    func response(to error: any Error) -> Response {
        switch error {
        case let error as HTTPError:
            if let cause = error.cause { log(cause) }
            return Response(error)
        case let error as RootError: return response(to: HTTPError(error))
        case is CancellationError:
            return .text(.serviceUnavailable, "The server is shutting down. Try again in a few seconds.")
        default:
            logger.error("a request failed", metadata: ["error": "\(String(reflecting: error))"])
            return .text(.internalServerError, "The server failed. Ask its administrator.")
        }
    }
}
