import CSyscalls

/// New content that has not got its name yet.
///
/// If released without ``commit()``, it leaves nothing behind. Used by one task at a time. Writes go to an unnamed file
/// on the target's file system; the name changes by one rename.
public final class PendingUpload: ReceivingPlace, @unchecked Sendable {
    private let share: Share
    private let path: SharePath
    private let replacing: Replacement
    /// What was at the path when the upload began; nil for nothing.
    package let seen: FileAttributes?
    private var file: TemporaryFile?
    private var modified: Timestamp?
    /// Whether this has all that the replaced file has: the trash need not keep that.
    package var losesNothing = false
    /// The first error; every later call fails with it.
    private var failure: RootError?
    private let writer: ContentWriter
    /// The total number of bytes, if known, and how many were reported as progress.
    private let size: Int64?
    private var told: Int64 = 0
    private let began: Timestamp

    /// How many bytes are written between two progress reports: small files are complete before anybody could look.
    private static let toldInterval: Int64 = 256 << 10

    init(
        share: Share, path: SharePath, replacing: Replacement, seen: FileAttributes?, size: Int64?, file: TemporaryFile
    ) {
        self.share = share
        self.path = path
        self.replacing = replacing
        self.seen = seen
        self.file = file
        self.size = size
        writer = ContentWriter(in: share.root, size: size)
        began = share.root.state.clock.wall()
    }

    deinit { endTelling() }

    /// Bytes written so far.
    public var written: Int64 { writer.written }

