import CSyscalls

/// Removes a tree bottom-up, never following a link, with a bounded number of descriptors for any depth and breadth.
///
/// What can't be removed is reported and stays, with the directories above it; everything else is removed.
struct TreeRemoval: ~Copyable {
    /// What stayed: the names from the top of the tree down, and the reason.
    struct Failure {
        var names: [[UInt8]]
        var error: RootError
    }

    /// Only this many of the deepest directories stay open; those above are opened again through `..`, and only if that
    /// is the very directory that the walk came from.
    private static let mostOpen = 32
    private static let mostFailures = 1_000

    private var levels: [Level] = []
    private var failures: [Failure] = []

    private let isOurs: Bool
    private let changedBy: Timestamp?
    /// Inodes with another name that was removed here, which renewed their change times.
    private var renewed: Set<UInt64> = []
    private let forget: ((sys_attributes) -> Void)?

    private init(isOurs: Bool, changedBy: Timestamp?, forget: ((sys_attributes) -> Void)?) {
        self.isOurs = isOurs
        self.changedBy = changedBy
        self.forget = forget
    }

    /// Removes `name` in `directory`, whatever it is.
    /// - Parameters:
    ///   - name: one component.
    ///   - directory: open; stays the caller's.
    ///   - isOurs: whether its directories may be made accessible first: they have the permissions of what they were
    ///     copied from.
    ///   - changedBy: files that were changed later than this stay; nil when all may be removed.
    ///   - forget: called for each thing that was removed, with its last status.
    /// - Returns: what stayed; empty when everything is gone, now or before.
    static func remove(
        _ name: [UInt8], in directory: Int32, isOurs: Bool = false, changedBy: Timestamp? = nil,
        forget: ((sys_attributes) -> Void)? = nil
    ) -> [Failure] {
        var removal = TreeRemoval(isOurs: isOurs, changedBy: changedBy, forget: forget)
        let answer = removal.unlink(name, in: directory, isDirectory: false)
        if answer == 0 || answer == -ENOENT { return [] }
        guard isDirectoryAnswer(answer) else { return [Failure(names: [], error: RootError(answer, "unlinkat"))] }
        removal.run(name, in: directory)
        return removal.failures
    }

    private mutating func run(_ name: [UInt8], in directory: Int32) {
        if let error = enter(name, from: directory) {
            report(error, name: nil)
            return
        }
        while let level = levels.last {
            guard level.directory.isOpen else {
                // The directory was moved meanwhile: what is left of it is no longer ours to remove.
                return report(.forbidden, name: nil)
            }
            do throws(RootError) {
                if let child = try level.nextChild() {
                    removeChild(child, of: level)
                } else {
                    leave(level, into: directory)
                }
            } catch {
                level.fault = error
                leave(level, into: directory)
            }
        }
    }

    private mutating func removeChild(_ child: [UInt8], of level: Level) {
        let answer = unlink(child, in: level.number, isDirectory: false)
        if answer == 0 || answer == -ENOENT { return }
        if Self.isDirectoryAnswer(answer) {
            guard let error = enter(child, from: level.number) else { return }
            level.keep(child)
            return report(answer == -EPERM ? .forbidden : error, name: child)
        }
        level.keep(child)
        report(RootError(answer, "unlinkat"), name: child)
    }

    /// Opens a directory as the new deepest level; returns an error when it can't be opened.
    private mutating func enter(_ name: [UInt8], from directory: Int32) -> RootError? {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | sys_o_noatime
        var answer = unsafe CString.with(name) { unsafe sys_openat(directory, $0, flags, 0) }
        // O_NOATIME is only for owners.
        if answer == -EPERM {
            answer = unsafe CString.with(name) { unsafe sys_openat(directory, $0, flags & ~sys_o_noatime, 0) }
        }
        if answer == -EACCES {
            // An empty directory can be removed without reading it.
            let removed = unlink(name, in: directory, isDirectory: true)
            if removed == 0 || removed == -ENOENT { return nil }
        }
        do throws(RootError) {
            let entered = try WalkedDirectory(Descriptor(answer, "openat"))
            // A directory that was moved here brings its files' old times along; its own change time is new.
            if let changedBy, !levels.isEmpty, entered.identity.changeTime > changedBy { return .forbidden }
            // If this fails, removing its members will report an error.
            if isOurs, entered.identity.mode & 0o700 != 0o700 { _ = sys_chmod(entered.number, 0o700) }
            levels.append(Level(name, entered))
        } catch {
            return error
        }
        if levels.count > Self.mostOpen { levels[levels.count - 1 - Self.mostOpen].close() }
        return nil
    }

