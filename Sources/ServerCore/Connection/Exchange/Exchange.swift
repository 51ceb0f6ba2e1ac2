import DirectoryRoot
import Logging
import NIOCore
import Synchronization

/// The connection's side of an exchange: how one protocol transports a request's body and a response.
///
/// Used on its event loop only.
protocol Carrier: AnyObject {
    /// What it shares with the others of its event loop.
    var loopState: LoopState { get }
    /// The reader of the request body waits for more of it.
    func readBody(of exchange: Exchange)
    /// The response is ready; a stream's pieces follow in the exchange's sink.
    func respond(_ response: Response, to exchange: Exchange)
    /// Sends an interim response, if the protocol has one.
    func inform(_ status: Status, _ fields: ResponseFields, of exchange: Exchange)
    /// The sink has more.
    func pump(_ exchange: Exchange)
    /// Lends the socket to the task that reads the body; nil if that is impossible or not worthwhile.
    func lendSocket(to exchange: Exchange) -> (SocketLease, IncomingBody)?
    /// The task no longer needs the socket.
    func takeBack(_ lease: SocketLease, from exchange: Exchange, _ body: LeasedBody)
}

/// One request that is answered by a task, with either protocol.
///
/// The task runs on the I/O pool; everything else here happens on the connection's event loop.
final class Exchange: BodyPipe.Upstream, @unchecked Sendable {
    let engine: Engine
    let loop: any EventLoop
    /// Filled by the writer of a streamed body.
    let sink = BodySink()
    /// Nil once the connection is gone; used on the loop only.
    private(set) weak var carrier: (any Carrier)?
    private var task: Task<Void, Never>?
    private(set) var isDetached = false
    /// Whether the task's work is useless once its client is gone; used on the loop only.
    private(set) var endsWithClient = false
    /// Whether its client is owed a response all the same; used on the loop only.
    private(set) var owesAnswer = false
    /// The connection's rate limits.
    let pace: Pace
    private let isInputClosed = Atomic<Bool>(false)
    private let hasPlace = Atomic<Bool>(false)

    init(engine: Engine, loop: any EventLoop, carrier: any Carrier, pace: Pace) {
        self.pace = pace
        self.engine = engine
        self.loop = loop
        self.carrier = carrier
    }

    /// Runs `work` for `request` and passes its response to the carrier; then writes a streamed body, unless nobody
    /// would receive it.
    func start(
        _ request: Request, sendsBody: Bool, _ work: @escaping @Sendable (Request) async throws -> Response
    ) {
        let engine = engine
        let threads = request.io.threads ?? engine.pool
        guard enterFlight(on: threads) else { return }
        sink.onMore { [weak self] in self?.notifyMore() }
        request.storage.exchange = self
        task = Task(executorPreference: threads) {
            let response: Response
            do {
                response = Self.withSmallFile(engine.sound(try await work(request)), sendsBody)
            } catch {
                response = engine.response(to: error)
            }
            self.onLoop { $0.respond(response, to: self) }
            if sendsBody, let writer = Self.streamedBody(of: response) { await self.stream(writer) }
            self.leaveFlight()
        }
    }

    /// Runs `work` for `request` on the pool and passes its response to the carrier; a streamed body is then written by
    /// a task, unless nobody would receive it.
    func start(
        _ request: Request, sendsBody: Bool, onDisk work: @escaping @Sendable (Request) throws -> Response
    ) {
        let threads = request.io.threads ?? engine.pool
        guard enterFlight(on: threads) else { return }
        request.storage.exchange = self
        threads.submit { [self] in
            let response: Response
            do {
                response = Self.withSmallFile(engine.sound(try work(request)), sendsBody)
            } catch {
                response = engine.response(to: error)
            }
            if sendsBody, let writer = Self.streamedBody(of: response) {
                loop.execute { self.respond(response, writer, on: threads) }
            } else {
                onLoop { $0.respond(response, to: self) }
                leaveFlight()
            }
        }
    }

