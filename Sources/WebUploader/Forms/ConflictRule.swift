import DirectoryRoot
import ServerCore

/// What to do with an upload whose name is taken.
enum ConflictRule: String, Sendable {
    /// The new content replaces the old.
    case replace
    /// The new file gets a number: `name (1).txt`.
    case keep
    /// The upload is refused.
    case fail

    /// Parses the value of `conflict` in a form or in an upload's metadata.
    /// - Throws: ``HTTPError`` 400 for any other word.
    init(parameter: String) throws(HTTPError) {
        guard let rule = ConflictRule(rawValue: parameter) else {
            throw HTTPError(.badRequest, "“conflict” is one of replace, keep and fail.")
        }
        self = rule
    }

    /// The highest number that is tried.
    static let attempts = 10_000

    /// What may be at a name that is tried.
    var replacement: Replacement { self == .replace ? .anything : .nothing }
}

extension SharePath {
    /// Tries this path and, as long as it is taken and both files are to be kept, the next names with a number.
    /// - Parameters:
    ///   - rule: what to do when a name is taken.
    ///   - first: the number to begin with; 0 is the path itself.
    ///   - attempt: gets a path and its number; throws ``RootError/exists`` where the path is taken, or
    ///     ``RootError/isDirectory`` by a folder.
    /// - Returns: what `attempt` gives.
    /// - Throws: what `attempt` throws; ``RootError/invalidName`` when a name with a number is too long.
    func withFreeName<Answer>(
        by rule: ConflictRule?, from first: Int = 0, _ attempt: (SharePath, Int) throws -> Answer
    ) throws -> Answer {
        var number = first
        while true {
            let path = try numbered(number)
            do {
                return try attempt(path, number)
            } catch let error as RootError
                where [.exists, .isDirectory].contains(error) && rule == .keep && number < ConflictRule.attempts
            {
                number += 1
            }
        }
    }
}
