import CSyscalls

/// An open file or directory of the share: what a response is made of.
///
/// Closed when the last reference goes.
public final class Entry: Sendable {
    /// As they were when it was opened.
    public let attributes: FileAttributes
    /// The open descriptor, read-only; owned by this object.
    package let descriptor: Int32
    /// Where it really is, from the root: not the path it was asked for when that led through a link.
    package let realPath: SharePath
    /// When it was opened, in milliseconds of the coarse clock; 0 when that had to wait.
    package let openedAt: Int64

    package init(
        descriptor: Int32, attributes: FileAttributes, realPath: SharePath = .root, openedAt: Int64 = 0
    ) {
        self.openedAt = openedAt
        self.descriptor = descriptor
        self.attributes = attributes
        self.realPath = realPath
    }

    deinit { _ = sys_close(descriptor) }

    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end.
    ///
    /// Waits for the disk.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RootError) -> Int {
        guard !buffer.isEmpty else { return 0 }
        return try check(sys_pread(descriptor, buffer.baseAddress, buffer.count, offset), "pread")
    }

    /// The same for what is in memory already.
    /// - Throws: ``RootError/wouldBlock`` when the disk would have to be waited for, or the kernel can't tell.
    package func readCached(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(RootError) -> Int {
        guard !buffer.isEmpty else { return 0 }
        let count = sys_pread_nowait(descriptor, buffer.baseAddress, buffer.count, offset)
        guard count >= 0 else { throw .wouldBlock }
        return count
    }
}
