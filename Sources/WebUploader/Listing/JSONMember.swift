import DirectoryRoot

/// One member of a listing or of a search as a line of JSON.
///
/// `{"name":"b.txt","type":"file","size":12,"modified":1700000000123,"etag":"\"…\""}`; `href` only if the
/// percent-encoding of `name` is not the address.
struct JSONMember {
    /// The percent-encoded address of the folder, with a trailing slash.
    let base: [UInt8]
    /// Whether files have their entity tags, which are half of a line.
    var hasTags = true

    /// Writes a member of the folder itself.
    func write(
        _ name: [UInt8], _ attributes: FileAttributes, lockOwner: [UInt8]? = nil, to writer: inout TextWriter
    ) {
        writer.raw(#"{"name":"#)
        if !writer.json(name) { href(name, attributes, to: &writer) }
        finish(attributes, lockOwner: lockOwner, to: &writer)
    }

    /// Writes a member of a folder below this one.
    /// - Parameters:
    ///   - path: relative to the folder at `base`.
    ///   - shown: the path in the page, with a leading slash.
    ///   - attributes: its attributes.
    ///   - writer: receives the line.
    func write(
        path: [UInt8], shown: [UInt8], _ attributes: FileAttributes, to writer: inout TextWriter
    ) {
        let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        writer.raw(#"{"name":"#)
        writer.json(Array(path[start...]))
        writer.raw(#","path":"#)
        if !writer.json(shown) { href(path, attributes, to: &writer) }
        finish(attributes, lockOwner: nil, to: &writer)
    }

    private func href(_ path: [UInt8], _ attributes: FileAttributes, to writer: inout TextWriter) {
        writer.raw(#","href":""#)
        writer.raw(base)
        writer.address(path)
        if attributes.isDirectory { writer.raw("/") }
        writer.raw("\"")
    }

    private func finish(_ attributes: FileAttributes, lockOwner: [UInt8]?, to writer: inout TextWriter) {
        if attributes.isDirectory {
            writer.raw(#","type":"directory""#)
        } else {
            writer.raw(#","type":"file","size":"#)
            writer.integer(attributes.size)
        }
        writer.raw(#","modified":"#)
        writer.integer(attributes.modified.milliseconds)
        if hasTags, !attributes.isDirectory {
            writer.raw(#","etag":"\"#)
            writer.entityTag(attributes.entityTag)
            writer.dropLast()
            writer.raw(#"\"""#)
        }
        if let lockOwner {
            writer.raw(#","locked":{"owner":"#)
            writer.json(lockOwner)
            writer.raw("}")
        }
        writer.raw("}")
    }
}
