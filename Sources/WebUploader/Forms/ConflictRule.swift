import DirectoryRoot

/// What becomes of an upload whose name is taken.
enum ConflictRule: String, Sendable {
    /// The new content takes the name.
    case replace
    /// The new file gets a number: `name (1).txt`.
    case keep
    /// The upload is refused.
    case fail

    /// The most numbers that are tried.
    static let attempts = 10_000

    /// What may stand at a name that is tried.
    var replacement: Replacement { self == .replace ? .anything : .nothing }
}
