internal import ServerCore
internal import Synchronization

/// What the last PROPFINDs asked for, by their bodies.
///
/// Clients send the same few bodies all the time, and parsing one takes longer than the rest of a small response. Only
/// a few small bodies are kept; every other is parsed each time.
final class KnownSelections: Sendable {
    /// The most bodies kept.
    static let capacity = 16
    /// The longest body that is kept, in bytes.
    static let mostBytes = 4_096

    private struct Known {
        let body: [UInt8]
        let isMarkedUTF8: Bool
        let selection: PropertySelection
    }

    private struct State {
        var known: [Known] = []
        /// The index of the entry that is replaced next.
        var oldest = 0
    }

    private let state = Mutex(State())
    private let maxDepth: Int

    init(maxDepth: Int) { self.maxDepth = maxDepth }

    /// The properties that a PROPFIND asks for.
    /// - Parameters:
    ///   - body: its XML; empty asks for all.
    ///   - charset: the `charset` of its Content-Type.
    /// - Returns: what ``PropertySelection/init(propfind:charset:maxDepth:)`` makes of it.
    /// - Throws: 400 when it is not such a body.
    func selection(propfind body: [UInt8], charset: String?) throws -> PropertySelection {
        if let known = known(propfind: body, charset: charset) { return known }
        let selection = try PropertySelection(propfind: body, charset: charset, maxDepth: maxDepth)
        guard let isMarked = Self.isMarkedUTF8(charset), body.count <= Self.mostBytes else { return selection }
        state.withLock { state in
            let new = Known(body: body, isMarkedUTF8: isMarked, selection: selection)
            if state.known.count < Self.capacity {
                state.known.append(new)
            } else {
                state.known[state.oldest] = new
                state.oldest = (state.oldest + 1) % Self.capacity
            }
        }
        return selection
    }

    /// The same if no XML has to be parsed for it; nil otherwise.
    func known(propfind body: [UInt8], charset: String?) -> PropertySelection? {
        guard !body.isEmpty else { return .all }
        guard let isMarked = Self.isMarkedUTF8(charset), body.count <= Self.mostBytes else { return nil }
        return state.withLock { state in
            state.known.first { $0.isMarkedUTF8 == isMarked && $0.body == body }?.selection
        }
    }

    /// Whether `charset` is UTF-8; false when it is missing, nil for another.
    private static func isMarkedUTF8(_ charset: String?) -> Bool? {
        guard let charset else { return false }
        return ASCII.equalIgnoringCase(charset.utf8, "utf-8".utf8) ? true : nil
    }
}
