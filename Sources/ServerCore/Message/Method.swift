/// A request method, case-sensitive; RFC 9110 §9.
public struct Method: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// As in the request line.
    public let rawValue: String

    /// Any method, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// As in the request line.
    public var description: String { rawValue }

    /// Whether any service of this project knows the method.
    ///
    /// A server answers 501 to methods that none of its own handlers lists in ``Handler/methods``.
    public var isKnown: Bool { Self.known.contains(self) }

    /// Whether the method changes nothing, so that pages of other sites may make a browser send it.
    ///
    /// RFC 9110 §9.2.1.
    var isSafe: Bool {
        self == .get || self == .head || self == .options || self == .propfind || self == .report
    }

    /// Every method that some service of this project knows.
    static let known: [Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .propfind, .proppatch, .mkcol, .copy, .move, .lock,
        .unlock, .report,
    ]

    /// Read a file or a folder.
    public static let get = Method(rawValue: "GET")
    /// Like GET, without the body.
    public static let head = Method(rawValue: "HEAD")
    /// Forms, log-in, and the JSON interface.
    public static let post = Method(rawValue: "POST")
    /// Write a whole file.
    public static let put = Method(rawValue: "PUT")
    /// Write a part of a file, or continue an upload.
    public static let patch = Method(rawValue: "PATCH")
    /// Remove a file or a tree.
    public static let delete = Method(rawValue: "DELETE")
    /// Ask what is supported.
    public static let options = Method(rawValue: "OPTIONS")
    /// Read properties; RFC 4918 §9.1.
    public static let propfind = Method(rawValue: "PROPFIND")
    /// Change properties; RFC 4918 §9.2.
    public static let proppatch = Method(rawValue: "PROPPATCH")
    /// Create a folder; RFC 4918 §9.3.
    public static let mkcol = Method(rawValue: "MKCOL")
    /// Copy a file or a tree; RFC 4918 §9.8.
    public static let copy = Method(rawValue: "COPY")
    /// Move a file or a tree; RFC 4918 §9.9.
    public static let move = Method(rawValue: "MOVE")
    /// Take or refresh a lock; RFC 4918 §9.10.
    public static let lock = Method(rawValue: "LOCK")
    /// End a lock; RFC 4918 §9.11.
    public static let unlock = Method(rawValue: "UNLOCK")
    /// Ask what changed since a token; RFC 3253 §3.6, RFC 6578.
    public static let report = Method(rawValue: "REPORT")
}
