package import DirectoryRoot

extension Request {
    /// A request without a connection, for testing a handler.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - path: the undecoded target, starting with a slash, with its query.
    ///   - fields: header lines; `Host: localhost` is added when there is none.
    ///   - body: the whole body.
    ///   - share: the share.
    ///   - prefix: the server's path prefix, with which `path` starts.
    /// - Returns: the request.
    /// - Throws: ``HTTPError`` when the target is refused.
    package static func forTesting(
        method: Method = .get, path: String = "/", fields: [(String, String)] = [], body: [UInt8] = [], share: Share,
        prefix: String = ""
    ) throws(HTTPError) -> Request {
        let head = RequestHead()
        var lines = fields
        if !fields.contains(where: { ASCII.equalIgnoringCase($0.0.utf8, "host".utf8) }) {
            lines.append(("Host", "localhost"))
        }
        head.compose(method: method.rawValue, target: path, lines: lines)
        let target = try RequestTarget(head.target)
        let place = try RequestTarget.decode(path: target.path, below: prefix)
        return Request(
            storage: RequestStorage(
                head: head, method: method, path: place.path, hasTrailingSlash: place.hasTrailingSlash,
                query: target.query.map { $0.startIndex..<$0.endIndex }, share: share,
                body: RequestBody(bytes: body), io: .inline, prefix: prefix, scheme: "http",
                authority: (head[.host] ?? []).isEmpty ? "" : RequestHead.text(head[.host] ?? [])))
    }
}
