/// An open file or directory of the share: what a response is made of. Closed when the last reference goes.
public final class Entry: Sendable {
    public let attributes: FileAttributes
    /// The open descriptor, read-only; owned by this object.
    package let descriptor: Int32

    package init(descriptor: Int32, attributes: FileAttributes) {
        self.descriptor = descriptor
        self.attributes = attributes
    }

    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end. Waits for the disk.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RootError) -> Int {
        fatalError()
    }
}
