import DirectoryRoot
import Logging
import NIOCore

/// The connection's side of an exchange: how one protocol carries a request's body in and a response out.
///
/// On its loop only.
protocol Carrier: AnyObject {
    /// The reader of the request body waits for more of it.
    func readBody(of exchange: Exchange)
    /// The answer is there; a stream's pieces follow in the exchange's sink.
    func respond(_ response: Response, to exchange: Exchange)
    /// Says something before the answer, where the protocol can.
    func inform(_ status: Status, _ fields: ResponseFields, of exchange: Exchange)
    /// The sink has more.
    func pump(_ exchange: Exchange)
    /// Lends the socket to the task that reads the body; nil where that cannot be, or is not worth it.
    func lendSocket(to exchange: Exchange) -> (SocketLease, IncomingBody)?
    /// The task is done with the socket.
    func takeBack(_ lease: SocketLease, from exchange: Exchange, _ body: LeasedBody)
}

/// One request that a task answers, whatever protocol brought it.
///
/// The task runs on the I/O pool; everything else here happens on the connection's loop.
final class Exchange: BodyPipe.Upstream, @unchecked Sendable {
    let engine: Engine
    let loop: any EventLoop
    /// Filled by a stream body.
    let sink = BodySink()
    /// Gone when the connection is; loop only.
    private(set) weak var carrier: (any Carrier)?
    private var task: Task<Void, Never>?
    private(set) var isDetached = false
    /// Whether what the task does is of no use when its client has gone; loop only.
    private(set) var endsWithClient = false
    /// The connection's.
    let pace: Pace

    init(engine: Engine, loop: any EventLoop, carrier: any Carrier, pace: Pace) {
        self.pace = pace
        self.engine = engine
        self.loop = loop
        self.carrier = carrier
    }

    /// Runs `work` for `request` and hands its response to the carrier; then writes a stream body, unless nobody would
    /// see it.
    func start(
        _ request: Request, sendsBody: Bool, _ work: @escaping @Sendable (Request) async throws -> Response
    ) {
        guard enterFlight() else { return }
        sink.onMore { [weak self] in self?.notifyMore() }
        request.storage.exchange = self
        let engine = engine
        task = Task(executorPreference: request.io.threads ?? engine.pool) {
            let response: Response
            do {
                response = Self.withSmallFile(try await work(request), sendsBody)
            } catch {
                response = engine.response(to: error)
            }
            self.onLoop { $0.respond(response, to: self) }
            if sendsBody, let writer = Self.streamedBody(of: response) { await self.stream(writer) }
            engine.leaveFlight()
        }
    }

    /// Runs `work` for `request` on the pool and hands its response to the carrier; a stream body is then written by a
    /// task, unless nobody would see it.
    func start(
        _ request: Request, sendsBody: Bool, onDisk work: @escaping @Sendable (Request) throws -> Response
    ) {
        guard enterFlight() else { return }
        request.storage.exchange = self
        let threads = request.io.threads ?? engine.pool
        threads.submit { [self] in
            let response: Response
            do {
                response = Self.withSmallFile(try work(request), sendsBody)
            } catch {
                response = engine.response(to: error)
            }
            if sendsBody, let writer = Self.streamedBody(of: response) {
                loop.execute { self.respond(response, writer, on: threads) }
            } else {
                onLoop { $0.respond(response, to: self) }
                engine.leaveFlight()
            }
        }
    }

    /// Hands a response to the carrier, and has its stream body written by a task; on the loop.
    private func respond(_ response: Response, _ writer: @escaping StreamedBody, on threads: PoolThreads) {
        guard !isDetached, let carrier else { return engine.leaveFlight() }
        sink.onMore { [weak self] in self?.notifyMore() }
        carrier.respond(response, to: self)
        task = Task(executorPreference: threads) {
            await self.stream(writer)
            self.engine.leaveFlight()
        }
    }

    /// Reads a small file while this is on a thread that may wait for it: the loop might have to ask for another one.
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
    private func enterFlight() -> Bool {
        guard !engine.enterFlight() else { return true }
        var response = Response.text(
            .serviceUnavailable, "Too much is going on at once. Try again in a few seconds.")
        response.fields["Retry-After"] = "2"
        // In a turn of its own: it may be followed by requests without number that are refused alike.
        let refusal = response
        onLoop { $0.respond(refusal, to: self) }
        return false
    }

    private func stream(_ writer: StreamedBody) async {
        do {
            try await writer(BodyWriter(sink: sink))
            sink.finish(isWhole: true)
        } catch {
            // Its client sees only that the connection ended: who runs the server is to know why.
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

    func endWithClient() {
        loop.execute { self.endsWithClient = true }
    }

    func bodyWanted() {
        onLoop { $0.readBody(of: self) }
    }

    /// The connection is gone, or done with this exchange: a task that still runs is cancelled.
    func detach(cancelling: Bool) {
        isDetached = true
        carrier = nil
        sink.close()
        if cancelling { task?.cancel() }
        task = nil
    }
}
