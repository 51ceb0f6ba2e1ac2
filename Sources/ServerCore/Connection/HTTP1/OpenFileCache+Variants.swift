import DirectoryRoot

extension OpenFileCache {
    /// The responses that are made from one cached file.
    enum Variant: Equatable {
        /// 200.
        case whole
        /// 206 with these bytes, at least one.
        case part(Range<Int64>)
        /// 304.
        case notModified
    }

    /// The fields of a response with a file, each line with its CR LF, except those that its variants differ in.
    struct Lines {
        /// `Content-Type`, which a 304 response does not have.
        fileprivate(set) var type: [UInt8] = []
        /// All others, without `Content-Length` and `Content-Range`.
        fileprivate(set) var others: [UInt8] = []
        /// Whether the response may be another one where `Accept-Encoding` is sent.
        fileprivate var variesByCoding = false
        /// Whether it has the tag of the file as it is, and offers ranges: conditions and ranges apply to that.
        let isSelectable: Bool

        /// - Returns: nil for a response that may be another one to someone else.
        init?(_ fields: ResponseFields, of entry: Entry) {
            isSelectable =
                fields["ETag"] == entry.attributes.entityTag.text && fields["Accept-Ranges"] == "bytes"
            others.reserveCapacity(512)
            for line in fields.lines where !ResponseFields.isSetByConnection(line.name) {
                let name = line.name.utf8
                if ASCII.equalIgnoringCase(name, "vary".utf8) {
                    // What depends on any other field must not be sent to anybody else.
                    guard ASCII.equalIgnoringCase(line.value.utf8, "accept-encoding".utf8) else { return nil }
                    variesByCoding = true
                }
                let bytes = Array(name) + ": ".utf8 + line.value.utf8 + "\r\n".utf8
                if ASCII.equalIgnoringCase(name, "content-type".utf8) { type += bytes } else { others += bytes }
            }
            guard type.count + others.count < 8 * 1_024 else { return nil }
        }

        /// Whether a request accepts the file as it is, and would not get it in another coding.
        func suit(_ head: RequestHead) -> Bool {
            guard let codings = head[.acceptEncoding] else { return true }
            guard !variesByCoding else { return false }
            // Only a weight of 0 can exclude that.
            guard codings.contains(UInt8(ascii: ";")) else { return true }
            let coding = Negotiation.coding(acceptEncoding: RequestHead.text(codings))
            return coding == .identity || coding == .gzip
        }
    }
}

extension OpenFileCache.File {
    /// Fields by which a client selects a variant.
    private static let selecting = KnownFields(.range, .ifRange, .ifNoneMatch, .ifModifiedSince, .acceptEncoding)

    /// What a GET or HEAD of this file is answered with; decides like ``FileResponder``, but only what is common.
    /// - Parameters:
    ///   - head: a request with none of the fields that keep it from the cache.
    ///   - ranges: the most spans that are served.
    /// - Returns: nil when the cache does not have it.
    func variant(for head: RequestHead, ranges: Int) -> OpenFileCache.Variant? {
        let known = head.known
        guard !known.isDisjoint(with: Self.selecting) else { return .whole }
        guard lines.isSelectable, head.repeated.isDisjoint(with: Self.selecting), lines.suit(head) else { return nil }
        let fields = RequestFields(head: head)
        switch Conditions(fields).evaluate(entry.attributes, isRead: true, takesGzip: false) {
        case .failed: return nil
        case .notModified: return .notModified
        case .proceed: break
        }
        guard head.methodRange.count == 3, let range = fields["range"],
            Conditions.allowsRange(ifRange: fields["if-range"], of: entry.attributes)
        else { return .whole }
        switch RangeSelection(field: range, size: entry.attributes.size, limit: ranges) {
        case .whole: return .whole
        case .spans(let spans): return spans.count == 1 ? spans.first.map { .part($0) } : nil
        case .unsatisfiable: return nil
        }
    }
}
