public import DirectoryRoot

/// GET and HEAD of an open file for every door: validators, conditions (RFC 9110 §13.2.2), ranges, content coding, disposition.
public enum FileResponder {
    /// The answer for `entry`, a file: 200, 206, 304, 412 or 416.
    ///
    /// Pure but for reading `request`.
    public static func respond(with entry: Entry, to request: Request) -> Response { fatalError() }

    /// The media type by a name's extension, with charset for text; `application/octet-stream` when unknown.
    public static func mediaType(of name: some Collection<UInt8>) -> String { fatalError() }
}
