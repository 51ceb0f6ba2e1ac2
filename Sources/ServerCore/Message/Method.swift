/// A request method; case-sensitive. RFC 9110 §9.
public struct Method: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    public static let get = Method(rawValue: "GET")
    public static let head = Method(rawValue: "HEAD")
    public static let post = Method(rawValue: "POST")
    public static let put = Method(rawValue: "PUT")
    public static let patch = Method(rawValue: "PATCH")
    public static let delete = Method(rawValue: "DELETE")
    public static let options = Method(rawValue: "OPTIONS")
    public static let propfind = Method(rawValue: "PROPFIND")
    public static let proppatch = Method(rawValue: "PROPPATCH")
    public static let mkcol = Method(rawValue: "MKCOL")
    public static let copy = Method(rawValue: "COPY")
    public static let move = Method(rawValue: "MOVE")
    public static let lock = Method(rawValue: "LOCK")
    public static let unlock = Method(rawValue: "UNLOCK")
    public static let report = Method(rawValue: "REPORT")
}
