/// The metadata and state of a resumable upload.
public struct UploadRecord: Equatable, Sendable {
    /// How far the upload has come.
    public enum Phase: Equatable, Sendable {
        /// Some or all of its bytes are still to come.
        case receiving
        /// Written just before the rename.
        ///
        /// Whether the rename happened is seen from the file at the target: same inode, device and, where known, birth
        /// time (inodes are reused). A copy on another file system counts only once it and its name are durable; until
        /// then the upload's bytes are kept.
        case committing(inode: UInt64, device: UInt64, born: Timestamp?, isCopy: Bool)
        /// Done: the record is kept for a while, for a client that did not get the response.
        case finished(entityTag: String, created: Bool)
    }

    /// One pair of what the service that takes the upload keeps with it.
    public struct Note: Equatable, Sendable {
        /// The service's word for it.
        public var name: String
        /// What it keeps.
        public var value: String

        /// Creates a pair.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// 32 hexadecimal digits that nobody can guess: whoever knows them may continue the upload.
    public let id: String
    /// Where the file will be, or is, from the root; nil for a partial upload.
    public var target: SharePath?
    /// The total number of bytes; nil while the client has not announced it.
    public var length: Int64?
    /// What the service that takes the upload keeps with it; ``DirectoryRoot`` does not look at it.
    public var notes: [Note]
    /// The modification time that the file will get.
    public var modified: Timestamp?
    /// The media type that the client named.
    public var mediaType: String?
    /// Whether it becomes part of another upload, instead of a file of its own.
    public var isPartial: Bool
    /// The ids of the partial uploads that it was joined from; empty for all others.
    public var parts: [String]
    /// Who began it; nil when the requester gave no name.
    public var user: String?
    /// The network that it was begun from, which stands for the requester when no name is known; nil when unknown.
    public var client: String?
    /// The number of verified bytes while more are received whose checksum is still to be checked; nil when all count.
    public var vouched: Int64?
    /// The number of bytes that are on the disk, and not only in memory; nil in records of older versions.
    public var settled: Int64?
    /// The process that last took the upload: it knows of every byte received, and whether the disk has it.
    var writer: String?
    /// When it began.
    public var created: Timestamp
    /// When it was last continued.
    public var touched: Timestamp
    /// How far it has come.
    public var phase: Phase
}

extension UploadRecord {
    init(_ record: StateRecord, id: String) throws(DamagedState) {
        guard let created = record.time("created"), let touched = record.time("touched") else { throw DamagedState() }
        self.id = id
        self.created = created
        self.touched = touched
        target = record["target"].map { SharePath(unchecked: $0) }
        length = record.number("length")
        modified = record.time("modified")
        mediaType = record.text("type")
        isPartial = record.flag("partial")
        user = record.text("user")
        client = record.text("client")
        vouched = record.number("vouched")
        settled = record.number("settled")
        // Negative numbers are not ours, and adding to them might overflow.
        guard [length, vouched, settled].allSatisfy({ $0 ?? 0 >= 0 }) else { throw DamagedState() }
        writer = record.text("writer")
        parts = record.fields.filter { $0.key == "part" }.map { String(decoding: $0.value, as: UTF8.self) }
        var notes: [Note] = []
        for (key, value) in record.fields {
            if key == "name" { notes.append(Note(name: String(decoding: value, as: UTF8.self), value: "")) }
            if key == "value", let last = notes.indices.last {
                notes[last].value = String(decoding: value, as: UTF8.self)
            }
        }
        self.notes = notes
        if let tag = record.text("etag") {
            phase = .finished(entityTag: tag, created: record.flag("new"))
        } else if let inode = record.text("inode").flatMap({ UInt64($0) }),
            let device = record.text("device").flatMap({ UInt64($0) })
        {
            phase = .committing(
                inode: inode, device: device, born: record.time("born"), isCopy: record.flag("copy"))
        } else {
            phase = .receiving
        }
    }

    var record: StateRecord {
        var record = StateRecord()
        record.set("created", created)
        record.set("touched", touched)
        record.set("target", target?.bytes)
        record.set("length", length)
        record.set("modified", modified)
        record.set("type", mediaType)
        record.set("partial", isPartial)
        record.set("user", user)
        record.set("client", client)
        record.set("vouched", vouched)
        record.set("settled", settled)
        record.set("writer", writer)
        for part in parts { record.set("part", part) }
        for note in notes {
            record.set("name", note.name)
            record.set("value", note.value)
        }
        switch phase {
        case .receiving: break
        case .committing(let inode, let device, let born, let isCopy):
            record.set("inode", String(inode))
            record.set("device", String(device))
            record.set("born", born)
            record.set("copy", isCopy)
        case .finished(let tag, let created):
            record.set("etag", tag)
            record.set("new", created)
        }
        return record
    }

    /// How many of the received bytes can be relied on when the upload continues.
    /// - Parameters:
    ///   - length: of the part file.
    ///   - reader: the process that asks. For any other process than the one that wrote them, bytes that were not
    ///     synced may be nothing but a length: there may have been a power cut in between.
    /// - Returns: the number of bytes from the start.
    func proven(of length: Int64, for reader: String) -> Int64 {
        min(length, vouched ?? .max, writer == reader ? .max : settled ?? .max)
    }

    /// Whether a copy of its bytes, on another file system, was about to get its name.
    var isCopy: Bool {
        if case .committing(_, _, _, isCopy: true) = phase { return true }
        return false
    }

    /// Whether the upload is done.
    public var isFinished: Bool {
        if case .finished = phase { return true }
        return false
    }
}

/// What a client requests when it begins a resumable upload.
public struct UploadSpec: Sendable {
    /// Where the file will be; nil for a partial upload.
    public var target: SharePath?
    /// The total number of bytes, if known.
    public var length: Int64?
    /// What may be at the target now; checked again at the end.
    public var replacing: Replacement
    /// What the service that takes the upload keeps with it; ``DirectoryRoot`` does not look at it.
    public var notes: [UploadRecord.Note]
    /// The modification time that the file will get.
    public var modified: Timestamp?
    /// The media type that the client named.
    public var mediaType: String?
    /// The network that it comes from, in any form that identifies it: requesters without a name in one network share
    /// their places for uploads.
    public var client: String?

    /// Describes an upload.
    /// - Parameters:
    ///   - target: where the file will be, in the share's terms; nil for a partial upload.
    ///   - length: the total number of bytes, if known.
    ///   - replacing: what may be at the target.
    ///   - notes: what the service that takes the upload keeps with it.
    ///   - modified: the modification time that the file shall have.
    ///   - mediaType: what the client named.
    ///   - client: the network that it comes from.
    public init(
        target: SharePath?, length: Int64?, replacing: Replacement = .anything, notes: [UploadRecord.Note] = [],
        modified: Timestamp? = nil, mediaType: String? = nil, client: String? = nil
    ) {
        self.client = client
        self.target = target
        self.length = length
        self.replacing = replacing
        self.notes = notes
        self.modified = modified
        self.mediaType = mediaType
    }
}

/// The progress of an upload, as others can see it.
public struct UploadProgress: Equatable, Sendable {
    /// The upload's metadata and state.
    public var record: UploadRecord
    /// The number of bytes received.
    public var offset: Int64
}
