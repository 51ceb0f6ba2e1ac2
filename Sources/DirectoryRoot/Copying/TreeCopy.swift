import CSyscalls

/// Copies the members of one directory into a new one, as a requester sees them, with a bounded number of descriptors
/// and bounded memory for any depth and breadth.
///
/// Links are copied as what they point at, if that is inside the root: as often as ``FollowedLinks`` allows, and not
/// when they point at a directory that the walk is in. What can't be read is reported and left out; a full disk ends
/// the whole copy.
struct TreeCopy: ~Copyable {
    private static let mostOpen = 24
    private static let mostFailures = 1_000

    private let share: Share
    private let source: SharePath
    private let target: SharePath
    private let isMove: Bool
    private let isGoneOver: Bool
    private(set) var debts: CopyDebts
    private var levels: [CopyLevel] = []
    private var links = FollowedLinks()
    private var failures: [MemberFailure] = []
    private var writeBack = WriteBackQueue()

    /// - Parameters:
    ///   - share: the requester's view.
    ///   - source: the real path of what is copied, for rights and reports.
    ///   - target: where it will be.
    ///   - isMove: whether everything is carried along: ``FileMetadata``, hidden names, dangling links.
    ///   - debts: left by the previous walk; members that its copy already has as the source has them now are done.
    init(share: Share, source: SharePath, target: SharePath, isMove: Bool, debts: CopyDebts) {
        self.share = share
        self.source = source
        self.target = target
        self.isMove = isMove
        self.debts = debts
        isGoneOver = debts.hasWalked
    }

    /// - Parameters:
    ///   - origin: the directory to copy, open for reading.
    ///   - top: the new directory.
    ///   - recursive: false leaves the members out.
    /// - Returns: the members that could not be copied.
    /// - Throws: what makes it pointless to go on.
    mutating func run(from origin: Int32, to top: Int32, recursive: Bool) throws(RootError) -> [MemberFailure] {
        levels.append(
            try CopyLevel(
                paths: (source, target), source: Descriptor(sys_dup(origin), "dup"),
                target: Descriptor(sys_dup(top), "dup"), isLinked: true,
                hasUniformRights: share.rights.isUniform(below: source), isGoneOver: isGoneOver, isInPlace: true))
        try share.copyProperties(from: origin, at: source, to: top, at: target)
        while let level = levels.last {
            do throws(RootError) {
                if recursive, let name = try level.nextName() {
                    if takes(name, in: level.paths.source) { try copyMember(name, of: level) }
                } else {
                    try leave(level)
                }
            } catch {
                try report(error, at: level.failing)
                level.failing = nil
                dropBroken()
            }
        }
        try writeBack.finish()
        return debts.broken + failures
    }

    /// A move also carries what nobody sees, since the source will be removed: the state folder of a share in the tree
    /// with its trash, but nothing unfinished.
    private func takes(_ name: [UInt8], in folder: SharePath) -> Bool {
        if isMove { return unsafe name.withUnsafeBufferPointer { unsafe !ReservedName.isTemporary($0) } }
        return share.root.policy.shows(name: name) && !share.root.hides(name, in: folder)
    }

    private mutating func copyMember(_ name: [UInt8], of level: CopyLevel) throws(RootError) {
        level.failing = name
        if let member = try openMember(name, of: level) {
            guard try !level.isTaken(name) else { throw .exists }
            let status = try member.descriptor.status()
            if !debts.missing.isEmpty { debts.missing[status.inode] = nil }
            if status.isDirectory {
                try enter(name, of: level, member)
            } else if status.isFile {
                let isDone = isGoneOver ? try hasCopy(of: status, name, in: level) : false
                if !isDone { try copyFile(name, of: level, member.descriptor.number, status) }
            } else if isMove {
                throw .forbidden
            }
        } else if isMove {
            try copyLink(name, of: level)
        }
        level.failing = nil
    }

    /// Recreates a dangling link; anything else that can't be opened can't be carried.
    private func copyLink(_ name: [UInt8], of level: CopyLevel) throws(RootError) {
        var place = [CChar](repeating: 0, count: 4_097)
        let count = unsafe CString.with(name) { unsafe sys_readlinkat(level.source, $0, &place, place.count - 1) }
        if count == -Int(ENOENT) { return }
        guard count > 0, count < place.count - 1 else { throw .forbidden }
        try unsafe check(CString.with(name) { unsafe sys_symlinkat(place, level.target, $0) }, "symlinkat")
    }

