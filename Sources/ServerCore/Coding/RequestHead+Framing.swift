extension RequestHead {
    /// Interprets the fields that determine the end of the message, its host and the persistence of the connection, and
    /// refuses every head that two servers might interpret differently.
    ///
    /// RFC 9112 §3.2, §6, §9.3.
    func settle() throws(HTTPError) {
        try settleHost()
        try settleLength()
        settleConnection()
        // An empty list expects nothing.
        guard let expect = self[.expect], !expect.isEmpty || repeated.contains(.expect) else { return }
        guard !repeated.contains(.expect), ASCII.equalIgnoringCase(expect, "100-continue".utf8) else {
            throw HTTPError(.expectationFailed, "This server can only be expected to say 100-continue.")
        }
        // RFC 9110 §10.1.1: ignored from an HTTP/1.0 client.
        expectsContinue = minorVersion == 1
    }

    private func settleHost() throws(HTTPError) {
        guard let host = self[.host] else {
            guard minorVersion == 0 else { throw HTTPError(.badRequest, "This request names no host.") }
            return
        }
        guard !repeated.contains(.host), RequestTarget.isAuthority(host) else {
            throw HTTPError(.badRequest, "The Host field of this request is malformed.")
        }
    }

    private func settleLength() throws(HTTPError) {
        if let coding = self[.transferEncoding] {
            let isFramedOnce =
                minorVersion == 1 && !known.contains(.contentLength) && !repeated.contains(.transferEncoding)
            guard isFramedOnce, ASCII.equalIgnoringCase(coding, "chunked".utf8) else {
                if isFramedOnce, Self.isCodedThenChunked(coding) {
                    throw HTTPError(.notImplemented, "This server knows no transfer coding but chunked.")
                }
                throw HTTPError(.badRequest, "A body comes either chunked or with its length, not otherwise.")
            }
            isChunked = true
        } else if let text = self[.contentLength] {
            guard !repeated.contains(.contentLength), let length = ASCII.decimal(text) else {
                throw HTTPError(.badRequest, "The Content-Length of this request is not one number.")
            }
            contentLength = length
        } else if minorVersion == 0, method == .put {
            // The client may expect the body to end with the connection: it did not mean an empty file. RFC 1945 §8.3.
            throw HTTPError(.lengthRequired, "Say with Content-Length how long the body is, or use HTTP/1.1.")
        }
    }

    /// Whether these are other codings followed by chunked, once and last: then the end of the body is clear, but not
    /// how to decode it.
    ///
    /// RFC 9112 §6.1 requires 501 for such a request, and §6.3 requires 400 for one that does not end in chunked.
    private static func isCodedThenChunked(_ field: ArraySlice<UInt8>) -> Bool {
        let codings = field.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(ASCII.trimmed)
        let chunked = codings.indices.filter { ASCII.equalIgnoringCase(codings[$0], "chunked".utf8) }
        return chunked == [codings.count - 1] && codings.allSatisfy { !$0.isEmpty }
    }

    private func settleConnection() {
        keepsAlive = minorVersion == 1
        guard known.contains(.connection) else { return }
        var closes = false
        var keeps = false
        for slot in slots where slot.known == .connection {
            for option in bytes[slot.value].split(separator: UInt8(ascii: ",")) {
                let option = ASCII.trimmed(option)
                if ASCII.equalIgnoringCase(option, "close".utf8) { closes = true }
                if ASCII.equalIgnoringCase(option, "keep-alive".utf8) { keeps = true }
            }
        }
        keepsAlive = !closes && (keepsAlive || keeps)
    }
}
