public import DirectoryRoot

/// One request, as a handler sees it.
///
/// Cheap to copy; its text is decoded only when needed.
public struct Request: Sendable {
    package let storage: RequestStorage

    /// The request method; case-sensitive.
    public var method: Method { storage.method }

    /// The decoded path below the path prefix: already split, decoded and validated.
    public var path: SharePath { storage.path }

    /// The path as the client wrote it, if the disk has its names in another Unicode normalization form: for naming
    /// this resource in a response.
    public var spelledPath: SharePath { storage.spelledPath ?? path }

    /// Whether a path of this request may stand for one in another Unicode normalization form.
    ///
    /// Apple's systems request every name in NFD, and could not have two names that differ in the form only. For all
    /// other clients, two such names are different.
    package func mayRespell(_ path: SharePath) -> Bool {
        path.mayBeDecomposed && fields["user-agent"]?.contains("Darwin/") == true
    }

    /// The path as it is listed, if its names are in another Unicode normalization form there.
    ///
    /// A name that exists as written is found by one lookup; only otherwise are folders read, when a thread can be
    /// spared for that.
    /// - Parameter path: one for which ``mayRespell(_:)`` is true.
    /// - Returns: nil when it is the same.
    /// - Throws: `CancellationError` when the task was cancelled.
    package func listedEquivalent(of path: SharePath) async throws -> SharePath? {
        let share = share
        guard try await io.run({ share.lacks(path) }) else { return nil }
        return try await io.spell { share.listedEquivalent(of: path) }
    }

    /// The same request for the path as the disk has it.
    package func listed(at path: SharePath) -> Request {
        Request(storage: RequestStorage(storage, with: share, listedAt: path))
    }

    /// Whether the target ended in a slash.
    public var hasTrailingSlash: Bool { storage.hasTrailingSlash }

    /// The part after `?`, undecoded; nil without one.
    public var query: String? { storage.query.map { RequestHead.text(storage.head.bytes[$0]) } }

    /// The header fields.
    public var fields: RequestFields { RequestFields(head: storage.head) }

    /// The share as this requester may see it.
    public var share: Share { storage.share }

    /// The request body.
    public var body: RequestBody { storage.body }

    /// Runs work that may wait for a disk.
    public var io: IOPool { storage.io }

    /// The pool for work on another place than ``path``.
    /// - Parameter path: in the share.
    /// - Returns: the pool for the disk that it is on.
    package func io(for path: SharePath) -> IOPool { storage.exchange?.engine.io(for: path, in: share) ?? io }

    /// The client's network as text, which serves only to distinguish networks: with IPv6 the first 64 bits.
    package var network: String {
        NetworkAddress(storage.peer).map { String($0.network.bits, radix: 16) } ?? storage.peer
    }

    /// The percent-encoded prefix that every address of this server begins with: empty, or `/p` without a trailing
    /// slash.
    public var prefix: String { storage.prefix }

    /// `http` or `https`, as the client sees it (behind a trusted proxy, as the proxy reports).
    public var scheme: String { storage.scheme }

    /// The host and port that the client asked for; empty in HTTP/1.0 without `Host`.
    public var authority: String { storage.authority }

    /// The first value of a query parameter, form-decoded; nil when absent.
    public func queryValue(_ name: String) -> String? {
        queryBytes(name).map { TameText.text($0) }
    }

    /// The same as raw bytes, for a value that names a file and need not be UTF-8.
    package func queryBytes(_ name: String) -> [UInt8]? {
        guard let query = storage.query else { return nil }
        for pair in storage.head.bytes[query].split(separator: UInt8(ascii: "&")) {
            let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard PercentCoding.decodeForm(pair[pair.startIndex..<mark]).elementsEqual(name.utf8) else { continue }
            return mark == pair.endIndex ? [] : PercentCoding.decodeForm(pair[(mark + 1)...])
        }
        return nil
    }

