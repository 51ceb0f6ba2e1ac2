package import DirectoryRoot

/// The `If` field: conditions on state tokens and entity tags of any resource; lock tokens are submitted in it.
///
/// RFC 4918 §10.4.
package struct IfHeader: Hashable, Sendable {
    /// One condition on a resource, or its negation with `Not`.
    package struct Condition: Hashable, Sendable {
        /// What the condition is about.
        package enum Subject: Hashable, Sendable {
            /// A lock with this token covers the resource.
            case state(LockToken)
            /// The resource is a collection in this state.
            ///
            /// RFC 6578 §5.
            case collection(SyncToken)
            /// Its content has this entity tag.
            ///
            /// As sent, with its quotes, perhaps weak.
            case entityTag(String)
        }

        package var isNegated: Bool
        package var subject: Subject

        var isOfCollection: Bool {
            if case .collection = subject { true } else { false }
        }
    }

    /// True when all of its conditions are true for one resource.
    package struct List: Hashable, Sendable {
        /// The tagged resource as sent; nil for the request's own target.
        package var resource: String?
        package var conditions: [Condition]
    }

    /// At least one; the field is true when any of them is.
    package let lists: [List]

    /// The most conditions, more than any client sends: each may cost a disk access.
    private static let maxConditions = 512
    /// The most conditions on collection states, more than any client sends: each may cost a walk through a tree.
    private static let maxCollections = 16

    /// Parses the field by the grammar of RFC 4918 §10.4.2.
    /// - Throws: 400 when it does not follow the grammar, or has more than 512 conditions, or more than 16 on
    ///   collections.
    package init(header: String) throws(HTTPError) {
        var scanner = Scanner(text: Array(header.utf8))
        guard let lists = scanner.lists(), lists.reduce(0, { $0 + $1.conditions.count }) <= Self.maxConditions,
            lists.reduce(0, { $0 + $1.conditions.count(where: \.isOfCollection) }) <= Self.maxCollections
        else {
            throw HTTPError(.badRequest, "The If field does not follow its grammar.")
        }
        self.lists = lists
    }

    /// Every lock token that occurs anywhere in the field: that alone submits it.
    ///
    /// RFC 4918 §10.4.1.
    package var tokens: [LockToken] {
        lists.flatMap(\.conditions).compactMap {
            if case .state(let token) = $0.subject { token } else { nil }
        }
    }
}

extension IfHeader {
    private struct Scanner {
        let text: [UInt8]
        var position = 0

        init(text: [UInt8]) { self.text = text }

        /// Nil when the whole text is not one `If` value.
        mutating func lists() -> [List]? {
            var lists: [List] = []
            var resource: String?
            var expectsList = false
            while let byte = nextAfterBlanks() {
                switch byte {
                case UInt8(ascii: "<"):
                    // Untagged lists can't be followed by tagged ones, and each tag needs a list.
                    guard !expectsList, lists.isEmpty || resource != nil,
                        let tag = bracketed(by: UInt8(ascii: ">"), isAddress: true),
                        tag.hasPrefix("/") || AbsoluteURI.isValid(tag.replacing(" ", with: "%20"))
                    else { return nil }
                    resource = tag
                    expectsList = true
                case UInt8(ascii: "("):
                    guard let conditions = conditions() else { return nil }
                    lists.append(List(resource: resource, conditions: conditions))
                    expectsList = false
                default: return nil
                }
            }
            return expectsList || lists.isEmpty ? nil : lists
        }

        /// Parses from an opening parenthesis to just after its closing one.
        private mutating func conditions() -> [Condition]? {
            position += 1
            var conditions: [Condition] = []
            var isNegated = false
            while let byte = nextAfterBlanks() {
                switch byte {
                case UInt8(ascii: ")"):
                    position += 1
                    return isNegated || conditions.isEmpty ? nil : conditions
                case UInt8(ascii: "<"):
                    guard let uri = bracketed(by: UInt8(ascii: ">")), AbsoluteURI.isValid(uri) else { return nil }
                    let subject = SyncToken(uri).map { Condition.Subject.collection($0) }
                    conditions.append(
                        Condition(isNegated: isNegated, subject: subject ?? .state(LockToken(uri: uri))))
                    isNegated = false
                case UInt8(ascii: "["):
                    guard let tag = entityTag() else { return nil }
                    conditions.append(Condition(isNegated: isNegated, subject: .entityTag(tag)))
                    isNegated = false
                case UInt8(ascii: "N"), UInt8(ascii: "n"):
                    guard !isNegated, text[position...].prefix(3).map({ $0 | 0x20 }) == Array("not".utf8) else {
                        return nil
                    }
                    position += 3
                    isNegated = true
                default: return nil
                }
            }
            return nil
        }

        /// The text between the bracket at `position` and the next `end`; nil when it is empty, not closed or contains
        /// blanks.
        ///
        /// In an address that is not a state token, a blank stands for itself, as in ``RequestTarget``.
        private mutating func bracketed(by end: UInt8, isAddress: Bool = false) -> String? {
            guard let close = text[position...].firstIndex(of: end), close > position + 1 else { return nil }
            let inner = text[(position + 1)..<close]
            guard inner.allSatisfy({ $0 > (isAddress ? 0x1F : 0x20) && $0 != UInt8(ascii: "<") }) else { return nil }
            position = close + 1
            return String(decoding: inner, as: UTF8.self)
        }

        /// Parses `[` entity-tag `]`; the tag's quoted part may contain brackets.
        private mutating func entityTag() -> String? {
            var cursor = position + 1
            skipBlanks(&cursor)
            let start = cursor
            if cursor < text.count, text[cursor] == UInt8(ascii: "W") {
                guard cursor + 1 < text.count, text[cursor + 1] == UInt8(ascii: "/") else { return nil }
                cursor += 2
            }
            guard cursor < text.count, text[cursor] == UInt8(ascii: "\""),
                let close = text[(cursor + 1)...].firstIndex(of: UInt8(ascii: "\""))
            else { return nil }
            let tag = text[start...close]
            cursor = close + 1
            skipBlanks(&cursor)
            guard cursor < text.count, text[cursor] == UInt8(ascii: "]") else { return nil }
            position = cursor + 1
            return String(decoding: tag, as: UTF8.self)
        }

        private mutating func nextAfterBlanks() -> UInt8? {
            skipBlanks(&position)
            return position < text.count ? text[position] : nil
        }

        private func skipBlanks(_ cursor: inout Int) {
            while cursor < text.count, text[cursor] == 0x20 || text[cursor] == 0x09 { cursor += 1 }
        }
    }
}
