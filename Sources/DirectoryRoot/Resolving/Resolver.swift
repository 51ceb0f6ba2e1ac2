import CSyscalls

/// Turns a path into an open descriptor beneath the root, and never into anything else.
///
/// Most paths have no symbolic link: they take one `openat2` that must stay beneath the root and follows no link. When
/// the kernel reports a link (or has no `openat2`), ``walk(_:flags:)`` goes component by component, never lets the
/// kernel follow a link, and itself reads links that stay inside. So either way the real path of what was opened is
/// known, and rules about paths (hidden names, rights, locks) also hold for link targets. Links that leave the root,
/// absolute links and dangling ones do not exist.
package struct Resolver: Sendable {
    /// How a path is kept inside the root.
    package enum Method: Sendable {
        /// By the kernel, in one call.
        case openat2
        /// By this process, component by component.
        case componentWalk
    }

    let root: Int32
    let method: Method
    /// Whether every folder is assumed to take several spellings for one name; so that tests need no such disk.
    let doubtsNames: Bool
    private let home: RootHome

    /// The file system that the root is on.
    var system: RootHome.System { home.system }
    /// Whether the open root was removed; on a far file system, this may wait.
    var isHomeGone: Bool { home.isGone }
    /// Whether what is at the root's path since then can't be opened by this process; waits for the disk.
    var isHomeOutOfReach: Bool { home.isOutOfReach }
    /// Where the root was opened, if it is not there any more; waits for the disk.
    var leftHome: String? { home.isElsewhere ? home.path : nil }

    /// The most links that one path may lead through, as in Linux.
    static let mostLinks = 40
    /// How often a lookup that conflicts with a rename is repeated.
    static let mostTries = 64

    /// - Parameters:
    ///   - root: the open root.
    ///   - home: where it was opened.
    ///   - method: nil probes the kernel, which may lack `openat2`, or have it blocked by a filter.
    ///   - doubtsNames: whether every folder is assumed to take several spellings for one name.
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

    /// Whether the next lookup that may wait also checks for a new directory in the root's place.
    var looksHomeNext: Bool { home.isDue }

    /// Opens what is at `path`, which may lead through links that stay inside.
    /// - Parameters:
    ///   - path: from the root.
    ///   - flags: of `open`; `O_CLOEXEC` is added.
    ///   - waiting: false to throw ``RootError/wouldBlock`` instead of waiting for a disk: always thrown for what is
    ///     behind a mount point, and when the root itself is on a far file system.
    /// - Returns: the descriptor, and the real path if links were on the way.
    /// - Throws: ``RootError/notFound`` for everything that does not exist beneath the root, ``RootError/rootGone``,
    ///   and what the disk reports.
    func open(
        _ path: SharePath, flags: Int32, waiting: Bool = true
    ) throws(RootError) -> Resolved {
        guard waiting || !home.system.isFar else { throw .wouldBlock }
        let isGone =
            waiting && (path.isRoot || looksHomeNext) ? home.look() : path.isRoot && home.isGone
        // A directory that was removed can still be opened and is empty: a client that syncs with it would empty its
        // copy too.
        if path.isRoot, isGone { throw waiting ? .rootGone : .wouldBlock }
        guard waiting || !path.hasShortNames else { throw .wouldBlock }
        let found = try findAgain(path, flags: flags, waiting: waiting)
        if (found.realPath ?? path).hasShortNames { try refuseShortNames(in: found.realPath ?? path) }
        return found
    }

    /// Waits until a file and its name are on the disk, as far as this process is permitted to ask for it.
    /// - Parameter path: from the root.
    /// - Throws: ``RootError/notFound``; what the disk reports.
    func secure(_ path: SharePath) throws(RootError) {
        let place = try open(path, flags: sys_o_path)
        let real = place.realPath ?? path
        let folder = try open(real.parent, flags: sys_o_path | O_DIRECTORY)
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let answer = unsafe CString.with(real.name) { unsafe sys_openat(folder.descriptor.number, $0, flags, 0) }
        guard answer != -EACCES else {
            // It has the permission bits of what it replaced, which deny access to this process.
            try NameSync(of: folder.descriptor.number, andAll: true)?.wait()
            return
        }
        let file = try Descriptor(answer, "openat")
        try WriteBack.waitForAll(of: file.number, in: folder.descriptor.number)
    }

    /// As ``find(_:flags:waiting:)``; if the open root is gone, looks in the directory that took its place.
    ///
    /// If there is none, no name is reported as missing: a client that syncs would take it for deleted.
    private func findAgain(_ path: SharePath, flags: Int32, waiting: Bool) throws(RootError) -> Resolved {
        do throws(RootError) {
            return try find(path, flags: flags, waiting: waiting)
        } catch let error where waiting && error.mayTellOfTheRoot && home.isGone {
            home.look()
            guard !home.isGone else { throw .rootGone }
            return try find(path, flags: flags, waiting: true)
        }
    }

    /// As ``open(_:flags:waiting:)``, for a path whose names are known to be listed, in the current root directory.
    func find(_ path: SharePath, flags: Int32, waiting: Bool = true) throws(RootError) -> Resolved {
        if method == .openat2 {
            let answer = openDirectly(path, flags: flags, waiting: waiting)
            if answer != -ELOOP {
                // Before a name is reported as missing, it must be checked from time to time whether another directory
                // has taken the root's place.
                if answer == -ENOENT, !waiting, looksHomeNext || home.isGone { throw .wouldBlock }
                return Resolved(descriptor: try Descriptor(answer, "openat2"), realPath: nil)
            }
        }
        // Without openat2, waiting can't be excluded.
        guard waiting else { throw .wouldBlock }
        return try follow(path, flags: flags)
    }

    /// Refuses short names: a second name that a file system gives a file, without listing it, would evade the rules
    /// about the first.
    /// - Throws: ``RootError/notFound`` for a path with such a name.
    func refuseShortNames(in path: SharePath) throws(RootError) {
        for name in path.components where SharePath.mayBeShort(name) {
            let folder = try FolderNames(of: path.before(name), by: self)
            guard folder.tellsAllApart || folder.listsLike(name) else { throw .notFound }
        }
    }

    /// Opens a directory on the root's own file system without waiting: not for a disk, and across no mount point or
    /// link.
    /// - Parameter path: from the root.
    /// - Returns: the directory, for `*at` calls.
    /// - Throws: ``RootError/wouldBlock`` for every other path, whether it exists or not.
    func openAtOnce(directory path: SharePath) throws(RootError) -> Descriptor {
        guard method == .openat2, !path.hasShortNames else { throw .wouldBlock }
        let resolve =
            sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks | sys_resolve_no_mounts
            | sys_resolve_cached
        let answer = unsafe path.withCPath { unsafe sys_openat2(root, $0, sys_o_path | O_DIRECTORY, 0, resolve) }
        guard answer >= 0 else { throw .wouldBlock }
        return Descriptor(owning: answer)
    }

    /// Looks up a path in one system call; `-ELOOP` when a link is on the way.
    private func openDirectly(_ path: SharePath, flags: Int32, waiting: Bool) -> Int32 {
        var resolve = sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks
        // Behind a mount point there may be a far file system, which this kernel asks even about cached names.
        if !waiting { resolve |= sys_resolve_cached | sys_resolve_no_mounts }
        return unsafe path.withCPath { name in
            var answer = unsafe sys_openat2(root, name, flags, 0, resolve)
            guard waiting else {
                // A file system in memory does not cache missing names, and has no disk to wait for.
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

/// The result of resolving a path.
struct Resolved: ~Copyable {
    let descriptor: Descriptor
    /// The real path if links were on the way; nil when the requested path is the real one.
    let realPath: SharePath?
}
