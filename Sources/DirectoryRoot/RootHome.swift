import CSyscalls
import Synchronization

/// Where the root was opened, to find it again when the opened directory is gone.
///
/// A share continues by itself after its directory was removed and created again, or its file system was unmounted, or
/// lost its server, and was mounted again. The new directory is opened under the old one's descriptor number, so that
/// everything that holds the root follows. Nothing else replaces the root: no other directory or link under its path
/// while the old one is there.
///
/// A share that lies deeper in a file system whose mount died needs a restart. A confined process (Landlock) may open
/// what is below the share's parent, and that vanished with the old mount: to the kernel, the one in its place is
/// another. Being unconfined would not help, since only a mount's own root can be distinguished from the empty
/// directory below it.
final class RootHome: Sendable {
    private let descriptor: Int32
    let path: String
    private let lastLook: Atomic<Int64>
    private let known: Mutex<System>

    /// What is known about the file system that the directory is on.
    struct System {
        /// Its device number.
        let device: UInt64
        /// Whether it is in memory, without a disk.
        let isInMemory: Bool
        /// Whether a program (FUSE) or another machine serves it, so that any access may take arbitrarily long.
        let isFar: Bool

        /// May wait for the disk.
        init(of directory: Int32, _ status: sys_attributes) {
            device = status.device
            isInMemory = sys_is_memory(directory) == 1
            isFar = sys_is_far(directory) != 0
        }
    }

    /// May wait for the disk.
    /// - Parameters:
    ///   - descriptor: of the open directory.
    ///   - status: of the open directory.
    ///   - path: where it was opened.
    init(descriptor: Int32, _ status: sys_attributes, path: String) {
        self.descriptor = descriptor
        self.path = path
        lastLook = Atomic(sys_coarse_milliseconds())
        known = Mutex(System(of: descriptor, status))
    }

    /// The file system that the directory is on.
    var system: System { known.withLock { $0 } }

    /// Whether the open directory was removed, or its file system has lost its server; waits only for a far file
    /// system.
    var isGone: Bool {
        var status = sys_attributes()
        let answer = unsafe sys_fstat(descriptor, &status)
        return answer == 0 ? status.links == 0 : Self.tellsOfNobody(answer)
    }

    /// Whether a system call failed because a network or FUSE file system lost its server.
    static func tellsOfNobody(_ answer: Int32) -> Bool { answer == -ESTALE || answer == -ENOTCONN }

    /// Whether the open directory still exists, but its path leads to another one or none; false when unknown.
    ///
    /// Waits for the disk.
    var isElsewhere: Bool {
        look()
        var old = sys_attributes()
        guard unsafe sys_fstat(descriptor, &old) == 0, old.links > 0 else { return false }
        let answer = unsafe sys_openat(AT_FDCWD, path, sys_o_path | O_DIRECTORY, 0)
        guard answer >= 0 else { return answer == -ENOENT || answer == -ENOTDIR }
        guard let found = try? Descriptor(answer, "open"), let new = try? found.status() else { return false }
        return !new.isSame(as: old)
    }

    /// Whether a directory is at the path again after the open one was removed, but this process may not open it: a
    /// confined one, when the directory above was made anew too.
    ///
    /// Waits for the disk.
    var isOutOfReach: Bool {
        var found = sys_attributes()
        guard isGone, unsafe sys_stat(path, &found) == 0, found.isDirectory else { return false }
        let opened = unsafe sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0)
        if opened >= 0 { _ = sys_close(opened) }
        return opened == -EACCES
    }

    /// Whether it is time to ``look()``, which may wait for the disk.
    var isDue: Bool { sys_coarse_milliseconds() - lastLook.load(ordering: .relaxed) >= 1_000 }

    /// Checks, once a second at most, whether a new directory has taken the root's place.
    /// - Returns: whether the open directory was removed, and none was found in its place.
    @discardableResult
    func look() -> Bool {
        let now = sys_coarse_milliseconds()
        let last = lastLook.load(ordering: .relaxed)
        guard isGone || now - last >= 1_000 else { return false }
        if lastLook.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged { moveOn() }
        return isGone
    }

    private func moveOn() {
        var old = sys_attributes()
        let answer = unsafe sys_fstat(descriptor, &old)
        guard answer == 0 || Self.tellsOfNobody(answer),
            let opened = try? unsafe Descriptor(sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0), "open"),
            let new = try? opened.status(), new.links > 0
        else { return }
        // The second can only be made true by someone who may mount file systems. If the old one lost its server, a
        // directory that is not a mount point is the empty one below it.
        let isMounted = new.is_mount_root != 0 && (answer < 0 || new.mount != old.mount || new.device != old.device)
        guard answer == 0 && old.links == 0 || isMounted else { return }
        let system = System(of: opened.number, new)
        // Closing the last descriptor of a file system that was unmounted meanwhile writes all of it back: do it
        // outside the lock, so that readers of what is known do not wait for it.
        let before = try? Descriptor(sys_dup(descriptor), "dup")
        known.withLock { known in
            if sys_replace(descriptor, opened.number) == 0 { known = system }
        }
        _ = consume before
    }
}
