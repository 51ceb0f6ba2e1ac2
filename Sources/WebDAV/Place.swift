internal import DirectoryRoot

/// A resource as an `href` names it: a collection with a last slash.
///
/// RFC 4918 §5.2.
struct Place: Hashable, Sendable {
    var path: SharePath
    var isDirectory: Bool

    init(_ path: SharePath, isDirectory: Bool) {
        self.path = path
        self.isDirectory = isDirectory
    }

    /// Looks what is there; whatever can't be looked at is named without a slash.
    ///
    /// Waits for the disk.
    init(_ path: SharePath, in share: Share) {
        self.path = path
        isDirectory = path.isRoot || (try? share.attributes(of: path).isDirectory) == true
    }
}

extension XMLWriter {
    /// An `href` element.
    mutating func appendHref(_ place: Place, prefix: [UInt8]) {
        append("<D:href>")
        append(bytes: prefix)
        append("/")
        appendPath(place.path.bytes)
        if place.isDirectory, !place.path.isRoot { append("/") }
        append("</D:href>")
    }
}