    /// Opens a member, or what it points at; nil when it does not exist for the requester.
    private mutating func openMember(_ name: [UInt8], of level: CopyLevel) throws(RootError) -> CopyMember? {
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
        let answer = unsafe CString.with(name) { unsafe sys_openat(level.source, $0, flags | O_NOFOLLOW, 0) }
        if answer == -ENOENT { noteMissing(name, of: level) }
        if answer == -ENOENT || answer == -ENXIO || answer == -ENODEV { return nil }
        if answer == -ELOOP {
            let path = try level.paths.source.appending(name)
            let target: Resolved
            do throws(RootError) {
                target = try share.root.resolver.walk(path, flags: flags)
            } catch {
                guard error.meansAbsent else { throw error }
                return nil
            }
            guard let real = target.realPath, share.root.shows(real), share.base.contains(real),
                share.maySee(real, isDirectory: false)
            else { return nil }
            return CopyMember(descriptor: target.descriptor, realPath: real)
        }
        let descriptor = try Descriptor(answer, "openat")
        if !level.hasUniformRights {
            let path = try level.paths.source.appending(name)
            guard share.maySee(path, isDirectory: try descriptor.status().isDirectory, listed: true) else { return nil }
            // A drop box: what others have brought there stays with them, which is said, since the box is listed.
            guard share.granted(at: path).contains(.read) || share.rights.leadsToReadable(below: path) else {
                throw .forbidden
            }
        }
        return CopyMember(descriptor: descriptor, realPath: nil)
    }

    /// Notes that a name vanished; in a later walk the member has been copied under another name, or was missed before.
    private mutating func noteMissing(_ name: [UInt8], of level: CopyLevel) {
        guard !isGoneOver, debts.missing.count < Self.mostFailures, level.mayTell(ofLast: name, to: share) else {
            return
        }
        debts.missing[level.last.inode] = level.paths.source.appendingIfFits(name)
    }

