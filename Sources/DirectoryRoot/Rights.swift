/// What one requester may do at a place.
public struct Rights: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Read contents and listings.
    public static let read = Rights(rawValue: 1)
    /// Create new names.
    public static let create = Rights(rawValue: 2)
    /// Replace contents and properties of what exists.
    public static let overwrite = Rights(rawValue: 4)
    /// Delete and move away.
    public static let delete = Rights(rawValue: 8)

    public static let readOnly: Rights = [.read]
    public static let readWrite: Rights = [.read, .create, .overwrite, .delete]
    /// A drop box: upload, see nothing.
    public static let dropBox: Rights = [.create]
    public static let none: Rights = []
}

/// Rights by path: the deepest rule whose path is the asked one or contains it wins.
public struct RightsMap: Sendable {
    public var rules: [(path: SharePath, rights: Rights)]

    public init(rules: [(path: SharePath, rights: Rights)]) { self.rules = rules }

    /// Everything everywhere.
    public static let all = RightsMap(rules: [(.root, .readWrite)])
}
