import CSyscalls
import Synchronization

/// Room that is kept for the notes that go with making room: on a full disk nothing could go to the trash otherwise,
/// and no lock, link or session could be ended.
///
/// `.shareserve/spare/` holds sixteen files of 16 KiB. Whenever such a note finds no room one of them goes, which frees
/// blocks and an inode. From then on until they are all there again uploads leave some room free, which they would use
/// up otherwise. That the first is missing tells so to every process on the share, and to those that start later: it
/// goes before all others, and comes back after them.
extension StateFolder {
    private static let spareFolder = "spare"
    private static let spareCount = 16
    private static let spareSize = 16_384
    private static let firstSpareFile = "0"
    /// With less than this left on the disk, also a share that was never changed gets them: it may be full any minute.
    private static let lowRoom: UInt64 = 1 << 30
    /// With less than this, no more than one is made.
    private static let ampleRoom: UInt64 = 1 << 20
    /// For how long a disk with much room has enough, in milliseconds.
    private static let roomLasts: Int64 = 100

    /// Runs `body`, and again after giving up one spare file after the other, as long as the disk has no room for it.
    ///
    /// - Parameter body: what leads to more room, or ends something; leaves nothing behind where it throws.
    /// - Returns: what `body` gives.
    /// - Throws: what `body` throws; ``RootError/noSpace`` when there is nothing left to give up.
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

    /// Makes the spare files that are missing, as far as the disk has room for them, and finds out whether it has any.
    ///
    /// Of a disk with much room only where there is a state folder, which is made by whatever first changes something.
    /// At the start and from time to time.
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
        // What somebody else has put there is no room of ours.
        let own = (0..<Self.spareCount).map(String.init)
        names.removeAll { !own.contains($0) }
        // What was given up is made again as soon as that can be, whoever the room that is left is for.
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

    /// Bytes of the disk that uploads leave free.
    var heldBack: Int64 { isTight ? Int64(Self.ampleRoom) : 0 }

    /// Whether a spare file was given up, by any process, and is not made again yet: what that frees is not for
    /// uploads.
    ///
    /// Asked before each upload: of a disk with much room, nothing is looked at most of the time.
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
            // Random bytes: a file system that compresses would keep no room for zeros.
            var bytes: [UInt8] = []
            while bytes.count < spareSize {
                unsafe withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { unsafe bytes += $0 }
            }
            try StateFile.writeAll(file.number, bytes)
            // Some say only then that they have no room.
            try WriteBack.wait(for: file.number, durably: false)
        } catch {
            // One that is too short to be of use counts as one until it is given up.
            _ = unsafe sys_unlinkat(spare.number, name, 0)
            throw error
        }
    }

    /// Whether there was one.
    private func giveUpSpareFile() -> Bool {
        guard let spare = try? subfolder(Self.spareFolder, creating: false), let names = try? Self.names(in: spare)
        else { return false }
        // Another process may have taken the first of them at this moment.
        return names.sorted().contains { unsafe sys_unlinkat(spare.number, $0, 0) == 0 }
    }
}
