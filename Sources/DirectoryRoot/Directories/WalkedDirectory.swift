import CSyscalls

/// A directory on the way down a tree, whose descriptor can be closed while the walk is far below: a tree may be deeper
/// than a process may have descriptors.
final class WalkedDirectory {
    /// The open descriptor; negative while it is closed.
    private(set) var number: Int32
    /// The directory's status when the walk came to it.
    let identity: sys_attributes

    /// - Throws: what looking at the directory met.
    init(_ descriptor: consuming Descriptor) throws(RootError) {
        identity = try descriptor.status()
        number = descriptor.release()
    }

    deinit { close() }

    var isOpen: Bool { number >= 0 }

    func close() {
        if isOpen { _ = sys_close(number) }
        number = -1
    }

    /// Opens it again through the `..` of a directory in it.
    /// - Throws: ``RootError/notFound`` when that no longer leads here because one of the two was moved.
    func reopen(from child: WalkedDirectory) throws(RootError) {
        guard !isOpen else { return }
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        let parent = try unsafe Descriptor(sys_openat(child.number, "..", flags, 0), "openat")
        guard try parent.status().isSame(as: identity) else { throw .notFound }
        number = parent.release()
    }
}
