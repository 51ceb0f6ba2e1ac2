/// A change of what is in a share; all paths from the root.
public enum ShareChange: Hashable, Sendable {
    /// A file's content, new or in place of another, by whatever door.
    case upload(SharePath)
    /// One new folder.
    case createDirectory(SharePath)
    /// A file or tree gets a second one like it.
    case copy(from: SharePath, to: SharePath)
    /// A file or tree gets another name.
    case move(from: SharePath, to: SharePath)
    /// A file or tree goes, into the trash or for good.
    case delete(SharePath)
    /// Something comes back from the trash.
    case restore(SharePath)
}

/// What an app that embeds the server is asked, and told, about changes.
///
/// Called on the threads that do the change, of several at a time: answers must come soon. A refusal is answered with
/// ``RootError/forbidden``.
public protocol ShareObserver: Sendable {
    /// Whether this may happen; asked when it begins (of uploads, before their bytes come), and of uploads once more
    /// right before the name changes.
    /// - Parameters:
    ///   - change: what is about to happen.
    ///   - user: the authenticated user; nil for everybody.
    /// - Returns: false to refuse it.
    func mayHappen(_ change: ShareChange, by user: String?) -> Bool

    /// It has happened, wholly.
    /// - Parameters:
    ///   - change: what has happened.
    ///   - user: the authenticated user; nil for everybody.
    func didHappen(_ change: ShareChange, by user: String?)
}

extension ShareObserver {
    /// Allows everything.
    public func mayHappen(_ change: ShareChange, by user: String?) -> Bool { true }

    /// Does nothing.
    public func didHappen(_ change: ShareChange, by user: String?) {}
}

extension Share {
    /// Asks the app that embeds us whether something may happen.
    func ask(_ change: ShareChange) throws(RootError) {
        guard root.policy.observer?.mayHappen(change, by: user) ?? true else { throw .forbidden }
    }

    /// Tells the app that embeds us that something has happened.
    func tell(_ change: ShareChange) {
        root.policy.observer?.didHappen(change, by: user)
        afterChange?()
    }
}
