import CSyscalls
import Synchronization

/// Disk space reserved for the notes that belong to freeing space: on a full disk, nothing could be moved to the trash
/// otherwise, and no lock, link or session could be ended.
///
/// `.shareserve/spare/` holds sixteen files of 16 KiB. When there is no space for such a note, one of them is removed,
/// which frees blocks and an inode. Until all sixteen exist again, uploads leave some space free, which they would use
/// up otherwise. The first file shows this to every process on the share, and to those that start later: it is removed
/// before all others, and created again after them.
extension StateFolder {
    private static let spareFolder = "spare"
    private static let spareCount = 16
    private static let spareSize = 16_384
    private static let firstSpareFile = "0"
    /// With less than this free, a share that was never changed gets spare files too: the disk may be full any minute.
    private static let lowRoom: UInt64 = 1 << 30
    /// With less than this free, only one is created.
    private static let ampleRoom: UInt64 = 1 << 20
    /// How long a disk with much free space is assumed to have enough, in milliseconds.
    private static let roomLasts: Int64 = 100

    /// Runs `body`, and runs it again after giving up one spare file after the other while the disk has no space for
    /// it.
    ///
    /// - Parameter body: frees space or ends something; must leave nothing behind when it throws.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws; ``RootError/noSpace`` when no spare file is left.
    func usingSpareRoom<T>(_ body: () throws(RootError) -> T) throws(RootError) -> T {
        while true {
            do throws(RootError) {
                return try body()
            } catch .noSpace where giveUpSpareFile() {
                continue
            } catch {
                if error == .noSpace { hasNoRoom.store(true, ordering: .relaxed) }
                throw error
            }
        }
    }

    /// Creates the missing spare files, as far as the disk has space, and finds out whether it has any.
    ///
    /// On a disk with much free space, only if a state folder exists, which the first change creates. Called at the
    /// start and from time to time.
    func fillSpareRoom() {
        guard !isReadOnly else { return }
        var space = sys_space()
        guard unsafe sys_space(root, &space) == 0 else { return }
        let free = space.is_known == 0 ? .max : space.available
        let spare: IdentifiedDescriptor?
        let isTight = isTight
        do throws(RootError) {
            if free >= Self.lowRoom, try descriptor(creating: false) == nil {
                hasNoRoom.store(false, ordering: .relaxed)
                return
            }
            spare = try subfolder(Self.spareFolder, creating: true)
        } catch {
            hasNoRoom.store(error == .noSpace, ordering: .relaxed)
            return
        }
        guard let spare, var names = try? Self.names(in: spare) else { return }
        // What somebody else has put there is not ours to use.
        let own = (0..<Self.spareCount).map(String.init)
        names.removeAll { !own.contains($0) }
        // What was given up is created again as soon as possible, whoever the remaining space is meant for.
        let wanted = free >= Self.ampleRoom || isTight ? Self.spareCount : 1
        var isFull = false
        do throws(RootError) {
            for name in isTight ? own.reversed() : own where names.count < wanted && !names.contains(name) {
                try Self.makeSpareFile(name, in: spare)
                names.append(name)
            }
        } catch {
            isFull = error == .noSpace && names.isEmpty
        }
        hasNoRoom.store(isFull, ordering: .relaxed)
    }

    /// Bytes of disk space that uploads must leave free.
    var heldBack: Int64 { isTight ? Int64(Self.ampleRoom) : 0 }

    /// Whether a spare file was given up, by any process, and not created again yet: the space freed by that is not for
    /// uploads.
    ///
    /// Checked before each upload: on a disk with much free space, usually without any system call.
    private var isTight: Bool {
        let now = sys_coarse_milliseconds()
        guard !isReadOnly, now - hadMuchRoom.load(ordering: .relaxed) >= Self.roomLasts else { return false }
        var space = sys_space()
        guard unsafe sys_space(root, &space) == 0, space.is_known != 0 else { return false }
        guard space.available < Self.lowRoom else {
            hadMuchRoom.store(now, ordering: .relaxed)
            return false
        }
        guard let spare = try? subfolder(Self.spareFolder, creating: false) else { return false }
        var status = sys_attributes()
        return unsafe sys_statat(spare.number, Self.firstSpareFile, &status) == -ENOENT
    }

    private static func makeSpareFile(_ name: String, in spare: IdentifiedDescriptor) throws(RootError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let file = try unsafe Descriptor(sys_openat(spare.number, name, flags, 0o600), "create a spare file")
        do throws(RootError) {
            // Random bytes: a file system that compresses would reserve no space for zeros.
            var bytes: [UInt8] = []
            while bytes.count < spareSize {
                unsafe withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { unsafe bytes += $0 }
            }
            try StateFile.writeAll(file.number, name, bytes)
            // Some file systems report only now that they have no space.
            try WriteBack.wait(for: file.number, durably: false)
        } catch {
            // A file that is too short to be useful would count as one until it is given up.
            _ = unsafe sys_unlinkat(spare.number, name, 0)
            throw error
        }
    }

    /// Gives up one spare file; returns whether there was one.
    private func giveUpSpareFile() -> Bool {
        guard let spare = try? subfolder(Self.spareFolder, creating: false), let names = try? Self.names(in: spare)
        else { return false }
        // Another process may have removed the first of them at this moment.
        return names.sorted().contains { unsafe sys_unlinkat(spare.number, $0, 0) == 0 }
    }
}
