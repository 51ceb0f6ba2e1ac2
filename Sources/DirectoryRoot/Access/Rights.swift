/// What one requester may do at a place.
public struct Rights: OptionSet, Hashable, Sendable {
    /// One bit a right.
    public let rawValue: UInt8

    /// The rights of these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Read contents and listings.
    public static let read = Rights(rawValue: 1)
    /// Create new names.
    public static let create = Rights(rawValue: 2)
    /// Replace contents and properties of what exists.
    public static let overwrite = Rights(rawValue: 4)
    /// Delete and move away.
    public static let delete = Rights(rawValue: 8)

    /// See everything, change nothing.
    public static let readOnly: Rights = [.read]
    /// Everything.
    public static let readWrite: Rights = [.read, .create, .overwrite, .delete]
    /// A drop box: upload, see nothing.
    public static let dropBox: Rights = [.create]
    /// Nothing: the place does not exist.
    public static let none: Rights = []
}

/// Rights by path: the deepest rule that contains the path wins; of two rules for one path, the later.
///
/// Compares bytes. ``Share`` takes care of file systems that ignore case.
public struct RightsMap: Sendable {
    /// Paths from the root, and what holds at and below them.
    public var rules: [(path: SharePath, rights: Rights)]

    /// A map of these rules.
    public init(rules: [(path: SharePath, rights: Rights)]) { self.rules = rules }

    /// Everything everywhere.
    public static let all = RightsMap(rules: [(.root, .readWrite)])

    /// What may be done at `path`; nothing where no rule holds.
    public func rights(at path: SharePath) -> Rights {
        var best: Rights = .none
        var length = -1
        for rule in rules where rule.path.bytes.count >= length && rule.path.contains(path) {
            best = rule.rights
            length = rule.path.bytes.count
        }
        return best
    }

    /// Whether something strictly below `path` may be read, so that `path` must show as the way there.
    public func leadsToReadable(below path: SharePath) -> Bool {
        rules.contains { rule in rule.rights.contains(.read) && path.isAncestor(of: rule.path) }
    }

    /// Whether a rule is for exactly this path.
    func names(_ path: SharePath) -> Bool {
        rules.contains { $0.path == path }
    }

    /// Whether `wanted` holds at `path` and at every place below it that has a rule of its own.
    public func allows(_ wanted: Rights, throughout path: SharePath) -> Bool {
        rights(at: path).isSuperset(of: wanted)
            && rules.allSatisfy { rule in
                !path.isAncestor(of: rule.path) || rights(at: rule.path).isSuperset(of: wanted)
            }
    }

    /// Whether one answer holds for everything below `path`, in whatever letters rules are written.
    func isUniform(below path: SharePath) -> Bool {
        rules(below: path).isEmpty
    }
}
