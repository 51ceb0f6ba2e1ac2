import CSyscalls

/// An open file or directory of the share: what a response is made of.
///
/// Closed when the last reference is released, which may be on an event loop: where closing could take long, another
/// thread does it.
public final class Entry: Sendable {
    /// The attributes as they were when it was opened.
    public let attributes: FileAttributes
    /// The open descriptor, read-only; owned by this object.
    package let descriptor: Int32
    /// Where it really is, from the root: differs from the requested path if that led through a link.
    package let realPath: SharePath
    /// Whether it is on a file system in memory.
    package let isInMemory: Bool
    /// Whether it is served by a program (FUSE) or another machine, which may be slow even for cached content.
    package let isFar: Bool

    /// Takes over an open descriptor.
    package init(
        descriptor: Int32, attributes: FileAttributes, realPath: SharePath = .root, isInMemory: Bool = false,
        isFar: Bool = false
    ) {
        self.isInMemory = isInMemory
        self.isFar = isFar
        self.descriptor = descriptor
        self.attributes = attributes
        self.realPath = realPath
    }

    deinit {
        if isFar || attributes.size >= Self.large && hasNoName {
            SlowClose.close(descriptor, on: attributes.device, isFar: isFar)
        } else {
            _ = sys_close(descriptor)
        }
    }

    /// From this size on, freeing the blocks of a removed file is slow: 0.15 s for each GiB.
    private static let large: Int64 = 64 << 20

    private var hasNoName: Bool {
        var status = sys_attributes()
        return unsafe sys_fstat_now(descriptor, &status) == 0 && status.links == 0
    }

    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end.
    ///
    /// Waits for the disk.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RootError) -> Int {
        guard unsafe !buffer.isEmpty else { return 0 }
        return try unsafe check(sys_pread(descriptor, buffer.baseAddress, buffer.count, offset), "pread")
    }

    /// The same for content in the page cache, with the kernel's answer: a count, `-EAGAIN` when the disk would have to
    /// be waited for, `-EOPNOTSUPP` when the kernel can't tell.
    package func peek(_ bytes: UnsafeMutableRawPointer?, _ count: Int, at offset: Int64) -> Int {
        if isFar { return -Int(sys_again) }
        if isInMemory { return unsafe sys_pread(descriptor, bytes, count, offset) }
        let answer = unsafe sys_pread_nowait(descriptor, bytes, count, offset)
        // Older kernels do not know that tmpfs never waits.
        guard answer == -Int(sys_not_supported), sys_is_memory(descriptor) == 1 else { return answer }
        return unsafe sys_pread(descriptor, bytes, count, offset)
    }
}
