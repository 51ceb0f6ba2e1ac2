internal import ServerCore

/// Which bytes of a file a PATCH replaces: SabreDAV's `X-Update-Range`, or `Content-Range`.
///
/// RFC 9110 §14.4, §14.5.
enum UpdateRange: Hashable, Sendable {
    /// After the last byte.
    case append
    /// From `first` on; through `last` if it was given, of a file that has or will have `whole` bytes.
    case from(first: Int64, last: Int64?, whole: Int64? = nil)
    /// The last bytes, as many as given.
    case suffix(Int64)

    /// Reads `append`, `bytes=a-b`, `bytes=a-` or `bytes=-n`.
    /// - Throws: 400 for anything else.
    init(updateRange header: String) throws(HTTPError) {
        let text = header.trimmingBlanks.lowercased()
        if text == "append" {
            self = .append
            return
        }
        guard text.hasPrefix("bytes="), let span = Self.span(text.dropFirst(6)) else {
            throw HTTPError(.badRequest, "The X-Update-Range field must be append or bytes=first-last.")
        }
        self = span
    }

    /// Reads `bytes a-b/size` or `bytes a-b/*`.
    /// - Throws: 400 for anything else.
    init(contentRange header: String) throws(HTTPError) {
        let text = header.trimmingBlanks.lowercased()
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard text.hasPrefix("bytes "), parts.count == 2, case .from(let first, let last?, _) = Self.span(parts[0]),
            parts[1] == "*" || Self.number(parts[1]).map({ $0 > last }) == true
        else { throw HTTPError(.badRequest, "The Content-Range field must be bytes first-last/size.") }
        self = .from(first: first, last: last, whole: Self.number(parts[1]))
    }

    private static func span(_ text: Substring) -> UpdateRange? {
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty { return number(ends[1]).flatMap { $0 > 0 ? .suffix($0) : nil } }
        guard let first = number(ends[0]) else { return nil }
        if ends[1].isEmpty { return .from(first: first, last: nil) }
        guard let last = number(ends[1]), last >= first, last < Int64.max else { return nil }
        return .from(first: first, last: last)
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
