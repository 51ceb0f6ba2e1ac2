/// Something that was deleted or replaced, and can be had back.
public struct TrashItem: Equatable, Sendable {
    /// 32 hexadecimal digits.
    public let id: String
    /// Where it was, in the asking share's terms.
    public var path: SharePath
    /// When it was deleted.
    public var deleted: Timestamp
    /// Who deleted it; nil for everybody.
    public var user: String?
    /// Whether it is a folder with all that was in it.
    public var isDirectory: Bool
    /// Bytes of a file; of a folder, whatever the file system says.
    public var size: Int64
    /// When it goes for good.
    public var expires: Timestamp
}

/// What to do when the name is taken again.
public enum TrashConflict: Sendable {
    /// Throw ``RootError/exists``.
    case fail
    /// Take the next free name: `name (1).txt`.
    case keepBoth
    /// Replace what is there, which goes to the trash itself.
    case replace
}

/// What is written down of an item; the rest is looked up.
struct TrashRecord {
    var id: String
    /// From the root.
    var path: SharePath
    var deleted: Timestamp
    /// Until then it was promised to be kept; nil in records of earlier versions.
    var expires: Timestamp?
    var user: String?

    init(id: String, path: SharePath, deleted: Timestamp, expires: Timestamp, user: String?) {
        self.id = id
        self.path = path
        self.deleted = deleted
        self.expires = expires
        self.user = user
    }

    init(id: String, payload: [UInt8]) throws(DamagedState) {
        guard let record = try StateRecord.all(in: payload).first, let path = record["path"],
            let deleted = record.time("deleted")
        else { throw DamagedState() }
        self.id = id
        self.path = SharePath(unchecked: path)
        self.deleted = deleted
        expires = record.time("expires")
        user = record.text("user")
    }

    var payload: [UInt8] {
        var record = StateRecord()
        record.set("path", path.bytes)
        record.set("deleted", deleted)
        if let expires { record.set("expires", expires) }
        record.set("user", user)
        var payload: [UInt8] = []
        record.write(to: &payload)
        return payload
    }
}
