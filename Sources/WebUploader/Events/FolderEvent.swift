import DirectoryRoot
import ServerCore

/// What an event stream tells.
enum FolderEvent: Sendable {
    /// Members came, went or changed.
    case changed(FolderChange)
    /// The uploads that go on, as the JSON to send.
    case uploads([UInt8])
    /// Nothing happened; says so, that everybody on the way keeps the connection.
    case keepAlive
}

extension TextWriter {
    /// Writes an event as server-sent events are written.
    ///
    /// One `event` and one `data` line. WHATWG HTML §9.2.
    mutating func event(_ event: FolderEvent) {
        switch event {
        case .changed(.names(let names)) where names.allSatisfy(UTF8Scan.isValid):
            raw("event: changed\ndata: {\"names\":")
            jsonList(names.sorted(by: { $0.lexicographicallyPrecedes($1) })) { $0.json($1) }
            raw("}\n\n")
        // Names that JSON cannot say can't be asked for one by one either.
        case .changed: raw("event: changed\ndata: {\"all\":true}\n\n")
        case .uploads(let list):
            raw("event: uploads\ndata: ")
            raw(list)
            raw("\n\n")
        case .keepAlive: raw(":\n\n")
        }
    }

    /// Writes the uploads that go on, without what would let others go on with them.
    mutating func json(_ uploads: [UploadProgress]) { jsonList(uploads) { $0.json($1) } }

    private mutating func json(_ upload: UploadProgress) {
        let target = upload.record.target ?? .root
        raw(#"{"name":"#)
        json(Array(target.name))
        raw(#","path":"#)
        json([UInt8(ascii: "/")] + target.bytes)
        raw(#","size":"#)
        if let length = upload.record.length { integer(length) } else { raw("null") }
        raw(#","offset":"#)
        integer(upload.offset)
        if let user = upload.record.user {
            raw(#","user":"#)
            json(user)
        }
        raw("}")
    }
}
