/// What happened in a folder that somebody is watching.
public enum FolderChange: Equatable, Sendable {
    /// Members with these names came, went or changed.
    case names(Set<[UInt8]>)
    /// Too many or unclear changes: the folder should be read again.
    case all

    /// More names than this are ``all``.
    static let mostNames = 200

    /// Both changes as one.
    func merged(with other: FolderChange) -> FolderChange {
        guard case .names(let mine) = self, case .names(let theirs) = other else { return .all }
        let names = mine.union(theirs)
        return names.count > Self.mostNames ? .all : .names(names)
    }
}
