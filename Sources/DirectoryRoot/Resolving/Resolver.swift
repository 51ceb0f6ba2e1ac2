import CSyscalls

/// Turns a path into an open descriptor beneath the root, and never into anything else.
///
/// The common path has no symbolic link: one `openat2` that must stay beneath the root and follows none. When the
/// kernel reports a link (or has no `openat2`), ``walk(_:flags:)`` goes component by component, never lets the kernel
/// follow a link, and reads links that stay inside itself. So either form knows the real path of what it opened, and
/// rules about paths (hidden names, rights, locks) hold for where a link leads too. What leaves the root, an absolute
/// link, and a dangling one do not exist.
package struct Resolver: Sendable {
    /// Who sees to it that a path stays in the root.
    package enum Method: Sendable {
        /// The kernel, in one call.
        case openat2
        /// We, component by component.
        case componentWalk
    }

    let root: Int32
    let method: Method
    /// Whether no folder is believed to tell names apart; so that tests need no disk that ignores case.
    let doubtsNames: Bool
    private let home: RootHome

    /// The file system that the root is on.
    var system: RootHome.System { home.system }
    /// Whether the open root was removed; may wait for who serves a far one.
    var isHomeGone: Bool { home.isGone }
    /// Where the root was opened, when it is not there any more; waits for the disk.
    var leftHome: String? { home.isElsewhere ? home.path : nil }

    /// The most links that one path may lead through, as in Linux.
    static let mostLinks = 40
    /// How often a lookup that raced with a rename is tried again.
    static let mostTries = 64

    /// - Parameters:
    ///   - root: the open root.
    ///   - home: where it was opened.
    ///   - method: nil asks the kernel, which may lack `openat2` or have it forbidden by a filter.
    ///   - doubtsNames: whether no folder is believed to tell names apart.
    init(root: Int32, home: RootHome, method: Method? = nil, doubtsNames: Bool = false) {
        self.root = root
        self.doubtsNames = doubtsNames
        self.home = home
        if let method {
            self.method = method
        } else {
            let answer = unsafe sys_openat2(
                root, ".", sys_o_path, 0, sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks)
            if answer >= 0 { _ = sys_close(answer) }
            self.method = answer >= 0 ? .openat2 : .componentWalk
        }
    }

    /// Whether the next lookup that may wait also looks whether there is a new directory to go on with.
    var looksHomeNext: Bool { home.isDue }

    /// Opens what is at `path`, which may lead through links that stay inside.
    /// - Parameters:
    ///   - path: from the root.
    ///   - flags: of `open`; `O_CLOEXEC` is added.
    ///   - waiting: false to throw ``RootError/wouldBlock`` instead of waiting for a disk: also for all that is behind
    ///     a mount, or where the root itself is a program's or another machine's.
    /// - Returns: the descriptor, and the real path where links were on the way.
    /// - Throws: ``RootError/notFound`` for all that does not exist beneath the root, ``RootError/rootGone``, and what
    ///   the disk says.
    func open(
        _ path: SharePath, flags: Int32, waiting: Bool = true
    ) throws(RootError) -> Resolved {
        guard waiting || !home.system.isFar else { throw .wouldBlock }
        let isGone =
            waiting && (path.isRoot || looksHomeNext) ? home.look() : path.isRoot && home.isGone
        // A directory that was removed can still be opened and is empty: who keeps a copy of it would empty that, too.
        if path.isRoot, isGone { throw waiting ? .rootGone : .wouldBlock }
        guard waiting || !path.hasShortNames else { throw .wouldBlock }
        let found = try findAgain(path, flags: flags, waiting: waiting)
        if (found.realPath ?? path).hasShortNames { try refuseShortNames(in: found.realPath ?? path) }
        return found
    }

    /// Waits until the disk has a file and its name, as far as it can be asked to.
    /// - Parameter path: from the root.
    /// - Throws: ``RootError/notFound``; what the disk says.
    func secure(_ path: SharePath) throws(RootError) {
        let place = try open(path, flags: sys_o_path)
        let real = place.realPath ?? path
        let folder = try open(real.parent, flags: sys_o_path | O_DIRECTORY)
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let answer = unsafe CString.with(real.name) { unsafe sys_openat(folder.descriptor.number, $0, flags, 0) }
        guard answer != -EACCES else {
            // It has the bits of what it has replaced, and is closed to us.
            try NameSync(of: folder.descriptor.number, andAll: true)?.wait()
            return
        }
        let file = try Descriptor(answer, "openat")
        try WriteBack.waitForAll(of: file.number, in: folder.descriptor.number)
    }

    /// As ``find(_:flags:waiting:)``, in a new directory where the one that was open is gone.
    ///
    /// Where there is none, no name is said to be missing: who keeps a copy would take that for removed.
    private func findAgain(_ path: SharePath, flags: Int32, waiting: Bool) throws(RootError) -> Resolved {
        do throws(RootError) {
            return try find(path, flags: flags, waiting: waiting)
        } catch let error where waiting && error.mayTellOfTheRoot && home.isGone {
            home.look()
            guard !home.isGone else { throw .rootGone }
            return try find(path, flags: flags, waiting: true)
        }
    }

    /// As ``open(_:flags:waiting:)``, for a path whose names are known to be listed, in the directory that is open now.
    func find(_ path: SharePath, flags: Int32, waiting: Bool = true) throws(RootError) -> Resolved {
        if method == .openat2 {
            let answer = openDirectly(path, flags: flags, waiting: waiting)
            if answer != -ELOOP {
                // Now and then somebody must see whether another directory has taken the root's place, before it is
                // said that a name is missing.
                if answer == -ENOENT, !waiting, looksHomeNext || home.isGone { throw .wouldBlock }
                return Resolved(descriptor: try Descriptor(answer, "openat2"), realPath: nil)
            }
        }
        // Without openat2 nothing can promise not to wait.
        guard waiting else { throw .wouldBlock }
        return try follow(path, flags: flags)
    }

    /// A second name that a file system gives a file, and does not list, would be a way around rules about its first.
    /// - Throws: ``RootError/notFound`` for a path with one.
    func refuseShortNames(in path: SharePath) throws(RootError) {
        for name in path.components where SharePath.mayBeShort(name) {
            let folder = try FolderNames(of: path.before(name), by: self)
            guard folder.tellsAllApart || folder.listsLike(name) else { throw .notFound }
        }
    }

    /// Opens a directory of the root's own file system where nobody has to be waited for: neither a disk nor a mount
    /// point nor a link is on the way.
    /// - Parameter path: from the root.
    /// - Returns: the directory, for `*at` calls.
    /// - Throws: ``RootError/wouldBlock`` for every other, there or not.
    func openAtOnce(directory path: SharePath) throws(RootError) -> Descriptor {
        guard method == .openat2, !path.hasShortNames else { throw .wouldBlock }
        let resolve =
            sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks | sys_resolve_no_mounts
            | sys_resolve_cached
        let answer = unsafe path.withCPath { unsafe sys_openat2(root, $0, sys_o_path | O_DIRECTORY, 0, resolve) }
        guard answer >= 0 else { throw .wouldBlock }
        return Descriptor(owning: answer)
    }

    /// One kernel lookup; `-ELOOP` when a link is on the way.
    private func openDirectly(_ path: SharePath, flags: Int32, waiting: Bool) -> Int32 {
        var resolve = sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks
        // Behind a mount may be a program or another machine, which this kernel asks even for what it knows.
        if !waiting { resolve |= sys_resolve_cached | sys_resolve_no_mounts }
        return unsafe path.withCPath { name in
            var answer = unsafe sys_openat2(root, name, flags, 0, resolve)
            guard waiting else {
                // Such a file system does not keep in mind what is not there, nor has it a disk to look at.
                if answer == -EAGAIN, home.system.isInMemory {
                    answer = unsafe sys_openat2(root, name, flags, 0, resolve & ~sys_resolve_cached)
                }
                return answer == -EXDEV ? -EAGAIN : answer
            }
            var tries = 1
            // EAGAIN: a rename was going on; ESTALE: replaced on a network file system while we looked.
            while answer == -EAGAIN || answer == -ESTALE, tries < (answer == -ESTALE ? 3 : Self.mostTries) {
                answer = unsafe sys_openat2(root, name, flags, 0, resolve)
                tries += 1
            }
            return answer
        }
    }
}

/// What a path led to.
struct Resolved: ~Copyable {
    let descriptor: Descriptor
    /// Where it really is, when links were on the way; nil when the path asked for is the real one.
    let realPath: SharePath?
}