    /// Goes up, and removes the directory if it is empty now.
    private mutating func leave(_ level: Level, into top: Int32) {
        levels.removeLast()
        guard let parent = levels.last else {
            level.close()
            finish(level, in: top)
            return
        }
        // If that no longer leads back, what is left is not ours.
        try? parent.directory.reopen(from: level.directory)
        level.close()
        if parent.directory.isOpen { finish(level, in: parent.number) }
    }

    private mutating func finish(_ level: Level, in directory: Int32) {
        let answer = unlink(level.name, in: directory, isDirectory: true)
        if answer == 0 || answer == -ENOENT { return }
        levels.last?.keep(level.name)
        // A directory that stays only because of its members is not a failure of its own. RFC 4918 §9.6.1.
        guard !level.hasKept else { return }
        report(level.fault ?? RootError(answer, "unlinkat"), name: levels.isEmpty ? nil : level.name)
    }

    private mutating func report(_ error: RootError, name: [UInt8]?) {
        for level in levels { level.hasKept = true }
        guard failures.count < Self.mostFailures else { return }
        failures.append(Failure(names: levels.dropFirst().map(\.name) + (name.map { [$0] } ?? []), error: error))
    }

    private mutating func unlink(_ name: [UInt8], in directory: Int32, isDirectory: Bool) -> Int32 {
        unsafe CString.with(name) { name in
            var status = sys_attributes()
            let isKnown = unsafe (forget != nil || changedBy != nil) && sys_statat(directory, name, &status) == 0
            if isKnown, !status.isDirectory, let changedBy, status.changeTime > changedBy,
                !renewed.contains(status.inode)
            {
                return -EBUSY
            }
            let answer = unsafe sys_unlinkat(directory, name, isDirectory ? 1 : 0)
            if answer == 0, isKnown, changedBy != nil, status.links > 1 { renewed.insert(status.inode) }
            // What stays keeps what is stored about it.
            if answer == 0, isKnown, status.isDirectory == isDirectory { forget?(status) }
            return answer
        }
    }

    /// The error for unlinking a directory: EISDIR on Linux, EPERM elsewhere.
    private static func isDirectoryAnswer(_ answer: Int32) -> Bool { answer == -EISDIR || answer == -EPERM }
}

/// One directory on the way down.
private final class Level {
    let name: [UInt8]
    let directory: WalkedDirectory
    private var pending: [[UInt8]] = []
    private var kept: Set<[UInt8]> = []
    /// How often nothing but names of ``hiddenByFUSE`` was found: reading to the end of the directory, and reading a
    /// part of it.
    private var hiddenLooks = (whole: 0, part: 0)
    private static let batch = 1_024
    /// The prefix that FUSE gives to the name of a file that was removed while it is open; if removed again, the file
    /// gets the next such name.
    private static let hiddenByFUSE = Array(".fuse_hidden".utf8)
    /// Whether something in or below it could not be removed.
    var hasKept = false
    /// Why its members could not all be read; not reported if the directory turns out to be empty.
    var fault: RootError?

    init(_ name: [UInt8], _ directory: WalkedDirectory) {
        self.name = name
        self.directory = directory
    }

    var number: Int32 { directory.number }

    func close() {
        directory.close()
        pending = []
    }

    func keep(_ name: [UInt8]) { kept.insert(name) }

    /// A member that was not kept before; nil when none is left.
    func nextChild() throws(RootError) -> [UInt8]? {
        if pending.isEmpty {
            // Removing while reading may skip names on some file systems, so each pass starts from the beginning.
            try check(sys_rewind(number), "lseek")
            var reader = DirectoryReader(descriptor: number)
            while pending.count < Self.batch, let record = try unsafe reader.next() {
                let name = unsafe Array(record.bytes)
                if !kept.contains(name) { pending.append(name) }
            }
            keepWhatComesAgain()
        }
        return pending.popLast()
    }

    /// Gives up on files that get another name each time they are removed.
    private func keepWhatComesAgain() {
        guard !pending.isEmpty, pending.allSatisfy({ $0.starts(with: Self.hiddenByFUSE) }) else { return }
        // Names that only look like these are gone after one pass to the end.
        if pending.count < Self.batch { hiddenLooks.whole += 1 } else { hiddenLooks.part += 1 }
        guard hiddenLooks.whole > 8 || hiddenLooks.part > 1_000 else { return }
        kept.formUnion(pending)
        pending = []
    }
}
