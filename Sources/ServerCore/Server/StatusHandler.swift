import DirectoryRoot

/// `/.shareserve/health` and `/.shareserve/metrics` (in Prometheus' text format).
public struct StatusHandler: Handler {
    private let counters: Counters

    /// The methods at its two addresses.
    public let methods: [Method] = [.get, .head]

    /// Shows the counters of `server`.
    public init(of server: Server) {
        counters = server.counters
    }

    /// Answers its two addresses immediately.
    public func answer(_ request: Request) -> Answer {
        let isHealth = request.path.bytes.elementsEqual(".shareserve/health".utf8)
        guard isHealth || request.path.bytes.elementsEqual(".shareserve/metrics".utf8) else { return .pass }
        guard request.method == .get || request.method == .head else {
            guard request.method.isKnown else { return .pass }
            if request.method == .options { return .now(Response(.noContent, fields: ["Allow": Self.allowed])) }
            return .now(
                Response(
                    HTTPError(
                        .methodNotAllowed, "This address does not know that method.", fields: ["Allow": Self.allowed])))
        }
        if isHealth {
            var response = Response.text(.ok, "ok")
            response.fields["Cache-Control"] = "no-store"
            return .now(response)
        }
        return .now(
            Response(
                .ok,
                fields: [
                    "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store",
                ], body: .bytes(Array(metrics.utf8))))
    }

    private static let allowed = "GET, HEAD, OPTIONS"

    private var metrics: String {
        var text = ""
        func add(_ name: String, _ kind: String, _ help: String, _ value: Int) {
            text +=
                "# HELP shareserve_\(name) \(help)\n# TYPE shareserve_\(name) \(kind)\nshareserve_\(name) \(value)\n"
        }
        add("connections_total", "counter", "Connections taken.", counters.connections)
        add("connections_open", "gauge", "Connections open now.", counters.openConnections)
        add("requests_total", "counter", "Requests whose head was read.", counters.requests)
        add("received_bytes_total", "counter", "Bytes received.", counters.bytesReceived)
        add("sent_bytes_total", "counter", "Bytes sent.", counters.bytesSent)
        text += "# HELP shareserve_responses_total Answers by class.\n# TYPE shareserve_responses_total counter\n"
        for (name, count) in zip(["2xx", "3xx", "4xx", "5xx"], counters.responses) {
            text += "shareserve_responses_total{class=\"\(name)\"} \(count)\n"
        }
        return text
    }
}
