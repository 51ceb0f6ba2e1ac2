/// Proactive negotiation: which of the available variants a client prefers.
///
/// RFC 9110 §12.
package enum Negotiation {
    /// One member of an `Accept…` field.
    struct Member {
        var value: ArraySlice<UInt8>
        /// In thousandths, 0 to 1000.
        var weight: Int
    }

    /// The media type that the client prefers.
    ///
    /// Of two with the same weight, one that is listed itself wins over one that matches a range; of two that are
    /// listed, the first: text browsers and many libraries send no weights, and list what they prefer first.
    /// - Parameters:
    ///   - accept: the field's value; nil when absent, which accepts anything.
    ///   - offered: types without parameters, in the server's own order of preference.
    /// - Returns: nil when none is acceptable.
    package static func mediaType(accept: String?, offered: [String]) -> String? {
        guard let accept else { return offered.first }
        let members = Self.members(of: accept)
        guard !members.isEmpty else { return offered.first }
        var best: (offer: String, liking: Liking)?
        for offer in offered {
            guard let liking = liking(of: offer, in: members), liking.weight > 0 else { continue }
            if let before = best?.liking, !(before < liking) { continue }
            best = (offer, liking)
        }
        return best?.offer
    }

    /// The language that the client prefers: `de-CH` matches an offered `de`.
    ///
    /// RFC 4647 §3.4.
    /// - Parameters:
    ///   - acceptLanguage: the field's value; nil when absent.
    ///   - offered: language tags, the default first.
    /// - Returns: the first offered one when none matches.
    package static func language(acceptLanguage: String?, offered: [String]) -> String? {
        let members = acceptLanguage.map { Self.members(of: $0) } ?? []
        let ordered = members.enumerated().filter { $0.element.weight > 0 }
            .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
        for (_, member) in ordered {
            if member.value.elementsEqual("*".utf8) { return offered.first }
            var tag = member.value
            while !tag.isEmpty {
                if let found = offered.first(where: { ASCII.equalIgnoringCase($0.utf8, tag) }) { return found }
                tag = tag.lastIndex(of: UInt8(ascii: "-")).map { tag[..<$0] } ?? []
            }
        }
        return offered.first
    }

    /// The content coding for a resource that is available as it is and as gzip.
    package enum Coding: Equatable, Sendable {
        /// As it is.
        case identity
        /// As gzip, which is preferred.
        case gzip
        /// As gzip, because the client refuses it as it is.
        case gzipOnly
        /// The client refuses both.
        case none

        /// Whether the response is gzip.
        package var isGzip: Bool { self == .gzip || self == .gzipOnly }
    }

    /// Chooses between gzip and identity.
    ///
    /// RFC 9110 §12.5.3.
    package static func coding(acceptEncoding: String?) -> Coding {
        guard let acceptEncoding else { return .identity }
        let members = Self.members(of: acceptEncoding)
        func weight(_ name: String) -> Int? {
            members.first { ASCII.equalIgnoringCase($0.value, name.utf8) }?.weight
        }
        let gzip = weight("gzip") ?? weight("x-gzip") ?? weight("*") ?? 0
        // If identity is not mentioned, it is acceptable, but after anything that is.
        let identity = weight("identity") ?? (weight("*") == 0 ? 0 : 1)
        if gzip == 0 { return identity == 0 ? .none : .identity }
        if identity == 0 { return .gzipOnly }
        return gzip >= identity ? .gzip : .identity
    }

    /// How much a client prefers one of the offered types.
    private struct Liking: Comparable {
        var weight: Int
        /// 2 for the type itself, 1 for `text/*`, 0 for `*/*`.
        var specificity: Int
        /// The position in the field, for types that are listed themselves.
        var position: Int

        static func < (one: Liking, other: Liking) -> Bool {
            (one.weight, one.specificity, -one.position) < (other.weight, other.specificity, -other.position)
        }
    }

    /// By the most specific member that matches; nil when none does.
    private static func liking(of offer: String, in members: [Member]) -> Liking? {
        let type = Array(offer.utf8.prefix { $0 != UInt8(ascii: "/") })
        var best: Liking?
        for (position, member) in members.enumerated() {
            let specificity: Int
            if ASCII.equalIgnoringCase(member.value, offer.utf8) {
                specificity = 2
            } else if ASCII.equalIgnoringCase(member.value, type + Array("/*".utf8)) {
                specificity = 1
            } else if member.value.elementsEqual("*/*".utf8) || member.value.elementsEqual("*".utf8) {
                specificity = 0
            } else {
                continue
            }
            guard specificity > best?.specificity ?? -1 else { continue }
            best = Liking(
                weight: member.weight, specificity: specificity, position: specificity == 2 ? position : 0)
        }
        return best
    }

    /// The members of a list with their weights; other parameters are dropped, and members with a malformed weight left
    /// out.
    static func members(of field: String) -> [Member] {
        field.utf8.split(separator: UInt8(ascii: ",")).compactMap { text in
            let parts = Array(text).split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                .map(ASCII.trimmed)
            guard let value = parts.first, !value.isEmpty else { return nil }
            for parameter in parts.dropFirst() {
                guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")),
                    ASCII.equalIgnoringCase(ASCII.trimmed(parameter[..<equals]), "q".utf8)
                else { continue }
                guard let weight = weight(ASCII.trimmed(parameter[(equals + 1)...])) else { return nil }
                return Member(value: value, weight: weight)
            }
            return Member(value: value, weight: 1000)
        }
    }

    /// A weight such as `0.5`, in thousandths; nil when malformed.
    private static func weight(_ text: ArraySlice<UInt8>) -> Int? {
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].elementsEqual("0".utf8) || parts[0].elementsEqual("1".utf8) else { return nil }
        let whole = parts[0].elementsEqual("1".utf8) ? 1000 : 0
        guard parts.count > 1, !parts[1].isEmpty else { return whole }
        guard parts[1].count <= 3, let fraction = ASCII.decimal(parts[1]) else { return nil }
        var scaled = Int(fraction)
        for _ in parts[1].count..<3 { scaled *= 10 }
        return whole + scaled <= 1000 ? whole + scaled : nil
    }
}
