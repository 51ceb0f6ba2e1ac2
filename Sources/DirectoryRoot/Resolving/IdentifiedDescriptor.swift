import CSyscalls

/// An open descriptor that knows which file it refers to; closed when the last reference is released.
final class IdentifiedDescriptor: Sendable {
    let number: Int32
    let device: UInt64
    let inode: UInt64
    let mount: UInt64

    /// Takes ownership of `number`.
    init(adopting number: Int32, _ call: StaticString = "fstat") throws(RootError) {
        var attributes = sys_attributes()
        let status = unsafe sys_fstat(number, &attributes)
        guard status == 0 else {
            _ = sys_close(number)
            throw RootError(status, call)
        }
        self.number = number
        device = attributes.device
        inode = attributes.inode
        mount = attributes.mount
    }

    func isSame(as other: sys_attributes) -> Bool { inode == other.inode && device == other.device }

    deinit { _ = sys_close(number) }
}
