internal import DirectoryRoot
internal import Synchronization

/// The locks that were in force when a request's `If` field was first found true.
///
/// One that ends while a long body comes is no reason to drop the body, as long as nobody has taken another one or
/// changed what it covered: conditions are evaluated before the content is received. davfs2 and LibreOffice do not
/// refresh their locks during a PUT. RFC 9110 §13.2.1.
package final class EarlierLocks: Sendable {
    private struct Seen {
        var tags: [String]
        var tokens: Set<LockToken>
    }

    /// Nil before the field was found true.
    private let seen = Mutex<[SharePath: Seen]?>(nil)

    /// Records what was looked at, when it is the first time.
    func keep(_ states: [SharePath: IfHeader.State]) {
        seen.withLock { seen in
            guard seen == nil else { return }
            seen = states.mapValues { Seen(tags: $0.tags, tokens: Set($0.locks.map(\.token))) }
        }
    }

    /// Whether a lock with this token covered `path` then, and everything else there is as it was.
    /// - Parameters:
    ///   - token: of the lock.
    ///   - path: what a list of the field is about.
    ///   - isTarget: whether that is what the request changes: of a folder, only locks are known.
    ///   - now: what is there now.
    /// - Returns: false when anything is unknown, or other than it was.
    func had(_ token: LockToken, at path: SharePath, isTarget: Bool, now: IfHeader.State) -> Bool {
        guard now.locks.isEmpty, isTarget || !now.tags.isEmpty else { return false }
        return seen.withLock { seen in
            guard let then = seen?[path] else { return false }
            return then.tags == now.tags && then.tokens.contains(token)
        }
    }
}
