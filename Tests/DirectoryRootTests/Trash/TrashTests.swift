import TestSupport
import Testing

@testable import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("Trash") struct TrashTests {
    let directory: TemporaryDirectory
    let time = TestClock()
    let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        share = Share(root: try DirectoryRoot(path: directory.path, clock: time.clock))
        try directory.write("one", to: "a/b.txt")
        try directory.write("two", to: "a/c/d.txt")
    }

    private func keeping(_ days: Int) throws -> Share {
        var policy = RootPolicy()
        policy.trashDays = days
        return Share(root: try DirectoryRoot(path: directory.path, policy: policy, clock: time.clock))
    }

    private func put(_ path: String, _ content: String, _ share: Share) throws {
        let upload = try share.beginUpload(to: SharePath(path), replacing: .anything)
        try upload.write(Array(content.utf8))
        _ = try upload.commit()
    }

    @Test("A deleted file and a deleted tree come back where they were, with their properties")
    func undo() throws {
        let property = DeadProperty(name: PropertyName(namespace: "u", local: "p"), xml: Array("<p/>".utf8))
        try share.updateProperties(of: SharePath("a/c/d.txt"), [.set(property)])
        let file = try #require(try share.moveToTrash(SharePath("a/b.txt")))
        let tree = try #require(try share.moveToTrash(SharePath("a")))
        #expect(!directory.exists("a"))
        #expect(file.path == SharePath("a/b.txt") && !file.isDirectory && file.size == 3)
        #expect(tree.isDirectory)
        #expect(Set(try share.trashItems().map(\.id)) == [file.id, tree.id])
        #expect(try share.restore(file.id) == SharePath("a/b.txt"))
        #expect(directory.text("a/b.txt") == "one", "the folder above is made again")
        #expect(throws: RootError.exists) { try share.restore(tree.id) }
        #expect(try share.restore(tree.id, onConflict: .keepBoth) == SharePath("a (1)"))
        #expect(directory.text("a (1)/c/d.txt") == "two")
        #expect(try share.properties(of: SharePath("a (1)/c/d.txt")) == [property])
        #expect(try share.trashItems().isEmpty)
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("What is over goes, also where something of the uploads can't be read")
    func purgeBesideFaults() throws {
        _ = try #require(try share.moveToTrash(SharePath("a")))
        try directory.write("", to: ".shareserve/uploads")
        time.pass(100)
        #expect(throws: RootError.system(errno: ENOTDIR, call: "openat")) { try share.root.sweep() }
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("A clock that is set takes no time from what was deleted before", arguments: [400 * 86_400, -400 * 86_400])
    func clockIsSet(by seconds: Int64) throws {
        let share = try keeping(30)
        // As at a start: there is no trash yet.
        try share.root.sweep()
        let earlier = try #require(try share.moveToTrash(SharePath("a/b.txt")))
        time.pass(86_400)
        let later = try #require(try share.moveToTrash(SharePath("a")))
        time.turn(by: seconds)
        try share.root.sweep()
        let found = try share.trashItems()
        #expect(Set(found.map(\.id)) == [earlier.id, later.id])
        let item = try #require(found.first { $0.id == later.id })
        #expect(item.expires == later.expires.advanced(by: .seconds(seconds)))
        time.turn(by: -seconds)
        try share.root.sweep()
        #expect(try share.trashItems().first { $0.id == later.id }?.expires == later.expires)
        time.pass(30 * 86_400 - 1)
        try share.root.sweep()
        #expect(try share.trashItems().contains { $0.id == later.id })
        time.pass(1)
        try share.root.sweep()
        #expect(try !share.trashItems().contains { $0.id == later.id })
        #expect(!directory.names(in: ".shareserve/trash").contains { $0.hasPrefix(later.id) })
    }

    @Test("What is no record keeps no other from going, is told once, and stays")
    func purgeBesideUnreadable() throws {
        for name in ["a/b.txt", "a/c/d.txt"] {
            _ = try #require(try share.moveToTrash(SharePath(name)))
            _ = try share.createUpload(UploadSpec(target: SharePath("x"), length: 1))
        }
        // Whatever the order in which a folder lists its names, some come after one of these.
        for digit in "0123456789abcdef" {
            let name = String(repeating: digit, count: 32) + ".record"
            try directory.makeDirectory(".shareserve/trash/" + name)
            try directory.makeDirectory(".shareserve/uploads/" + name)
        }
        time.pass(90 * 86_400)
        try share.root.sweep()
        #expect(share.root.takeIncidents().count == 32)
        try share.root.sweep()
        #expect(share.root.takeIncidents() == [])
        #expect(directory.names(in: ".shareserve/trash").count == 16)
        #expect(directory.names(in: ".shareserve/uploads").count == 16)
    }

    @Test("An item with something else in place of its record hides no other", arguments: ["folder", "link", "huge"])
    func foreignRecord(kind: String) throws {
        let bad = try #require(try share.moveToTrash(SharePath("a/b.txt")))
        let good = try #require(try share.moveToTrash(SharePath("a")))
        let record = ".shareserve/trash/\(bad.id).record"
        if kind != "huge" { directory.removeAll(record) }
        switch kind {
        case "folder": try directory.makeDirectory(record)
        case "link": try directory.link(record, to: "nowhere")
        default: #expect(truncate(directory.path(of: record), 1 << 40) == 0)
        }
        #expect(try share.trashItems().map(\.id) == [good.id])
        #expect(share.root.takeIncidents() == [.damagedFile(name: "\(bad.id).record")])
        time.pass(90 * 86_400)
        try share.root.sweep()
        #expect(Set(directory.names(in: ".shareserve/trash")) == ["\(bad.id).item", "\(bad.id).record"])
    }

    @Test("What is deleted with many others is kept for as long as was said, and no longer")
    func keptForLonger() throws {
        let longer = try #require(try share.moveToTrash(SharePath("a/b.txt"), for: .seconds(300)))
        let other = try #require(try share.moveToTrash(SharePath("a/c/d.txt")))
        time.pass(100)
        try share.root.sweep()
        #expect(try share.trashItems().map(\.id) == [longer.id])
        #expect(throws: RootError.unknownToken) { try share.restore(other.id) }
        #expect(try share.restore(longer.id) == SharePath("a/b.txt"))
        _ = try #require(try share.moveToTrash(SharePath("a/b.txt"), for: .seconds(300)))
        time.pass(301)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("A record that a killed process had not written yet is no damage, and goes")
    func unwritten() throws {
        let name = ".shareserve/trash/" + String(repeating: "0", count: 32) + ".record"
        _ = try #require(try share.moveToTrash(SharePath("a/b.txt")))
        try directory.write("", to: name)
        try share.root.sweep()
        #expect(share.root.takeIncidents() == [])
        time.pass(90 * 86_400)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash") == [])
    }

    @Test("Restoring over what is there puts that into the trash")
    func replace() throws {
        let first = try #require(try share.moveToTrash(SharePath("a/b.txt")))
        try directory.write("newer", to: "a/b.txt")
        _ = try share.restore(first.id, onConflict: .replace)
        #expect(directory.text("a/b.txt") == "one")
        let second = try #require(try share.trashItems().first)
        #expect(second.path == SharePath("a/b.txt") && second.size == 5)
    }

    @Test("What may not be read in a deleted folder does not come back under another name")
    func protectedPart() throws {
        let tree = try #require(try share.moveToTrash(SharePath("a")))
        var visitor = share
        visitor.rights = RightsMap(rules: [(.root, .readWrite), (SharePath("a/c"), .none)])
        #expect(throws: RootError.forbidden) { try visitor.restore(tree.id) }
        try directory.makeDirectory("a")
        #expect(throws: RootError.forbidden) { try visitor.restore(tree.id, onConflict: .keepBoth) }
        #expect(!directory.exists("a (1)"))
        visitor.rights = RightsMap(rules: [(.root, .readWrite), (SharePath("a (1)/c"), .readOnly)])
        #expect(throws: RootError.forbidden) { try visitor.restore(tree.id, onConflict: .keepBoth) }
        #expect(try share.restore(tree.id, onConflict: .keepBoth) == SharePath("a (1)"))
    }

    @Test("With --no-delete, nothing that is restored takes a folder's place")
    func keepsFolders() throws {
        let tree = try #require(try share.moveToTrash(SharePath("a")))
        try directory.write("newer", to: "a/b.txt")
        var policy = RootPolicy()
        policy.refusesDelete = true
        let careful = Share(root: try DirectoryRoot(path: directory.path, policy: policy, clock: time.clock))
        #expect(throws: RootError.forbidden) { try careful.restore(tree.id, onConflict: .replace) }
        #expect(directory.text("a/b.txt") == "newer")
        #expect(try careful.restore(tree.id, onConflict: .keepBoth) == SharePath("a (1)"))
    }

    @Test("The page's deletes go after a minute, without --trash")
    func purge() throws {
        let item = try #require(try share.moveToTrash(SharePath("a")))
        time.pass(59)
        try share.root.sweep()
        #expect(try share.trashItems().count == 1)
        #expect(item.expires == time.clock.wall().advanced(by: .seconds(1)))
        time.pass(1)
        #expect(throws: RootError.unknownToken) { try share.restore(item.id) }
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("What was promised to be kept is kept, also by a server that keeps nothing, and longer by one that does")
    func promised() throws {
        let item = try #require(try keeping(3).moveToTrash(SharePath("a")))
        time.pass(2 * 86_400)
        try share.root.sweep()
        #expect(try share.trashItems().map(\.expires) == [item.expires])
        #expect(try keeping(30).trashItems().map(\.expires) == [item.expires.advanced(by: .seconds(27 * 86_400))])
        time.pass(86_400)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("What is over waits for another minute while another process changes names")
    func heldLock() throws {
        _ = try #require(try share.moveToTrash(SharePath("a/b.txt")))
        _ = try #require(try share.moveToTrash(SharePath("a")))
        time.pass(100)
        let other = try DirectoryRoot(path: directory.path, clock: time.clock)
        try other.commitLock.withLock { () throws(RootError) in
            let start = ContinuousClock.now
            do { try share.root.sweep() } catch { Issue.record("the sweep failed: \(error)") }
            #expect(ContinuousClock.now - start < .seconds(5))
        }
        #expect(directory.names(in: ".shareserve/trash").count == 4)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("What an earlier version kept is kept for a day, also by a server that keeps nothing")
    func oldRecord() throws {
        let item = try #require(try keeping(3).moveToTrash(SharePath("a")))
        let path = ".shareserve/trash/\(item.id).record"
        let bytes = try #require(directory.read(path))
        var old = try TrashRecord(id: item.id, payload: StateEnvelope(file: bytes).payload)
        old.expires = nil
        try directory.write(StateEnvelope(generation: 1, payload: old.payload).encoded(), to: path)
        time.pass(86_000)
        try share.root.sweep()
        #expect(try share.trashItems().map(\.id) == [item.id])
        time.pass(1_000)
        try share.root.sweep()
        #expect(try share.trashItems().isEmpty)
    }

    @Test("What is being removed for good does not come back, and the next look goes on with it after a kill")
    func doomed() throws {
        let tree = try #require(try share.moveToTrash(SharePath("a")))
        let item = ".shareserve/trash/" + tree.id
        try directory.rename(item + ".item", to: item + ".doomed")
        #expect(try share.trashItems().isEmpty)
        #expect(throws: RootError.unknownToken) { try share.restore(tree.id) }
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("With --trash whatever any door deletes or replaces is kept for its days")
    func keeps() throws {
        let share = try keeping(3)
        try put("a/b.txt", "second", share)
        #expect(directory.text("a/b.txt") == "second")
        _ = try share.copy(SharePath("a/c/d.txt"), to: SharePath("a/b.txt"), replacing: .anything)
        _ = try share.move(SharePath("a/c/d.txt"), to: SharePath("a/b.txt"), replacing: .anything)
        try directory.write("x", to: "z/y")
        _ = try share.move(SharePath("z"), to: SharePath("a/c"), replacing: .anything)
        #expect(try share.remove(SharePath("a")).isEmpty)
        #expect(!directory.exists("a"))
        let kept = try share.trashItems()
        #expect(kept.map(\.path).filter { $0 == SharePath("a/b.txt") }.count == 3)
        #expect(Set(kept.map(\.path)) == [SharePath("a/b.txt"), SharePath("a/c"), SharePath("a")])
        time.pass(3 * 86_400 - 1)
        try share.root.sweep()
        #expect(try share.trashItems().count == 5)
        let first = try #require(kept.first { $0.size == 3 && !$0.isDirectory })
        _ = try share.restore(first.id)
        #expect(["one", "two"].contains(directory.text("a/b.txt")))
        time.pass(1)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }

    @Test("Rights and locks hold for deleting, looking, restoring and emptying")
    func rights() throws {
        var reader = share
        reader.rights = RightsMap(rules: [(.root, .readOnly)])
        #expect(throws: RootError.forbidden) { try reader.moveToTrash(SharePath("a")) }
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        let lock = try share.lock(SharePath("a/c/d.txt"), request).lock
        #expect(throws: RootError.locked([SharePath("a/c/d.txt")])) { try share.moveToTrash(SharePath("a")) }
        var holder = share
        holder.tokens = [lock.token]
        let item = try #require(try holder.moveToTrash(SharePath("a")))
        #expect(try share.locks(covering: SharePath("a/c/d.txt")).isEmpty)
        #expect(throws: RootError.forbidden) { try reader.restore(item.id) }
        #expect(throws: RootError.forbidden) { try reader.deleteFromTrash(item.id) }
        var stranger = share
        stranger.rights = RightsMap(rules: [(.root, .readWrite), (SharePath("a"), .none)])
        #expect(try stranger.trashItems().isEmpty)
        #expect(throws: RootError.unknownToken) { try stranger.restore(item.id) }
        var inside = share
        inside.base = SharePath("other")
        #expect(try inside.trashItems().isEmpty)
        for id in ["", "..", "../links", "x/../y"] {
            #expect(throws: RootError.unknownToken) { try share.deleteFromTrash(id) }
        }
        #expect(throws: RootError.selfReference) { try share.moveToTrash(.root) }
        #expect(throws: RootError.forbidden) { try reader.emptyTrash() }
        try share.emptyTrash()
        #expect(directory.names(in: ".shareserve/trash").isEmpty)
    }
}
