package import DirectoryRoot

extension Request {
    /// A request that came over no connection, to show to a handler in a test.
    ///
    /// - Parameters:
    ///   - method: what is asked for.
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

extension RequestHead {
    /// Fills an empty head from parts that came in another form than HTTP/1.
    /// - Parameters:
    ///   - method: a token.
    ///   - target: the request target.
    ///   - lines: names and values, without blanks around them.
    package func compose(method: String, target: String, lines: some Sequence<(String, String)>) {
        func put(_ text: String) -> Range<Int> {
            let start = bytes.count
            bytes.append(contentsOf: text.utf8)
            return start..<bytes.count
        }
        methodRange = put(method)
        bytes.append(0x20)
        targetRange = put(target)
        bytes.append(0x20)
        for (name, value) in lines {
            let nameRange = put(name)
            bytes.append(UInt8(ascii: ":"))
            let valueRange = put(value)
            bytes.append(0x0A)
            let known = unsafe bytes.withUnsafeBytes {
                unsafe KnownField.named(UnsafeRawBufferPointer(rebasing: $0[nameRange]))
            }
            add(
                FieldSlot(
                    nameStart: UInt32(clamping: nameRange.lowerBound), nameCount: UInt32(clamping: nameRange.count),
                    valueStart: UInt32(clamping: valueRange.lowerBound), valueCount: UInt32(clamping: valueRange.count),
                    known: known))
        }
    }
}