    /// Passes a response to the carrier, and has its streamed body written by a task; on the loop.
    private func respond(_ response: Response, _ writer: @escaping StreamedBody, on threads: PoolThreads) {
        guard !isDetached, let carrier else { return leaveFlight() }
        sink.onMore { [weak self] in self?.notifyMore() }
        carrier.respond(response, to: self)
        task = Task(executorPreference: threads) {
            await self.stream(writer)
            self.leaveFlight()
        }
    }

    /// Reads a small file while on a thread that may wait for it: the loop might have to use another thread for that.
    private static func withSmallFile(_ given: Response, _ sendsBody: Bool) -> Response {
        guard sendsBody, given.status.allowsBody, case .file(let entry, let range) = given.body, !range.isEmpty,
            range.count <= SoftByteBudget.uncounted,
            let bytes = try? entry.bytes(at: range.lowerBound, upTo: range.count), bytes.count == range.count
        else { return given }
        var response = given
        response.body = .bytes(bytes)
        return response
    }

    private typealias StreamedBody = @Sendable (BodyWriter) async throws -> Void

    private static func streamedBody(of response: Response) -> StreamedBody? {
        guard case .stream(_, let writer) = response.body, response.status.allowsBody else { return nil }
        return writer
    }

    /// Takes a place among the requests that are answered off the loop, or refuses this one.
    private func enterFlight(on threads: PoolThreads) -> Bool {
        guard threads.begin() else {
            refuse(engine.withoutThread())
            return false
        }
        guard engine.enterFlight() else {
            let error = HTTPError("Too much is going on at once. Try again in a few seconds.", retryAfter: 2)
            refuse(Response(error)) { [engine] in
                // The places of those who bring or take next to nothing are for the next ones.
                if !$0.loopState.shedPlaces() { engine.loopStates.tellEach { $0.shedPlaces() } }
            }
            return false
        }
        hasPlace.store(true, ordering: .relaxed)
        return true
    }

    private func leaveFlight() {
        hasPlace.store(false, ordering: .relaxed)
        engine.leaveFlight()
    }

    /// Whether it has one of the places for requests that are answered off the loop.
    var holdsPlace: Bool { hasPlace.load(ordering: .relaxed) }

    /// Answers in a later turn of the loop: it may be followed by any number of requests that are refused alike.
    private func refuse(_ response: Response, _ first: @escaping @Sendable (any Carrier) -> Void = { _ in }) {
        onLoop { carrier in
            first(carrier)
            carrier.respond(response, to: self)
        }
    }

    private func stream(_ writer: StreamedBody) async {
        do {
            try await writer(BodyWriter(sink: sink))
            sink.finish(isWhole: true)
        } catch {
            // The client sees only that the connection ended: the server's log gives the reason.
            if !(error is CancellationError) {
                engine.logger.warning("an answer was cut off", metadata: ["reason": "\(error)"])
            }
            sink.finish(isWhole: false)
        }
    }

    private func notifyMore() {
        onLoop { $0.pump(self) }
    }

    func onLoop(_ body: @escaping @Sendable (any Carrier) -> Void) {
        loop.execute {
            guard !self.isDetached, let carrier = self.carrier else { return }
            body(carrier)
        }
    }

    func endWithClient(owingAnswer: Bool) {
        loop.execute {
            self.endsWithClient = true
            self.owesAnswer = owingAnswer
        }
    }

    /// From this size on, in bytes, a body can have waited for its reader.
    static let longBody: Int64 = 64 * 1_024

    /// The client sends nothing more: it may have gone.
    func noteInputEnd() { isInputClosed.store(true, ordering: .relaxed) }

    /// Whether the client may have gone: it has closed its side, at least.
    ///
    /// To be asked on any thread.
    var mayBeForsaken: Bool { isInputClosed.load(ordering: .relaxed) }

    /// Cancels the task, whose response is sent nevertheless.
    func cutShort() { task?.cancel() }

    func bodyWanted() {
        onLoop { $0.readBody(of: self) }
    }

    /// The connection is gone, or has finished with this exchange: a task that still runs is cancelled.
    func detach(cancelling: Bool) {
        isDetached = true
        carrier = nil
        sink.close()
        if cancelling {
            noteInputEnd()
            task?.cancel()
        }
        task = nil
    }
}