    /// The absolute path of `path` on this server, percent-encoded.
    ///
    /// - Parameters:
    ///   - path: a place in the share.
    ///   - isDirectory: adds a trailing slash.
    /// - Returns: the value for a link or an `href` element.
    public func href(_ path: SharePath, isDirectory: Bool) -> String {
        var bytes = Array(prefix.utf8)
        bytes.append(UInt8(ascii: "/"))
        URICharacters.plainPath.append(path.bytes, to: &bytes)
        if isDirectory, !path.isRoot { bytes.append(UInt8(ascii: "/")) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Resolves an absolute URI or absolute path that the client sent (`Destination`, a tagged list of `If`), with the
    /// same parser as the request's own target.
    /// - Throws: ``HTTPError`` 400 when malformed or outside the prefix, 502 when it names another server.
    public func resolve(reference: String) throws(HTTPError) -> (path: SharePath, hasTrailingSlash: Bool) {
        try resolve(reference: Array(reference.utf8)[...])
    }

    /// The same for raw bytes: names need not be UTF-8, in a target or here.
    public func resolve(
        reference: ArraySlice<UInt8>
    ) throws(HTTPError) -> (path: SharePath, hasTrailingSlash: Bool) {
        let target = try RequestTarget(reference, isReference: true)
        guard !target.isAsterisk else { throw HTTPError(.badRequest, "“*” is not an address.") }
        if let other = target.authority, !Self.sameServer(other, authority) {
            throw HTTPError(
                .badGateway, "That address is on another server, or a proxy in between does not pass on Host.")
        }
        do {
            let decoded = try RequestTarget.decode(path: target.path, below: prefix)
            return decoded.path == storage.spelledPath ? (path, decoded.hasTrailingSlash) : decoded
        } catch  where error.status == .notFound {
            throw HTTPError(.badRequest, "That address is outside this share.")
        }
    }

    /// Proxies change ports, and clients omit them: servers are different only if both ports are given and differ.
    private static func sameServer(_ one: ArraySlice<UInt8>, _ other: String) -> Bool {
        func split(_ text: ArraySlice<UInt8>) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>) {
            guard let colon = text.lastIndex(of: UInt8(ascii: ":")), text[(colon + 1)...].allSatisfy(ASCII.isDigit)
            else {
                return (text, [])
            }
            let port = text[(colon + 1)...]
            let isDefault = port.elementsEqual("80".utf8) || port.elementsEqual("443".utf8)
            return (text[..<colon], isDefault ? [] : port)
        }
        let (first, second) = (split(one), split(Array(other.utf8)[...]))
        guard !other.isEmpty, !second.port.isEmpty, !first.port.isEmpty else {
            return other.isEmpty || ASCII.equalIgnoringCase(first.host, second.host)
        }
        return first.port.elementsEqual(second.port) && ASCII.equalIgnoringCase(first.host, second.host)
    }
}

/// What all copies of one ``Request`` share.
///
/// Nothing changes after `init` except `exchange` and `io`, which are set on the loop, before the task or pool job that
/// reads them begins.
package final class RequestStorage: @unchecked Sendable {
    let head: RequestHead
    let method: Method
    let path: SharePath
    /// The path as the client wrote it, if that differs.
    let spelledPath: SharePath?
    let hasTrailingSlash: Bool
    let query: Range<Int>?
    let share: Share
    let body: RequestBody
    /// The pool for work that waits.
    var io: IOPool
    let prefix: String
    let scheme: String
    let authority: String
    /// What answers the request; nil if it is answered synchronously, or answered already.
    weak var exchange: Exchange?
    /// The client's numeric address, as far as it is trusted; `unix` for a Unix-domain socket.
    let peer: String
    /// When and from where it came.
    let arrival: RequestArrival

    init(
        head: RequestHead, method: Method, path: SharePath, spelledPath: SharePath? = nil, hasTrailingSlash: Bool,
        query: Range<Int>?, share: Share, body: RequestBody, io: IOPool, prefix: String, scheme: String,
        authority: String, peer: String = "", arrival: RequestArrival = RequestArrival()
    ) {
        self.head = head
        self.method = method
        self.path = path
        self.spelledPath = spelledPath
        self.hasTrailingSlash = hasTrailingSlash
        self.query = query
        self.share = share
        self.body = body
        self.io = io
        self.prefix = prefix
        self.scheme = scheme
        self.authority = authority
        self.peer = peer
        self.arrival = arrival
    }

    /// An admitted request.
    ///
    /// - Parameters:
    ///   - view: what the access control saw.
    ///   - share: the share that it granted.
    ///   - prefix: the prefix of every address of that share.
    ///   - path: the path in the share.
    ///   - body: the body, still to be received.
    ///   - io: the pool for work that waits.
    convenience init(
        _ view: RequestHeadView, share: Share, prefix: String, path: SharePath, body: RequestBody, io: IOPool
    ) {
        // The link to a file has an address that ends with the file's name; all others of the root are its prefix.
        let isNamed = path.isRoot && view.target.path.count > prefix.utf8.count + 1
        let asked = isNamed ? try? RequestTarget.decode(path: view.target.path, below: prefix).path : nil
        self.init(
            head: view.head, method: view.method, path: path, spelledPath: asked == path ? nil : asked,
            hasTrailingSlash: RequestTarget.meansFolder(view.target.path),
            query: view.target.query.map { $0.startIndex..<$0.endIndex }, share: share, body: body, io: io,
            prefix: prefix, scheme: view.scheme, authority: view.authority, peer: view.peer, arrival: view.arrival)
    }

    /// The same with another view of the share, or with the path as the disk has it.
    init(_ other: RequestStorage, with share: Share, listedAt path: SharePath? = nil) {
        head = other.head
        method = other.method
        self.path = path ?? other.path
        spelledPath = path == nil ? other.spelledPath : other.path
        hasTrailingSlash = other.hasTrailingSlash
        query = other.query
        self.share = share
        body = other.body
        io = other.io
        prefix = other.prefix
        scheme = other.scheme
        authority = other.authority
        exchange = other.exchange
        peer = other.peer
        arrival = other.arrival
    }
}

/// The header fields of a request.
public struct RequestFields: Sendable {
    package let head: RequestHead

    /// The field's value, with several lines joined by `, ` (RFC 9110 §5.3); nil when absent.
    ///
    /// Bytes above 0x7F are decoded as UTF-8 if that is valid and tame; see ``TameText``.
    /// - Parameter name: in lower case.
    public subscript(name: String) -> String? {
        guard head.mayHold(name) else { return nil }
        let lines = head.lines(name)
        guard let first = lines.first else { return nil }
        guard lines.count > 1 else { return RequestHead.text(first) }
        return lines.map { RequestHead.text($0) }.joined(separator: ", ")
    }

    /// Each line's value, byte for byte, without the blanks around it.
    public func bytes(_ name: String) -> [ArraySlice<UInt8>] { head.lines(name) }
}
