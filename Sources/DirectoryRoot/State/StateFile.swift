import CSyscalls

/// One file of state: read whole, and replaced whole by a temporary file and a rename, never torn.
struct StateFile: Sendable {
    let state: StateFolder
    /// Its name inside the state folder.
    let name: String

    /// The result of one `fstatat`, which changes with every replacement.
    struct Identity: Equatable, Sendable {
        var inode: UInt64
        var size: UInt64
        var modified: Timestamp
        var changed: Timestamp

        init(_ found: sys_attributes) {
            inode = found.inode
            size = found.size
            modified = found.modificationTime
            changed = found.changeTime
        }
    }

    struct Contents {
        var identity: Identity
        var envelope: StateEnvelope
    }

    /// Identifies what is there now, by one `fstatat` only; nil when there is no such file.
    ///
    /// This one call uses two path components and would follow a link in place of the folder: its result is used only
    /// to distinguish a changed file from an unchanged one. Everything that is read is read by descriptor.
    /// - Throws: what the disk reports; ``RootError/busy`` when it was replaced during each attempt. A folder that
    ///   this process may not search counts as none, as it does everywhere.
    func identity() throws(RootError) -> Identity? {
        var found = sys_attributes()
        for _ in 0..<3 {
            let answer = unsafe sys_statat(state.root, StateFolder.name + "/" + name, &found)
            switch -answer {
            case 0: return Identity(found)
            case ENOENT, ENOTDIR, ELOOP, EACCES: return nil
            // It was replaced on a network file system meanwhile.
            case ESTALE: continue
            default: throw RootError(ofState: answer, "statat a state file", name)
            }
        }
        throw .busy
    }

    /// As ``identity()``, without waiting.
    /// - Parameter isInMemory: whether the root's file system is in memory, where looking never waits.
    /// - Returns: the same.
    /// - Throws: ``RootError/wouldBlock`` when the disk would have to be asked, or something is unusual.
    func identityAtOnce(isInMemory: Bool) throws(RootError) -> Identity? {
        guard !isInMemory else { return try identity() }
        let resolve =
            sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks | sys_resolve_no_mounts
            | sys_resolve_cached
        let answer = unsafe sys_openat2(state.root, StateFolder.name + "/" + name, sys_o_path, 0, resolve)
        if answer == -ENOENT { return nil }
        guard answer >= 0 else { throw .wouldBlock }
        return Identity(try Descriptor(owning: answer).status())
    }

    /// The content; nil when there is no such file.
    /// - Throws: ``RootError/damaged`` when it does not hold what this program would have written.
    func read() throws(RootError) -> Contents? {
        guard let folder = try state.descriptor(creating: false) else { return nil }
        return try read(in: folder)
    }

    private func read(in folder: IdentifiedDescriptor) throws(RootError) -> Contents? {
        guard let (bytes, status) = try Self.readWhole(name, in: folder, upTo: Self.mostBytes) else { return nil }
        do {
            return Contents(identity: Identity(status), envelope: try StateEnvelope(file: bytes))
        } catch {
            throw .damaged(name)
        }
    }

    /// Far more than any of these files may grow to.
    private static let mostBytes: UInt64 = 1 << 30

    /// All bytes of a file that is read once, and not cached.
    /// - Parameters:
    ///   - name: in `folder`, which may be a folder in the state folder.
    ///   - folder: the folder that contains it.
    ///   - limit: the most bytes that such a file may have.
    /// - Returns: nil when there is no such file.
    /// - Throws: ``RootError/damaged(_:)`` for a longer one, and when something else has its name; what the disk reports.
    static func bytes(
        of name: String, in folder: IdentifiedDescriptor, upTo limit: UInt64 = mostBytes
    ) throws(RootError) -> [UInt8]? {
        try readWhole(name, in: folder, upTo: limit)?.bytes
    }

    private static func readWhole(
        _ name: String, in folder: IdentifiedDescriptor, upTo limit: UInt64
    ) throws(RootError) -> (bytes: [UInt8], status: sys_attributes)? {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        var opened = unsafe sys_openat(folder.number, name, flags, 0)
        // It was replaced on a network file system meanwhile.
        if opened == -ESTALE { opened = unsafe sys_openat(folder.number, name, flags, 0) }
        switch -opened {
        // A name that is too long comes from a client.
        case ENOENT, ENAMETOOLONG: return nil
        // A link or a socket in its place is not ours.
        case ELOOP, ENXIO: throw .damaged(name)
        default: try checkState(opened, "open a state file", name)
        }
        let file = Descriptor(owning: opened)
        let status = try file.status()
        guard status.isFile, status.size <= limit else { throw .damaged(name) }
        return (try readAll(file.number, name, expecting: status.size), status)
    }

    /// The content, read under the lock.
    ///
    /// A damaged file is kept under another name, reported, and counts as missing.
    func readForChange(_ lock: StateLock) throws(RootError) -> Contents? {
        do throws(RootError) {
            return try read(in: lock.folder)
        } catch  where error.isDamage {
            try setAside(lock)
            return nil
        }
    }

    /// Moves a damaged file aside, for a person to look at.
    func setAside(_ lock: StateLock) throws(RootError) {
        let kept = "\(name).damaged-\(Self.randomName())"
        let status = unsafe sys_renameat(lock.folder.number, name, lock.folder.number, kept)
        if status == -ENOENT { return }
        try checkState(status, "rename a damaged state file", name)
        state.incidents.report(.damagedFile(name: name, keptAs: kept))
    }

