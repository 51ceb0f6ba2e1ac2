internal import DirectoryRoot

/// A resource as an `href` names it: a collection with a trailing slash.
///
/// RFC 4918 §5.2.
struct Place: Hashable, Sendable {
    var path: SharePath
    var isDirectory: Bool

    init(_ path: SharePath, isDirectory: Bool) {
        self.path = path
        self.isDirectory = isDirectory
    }

    /// Looks up whether it is a folder; one that can't be looked at is named without a slash.
    ///
    /// Waits for the disk.
    init(_ path: SharePath, in share: Share) {
        self.path = path
        isDirectory = path.isRoot || (try? share.attributes(of: path).isDirectory) == true
    }
}

extension XMLWriter {
    /// Appends an `href` element.
    mutating func appendHref(_ place: Place, prefix: [UInt8]) {
        append("<D:href>")
        append(bytes: prefix)
        append("/")
        appendPath(place.path.bytes)
        if place.isDirectory, !place.path.isRoot { append("/") }
        append("</D:href>")
    }
}
