import DirectoryRoot
import Logging
import ServerCore

extension ServerConfiguration {
    /// The network settings; the rest keep their defaults.
    init(_ settings: Settings, root: DirectoryRoot, logger: Logger) throws(StartError) {
        self.init(root: root)
        self.logger = logger
        accessLog = try .standardError(settings)
        let port = try settings.number("port", in: 0...65_535) ?? 8_080
        addresses = try ListenAddress.all(settings, port: port)
        pathPrefix = try Self.pathPrefix(settings)
        ioThreads = try settings.number("io-threads", in: 1...1_024) ?? ioThreads
        eventLoops = try settings.number("event-loops", in: 1...1_024) ?? eventLoops
        limits = try Limits(settings)
        access = try AccessRules(settings)
        tls = try TLSSettings(settings)
        redirectPort = try settings.number("redirect-http", in: 0...65_535)
        if let redirectPort {
            guard addresses.contains(where: { if case .internet = $0 { true } else { false } }) else {
                throw .usage("redirect-http: there is no address to send to, since bind names sockets alone")
            }
            guard redirectPort != port || port == 0 else {
                throw .usage("redirect-http: \(redirectPort) is the port of the share itself")
            }
        }
    }

    /// A path such as `/a/b`, percent-encoded and without a trailing slash, or an empty text.
    ///
    /// The only punctuation in it is what no client encodes or leaves out, so that it holds nothing that has a meaning
    /// in an address, a page or a header field.
    /// - Parameter settings: with a `path-prefix` that is percent-encoded or not.
    /// - Returns: the prefix.
    /// - Throws: ``StartError`` when it is not such a path.
    static func pathPrefix(_ settings: Settings) throws(StartError) -> String {
        let text = settings.text("path-prefix") ?? ""
        guard let path = try? RequestTarget.decode(path: Array("/\(text)".utf8)[...]).path,
            path.bytes.allSatisfy({ byte in
                ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte > 0x7F || "/-._~ ".utf8.contains(byte)
            })
        else {
            throw .usage("path-prefix: '\(text)' is not a path such as /files, of letters, digits, blanks and -._~")
        }
        return path.isRoot ? "" : "/\(URICharacters.unreservedPath.text(path.bytes))"
    }
}

extension Limits {
    /// The limits in the settings; the rest keep their defaults.
    fileprivate init(_ settings: Settings) throws(StartError) {
        self.init()
        let many = 1...1_000_000
        connections = try settings.number("max-connections", in: many) ?? connections
        connectionsPerAddress = try settings.number("max-connections-per-address", in: many) ?? connectionsPerAddress
        streams = try settings.number("max-streams", in: many) ?? streams
        requestsInFlight = try settings.number("max-requests", in: many) ?? requestsInFlight
        fieldCount = try settings.number("max-fields", in: 8...10_000) ?? fieldCount
        if let bytes = try settings.bytes("max-head-size") {
            guard 1_024...(1 << 24) ~= bytes else { throw .usage("max-head-size: from 1K to 16M") }
            headBytes = Int(bytes)
        }
        if let bytes = try settings.bytes("max-answer-memory") {
            guard 0...(1 << 40) ~= bytes else { throw .usage("max-answer-memory: at most 1T") }
            answerMemory = Int(bytes)
        }
        if let bytes = try settings.bytes("max-request-memory") {
            guard 0...(1 << 40) ~= bytes else { throw .usage("max-request-memory: at most 1T") }
            requestMemory = Int(bytes)
        }
        headTime = try settings.patience("head-timeout") ?? headTime
        bodyStallTime = try settings.patience("body-timeout") ?? bodyStallTime
        readerStallTime = try settings.patience("read-timeout") ?? readerStallTime
        idleTime = try settings.duration("idle-timeout") ?? idleTime
        ranges = try settings.number("max-ranges", in: 1...1_000) ?? ranges
        treeWalks = try settings.number("max-tree-walks", in: 1...1_024) ?? treeWalks
        totalRate = try settings.bytes("limit-total-rate") ?? totalRate
        connectionRate = try settings.bytes("limit-rate") ?? connectionRate
    }
}

extension StartError {
    /// The reason why the server cannot listen where its configuration asks.
    init(_ error: ListenError, _ configuration: ServerConfiguration) {
        let message =
            switch error {
            case .portInUse(let host, let port):
                """
                port \(port) is in use\(host == "::" || host == "0.0.0.0" ? "" : " at \(host)"); \
                --\(port == configuration.redirectPort ? "redirect-http" : "port") chooses another
                """
            case .socketInUse(let path): "another process listens at the socket \(path)"
            case .notASocket(let path): "\(path) exists and is not a socket"
            case .refused(let address, let reason): "cannot listen at \(address): \(reason)"
            }
        self.init(status: .cannotListen, message: message)
    }
}
