import CSyscalls
import Synchronization

/// The one open directory that is shared, and the rules that hold for every requester.
///
/// Nothing outside of it is ever opened, read, listed or changed through it: see ``Resolver``. What is reserved or
/// hidden does not exist for any ``Share``.
public final class DirectoryRoot: Sendable {
    /// The rules that hold for every requester.
    public let policy: RootPolicy
    /// The policy's hidden names, in every spelling.
    let hiddenSpellings: HiddenSpellings

    /// The open root; owned by this object.
    package let descriptor: Int32
    let resolver: Resolver
    /// The device number of the root when it is on a file system without a disk; nil otherwise.
    var memoryDevice: UInt64? {
        let system = resolver.system
        return system.isInMemory ? system.device : nil
    }
    /// Held while a write checks its precondition and the locks and then changes a name.
    let commitLock: CommitLock
    /// Trees out of sight that are waiting to be removed.
    let doomed = Mutex<[ScratchPlace]>([])
    /// What this system and file system can do; tests take abilities away.
    package let abilities: Abilities
    let scratch: ScratchFolder
    /// The file systems below the root that may block any request; see ``FarMounts``.
    let farMounts: FarMounts
    /// What lives in `.shareserve/`.
    package let state: SharedState
    let writes = WritesUnderWay()
    let directWriters = DirectWriters()
    let arrivals: Arrivals
    package let recentCommits = RecentCommits()
    /// Whether the last ``Share/writeAtOnce(_:_:replacing:modified:)`` met a name that was taken.
    let meetsTakenNames = Atomic<Bool>(false)

    /// Opens the directory at `path` (as the process sees it), and removes old leftovers of uploads.
    /// - Throws: ``RootError/notFound``, ``RootError/notDirectory``, ``RootError/forbidden``,
    ///   ``RootError/system(errno:call:)``.
    public convenience init(
        path: String, policy: RootPolicy = RootPolicy(), clock: RootClock = .system
    ) throws(RootError) {
        try self.init(path: path, policy: policy, resolving: nil, abilities: Abilities(), clock: clock)
    }

    /// The same without using some abilities of the system.
    /// - Parameters:
    ///   - path: as the process sees it.
    ///   - policy: the rules for every requester.
    ///   - method: how paths are resolved; nil takes the best that the kernel has.
    ///   - abilities: what may be tried before the fallbacks.
    ///   - clock: what locks, uploads and links expire by.
    /// - Throws: as above.
    package init(
        path: String, policy: RootPolicy = RootPolicy(), resolving method: Resolver.Method?,
        abilities: Abilities = Abilities(), clock: RootClock = .system
    ) throws(RootError) {
        let answer = unsafe path.withCString { path in unsafe sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0) }
        if answer == -ENOTDIR { throw .notDirectory }
        let opened = try Descriptor(answer, "open")
        let status = try opened.status()
        descriptor = opened.release()
        resolver = Resolver(
            root: descriptor, home: RootHome(descriptor: descriptor, status, path: path), method: method,
            doubtsNames: !abilities.tellsNamesApart)
        farMounts = FarMounts(root: descriptor, doubtsNames: !abilities.tellsNamesApart)
        scratch = ScratchFolder(root: descriptor)
        self.policy = policy
        hiddenSpellings = HiddenSpellings(policy.hidden)
        Ownership.prepare()
        // An unnamed file gets its name through /proc/self/fd.
        var abilities = abilities
        let procDescriptors = unsafe sys_openat(AT_FDCWD, "/proc/self/fd", sys_o_path, 0)
        if procDescriptors >= 0 { _ = sys_close(procDescriptors) } else { abilities.unnamedFiles = false }
        self.abilities = abilities
        state = SharedState(
            root: descriptor, rootDevice: status.device, policy: policy, abilities: abilities, clock: clock)
        arrivals = Arrivals(clock: clock)
        commitLock = CommitLock(state: state.folder)
        // A write past the file-size limit must fail with an error, not end the process.
        sys_ignore_file_size_signal()
        guard !policy.isReadOnly else { return }
        // While acting on notes, root does nothing that whoever may have written them could not do.
        acting(tidyUp)
        commitLock.whenMarked { [weak self] in
            guard let self else { return false }
            return acting { (try? RenameJournal.finishNoted(in: self)) ?? false }
        }
    }

    /// The path at which the root was opened, if the root was moved from there and is still served; nil otherwise.
    ///
    /// Waits for the disk.
    public var pathLeft: String? { resolver.leftHome }

    /// Whether the open `file` is on a file system that is served by a program or another machine.
    ///
    /// May wait for those, but not for a file on the root's own file system.
    func isFar(_ file: Int32, _ attributes: FileAttributes) -> Bool {
        let system = resolver.system
        return attributes.device == system.device ? system.isFar : sys_is_far(file) != 0
    }

    /// Whether the shared directory was removed, and no other was at its path at the last look.
    ///
    /// Waits for the program or machine that serves its file system, if there is one.
    public var isGone: Bool { resolver.isHomeGone }

    /// Whether the shared directory was removed, and what is at its path now can't be opened by this process.
    ///
    /// Waits for the disk.
    public var isOutOfReach: Bool { resolver.isHomeOutOfReach }

    private func acting<Answer, Failure>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
        guard let owner = policy.stateOwner else { return try body() }
        return try owner.acting(body)
    }

    private func tidyUp() {
        // A move that can't be finished now is finished later: nothing is lost.
        try? RenameJournal.finishAll(in: self)
        scratch.removeLeftovers(at: state.clock.wall())
    }

    deinit { _ = sys_close(descriptor) }
}

/// What may be tried; what the file system at hand lacks is also found out from its errors.
package struct Abilities: Sendable {
    /// Unnamed files (`O_TMPFILE`) that get their name once complete.
    package var unnamedFiles = true
    /// `renameat2` with its flags.
    package var renameFlags = true
    /// `copy_file_range` and reflinks.
    package var kernelCopies = true
    /// Extended attributes.
    package var extendedAttributes = true
    /// Directories that compare names byte by byte.
    package var tellsNamesApart = true

    package init() {}
}
