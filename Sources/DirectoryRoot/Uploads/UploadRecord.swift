/// What is known of a resumable upload besides its bytes.
public struct UploadRecord: Equatable, Sendable {
    /// How far it has come.
    public enum Phase: Equatable, Sendable {
        /// Its bytes are still to come, some or all.
        case receiving
        /// The name was about to change when the record was written; what has it now tells whether it did, also by when
        /// it was made, where that is known: another file can have the inode later. What is a copy, on another disk,
        /// counts once that disk has it and its name: until then the upload's own bytes stay.
        case committing(inode: UInt64, device: UInt64, born: Timestamp?, isCopy: Bool)
        /// Done: the record stays a while, for a client that did not get the answer.
        case finished(entityTag: String, created: Bool)
    }

    /// One pair of what the service that takes the upload keeps with it.
    public struct Note: Equatable, Sendable {
        /// The service's word for it.
        public var name: String
        /// What it keeps.
        public var value: String

        /// Makes a pair.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// 32 hexadecimal digits that nobody can guess: who knows them may go on with the upload.
    public let id: String
    /// Where the file shall be, or is, from the root; nil for a partial upload.
    public var target: SharePath?
    /// All the bytes that will come; nil while the client has not said.
    public var length: Int64?
    /// What the service that takes the upload keeps with it; ``DirectoryRoot`` does not look at it.
    public var notes: [Note]
    /// The modification time that the file shall have.
    public var modified: Timestamp?
    /// The media type that the client named.
    public var mediaType: String?
    /// A piece that becomes part of another upload, and no file of its own.
    public var isPartial: Bool
    /// The pieces that this upload was joined of; empty for all others.
    public var parts: [String]
    /// Who began it; nil for everybody.
    public var user: String?
    /// Whose place it takes when nobody's name is known: the network that it was begun from; nil where that is not
    /// known.
    public var client: String?
    /// So many bytes are vouched for while more come that a check sum has yet to prove; nil when all are.
    public var vouched: Int64?
    /// So many bytes are on the disk, and not only in memory; nil in records of older versions, which did not say.
    public var settled: Int64?
    /// The process that took the upload last: it knows of every byte that has come, and whether the disk took it.
    var writer: String?
    /// When it began.
    public var created: Timestamp
    /// When it was last gone on with.
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
        // What is less than nothing is another program's, and no sum with it is safe.
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

    /// How many of the bytes that have come can be gone on from.
    /// - Parameters:
    ///   - length: of the part file.
    ///   - reader: the process that asks. To any other than the one that wrote them, bytes that were not waited for may
    ///     be nothing but a length: the power may have been cut between.
    /// - Returns: so many from the start.
    func proven(of length: Int64, for reader: String) -> Int64 {
        min(length, vouched ?? .max, writer == reader ? .max : settled ?? .max)
    }

    /// Whether its name was about to go to a copy of its bytes.
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

/// What a client asks for when it begins a resumable upload.
public struct UploadSpec: Sendable {
    /// Where the file shall be; nil for a partial upload.
    public var target: SharePath?
    /// All the bytes that will come, where known.
    public var length: Int64?
    /// What may be at the target now; asked again at the end.
    public var replacing: Replacement
    /// What the service that takes the upload keeps with it; ``DirectoryRoot`` does not look at it.
    public var notes: [UploadRecord.Note]
    /// The modification time that the file shall have.
    public var modified: Timestamp?
    /// The media type that the client named.
    public var mediaType: String?
    /// The network that it comes from, in any form that tells one from another: who has no name shares the places for
    /// uploads by it.
    public var client: String?

    /// Describes an upload.
    /// - Parameters:
    ///   - target: where the file shall be, in the share's terms; nil for a partial upload.
    ///   - length: all the bytes, where known.
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

/// An upload that others can see going on.
public struct UploadProgress: Equatable, Sendable {
    /// What is known of it.
    public var record: UploadRecord
    /// The bytes that have come.
    public var offset: Int64
}
