public import DirectoryRoot

/// The conditional fields of a request, and their precedence.
///
/// RFC 9110 §13.1, §13.2.2. A date that can't be read is ignored.
public struct Conditions: Sendable {
    /// The result of evaluating the conditions.
    public enum Outcome: Sendable {
        /// Perform the method.
        case proceed
        /// 304: the client of a GET or HEAD already has the current content.
        case notModified
        /// 412.
        case failed
    }

    private var ifMatch: EntityTagList?
    private var ifUnmodifiedSince: Int64?
    private var ifNoneMatch: EntityTagList?
    private var ifModifiedSince: Int64?

    /// Reads the four fields.
    /// - Parameters:
    ///   - ifMatch: the value of `If-Match`, lines joined by commas.
    ///   - ifNoneMatch: the value of `If-None-Match`, lines joined by commas.
    ///   - ifModifiedSince: the value of `If-Modified-Since`.
    ///   - ifUnmodifiedSince: the value of `If-Unmodified-Since`.
    package init(
        ifMatch: String? = nil, ifNoneMatch: String? = nil, ifModifiedSince: String? = nil,
        ifUnmodifiedSince: String? = nil
    ) {
        self.ifMatch = ifMatch.map { EntityTagList(field: $0) }
        self.ifNoneMatch = ifNoneMatch.map { EntityTagList(field: $0) }
        self.ifModifiedSince = ifModifiedSince.flatMap { HTTPDate.parse($0) }
        self.ifUnmodifiedSince = ifUnmodifiedSince.flatMap { HTTPDate.parse($0) }
    }

    /// Reads the conditional fields of a request.
    public init(_ fields: RequestFields) {
        self.init(
            ifMatch: fields["if-match"], ifNoneMatch: fields["if-none-match"],
            ifModifiedSince: fields["if-modified-since"], ifUnmodifiedSince: fields["if-unmodified-since"])
    }

    /// Whether there is no condition at all.
    public var isEmpty: Bool {
        ifMatch == nil && ifNoneMatch == nil && ifModifiedSince == nil && ifUnmodifiedSince == nil
    }

    /// Evaluates the conditions against what is at the address now.
    /// - Parameters:
    ///   - current: its attributes; nil when nothing is there.
    ///   - isRead: whether the method is GET or HEAD.
    ///   - takesGzip: whether the request accepts this content as gzip; a client that has the gzip variant and no
    ///     longer accepts it has nothing usable.
    /// - Returns: what to do.
    public func evaluate(_ current: FileAttributes?, isRead: Bool, takesGzip: Bool = true) -> Outcome {
        if let ifMatch {
            guard Self.isNamed(current, by: ifMatch.matchesStrongly) else { return .failed }
        } else if let ifUnmodifiedSince, let current, current.modified.seconds > ifUnmodifiedSince {
            return .failed
        }
        if let ifNoneMatch {
            guard Self.isNamed(current, by: ifNoneMatch.matchesWeakly, asGzip: takesGzip) else { return .proceed }
            return isRead ? .notModified : .failed
        }
        if isRead, let ifModifiedSince, let current, current.modified.seconds <= ifModifiedSince { return .notModified }
        return .proceed
    }

    /// Evaluates the conditions for a GET or HEAD of something that exists but has neither entity tag nor date: a
    /// listing.
    ///
    /// No listed tag can match; dates are ignored. RFC 9110 §13.1.
    package func evaluateUntagged() -> Outcome {
        if let ifMatch, ifMatch != .any { return .failed }
        return ifNoneMatch == .any ? .notModified : .proceed
    }

    /// Whether a listed tag is that of what exists; its content may have been sent as it is or as gzip.
    private static func isNamed(
        _ current: FileAttributes?, by matches: (String) -> Bool, asGzip: Bool = true
    ) -> Bool {
        guard let tag = current?.entityTag else { return false }
        return matches(tag.text) || asGzip && matches(tag.gzipText)
    }

    /// The condition that a write passes to the share, so that it is checked again under the lock that renames.
    ///
    /// ``Replacement/anything`` without any condition.
    public var replacement: Replacement {
        guard !isEmpty else { return .anything }
        return .when { evaluate($0, isRead: false) == .proceed }
    }

    /// Whether a `Range` may be answered with a part: the client's `If-Range` still names this content.
    ///
    /// Compares strongly. A date must equal the modification time to the second, and that second must be over: within
    /// it the content may have changed once more. RFC 9110 §8.8.2.2, §13.1.5.
    /// - Parameters:
    ///   - field: the value of `If-Range`; nil when absent.
    ///   - attributes: of the file.
    /// - Returns: false when the whole content must be sent.
    static func allowsRange(ifRange field: String?, of attributes: FileAttributes) -> Bool {
        guard let field else { return true }
        if field.utf8.contains(UInt8(ascii: "\"")) {
            // One tag, not a list: a client can't have one part of each of several contents.
            let list = EntityTagList(field: field)
            guard case .tags(let tags) = list, tags.count == 1 else { return false }
            return list.matchesStrongly(attributes.entityTag.text)
        }
        return HTTPDate.parse(field) == attributes.modified.seconds
            && attributes.modified.seconds < RootClock.system.wall().seconds
    }
}