    /// Replaces the file, provided that it is still what `previous` describes.
    /// - Throws: ``RootError/busy`` when another host changed it although this process held the lock.
    func replace(
        _ previous: Contents?, with payload: [UInt8], _ lock: StateLock
    ) throws(RootError) -> Identity {
        let generation = (previous?.envelope.generation ?? 0) &+ 1
        return try replace(previous?.identity, generation: generation, payload: payload, lock)
    }

    func replace(
        _ previous: Identity?, generation: UInt64, payload: [UInt8], _ lock: StateLock
    ) throws(RootError) -> Identity {
        let temporary = "\(name).new-\(Self.randomName())"
        let file = StateEnvelope(generation: generation, payload: payload).encoded()
        let identity = try Self.create(
            temporary, in: lock.folder, file, generation: generation, waitsForDisk: state.waitsForDisk)
        do throws(RootError) {
            try lock.reassert()
            var found = sys_attributes()
            let status = unsafe sys_statat(lock.folder.number, name, &found)
            let current = status == 0 ? Identity(found) : nil
            guard status == 0 || status == -ENOENT else { throw RootError(ofState: status, "statat state", name) }
            guard current == previous else { throw .busy }
            let renamed = unsafe sys_renameat(lock.folder.number, temporary, lock.folder.number, name)
            try checkState(renamed, "rename a state file", name)
        } catch {
            // What stays is removed as a leftover when it is a day old.
            _ = unsafe sys_unlinkat(lock.folder.number, temporary, 0)
            throw error
        }
        if state.waitsForDisk { try WriteBack.waitForNames(in: lock.folder.number) }
        // On most file systems, a rename changes the change time.
        var found = sys_attributes()
        return unsafe sys_statat(lock.folder.number, name, &found) == 0 ? Identity(found) : identity
    }

    /// Writes a new file, stamped so that its modification time differs with every generation.
    /// - Parameters:
    ///   - name: a free name.
    ///   - folder: the folder to write to.
    ///   - bytes: the whole file.
    ///   - generation: goes into the stamp.
    ///   - waitsForDisk: whether the policy requires every change to be on the disk.
    ///   - survivesPowerCut: whether its bytes must be on the disk before its name is, whatever the policy says.
    /// - Returns: the identity of the new file.
    /// - Throws: what the disk reports.
    static func create(
        _ name: String, in folder: IdentifiedDescriptor, _ bytes: [UInt8], generation: UInt64, waitsForDisk: Bool,
        survivesPowerCut: Bool = true
    ) throws(RootError) -> Identity {
        let opened = unsafe sys_openat(folder.number, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        try checkState(opened, "create a state file", name)
        defer { _ = sys_close(opened) }
        do throws(RootError) {
            try writeAll(opened, name, bytes)
            let now = RootClock.system.wall()
            let stamped = sys_set_times(opened, 0, -1, now.seconds, Int64(generation % 1_000_000_000))
            try checkState(stamped, "stamp a state file", name)
            if survivesPowerCut || waitsForDisk { try WriteBack.wait(for: opened, durably: waitsForDisk) }
            return Identity(try sys_attributes(of: opened, "fstat a state file"))
        } catch {
            // If it can't be removed, the name is never used again: each has a new random number.
            _ = unsafe sys_unlinkat(folder.number, name, 0)
            throw error
        }
    }

    /// Writes a file in the place of whatever has its name: all of it, or nothing.
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - name: its name.
    ///   - temporary: a free name, for while it is written; it may stay after a crash.
    ///   - folder: the folder to write to.
    ///   - waitsForDisk: whether the policy requires every change to be on the disk.
    /// - Throws: what the disk reports.
    static func put(
        _ bytes: [UInt8], as name: String, by temporary: String, in folder: IdentifiedDescriptor, waitsForDisk: Bool
    ) throws(RootError) {
        _ = try create(temporary, in: folder, bytes, generation: 0, waitsForDisk: waitsForDisk)
        let renamed = unsafe sys_renameat(folder.number, temporary, folder.number, name)
        // What stays is what stays after a crash.
        if renamed < 0 { _ = unsafe sys_unlinkat(folder.number, temporary, 0) }
        try checkState(renamed, "rename a state file", name)
        if waitsForDisk { try WriteBack.waitForNames(in: folder.number) }
    }

    static func writeAll(_ descriptor: Int32, _ name: String, _ bytes: [UInt8]) throws(RootError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe sys_write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            try checkState(count == 0 ? -Int(EIO) : count, "write a state file", name)
            written += count
        }
    }

    static func readAll(
        _ descriptor: Int32, _ name: String, expecting size: UInt64
    ) throws(RootError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(size))
        var position = 0
        while position < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe sys_pread(
                    descriptor, $0.baseAddress?.advanced(by: position), $0.count - position, Int64(position))
            }
            try checkState(count, "read a state file", name)
            if count == 0 { break }
            position += count
        }
        bytes.removeLast(bytes.count - position)
        return bytes
    }

    /// 128 random bits as 32 hexadecimal digits.
    static func randomName() -> String {
        var generator = SystemRandomNumberGenerator()
        return [
            UInt64.random(in: .min ... .max, using: &generator), UInt64.random(in: .min ... .max, using: &generator),
        ]
        .map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        .joined()
    }
}
