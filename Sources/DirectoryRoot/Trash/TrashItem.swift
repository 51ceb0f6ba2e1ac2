/// Something that was deleted or replaced, and can be restored.
public struct TrashItem: Equatable, Sendable {
    /// 32 hexadecimal digits.
    public let id: String
    /// Where it was, in the terms of the share that asks.
    public var path: SharePath
    /// When it was deleted.
    public var deleted: Timestamp
    /// Who deleted it; nil when the requester gave no name.
    public var user: String?
    /// Whether it is a folder, with everything in it.
    public var isDirectory: Bool
    /// The size of a file in bytes; for a folder, whatever the file system reports.
    public var size: Int64
    /// When it is removed for good.
    public var expires: Timestamp
}

/// What to do when the name is in use again.
public enum TrashConflict: Sendable {
    /// Throw ``RootError/exists``.
    case fail
    /// Take the next free name: `name (1).txt`.
    case keepBoth
    /// Replace what is there, which goes to the trash itself.
    case replace
}

/// What is stored about an item; the rest is looked up.
struct TrashRecord {
    var id: String
    /// From the root.
    var path: SharePath
    var deleted: Timestamp
    /// When its promised time ends; nil in records of earlier versions.
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
