import Glibc
import TestSupport
import Testing

@testable import DirectoryRoot

/// A full disk, and what is written once there is space again.
@Suite("Spare room") struct SpareRoomTests {
    let time = TestClock()

    private func root(_ disk: SmallDisk) throws -> DirectoryRoot {
        try DirectoryRoot(path: disk.path, clock: time.clock)
    }

    /// Takes all free space; returns the file that holds it.
    private func fill(_ disk: SmallDisk) -> String {
        let path = disk.path + "/filler"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let bytes = [UInt8](repeating: 0, count: 4_096)
        while write(file, bytes, bytes.count) > 0 {}
        return path
    }

    /// Removes what holds the space, and waits until it is free: a process that another test starts meanwhile has our
    /// open files too, until it executes its own program.
    private func makeRoom(_ disk: SmallDisk, removing filler: String) throws {
        var about = stat()
        try #require(stat(filler, &about) == 0 && unlink(filler) == 0)
        for _ in 0..<1_000 {
            var state = statvfs()
            try #require(statvfs(disk.path, &state) == 0)
            if state.f_bfree * state.f_frsize >= UInt(about.st_size) { return }
            usleep(10_000)
        }
        Issue.record("the space of a removed file is not free after 10 s")
    }

    @Test("Sixteen files are kept on a small disk, given up for what makes room, and made again")
    func filling() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        let root = try root(disk)
        try root.sweep()
        let spare = try #require(try root.state.folder.subfolder("spare", creating: false))
        #expect(try StateFolder.names(in: spare).count == 16)
        let filler = fill(disk)
        let share = Share(root: root)
        let item = try #require(try share.moveToTrash(SharePath("filler")))
        #expect(try (1..<16).contains(StateFolder.names(in: spare).count) && root.hasRoomForTrash)
        try share.deleteFromTrash(item.id)
        #expect(access(filler, F_OK) != 0)
        try root.sweep()
        #expect(try StateFolder.names(in: spare).count == 16)
    }

    @Test("What was given up for is not for uploads, whichever process on the share is asked")
    func everyProcess() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        let root = try root(disk)
        try root.sweep()
        let filler = fill(disk)
        let others = [root, try self.root(disk)]
        #expect(others.allSatisfy { $0.state.folder.heldBack == 0 })
        var isFirst = true
        try root.state.folder.usingSpareRoom { () throws(RootError) in
            defer { isFirst = false }
            if isFirst { throw .noSpace }
        }
        for other in others + [try self.root(disk)] { #expect(other.state.folder.heldBack > 0) }
        try makeRoom(disk, removing: filler)
        try others[1].sweep()
        #expect(others.allSatisfy { $0.state.folder.heldBack == 0 })
    }

    @Test("The files take their room also where the file system compresses")
    func noPattern() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        try root(disk).sweep()
        let file = open(disk.path + "/.shareserve/spare/0", O_RDONLY)
        defer { close(file) }
        let bytes = try StateFile.readAll(file, "0", expecting: 16_384)
        let words = stride(from: 0, to: bytes.count, by: 8).map { Array(bytes[$0..<$0 + 8]) }
        #expect(words.count == 2_048 && Set(words).count == words.count)
    }

    @Test("A large disk that nothing was ever changed on gets no folder")
    func largeDisk() throws {
        guard let disk = SmallDisk(megabytes: 2_048) else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        let root = try root(disk)
        try root.sweep()
        #expect(access(disk.path + "/.shareserve", F_OK) != 0 && root.hasRoomForTrash)
    }

    @Test("A disk that can't be written for another reason is not called full")
    func closedFolder() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        #expect(mkdir(disk.path + "/.shareserve", 0o700) == 0 && mkdir(disk.path + "/.shareserve/spare", 0o700) == 0)
        #expect(mount(nil, disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
        let root = try root(disk)
        try root.sweep()
        #expect(root.hasRoomForTrash)
    }

    @Test("What ended while there was no room is written when there is some")
    func unwritten() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        let root = try root(disk)
        var share = Share(root: root)
        try share.createDirectory(at: SharePath("folder"))
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        share.tokens = [try share.lock(SharePath("folder"), request).lock.token]
        let filler = fill(disk)
        #expect(try share.remove(SharePath("folder")).isEmpty)
        let now = time.clock.wall()
        let until = now.advanced(by: .seconds(3_600))
        #expect(throws: RootError.noSpace) {
            try root.endedSessions.end([1, 2, 3], begun: now, until: until, now: now)
        }
        #expect(!root.hasRoomForTrash)
        // What another process sees, before and after there is space again.
        #expect(try !Share(root: self.root(disk)).locks(within: .root).isEmpty)
        try makeRoom(disk, removing: filler)
        try root.sweep()
        let other = try self.root(disk)
        #expect(try Share(root: other).locks(within: .root).isEmpty && root.hasRoomForTrash)
        #expect(try other.endedSessions.contains([1, 2, 3], begun: now, now: now, waiting: true))
    }

    @Test("A lock that ended while there was no room does not come back with what another process writes")
    func unwrittenBesideOthers() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        let root = try root(disk)
        var share = Share(root: root)
        for name in ["folder", "other"] { try share.createDirectory(at: SharePath(name)) }
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        share.tokens = [try share.lock(SharePath("folder"), request).lock.token]
        let filler = fill(disk)
        #expect(try share.remove(SharePath("folder")).isEmpty)
        try makeRoom(disk, removing: filler)
        _ = try Share(root: self.root(disk)).lock(SharePath("other"), request)
        #expect(try share.locks(within: .root).map(\.root) == [SharePath("other")])
        try root.sweep()
        #expect(try Share(root: self.root(disk)).locks(within: .root).map(\.root) == [SharePath("other")])
    }
}
