import DirectoryRoot
import ServerCore

/// What becomes of an upload whose name is taken.
enum ConflictRule: String, Sendable {
    /// The new content takes the name.
    case replace
    /// The new file gets a number: `name (1).txt`.
    case keep
    /// The upload is refused.
    case fail

    /// Reads the value of `conflict`, of a form or of an upload's metadata.
    /// - Throws: ``HTTPError`` 400 for any other word.
    init(parameter: String) throws(HTTPError) {
        guard let rule = ConflictRule(rawValue: parameter) else {
            throw HTTPError(.badRequest, "“conflict” is one of replace, keep and fail.")
        }
        self = rule
    }

    /// The most numbers that are tried.
    static let attempts = 10_000

    /// What may stand at a name that is tried.
    var replacement: Replacement { self == .replace ? .anything : .nothing }
}

extension SharePath {
    /// Tries this path, and as long as it is taken and both shall stay, the next names with a number.
    /// - Parameters:
    ///   - rule: what becomes of a name that is taken.
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
