public import DirectoryRoot

/// One request, as a handler sees it.
///
/// Cheap to pass along; its text is made only when asked for.
public struct Request: Sendable {
    package let storage: RequestStorage

    /// What is asked for; case-sensitive.
    public var method: Method { storage.method }

    /// The decoded path below the path prefix: already split, decoded and validated.
    public var path: SharePath { storage.path }

    /// The same as the client wrote it, where the disk has the letters of a name put together otherwise: for what names
    /// this resource in an answer.
    public var spelledPath: SharePath { storage.spelledPath ?? path }

    /// Whether a path of this request may stand for one whose letters are put together otherwise.
    ///
    /// Apple's systems ask for any name with its letters in parts (NFD), and could not have two that differ in that
    /// alone. To all others, two such names are two.
    package func mayRespell(_ path: SharePath) -> Bool {
        path.mayBeDecomposed && fields["user-agent"]?.contains("Darwin/") == true
    }

    /// Where what a path means is listed, if its letters are put together otherwise there.
    ///
    /// What is there as it is written is found by one look; only for the rest are folders read, in turn.
    /// - Parameter path: one that ``mayRespell(_:)``.
    /// - Returns: nil when it is the same.
    /// - Throws: `CancellationError` when nobody waits for it any more.
    package func listedEquivalent(of path: SharePath) async throws -> SharePath? {
        let share = share
        guard try await io.run({ share.lacks(path) }) else { return nil }
        return try await io.spell { share.listedEquivalent(of: path) }
    }

    /// The same request for the path by which the disk has it.
    package func listed(at path: SharePath) -> Request {
        Request(storage: RequestStorage(storage, with: share, listedAt: path))
    }

    /// Whether the target ended in a slash.
    public var hasTrailingSlash: Bool { storage.hasTrailingSlash }

    /// What follows `?`, undecoded; nil without one.
    public var query: String? { storage.query.map { RequestHead.text(storage.head.bytes[$0]) } }

    /// The header fields.
    public var fields: RequestFields { RequestFields(head: storage.head) }

    /// The share as this requester may see it.
    public var share: Share { storage.share }

    /// What follows the head.
    public var body: RequestBody { storage.body }

    /// Runs what may wait for a disk.
    public var io: IOPool { storage.io }

    /// Where work waits that is about another place than ``path``.
    /// - Parameter path: in the share.
    /// - Returns: the pool of the disk that this is on.
    package func io(for path: SharePath) -> IOPool { storage.exchange?.engine.io(for: path, in: share) ?? io }

    /// The network that the client is in, as text that only serves to tell one from another: for IPv6 the first 64
    /// bits.
    package var network: String {
        NetworkAddress(storage.peer).map { String($0.network.bits, radix: 16) } ?? storage.peer
    }

    /// The percent-encoded prefix that every address of this server starts with: empty, or `/p` without a last slash.
    public var prefix: String { storage.prefix }

    /// `http` or `https`, as the client sees it (behind a trusted proxy, as the proxy says).
    public var scheme: String { storage.scheme }

    /// The host and port that the client asked for; empty in HTTP/1.0 without `Host`.
    public var authority: String { storage.authority }

    /// The first value of a query parameter, form-decoded; nil when absent.
    public func queryValue(_ name: String) -> String? {
        queryBytes(name).map { TameText.text($0) }
    }

    /// The same as it is when it names a file: bytes, which need not be UTF-8.
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
    ///   - isDirectory: adds a last slash.
    /// - Returns: what a link or an `href` element holds.
    public func href(_ path: SharePath, isDirectory: Bool) -> String {
        var bytes = Array(prefix.utf8)
        bytes.append(UInt8(ascii: "/"))
        URICharacters.plainPath.append(path.bytes, to: &bytes)
        if isDirectory, !path.isRoot { bytes.append(UInt8(ascii: "/")) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Resolves an absolute URI or absolute path that the client sent (`Destination`, a tagged list of `If`), by the
    /// very parser that the request's own target went through.
    /// - Throws: ``HTTPError`` 400 when malformed or outside the prefix, 502 when it names another server.
    public func resolve(reference: String) throws(HTTPError) -> (path: SharePath, hasTrailingSlash: Bool) {
        try resolve(reference: Array(reference.utf8)[...])
    }

    /// The same from the bytes as they came: a name need not be UTF-8, in a target or here.
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

    /// Proxies change ports, and clients leave them out: only two ports that are both said, and differ, tell servers
    /// apart.
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
/// Nothing changes after `init` but `exchange` and `io`, which are set on the loop, before the task or pool job that
/// reads them begins.
package final class RequestStorage: @unchecked Sendable {
    let head: RequestHead
    let method: Method
    let path: SharePath
    /// As the client wrote it, where that is another.
    let spelledPath: SharePath?
    let hasTrailingSlash: Bool
    let query: Range<Int>?
    let share: Share
    let body: RequestBody
    /// For work that waits.
    var io: IOPool
    let prefix: String
    let scheme: String
    let authority: String
    /// What answers the request; nil where it is answered at once, or is answered already.
    weak var exchange: Exchange?
    /// The client's numeric address, as believed; `unix` for a Unix-domain socket.
    let peer: String

    init(
        head: RequestHead, method: Method, path: SharePath, hasTrailingSlash: Bool, query: Range<Int>?, share: Share,
        body: RequestBody, io: IOPool, prefix: String, scheme: String, authority: String, peer: String = ""
    ) {
        self.head = head
        self.method = method
        self.path = path
        spelledPath = nil
        self.hasTrailingSlash = hasTrailingSlash
        self.query = query
        self.share = share
        self.body = body
        self.io = io
        self.prefix = prefix
        self.scheme = scheme
        self.authority = authority
        self.peer = peer
    }

    /// A request that was admitted.
    ///
    /// - Parameters:
    ///   - view: what the access control saw.
    ///   - share: what it opened.
    ///   - prefix: what every address of it begins with.
    ///   - path: in it.
    ///   - body: what is still to come.
    ///   - io: for work that waits.
    convenience init(
        _ view: RequestHeadView, share: Share, prefix: String, path: SharePath, body: RequestBody, io: IOPool
    ) {
        self.init(
            head: view.head, method: view.method, path: path,
            hasTrailingSlash: RequestTarget.meansFolder(view.target.path),
            query: view.target.query.map { $0.startIndex..<$0.endIndex }, share: share, body: body, io: io,
            prefix: prefix, scheme: view.scheme, authority: view.authority, peer: view.peer)
    }

    /// The same, with another view of the share, or for the path by which the disk has what is asked for.
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
    }
}

/// The header fields of a request.
public struct RequestFields: Sendable {
    package let head: RequestHead

    /// The field's value, several lines joined by `, ` (RFC 9110 §5.3); nil when absent.
    ///
    /// Bytes above 0x7F are read as UTF-8 where that is valid and tame; see ``TameText``.
    /// - Parameter name: lower case.
    public subscript(name: String) -> String? {
        guard head.mayHold(name) else { return nil }
        let lines = head.lines(name)
        guard let first = lines.first else { return nil }
        guard lines.count > 1 else { return RequestHead.text(first) }
        return lines.map { RequestHead.text($0) }.joined(separator: ", ")
    }

    /// Each line's value, byte for byte, without the blanks around it.
    public func bytes(_ name: String) -> [ArraySlice<UInt8>] { head.lines(name) }

    /// Each line's value.
    public func values(_ name: String) -> [String] {
        head.lines(name).map { RequestHead.text($0) }
    }
}
