import Synchronization
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

@Suite("Resumable uploads") struct UploadStoreTests {
    let directory: TemporaryDirectory
    let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        share = Share(root: try DirectoryRoot(path: directory.path))
    }

    private func other(_ policy: RootPolicy = RootPolicy(), clock: RootClock = .system) throws -> Share {
        Share(root: try DirectoryRoot(path: directory.path, policy: policy, clock: clock))
    }

    private func write(_ text: String, to upload: ResumableUpload) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in try upload.write(bytes) }
    }

    private func text(of upload: ResumableUpload) throws -> String {
        var buffer = [UInt8](repeating: 0, count: 1_000)
        let count = try buffer.withUnsafeMutableBytes { try upload.read(into: $0, at: 0) }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    @Test("An upload goes on where it stopped, on another instance, and becomes the file with its time and properties")
    func resume() throws {
        let path = SharePath("a.txt")
        try directory.write("old", to: "a.txt")
        let property = DeadProperty(name: PropertyName(namespace: "u", local: "p"), xml: Array("<p/>".utf8))
        try share.updateProperties(of: path, [.set(property)])
        let spec = UploadSpec(
            target: path, length: 10, notes: [.init(name: "filename", value: "ä\n="), .init(name: "x", value: "")],
            modified: Timestamp(seconds: 1_000_000_000, nanoseconds: 5), mediaType: "text/plain")
        let first = try share.createUpload(spec)
        try write("hello", to: first)
        try first.settle()
        #expect(directory.text("a.txt") == "old")
        let second = try other().resumeUpload(id: first.id)
        #expect(second.offset == 5 && second.record.notes == spec.notes && second.record.length == 10)
        #expect(try text(of: second) == "hello")
        try write("world", to: second)
        #expect(throws: RootError.tooLarge) { try write("!", to: second) }
        let (attributes, created) = try second.finish(replacing: .anything)
        #expect(!created && attributes.modified == spec.modified)
        #expect(directory.text("a.txt") == "helloworld")
        #expect(try share.properties(of: path) == [property])
        let done = try share.upload(id: first.id)
        #expect(done.record.phase == .finished(entityTag: attributes.entityTag.text, created: false))
        #expect(done.record.target == path)
        #expect(throws: RootError.unknownToken) { try share.resumeUpload(id: first.id) }
        #expect(directory.mode(of: "a.txt") & 0o600 == 0o600)
    }

    @Test("Whoever resumes an upload takes it over; the old connection sees that and changes nothing")
    func takeOver() throws {
        let old = try share.createUpload(UploadSpec(target: SharePath("a"), length: nil))
        try write("one", to: old)
        try old.settle()
        let new = try other().resumeUpload(id: old.id)
        #expect(throws: RootError.takenOver) { try write("two", to: old) }
        #expect(throws: RootError.takenOver) { try old.finish(replacing: .anything) }
        #expect(new.offset == 3)
        try new.declareLength(6)
        #expect(throws: RootError.preconditionFailed) { try new.declareLength(7) }
        #expect(throws: RootError.preconditionFailed) { try new.finish(replacing: .anything) }
        try write("two", to: new)
        #expect(new.isComplete)
        #expect(try new.finish(replacing: .nothing).created)
        #expect(directory.text("a") == "onetwo")
    }

    @Test("To another process, bytes count that are on the disk; to the one that wrote them, all")
    func unsettled() throws {
        let first = try share.createUpload(UploadSpec(target: SharePath("a"), length: 9))
        try write("abc", to: first)
        try first.settle()
        try write("def", to: first)
        #expect(try share.upload(id: first.id).offset == 6)
        #expect(try other().upload(id: first.id).offset == 3)
        let second = try other().resumeUpload(id: first.id)
        #expect(second.offset == 3)
        try write("DEFGHI", to: second)
        #expect(try second.finish(replacing: .nothing).created)
        #expect(directory.text("a") == "abcDEFGHI")
    }

    @Test("Whoever resumes an upload has its bytes on the disk, so that what is told then stays")
    func resumingSettles() throws {
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 9))
        try write("abc", to: upload)
        #expect(upload.settled == 0)
        let resumed = try share.resumeUpload(id: upload.id)
        #expect(resumed.offset == 3 && resumed.settled == 3)
        #expect(try other().upload(id: upload.id).offset == 3)
        #expect(throws: RootError.takenOver) { try upload.settle() }
    }

    @Test("A finish that is refused keeps every byte, and can be tried again")
    func refusedFinish() throws {
        let path = SharePath("a")
        let upload = try share.createUpload(UploadSpec(target: path, length: 3, replacing: .nothing))
        try write("new", to: upload)
        try directory.write("other", to: "a")
        #expect(throws: RootError.exists) { try upload.finish(replacing: .nothing) }
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        let lock = try share.lock(path, request).lock
        #expect(throws: RootError.locked([path])) { try upload.finish(replacing: .anything) }
        #expect(directory.text("a") == "other")
        #expect(try share.upload(id: upload.id).offset == 3)
        let kept = try upload.finish(to: SharePath("a (1)"), replacing: .nothing)
        #expect(kept.created && directory.text("a (1)") == "new")
        try share.unlock(path, token: lock.token)
        #expect(directory.names(in: ".shareserve/uploads") == [upload.id + ".record"])
    }

    @Test("Rights, locks, conflicts, limits and names are asked before the first byte")
    func early() throws {
        try directory.write("x", to: "a")
        #expect(throws: RootError.exists) {
            try share.createUpload(UploadSpec(target: SharePath("a"), length: 1, replacing: .nothing))
        }
        #expect(throws: RootError.parentMissing) {
            try share.createUpload(UploadSpec(target: SharePath("no/a"), length: 1))
        }
        #expect(throws: RootError.forbidden) {
            try share.createUpload(UploadSpec(target: SharePath(".shareserve/x"), length: 1))
        }
        var policy = RootPolicy()
        policy.maxUploadSize = 10
        policy.maxUploads = 4
        let limited = try other(policy)
        #expect(throws: RootError.overLimit(10)) {
            try limited.createUpload(UploadSpec(target: SharePath("b"), length: 11))
        }
        let open = try limited.createUpload(UploadSpec(target: SharePath("b"), length: nil))
        #expect(throws: RootError.overLimit(10)) { try write("01234567890", to: open) }
        #expect(throws: RootError.overLimit(10)) { try open.declareLength(11) }
        _ = try limited.createUpload(UploadSpec(target: SharePath("c"), length: 1))
        #expect(throws: RootError.tooManyUploads) {
            try limited.createUpload(UploadSpec(target: SharePath("d"), length: 1))
        }
        try limited.removeUpload(id: open.id)
        _ = try limited.createUpload(UploadSpec(target: SharePath("d"), length: 1))
        var full = RootPolicy()
        full.minFreeSpace = .max / 2
        #expect(throws: RootError.noSpace) {
            try other(full).createUpload(UploadSpec(target: SharePath("e"), length: 1))
        }
        var reader = share
        reader.rights = RightsMap(rules: [(.root, .readOnly)])
        #expect(throws: RootError.forbidden) {
            try reader.createUpload(UploadSpec(target: SharePath("e"), length: 1))
        }
        #expect(throws: RootError.forbidden) { try reader.createUpload(UploadSpec(target: nil, length: 1)) }
    }

    @Test("What comes in one request shows as long as it is under way, once it is large")
    func writesUnderWay() throws {
        var anna = share
        anna.user = "anna"
        let upload = try anna.beginUpload(to: SharePath("big"), replacing: .nothing, size: 600_000)
        try upload.write([UInt8](repeating: 1, count: 1_000))
        #expect(try share.uploadsInProgress(below: .root).isEmpty)
        try upload.write([UInt8](repeating: 1, count: 399_000))
        let found = try #require(share.uploadsInProgress(below: .root).first)
        #expect(found.record.target == SharePath("big") && found.record.user == "anna")
        #expect(found.record.length == 600_000 && found.offset == 400_000)
        var stranger = share
        stranger.rights = RightsMap(rules: [(.root, .readOnly), (SharePath("big"), .none)])
        #expect(try stranger.uploadsInProgress(below: .root).isEmpty)
        _ = try upload.commit()
        #expect(try share.uploadsInProgress(below: .root).isEmpty)
        do {
            let given = try share.beginUpload(to: SharePath("other"), replacing: .nothing)
            try given.write([UInt8](repeating: 1, count: 400_000))
            #expect(try share.uploadsInProgress(below: .root).count == 1)
        }
        #expect(try share.uploadsInProgress(below: .root).isEmpty)
    }

    @Test("An upload belongs to its user and to the part of the share it was begun in")
    func ownership() throws {
        try directory.makeDirectory("in")
        var anna = share
        anna.user = "anna"
        let upload = try anna.createUpload(UploadSpec(target: SharePath("in/a"), length: 1))
        #expect(throws: RootError.unknownToken) { try share.resumeUpload(id: upload.id) }
        #expect(throws: RootError.unknownToken) { try share.removeUpload(id: upload.id) }
        anna.base = SharePath("in")
        _ = try anna.upload(id: upload.id)
        #expect(try anna.uploadsInProgress(below: .root).map(\.record.target) == [SharePath("a")])
        anna.base = SharePath("other")
        #expect(throws: RootError.unknownToken) { try anna.upload(id: upload.id) }
        for id in [
            "", "x", "../../etc/passwd", String(repeating: "0", count: 32), upload.id.uppercased(), upload.id + "\0",
        ] {
            #expect(throws: RootError.unknownToken) { try share.upload(id: id) }
        }
    }

    @Test("Finished partial uploads are joined in their order")
    func joining() throws {
        var ids: [String] = []
        for text in ["one ", "two ", "three"] {
            let part = try share.createUpload(UploadSpec(target: nil, length: Int64(text.utf8.count)))
            try write(text, to: part)
            #expect(throws: RootError.preconditionFailed) { try part.finish(replacing: .anything) }
            ids.append(part.id)
        }
        let open = try share.createUpload(UploadSpec(target: nil, length: 5))
        #expect(throws: RootError.preconditionFailed) {
            try share.joinUploads(ids + [open.id], as: UploadSpec(target: SharePath("a"), length: nil))
        }
        #expect(throws: RootError.unknownToken) {
            try share.joinUploads(
                [String(repeating: "0", count: 32)], as: UploadSpec(target: SharePath("a"), length: nil))
        }
        let whole = try share.joinUploads(ids, as: UploadSpec(target: SharePath("a"), length: nil))
        #expect(whole.isComplete && whole.record.parts == ids)
        _ = try whole.finish(replacing: .anything)
        #expect(directory.text("a") == "one two three")
    }

    @Test("Partial uploads that are part of a file take nobody's place")
    func placesOfJoinedOnes() throws {
        var policy = RootPolicy()
        policy.maxUploads = 6
        let share = try other(policy)
        for number in 0..<20 {
            let parts = try (0..<2).map { _ in try share.createUpload(UploadSpec(target: nil, length: 0)).id }
            let whole = try share.joinUploads(parts, as: UploadSpec(target: SharePath("\(number)"), length: nil))
            _ = try whole.finish(replacing: .nothing)
        }
        // A client that did not get the answer asks again, when others need the places.
        let parts = try (0..<2).map { _ in try share.createUpload(UploadSpec(target: nil, length: 0)).id }
        for _ in 0..<3 {
            let again = try share.joinUploads(parts, as: UploadSpec(target: SharePath("again"), length: nil))
            _ = try again.finish(replacing: .anything)
            _ = try share.createUpload(UploadSpec(target: SharePath("x"), length: 0)).finish(replacing: .anything)
        }
        // Until they are part of one, they do.
        _ = try (0..<3).map { _ in try share.createUpload(UploadSpec(target: nil, length: 0)) }
        #expect(throws: RootError.tooManyUploads) { try share.createUpload(UploadSpec(target: nil, length: 0)) }
    }

    @Test("Partial uploads that are being joined again stay until that ends, whoever needs their places")
    func placesOfThoseBeingJoinedAgain() throws {
        var policy = RootPolicy()
        policy.maxUploads = 8
        let others = Mutex<(@Sendable () -> Void)?>(nil)
        let clock = RootClock(
            wall: {
                // Called while they are being joined, and by what this does.
                let work = others.withLock { $0.take() }
                work?()
                if let work { others.withLock { $0 = work } }
                return .now
            }, uptime: RootClock.system.uptime)
        let share = try other(policy, clock: clock)
        let parts = try ["one", "two"].map { text in
            let part = try share.createUpload(UploadSpec(target: nil, length: 3))
            try write(text, to: part)
            return part.id
        }
        _ = try share.joinUploads(parts, as: UploadSpec(target: SharePath("a"), length: nil)).finish(
            replacing: .nothing)
        others.withLock { work in
            work = { [directory] in
                let places = directory.names(in: ".shareserve/uploads").count { $0.hasSuffix(".part") }
                // Not before all that the join itself needs is there.
                guard (3..<6).contains(places) else { return }
                var another = share
                another.user = "\(places)"
                #expect(throws: Never.self) { try another.createUpload(UploadSpec(target: nil, length: 1)) }
            }
        }
        let again = try share.joinUploads(parts, as: UploadSpec(target: SharePath("b"), length: nil))
        others.withLock { $0 = nil }
        #expect(directory.names(in: ".shareserve/uploads").count { $0.hasSuffix(".part") } > 4)
        for id in parts { _ = try share.upload(id: id) }
        _ = try again.finish(replacing: .nothing)
        #expect(directory.text("b") == "onetwo")
        var last = share
        last.user = "last"
        _ = try last.createUpload(UploadSpec(target: nil, length: 1))
        for id in parts { #expect(throws: RootError.unknownToken) { try share.upload(id: id) } }
    }

    @Test("A piece whose check sum was wrong is dropped again")
    func truncating() throws {
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 6))
        try write("abc", to: upload)
        try write("XX", to: upload)
        try upload.truncate(to: 3)
        try write("def", to: upload)
        _ = try upload.finish(replacing: .anything)
        #expect(directory.text("a") == "abcdef")
    }

    @Test("What nobody goes on with is swept after its time, with strays of a crash")
    func expiry() throws {
        let time = TestClock()
        time.turn(by: RootClock.system.wall().seconds - time.clock.wall().seconds)
        var policy = RootPolicy()
        policy.uploadExpiry = .seconds(7_200)
        let share = try other(policy, clock: time.clock)
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 6))
        let done = try share.createUpload(UploadSpec(target: SharePath("b"), length: 0))
        _ = try done.finish(replacing: .anything)
        time.pass(3_700)
        #expect(throws: RootError.unknownToken) { try share.upload(id: done.id) }
        #expect(try share.upload(id: upload.id).offset == 0)
        #expect(upload.expires > time.clock.wall())
        time.pass(3_700)
        #expect(throws: RootError.unknownToken) { try share.resumeUpload(id: upload.id) }
        try directory.write("x", to: ".shareserve/uploads/\(String(repeating: "a", count: 32)).part")
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/uploads") == [String(repeating: "a", count: 32) + ".part"])
        time.pass(100_000)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/uploads").isEmpty)
        #expect(directory.text("b") == "")
    }

    @Test("Whom nobody has seen for a minute is not shown to others")
    func left() throws {
        let time = TestClock()
        time.turn(by: RootClock.system.wall().seconds - time.clock.wall().seconds)
        let share = try other(clock: time.clock)
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 6))
        #expect(try share.uploadsInProgress(below: .root).count == 1)
        time.pass(90)
        #expect(try share.uploadsInProgress(below: .root).isEmpty)
        #expect(try share.upload(id: upload.id).offset == 0)
        _ = try share.resumeUpload(id: upload.id)
        #expect(try share.uploadsInProgress(below: .root).count == 1)
    }

    @Test("An upload of a file of the future that was refused its name is given up as any other")
    func expiryInTheFuture() throws {
        let time = TestClock()
        time.turn(by: RootClock.system.wall().seconds - time.clock.wall().seconds)
        let share = try other(clock: time.clock)
        let modified = Timestamp(seconds: 7_000_000_000)
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 3, modified: modified))
        try write("one", to: upload)
        try directory.write("there", to: "a")
        #expect(throws: RootError.exists) { try upload.finish(replacing: .nothing) }
        #expect(try share.upload(id: upload.id).offset == 3)
        time.pass(share.root.policy.uploadExpiry.components.seconds + 100)
        try share.root.sweep()
        #expect(directory.names(in: ".shareserve/uploads").isEmpty)
    }

    @Test(
        "Where there are too many, those that are over make room, looked for now and then and not for each that is refused"
    )
    func fullStore() throws {
        var policy = RootPolicy()
        policy.maxUploads = 1
        policy.uploadExpiry = .seconds(60)
        let time = TestClock()
        // Not behind the disk's own clock, from which parts get their times.
        time.turn(by: max(0, RootClock.system.wall().seconds - time.clock.wall().seconds + 60))
        let share = try other(policy, clock: time.clock)
        func begin(_ name: String) throws { _ = try share.createUpload(UploadSpec(target: SharePath(name), length: 1)) }
        try begin("a")
        time.pass(58)
        #expect(throws: RootError.tooMany) { try begin("b") }
        time.pass(5)
        #expect(throws: RootError.tooMany) { try begin("b") }
        time.pass(6)
        try begin("b")
    }

    @Test("Nobody begins an upload who has as many as there are places left, and who has none finds one")
    func fairness() throws {
        var policy = RootPolicy()
        policy.maxUploads = 12
        let share = try other(policy)
        func begin(_ user: String?, _ client: String?) throws -> String {
            var share = share
            share.user = user
            return try share.createUpload(UploadSpec(target: SharePath("x"), length: 1, client: client)).id
        }
        func fill(_ user: String?, _ client: String?) throws -> [String] {
            var ids: [String] = []
            while true {
                do {
                    ids.append(try begin(user, client))
                } catch RootError.tooManyUploads {
                    return ids
                }
            }
        }
        let ann = try fill("ann", "1")
        #expect(ann.count == 6)
        #expect(try fill("bob", "1").count == 3 && fill(nil, "1").count == 2)
        #expect(throws: RootError.tooManyUploads) { try begin("ann", "3") }
        _ = try begin(nil, "2")
        #expect(throws: RootError.tooMany) { try begin(nil, "3") }
        var owner = share
        owner.user = "ann"
        for id in ann { try owner.removeUpload(id: id) }
        #expect(try fill(nil, "3").count > 1)
    }

    @Test("What a check sum has yet to prove does not count for who goes on with the upload")
    func unproven() throws {
        let first = try share.createUpload(UploadSpec(target: SharePath("a"), length: 9))
        try write("abc", to: first)
        try first.settle()
        try first.awaitProof()
        try write("dXf", to: first)
        #expect(try share.upload(id: first.id).offset == 3)
        #expect(try share.uploadsInProgress(below: .root).map(\.offset) == [3])
        let second = try other().resumeUpload(id: first.id)
        #expect(try second.offset == 3 && text(of: second) == "abc")
        try second.awaitProof()
        try write("def", to: second)
        try second.settle()
        #expect(try other().upload(id: first.id).offset == 6)
        try second.awaitProof()
        try write("gXX", to: second)
        try second.truncate(to: 6)
        try write("ghi", to: second)
        try second.settle()
        _ = try other().resumeUpload(id: first.id).finish(replacing: .nothing)
        #expect(directory.text("a") == "abcdefghi")
    }

    @Test("Finished uploads take no place from others, and only so many are remembered")
    func manyFinished() throws {
        var policy = RootPolicy()
        policy.maxUploads = 2
        let share = try other(policy)
        for _ in 0..<1_003 {
            _ = try share.createUpload(UploadSpec(target: SharePath("a"), length: 0)).finish(replacing: .anything)
        }
        #expect(directory.names(in: ".shareserve/uploads").count < 600)
    }

    @Test("A process killed between the rename and the last word about it did finish")
    func killedAtTheEnd() throws {
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 3))
        try write("abc", to: upload)
        let record = try #require(directory.read(".shareserve/uploads/\(upload.id).record"))
        _ = try upload.finish(replacing: .anything)
        // The record as at the beginning: an upload without bytes.
        try directory.write(record, to: ".shareserve/uploads/\(upload.id).record")
        #expect(throws: RootError.unknownToken) { try share.upload(id: upload.id) }
        // The record as just before the rename.
        let inode = try share.attributes(of: SharePath("a"))
        let line = try StateRecord.all(in: StateEnvelope(file: record).payload)[0]
        var ending = try UploadRecord(line, id: upload.id)
        func note(born: Timestamp?, device: UInt64? = nil, isCopy: Bool = false, length: Int64? = 3) throws {
            ending.phase = .committing(
                inode: inode.inode, device: device ?? inode.device, born: born, isCopy: isCopy)
            ending.length = length
            var payload: [UInt8] = []
            ending.record.write(to: &payload)
            try directory.write(
                StateEnvelope(generation: 9, payload: payload).encoded(), to: ".shareserve/uploads/\(upload.id).record")
        }
        // The inode has been reused by another file.
        try note(born: Timestamp(seconds: 1))
        try share.root.sweep()
        #expect(throws: RootError.unknownToken) { try share.upload(id: upload.id) }
        // For a copy, the device may differ, since the disk may have been mounted again.
        for (isCopy, born, length) in [
            (false, inode.created, 3), (true, inode.created, 4), (true, nil, 3),
            (true, Timestamp(seconds: 1), 3),
        ] as [(Bool, Timestamp?, Int64)] {
            try note(born: born, device: inode.device &+ 1, isCopy: isCopy, length: length)
            #expect(throws: RootError.unknownToken) { try share.upload(id: upload.id) }
        }
        if inode.created != nil {
            try note(born: inode.created, device: inode.device &+ 1, isCopy: true)
            #expect(try share.upload(id: upload.id).record.isFinished)
        }
        try note(born: inode.created)
        #expect(try share.upload(id: upload.id).record.isFinished)
        #expect(try share.upload(id: upload.id).offset == 3)
        #expect(try share.uploadsInProgress(below: .root) == [])
        #expect(throws: RootError.unknownToken) { try share.resumeUpload(id: upload.id) }
        // The sweep records it for good, before the name becomes another file's.
        try share.root.sweep()
        try directory.rename("a", to: "b")
        #expect(try share.upload(id: upload.id).record.isFinished)
    }

    @Test("A process killed while it uploads leaves what it wrote, and a record that reads well")
    func kills() throws {
        for round in 0..<10 {
            let child = try Child.drill(directory.path, "upload")
            usleep(UInt32(20_000 + round * 4_000))
            child.kill()
            #expect(child.wait() == -SIGKILL)
            for progress in try share.root.state.uploads.all() where !progress.record.isFinished {
                let upload = try share.resumeUpload(id: progress.record.id)
                #expect(upload.offset == progress.offset)
                var bytes = [UInt8](repeating: 0, count: Int(min(upload.offset, 1 << 20)))
                let count = try bytes.withUnsafeMutableBytes { try upload.read(into: $0, at: 0) }
                #expect(bytes[..<count].enumerated().allSatisfy { UInt8($0.offset % 251) == $0.element })
                try share.removeUpload(id: upload.id)
            }
        }
        for name in directory.names() where name.hasPrefix("up") {
            let bytes = try #require(directory.read(name))
            #expect(bytes.count == 3_000 && bytes.enumerated().allSatisfy { UInt8($0.offset % 251) == $0.element })
        }
        #expect(share.root.takeIncidents().isEmpty)
    }

    @Test("On another file system below the root the bytes are copied, and the name changes by one rename")
    func otherFileSystem() throws {
        // Without permission to mount there is nothing to test.
        try directory.makeDirectory("mounted")
        guard Child.run("/bin/mount", "-t", "tmpfs", "tmpfs", directory.path(of: "mounted")) == 0 else { return }
        defer { _ = Child.run("/bin/umount", directory.path(of: "mounted")) }
        let upload = try share.createUpload(UploadSpec(target: SharePath("mounted/a"), length: 3))
        try write("abc", to: upload)
        #expect(try upload.finish(replacing: .nothing).created)
        #expect(directory.text("mounted/a") == "abc")
        #expect(directory.names(in: "mounted") == ["a"])
        #expect(directory.names(in: ".shareserve/uploads") == [upload.id + ".record"])
    }

    @Test("A full disk keeps what fitted, and the upload goes on when there is room")
    func fullDisk() throws {
        let small = try TemporaryDirectory()
        guard Child.run("/bin/mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small.path) == 0 else { return }
        defer { _ = Child.run("/bin/umount", small.path) }
        let share = Share(root: try DirectoryRoot(path: small.path))
        try small.write([UInt8](repeating: 1, count: 300_000), to: "ballast")
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: nil))
        let piece = [UInt8](repeating: 7, count: 100_000)
        #expect(throws: RootError.noSpace) {
            for _ in 0..<20 { try piece.withUnsafeBytes { try upload.write($0) } }
        }
        #expect(upload.offset > 500_000)
        small.removeAll("ballast")
        let again = try share.resumeUpload(id: upload.id)
        #expect(again.offset == upload.offset)
        try piece.withUnsafeBytes { try again.write($0) }
        _ = try again.finish(replacing: .anything)
        #expect(small.read("a")?.count == Int(again.offset))
    }

    @Test("A damaged record is said to be kept aside only where it is", arguments: [false, true])
    func damagedRecord(isReadOnly: Bool) throws {
        let upload = try share.createUpload(UploadSpec(target: SharePath("a"), length: 3))
        try directory.write("nonsense", to: ".shareserve/uploads/\(upload.id).record")
        var policy = RootPolicy()
        policy.isReadOnly = isReadOnly
        let reader = try other(policy)
        #expect(throws: RootError.unknownToken) { try reader.upload(id: upload.id) }
        let names = directory.names(in: ".shareserve/uploads")
        #expect(names.contains("\(upload.id).damaged") != isReadOnly)
        let told = StateIncident.damagedFile(name: "\(upload.id).record", keptAs: "\(upload.id).damaged")
        #expect(reader.root.takeIncidents() == (isReadOnly ? [] : [told]))
    }

    @Test("Few are asked about at a time, and each by one")
    func asking() throws {
        let uploads = share.root.state.uploads
        try uploads.asking(about: "a") { () throws(RootError) -> Void in
            #expect(throws: RootError.tooMany) { try uploads.asking(about: "a") {} }
            try uploads.asking(about: "b") { () throws(RootError) -> Void in
                #expect(throws: RootError.tooMany) { try uploads.asking(about: "c") {} }
            }
            try uploads.asking(about: "c") {}
        }
        try uploads.asking(about: "a") {}
    }

    @Test("A record whose numbers are less than nothing is damaged", arguments: ["length", "vouched", "settled"])
    func negativeNumber(_ key: String) throws {
        let line = Array("created=1.0\ttouched=1.0\t\(key)=".utf8)
        #expect(throws: DamagedState.self) {
            try UploadRecord(StateRecord(line: (line + "\(Int64.min)".utf8)[...]), id: "x")
        }
        #expect(throws: Never.self) { try UploadRecord(StateRecord(line: (line + "0".utf8)[...]), id: "x") }
    }
}
