package import DirectoryRoot

/// The only parser that turns an address into a path of the share: used for request targets, `Destination` and tagged
/// lists of `If`.
///
/// RFC 9110 §4.2, RFC 9112 §3.2, RFC 3986 §3.
package struct RequestTarget: Equatable, Sendable {
    /// Host and port as written; nil for the origin form.
    package var authority: ArraySlice<UInt8>?
    /// From the first slash up to `?`, undecoded.
    package var path: ArraySlice<UInt8>
    /// After `?`; nil without one.
    package var query: ArraySlice<UInt8>?
    /// `*`, for OPTIONS.
    package var isAsterisk = false

    /// Splits an origin-form or absolute-form target, or `*`.
    /// - Parameters:
    ///   - text: as received.
    ///   - isReference: whether it stands in a field or a document; then user information before the host is skipped,
    ///     since git writes that of its own URL, with the password, into `Destination`, and a blank in a path stands
    ///     for itself, as LibreOffice and git-annex write it.
    /// - Throws: ``HTTPError`` 400 for any other form, a fragment, other blanks, control characters, user information
    ///   and invalid hosts.
    package init(_ text: ArraySlice<UInt8>, isReference: Bool = false) throws(HTTPError) {
        var rest = text
        for byte in text where byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "#") {
            guard isReference else { throw Self.malformed }
            guard byte == 0x20 else {
                throw HTTPError(.badRequest, "An address in a field is malformed: in a name, write # as %23.")
            }
        }
        guard let lead = rest.first else { throw Self.malformed }
        if lead == UInt8(ascii: "*"), rest.count == 1 {
            path = []
            isAsterisk = true
            return
        }
        // A reference may omit the scheme, and then begins with a host; a request target may not. RFC 3986 §4.2
        guard !isReference || !rest.starts(with: "//".utf8) else { throw Self.malformed }
        if lead != UInt8(ascii: "/") {
            guard let scheme = Self.schemeLength(rest) else { throw Self.malformed }
            rest = rest.dropFirst(scheme)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            var host = rest[rest.startIndex..<end]
            if isReference, let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[(at + 1)...] }
            guard Self.isAuthority(host) else { throw Self.malformed }
            authority = host
            rest = rest[end...]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            path = rest[rest.startIndex..<mark]
            query = rest[(mark + 1)...]
        } else {
            path = rest
        }
    }

    private static var malformed: HTTPError { HTTPError(.badRequest, "The address of this request is malformed.") }

    private static func schemeLength(_ text: ArraySlice<UInt8>) -> Int? {
        for scheme in ["http://", "https://"] where text.count >= scheme.utf8.count {
            if ASCII.equalIgnoringCase(text.prefix(scheme.utf8.count), scheme.utf8) { return scheme.utf8.count }
        }
        return nil
    }

    /// Whether `text` is a host with an optional port, and nothing else.
    ///
    /// RFC 3986 §3.2.2.
    package static func isAuthority(_ text: ArraySlice<UInt8>) -> Bool {
        guard let lead = text.first else { return false }
        var rest = text
        if lead == UInt8(ascii: "[") {
            guard let close = text.firstIndex(of: UInt8(ascii: "]")), close > text.startIndex + 1 else { return false }
            for byte in text[(text.startIndex + 1)..<close]
            where ASCII.hexValue(byte) == nil && byte != UInt8(ascii: ":") && byte != UInt8(ascii: ".") {
                return false
            }
            rest = text[(close + 1)...]
            if rest.isEmpty { return true }
        } else {
            let end = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
            let host = text[text.startIndex..<end]
            guard !host.isEmpty, isName(host) else { return false }
            rest = text[end...]
            if rest.isEmpty { return true }
        }
        guard rest.first == UInt8(ascii: ":") else { return false }
        let port = rest.dropFirst()
        // An empty port is allowed by the grammar.
        return port.isEmpty || (port.count <= 5 && (ASCII.decimal(port) ?? 65_536) <= 65_535)
    }

    private static func isName(_ host: ArraySlice<UInt8>) -> Bool {
        host.allSatisfy { byte in
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~") || byte == UInt8(ascii: "%")
        }
    }

    /// The path in the share that an undecoded absolute path names.
    ///
    /// Split at `/` first; then each segment is decoded once. Empty segments are skipped, and so are literal single
    /// dots (RFC 3986 §5.2.4): apt joins addresses in a way that leaves some.
    /// - Parameters:
    ///   - text: begins with a slash, or is empty (the root).
    ///   - prefix: percent-encoded, without a trailing slash; must come first.
    /// - Returns: the path, and whether the text ended in a slash.
    /// - Throws: ``HTTPError`` 400 for `..`, an encoded dot, an encoded slash or NUL and an invalid escape; 404 outside
    ///   the prefix; 414 for a path longer than file systems support.
    package static func decode(
        path text: ArraySlice<UInt8>, below prefix: String = ""
    ) throws(HTTPError) -> (path: SharePath, hasTrailingSlash: Bool) {
        guard let rest = rest(of: text, below: prefix) else {
            throw HTTPError(.notFound, "There is nothing at this address.")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rest.count)
        var start = rest.startIndex
        while start < rest.endIndex {
            let end = rest[(start + 1)...].firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            if end > start + 1, !(end == start + 2 && rest[start + 1] == UInt8(ascii: ".")) {
                if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
                try append(segment: rest[(start + 1)..<end], to: &bytes)
            }
            start = end
        }
        guard bytes.count <= SharePath.longestPath else {
            throw HTTPError(.uriTooLong, "This path is longer than a disk can hold.")
        }
        return (SharePath(unchecked: bytes), meansFolder(rest))
    }

    /// Whether an undecoded path ends in a slash, or in a slash and a dot.
    static func meansFolder(_ path: ArraySlice<UInt8>) -> Bool {
        path.isEmpty || path.last == UInt8(ascii: "/") || path.suffix(2).elementsEqual("/.".utf8)
    }

    /// The part of an undecoded absolute path after a prefix, however either is encoded.
    ///
    /// RFC 3986 §6.2.2.2.
    /// - Parameters:
    ///   - text: begins with a slash, or is empty.
    ///   - prefix: percent-encoded, without a trailing slash.
    /// - Returns: an empty slice, or one that begins with a slash; nil for a path outside the prefix.
    static func rest(of text: ArraySlice<UInt8>, below prefix: String) -> ArraySlice<UInt8>? {
        var rest = text
        if rest.starts(with: prefix.utf8) {
            rest = rest.dropFirst(prefix.utf8.count)
        } else {
            var wanted = Array(prefix.utf8)[...]
            while !wanted.isEmpty {
                guard let byte = firstMeant(&wanted), byte == firstMeant(&rest) else { return nil }
            }
        }
        return rest.isEmpty || rest.first == UInt8(ascii: "/") ? rest : nil
    }

    /// Removes and returns the first byte of an undecoded path, decoded; nil at its end, and for an invalid escape or
    /// an encoded slash, which does not separate segments.
    static func firstMeant(_ text: inout ArraySlice<UInt8>) -> UInt8? {
        guard let byte = text.popFirst() else { return nil }
        guard byte == UInt8(ascii: "%") else { return byte }
        guard let high = text.popFirst().flatMap(ASCII.hexValue), let low = text.popFirst().flatMap(ASCII.hexValue),
            high << 4 | low != UInt8(ascii: "/")
        else { return nil }
        return high << 4 | low
    }

    private static func append(segment: ArraySlice<UInt8>, to bytes: inout [UInt8]) throws(HTTPError) {
        let begin = bytes.count
        var index = segment.startIndex
        while index < segment.endIndex {
            var byte = segment[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard segment.endIndex - index >= 2, let high = ASCII.hexValue(segment[index]),
                    let low = ASCII.hexValue(segment[index + 1])
                else { throw HTTPError(.badRequest, "The address holds a broken escape: write a percent sign as %25.") }
                byte = high << 4 | low
                index += 2
                guard byte != 0, byte != UInt8(ascii: "/") else {
                    throw HTTPError(.badRequest, "The address holds an encoded slash or NUL, which no name can.")
                }
            }
            bytes.append(byte)
        }
        let count = bytes.count - begin
        guard count <= SharePath.longestName else {
            throw HTTPError(.badRequest, "A name in the address is longer than a disk can hold.")
        }
        if bytes[begin] == UInt8(ascii: "."), count == 1 || (count == 2 && bytes[begin + 1] == UInt8(ascii: ".")) {
            throw HTTPError(.badRequest, "The address holds “.” or “..”: write it without.")
        }
    }
}