    private mutating func enter(_ name: [UInt8], of level: CopyLevel, _ member: borrowing CopyMember) throws(RootError)
    {
        let status = try member.descriptor.status()
        let isLinked = member.realPath != nil
        let isBehindLink = levels.dropFirst().contains(where: \.isLinked)
        if isLinked || isBehindLink {
            // A link to a directory that the walk is in would never end.
            guard !levels.contains(where: { $0.identity.isSame(as: status) }) else { throw .selfReference }
        }
        if isLinked, isBehindLink {
            guard links.follow(name, in: DirectoryIdentity(level.identity)) else { throw .selfReference }
        }
        let permissions = status.mode & 0o777 | 0o700
        if isGoneOver { try clearFile(name, in: level) }
        let made = unsafe CString.with(name) { unsafe sys_mkdirat(level.target, $0, permissions) }
        if !isGoneOver || made != -EEXIST { try check(made, "mkdirat") }
        let answer = unsafe CString.with(name) {
            unsafe sys_openat(level.target, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        }
        let folder = try Descriptor(answer, "openat")
        if made == -EEXIST { try restoreBits(permissions, of: folder.number) }
        // Behind a link, the rights of the link's target hold.
        let paths = (
            member.realPath ?? level.paths.source.appendingIfFits(name), level.paths.target.appendingIfFits(name)
        )
        try share.copyProperties(from: member.descriptor.number, at: paths.0, to: folder.number, at: paths.1)
        let next = try CopyLevel(
            paths: paths, source: Descriptor(sys_dup(member.descriptor.number), "dup"), target: folder,
            isLinked: isLinked,
            hasUniformRights: isLinked ? share.rights.isUniform(below: paths.0) : level.hasUniformRights,
            isGoneOver: isGoneOver, isInPlace: debts.meets(status, name, in: level) && level.isInPlace)
        level.failing = nil
        levels.append(next)
        let far = levels.count - 1 - Self.mostOpen
        // From behind a link, `..` does not lead back.
        if far >= 0, !levels[far + 1].isLinked { levels[far].close() }
    }

    /// Makes a folder that an earlier walk created, perhaps for another source of that name, no more open than this
    /// source.
    ///
    /// It never gets more permissions than it was created with: what the process's umask closed stays closed.
    private func restoreBits(_ permissions: UInt32, of folder: Int32) throws(RootError) {
        let status = try sys_attributes(of: folder)
        let wanted = status.mode & (permissions | 0o7000)
        guard status.mode & 0o7777 != wanted else { return }
        try FileMetadata.setBits(wanted, of: folder)
    }

    /// Removes the file that an earlier walk copied where a folder of that name is to be created.
    private func clearFile(_ name: [UInt8], in level: CopyLevel) throws(RootError) {
        let answer = unsafe CString.with(name) { unsafe sys_unlinkat(level.target, $0, 0) }
        if answer != -ENOENT, answer != -EISDIR, answer != -EPERM { try check(answer, "unlinkat") }
    }

    /// Whether an earlier walk has already copied this very file; a copy of another file under that name is removed.
    private mutating func hasCopy(
        of status: sys_attributes, _ name: [UInt8], in level: CopyLevel
    ) throws(RootError) -> Bool {
        var found = sys_attributes()
        let answer = unsafe CString.with(name) { unsafe sys_statat(level.target, $0, &found) }
        if answer == -ENOENT { return false }
        try check(answer, "statx")
        let isSame = found.size == status.size && found.modificationTime.mayBe(status.modificationTime)
        // Other files from one archive have the same time, and similar files the same size.
        let isProven = level.isInPlace && debts.knows(status, name, in: level)
        if found.isFile, isSame, isProven {
            debts.note(status, name, in: level)
            return true
        }
        guard TreeRemoval.remove(name, in: level.target, isOurs: true).isEmpty else { throw .changedMeanwhile }
        // A proven file that was only written to meanwhile is still the same file.
        if !isProven { debts.replaced = level.paths.source.appendingIfFits(name) }
        return false
    }

    private mutating func copyFile(
        _ name: [UInt8], of level: CopyLevel, _ file: Int32, _ status: sys_attributes
    ) throws(RootError) {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
        let made = try unsafe Descriptor(
            CString.with(name) { unsafe sys_openat(level.target, $0, flags, status.mode & 0o777) }, "openat")
        debts.note(status, name, in: level)
        do throws(RootError) {
            try share.copyContent(of: file, status, to: made.number, isMove: isMove)
            try share.copyProperties(
                from: file, at: level.paths.source.appendingIfFits(name), to: made.number,
                at: level.paths.target.appendingIfFits(name))
        } catch {
            _ = unsafe CString.with(name) { unsafe sys_unlinkat(level.target, $0, 0) }
            throw error
        }
        try writeBack.add(made, durably: share.root.policy.waitsForDisk)
    }

    /// Drops the directories that can't be read on, and those above that can't be reopened from there.
    private mutating func dropBroken() {
        while let level = levels.last, !level.isOpen || level.isBroken {
            levels.removeLast()
            if level.isOpen { try? levels.last?.reopen(from: level) }
        }
    }

    /// Finishes a directory and goes up.
    private mutating func leave(_ level: CopyLevel) throws(RootError) {
        levels.removeLast()
        try levels.last?.reopen(from: level)
        if share.root.policy.waitsForDisk { try WriteBack.waitForNames(in: level.target) }
        if isMove { try FileMetadata.carry(from: level.source, level.identity, to: level.target) }
        try check(
            sys_set_times(level.target, 0, -1, level.identity.modified, Int64(level.identity.modified_ns)), "futimens")
    }

    private mutating func report(_ error: RootError, at name: [UInt8]?) throws(RootError) {
        switch error {
        case .noSpace, .readOnly, .tooMany, .busy, .changedMeanwhile, .system: throw error
        default: break
        }
        guard failures.count + debts.broken.count < Self.mostFailures, let level = levels.last else { return }
        let path = name.map { level.paths.source.appendingIfFits($0) } ?? level.paths.source
        let failure = MemberFailure(path: path.relative(to: share.base) ?? .root, error: error)
        if let name {
            level.skip(name)
            // Several links may lead to it, and a multi-status names each place once: RFC 4918 §14.24.
            if !failures.contains(failure) { failures.append(failure) }
        } else if !debts.broken.contains(failure) {
            debts.broken.append(failure)
        }
    }
}

/// An open member of a directory that is being copied.
private struct CopyMember: ~Copyable {
    let descriptor: Descriptor
    /// Where it is from the root, when it was reached through a link and its `..` does not lead to where the walk came
    /// from.
    let realPath: SharePath?
}
