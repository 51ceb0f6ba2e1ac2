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
    let logger: Logger
    let headLimits: HTTP1HeadParser.Limits
    let scratch = ScratchBuffers()
    /// The value of `Allow`: all methods that any handler knows.
    let allow: String
    private let methods: Set<Method>
    private let shuttingDown = Atomic<Bool>(false)
    private let inFlight = Atomic<Int>(0)

    /// What the server counts, for its metrics.
    let counters = Counters()

    init(
        configuration: ServerConfiguration, handlers: [any Handler], access: any AccessControl, proxies: TrustedProxies,
        pool: PoolThreads
    ) {
        limits = configuration.limits
        self.handlers = handlers
        self.access = access
        self.proxies = proxies
        self.pool = pool
        io = IOPool(threads: pool)
        logger = configuration.logger
        var headLimits = HTTP1HeadParser.Limits()
        headLimits.headBytes = limits.headBytes
        headLimits.fieldCount = limits.fieldCount
        headLimits.targetBytes = limits.targetBytes
        self.headLimits = headLimits
        var methods: Set<Method> = [.options]
        for handler in handlers { methods.formUnion(handler.methods) }
        if methods.contains(.get) { methods.insert(.head) }
        self.methods = methods
        allow = methods.map(\.rawValue).sorted().joined(separator: ", ")
    }

    var isShuttingDown: Bool { shuttingDown.load(ordering: .relaxed) }

    func beginShutDown() { shuttingDown.store(true, ordering: .relaxed) }

    /// Takes one of the places for requests that tasks answer; false when all are taken.
    func enterFlight() -> Bool {
        guard inFlight.wrappingAdd(1, ordering: .relaxed).newValue <= limits.requestsInFlight else {
            leaveFlight()
            return false
        }
        return true
    }

    func leaveFlight() { inFlight.wrappingSubtract(1, ordering: .relaxed) }

    /// Asks the handlers, newest first.
    func route(_ request: Request) -> Answer {
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
            response.fields["Allow"] = allow
            return .now(response)
        }
        return .now(.text(.notFound, "There is nothing at this address."))
    }

    /// Turns whatever a handler throws into its answer.
    func response(to error: any Error) -> Response {
        switch error {
        case let error as HTTPError: return Response(error)
        case let error as RootError:
            if case .system(let number, let call) = error {
                logger.error("a system call failed", metadata: ["call": "\(call)", "errno": "\(number)"])
            }
            return Response(HTTPError(error))
        case is CancellationError:
            return .text(.serviceUnavailable, "The server is ending.")
        default:
            logger.error("a request failed", metadata: ["error": "\(String(reflecting: error))"])
            return .text(.internalServerError, "The server failed. Ask the one who runs it.")
        }
    }
}

/// What the server counts.
final class Counters: Sendable {
    private let requestCount = Atomic<Int>(0)
    private let receivedCount = Atomic<Int>(0)
    private let sentCount = Atomic<Int>(0)
    private let connectionCount = Atomic<Int>(0)
    private let openCount = Atomic<Int>(0)

    func request() { requestCount.wrappingAdd(1, ordering: .relaxed) }
    func received(_ bytes: Int) { receivedCount.wrappingAdd(bytes, ordering: .relaxed) }
    func sent(_ bytes: Int) { sentCount.wrappingAdd(bytes, ordering: .relaxed) }
    func opened() {
        connectionCount.wrappingAdd(1, ordering: .relaxed)
        openCount.wrappingAdd(1, ordering: .relaxed)
    }
    func closed() { openCount.wrappingSubtract(1, ordering: .relaxed) }

    var requests: Int { requestCount.load(ordering: .relaxed) }
    var bytesReceived: Int { receivedCount.load(ordering: .relaxed) }
    var bytesSent: Int { sentCount.load(ordering: .relaxed) }
    var connections: Int { connectionCount.load(ordering: .relaxed) }
    var openConnections: Int { openCount.load(ordering: .relaxed) }
}