    /// Appends all the bytes, or throws; waits for the disk.
    ///
    /// - Throws: ``RootError/noSpace``, ``RootError/overLimit(_:)`` and whatever else the disk reports; the upload
    ///   can't continue then.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(RootError) {
        try guarded { (file) throws(RootError) in
            try self.admit(Int64(bytes.count))
            try unsafe self.writer.write(bytes, to: file.descriptor)
        }
        tell()
    }

    package var takesPipes: Bool { writer.takesPipes }

    package func write(_ count: Int, from pipe: Int32) throws(RootError) {
        try guarded { (file) throws(RootError) in
            try self.admit(Int64(count))
            try self.writer.write(count, from: pipe, to: file.descriptor)
        }
        tell()
    }

    private func tell() {
        guard written - told >= Self.toldInterval else { return }
        told = written
        share.root.writes.note(
            WritesUnderWay.Write(target: path, length: size, offset: written, user: share.user, began: began), of: self)
    }

    private func endTelling() {
        if told > 0 { share.root.writes.end(self) }
        told = 0
    }

    /// The memory for the next bytes; see ``ReceivingPlace``.
    package func room() -> UnsafeMutableRawBufferPointer? { unsafe writer.room() }

    /// Writes out what is held in memory, since more may take long to come; waits for the disk.
    ///
    /// - Throws: as ``write(_:)-(UnsafeRawBufferPointer)``.
    package func pause() throws(RootError) {
        try guarded { (file) throws(RootError) in try self.writer.pause(file.descriptor) }
    }

    /// The same for an array.
    public func write(_ bytes: [UInt8]) throws(RootError) {
        let outcome = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(RootError) in try unsafe write(bytes) }
        }
        try outcome.get()
    }

    /// Begins with the first bytes of another file; what is written next is appended.
    ///
    /// If the file system can share blocks between files, nothing is copied.
    /// - Parameters:
    ///   - count: the number of bytes.
    ///   - entry: the open file to take them from.
    /// - Throws: ``RootError/preconditionFailed`` when that file has become shorter; and as
    ///   ``write(_:)-(UnsafeRawBufferPointer)``.
    public func begin(with count: Int64, of entry: Entry) throws(RootError) {
        try guarded { (file) throws(RootError) in
            guard self.written == 0, count >= 0 else { throw .preconditionFailed }
            try self.admit(count)
            if count > 0, self.share.root.abilities.kernelCopies, sys_clone(entry.descriptor, file.descriptor) == 0 {
                var status = sys_attributes()
                try unsafe check(sys_fstat(file.descriptor, &status), "fstat a copy")
                guard Int64(clamping: status.size) >= count else { throw .preconditionFailed }
                try check(sys_truncate(file.descriptor, count), "ftruncate a copy")
            } else {
                try FileCopy.append(0..<count, of: entry.descriptor, to: file.descriptor, at: 0)
            }
            self.writer.skip(to: count)
            try self.share.root.requireSpace(for: 0, at: file.descriptor)
        }
    }

    /// Appends what another file has after as many bytes as were written here.
    ///
    /// - Throws: as ``begin(with:of:)``.
    public func end(as entry: Entry) throws(RootError) {
        try guarded { (file) throws(RootError) in
            let size = entry.attributes.size
            guard self.written < size else { return }
            try self.admit(size - self.written)
            try self.writer.finish(file.descriptor)
            try FileCopy.append(self.written..<size, of: entry.descriptor, to: file.descriptor, at: self.written)
            self.writer.skip(to: size)
            try self.share.root.requireSpace(for: 0, at: file.descriptor)
        }
    }

    /// Sets the modification time of the file; without it, the file gets the current time.
    public func setModified(_ time: Timestamp) { modified = time }

    /// Puts the content under the name: precondition, locks and rename under one lock.
    ///
    /// - Parameter allows: gets what is there (nil when nothing is), immediately before the rename, and returns whether
    ///   to proceed; nil where that is not asked.
    /// - Returns: the new attributes (for `ETag`) and whether the name is new.
    /// - Throws: ``RootError/preconditionFailed`` also when `allows` returns false.
    public func commit(
        if allows: (@Sendable (FileAttributes?) -> Bool)? = nil
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        try guarded { (file) throws(RootError) in
            try self.writer.finish(file.descriptor)
            let result = try self.share.commit(
                file, to: self.path, replacing: self.replaced(allows), modified: self.modified,
                losesNothing: self.losesNothing)
            self.file = nil
            self.endTelling()
            return result
        }
    }

    /// Puts the content under another name than the one that it was begun for.
    ///
    /// - Parameters:
    ///   - other: a file's path, which may exist or not.
    ///   - allows: as for ``commit(if:)``.
    /// - Returns: the new attributes and whether the name is new.
    /// - Throws: ``RootError/exists`` and ``RootError/isDirectory``, after which another name may be tried; and as
    ///   ``commit(if:)``.
    public func commit(
        to other: SharePath, if allows: (@Sendable (FileAttributes?) -> Bool)? = nil
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        if let failure { throw failure }
        guard let file else { throw .notFound }
        do throws(RootError) {
            try writer.finish(file.descriptor)
            let target = try share.writable(other, orElse: .isDirectory)
            let result = try share.commit(file, to: target, replacing: replaced(allows), modified: modified)
            self.file = nil
            endTelling()
            return result
        } catch {
            if error != .exists, error != .isDirectory {
                failure = error
                self.file = nil
            }
            throw error
        }
    }

    private func replaced(_ allows: (@Sendable (FileAttributes?) -> Bool)?) -> Replacement {
        allows.map(replacing.and) ?? replacing
    }

    /// Drops the content now, instead of when this object is released.
    public func abandon() {
        writer.abandon()
        file = nil
        endTelling()
    }

    private func admit(_ count: Int64) throws(RootError) {
        let (total, overflow) = written.addingReportingOverflow(count)
        guard !overflow else { throw .tooLarge }
        try share.root.policy.requireSize(total)
    }

    private func guarded<Answer>(
        _ body: (TemporaryFile) throws(RootError) -> Answer
    ) throws(RootError) -> Answer {
        if let failure { throw failure }
        guard let file else { throw .notFound }
        do throws(RootError) {
            return try body(file)
        } catch {
            failure = error
            self.file = nil
            throw error
        }
    }
}
