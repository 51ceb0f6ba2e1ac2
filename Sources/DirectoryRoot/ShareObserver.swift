/// A change of what is in a share; all paths from the root.
///
/// What a copy or move replaces at its target is a part of that change, and no deletion of its own.
public enum ShareChange: Hashable, Sendable {
    /// A file's content is uploaded, new or replacing another, by any method.
    case upload(SharePath)
    /// One new folder.
    case createDirectory(SharePath)
    /// A file or tree is copied.
    case copy(from: SharePath, to: SharePath)
    /// A file or tree is moved or renamed.
    case move(from: SharePath, to: SharePath)
    /// A file or tree is deleted, into the trash or for good.
    case delete(SharePath)
    /// Something is restored from the trash.
    case restore(SharePath)
}

/// Implemented by an app that embeds the server, to be asked and informed about changes.
///
/// Called on the threads that make the changes, on several at once: must return soon. A refused change throws
/// ``RootError/forbidden``. Not told are properties, times, locks, the end of what is in the trash, and a change that
/// failed, even if a part of a tree has been removed by then.
public protocol ShareObserver: Sendable {
    /// Whether a change may happen: asked when it begins (for uploads, before their bytes arrive), and for uploads once
    /// more right before the name changes.
    /// - Parameters:
    ///   - change: what is about to happen.
    ///   - user: the authenticated user; nil when the requester gave no name.
    /// - Returns: false to refuse it.
    func mayHappen(_ change: ShareChange, by user: String?) -> Bool

    /// A change has been completed.
    /// - Parameters:
    ///   - change: what has happened.
    ///   - user: the authenticated user; nil when the requester gave no name.
    func didHappen(_ change: ShareChange, by user: String?)
}

extension ShareObserver {
    /// Allows everything.
    public func mayHappen(_ change: ShareChange, by user: String?) -> Bool { true }

    /// Does nothing.
    public func didHappen(_ change: ShareChange, by user: String?) {}
}

extension Share {
    /// Asks the embedding app whether a change may happen.
    func ask(_ change: ShareChange) throws(RootError) {
        guard root.policy.observer?.mayHappen(change, by: user) ?? true else { throw .forbidden }
    }

    /// Informs the embedding app that a change has happened.
    func tell(_ change: ShareChange) {
        root.policy.observer?.didHappen(change, by: user)
        afterChange?()
    }
}
