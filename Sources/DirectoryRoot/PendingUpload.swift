/// A new content on its way to a name. Dropped without ``commit()``, it leaves nothing behind.
///
/// Used by one task at a time. Writes go to an unnamed file on the target's file system; the name changes by one rename.
public final class PendingUpload: @unchecked Sendable {
    /// Bytes written so far.
    public var written: Int64 { fatalError() }

    /// Appends all the bytes, or throws; waits for the disk.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(RootError) { fatalError() }

    /// The modification time that the file shall have instead of now.
    public func setModified(_ time: Timestamp) { fatalError() }

    /// Puts the content under the name: precondition, locks and rename under one lock.
    /// - Returns: the new attributes (for `ETag`) and whether the name is new.
    public func commit() throws(RootError) -> (attributes: FileAttributes, created: Bool) { fatalError() }

    /// Drops the content at once instead of at the end of this object's life.
    public func abandon() { fatalError() }
}
