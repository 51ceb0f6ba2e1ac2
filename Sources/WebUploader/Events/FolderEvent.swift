import DirectoryRoot
import ServerCore

/// An event of an event stream.
enum FolderEvent: Sendable {
    /// Members came, went or changed.
    case changed(FolderChange)
    /// The uploads in progress, as JSON.
    case uploads([UInt8])
    /// Nothing happened; sent so that intermediaries keep the connection open.
    case keepAlive
}

extension TextWriter {
    /// Writes an event in the format of server-sent events.
    ///
    /// One `event` line and one `data` line. WHATWG HTML §9.2.
    mutating func event(_ event: FolderEvent) {
        switch event {
        case .changed(.names(let names)) where names.allSatisfy(UTF8Scan.isValid):
            raw("event: changed\ndata: {\"names\":")
            jsonList(names.sorted(by: { $0.lexicographicallyPrecedes($1) })) { $0.json($1) }
            raw("}\n\n")
        // Names that JSON can't express can't be requested one by one either.
        case .changed: raw("event: changed\ndata: {\"all\":true}\n\n")
        case .uploads(let list):
            raw("event: uploads\ndata: ")
            raw(list)
            raw("\n\n")
        case .keepAlive: raw(":\n\n")
        }
    }

    /// Writes the uploads in progress, without what would allow others to continue them.
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
