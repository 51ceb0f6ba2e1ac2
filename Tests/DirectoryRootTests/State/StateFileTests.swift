import CSyscalls
import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("State files") struct StateFileTests {
    private func file(_ directory: TemporaryDirectory, readOnly: Bool = false) throws -> (DirectoryRoot, StateFile) {
        var policy = RootPolicy()
        policy.isReadOnly = readOnly
        let root = try DirectoryRoot(path: directory.path, policy: policy)
        return (root, StateFile(state: root.state.folder, name: "things"))
    }

    @Test("A record carries any bytes in a value")
    func recordRoundTrip() throws {
        var record = StateRecord()
        let hostile = (0...255).map(UInt8.init) + Array("\\t\n=\t".utf8)
        record.set("path", hostile)
        record.set("number", Int64.min)
        record.set("time", Timestamp(seconds: -5, nanoseconds: 7))
        record.set("yes", true)
        record.set("no", false)
        var bytes: [UInt8] = []
        record.write(to: &bytes)
        record.write(to: &bytes)
        let read = try StateRecord.all(in: bytes)
        #expect(read.count == 2)
        #expect(read[0]["path"] == hostile)
        #expect(read[1].number("number") == .min)
        #expect(read[1].time("time") == Timestamp(seconds: -5, nanoseconds: 7))
        #expect(read[1].flag("yes") && !read[1].flag("no"))
    }

    @Test(
        "Lines as nobody writes them: nil for those that are refused",
        arguments: [
            ("", []), ("\n\n", []), ("\t\t\n", [[]]), ("a=", [["a="]]),
            ("a=1\t\tb=2\t\n\nc==\\\\\\t", [["a=1", "b=2"], ["c==\\\t"]]),
            ("a", nil), ("a=1\tb", nil), ("a=\\", nil), ("a=\\x", nil),
        ] as [(String, [[String]]?)])
    func oddRecords(text: String, expected: [[String]]?) {
        let read = (try? StateRecord.all(in: Array(text.utf8))).map { records in
            records.map { $0.fields.map { "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))" } }
        }
        #expect(read == expected)
    }

    @Test("An envelope is refused with any byte changed, or cut anywhere")
    func envelopeDamage() throws {
        let whole = StateEnvelope(generation: 77, payload: Array("hello, state".utf8)).encoded()
        #expect(try StateEnvelope(file: whole).generation == 77)
        let padding = 77 % 61
        for index in 0..<(whole.count - padding) {
            var damaged = whole
            damaged[index] ^= 0x04
            // A changed generation is valid; every other change is damage.
            if let read = try? StateEnvelope(file: damaged) { #expect(read.generation != 77) }
            #expect(throws: DamagedState.self) { try StateEnvelope(file: Array(whole.prefix(index))) }
        }
    }

    @Test("The folder is made on first need with mode 0700, and no temporary file stays")
    func replaceAndRead() throws {
        let directory = try TemporaryDirectory()
        let (root, file) = try file(directory)
        #expect(try file.read() == nil)
        #expect(!directory.exists(".shareserve"))
        for round in 1...5 {
            try root.state.folder.exclusively { (lock) throws(RootError) in
                let old = try file.readForChange(lock)
                _ = try file.replace(old, with: Array("round \(round)".utf8), lock)
            }
            let contents = try #require(try file.read())
            #expect(contents.envelope.payload == Array("round \(round)".utf8))
            #expect(contents.envelope.generation == UInt64(round))
            #expect(try contents.identity == file.identity())
        }
        #expect(directory.names(in: ".shareserve") == ["lock", "things"])
        #expect(directory.mode(of: ".shareserve") == 0o700)
    }

    @Test("A damaged file is kept aside, reported, and counts as none")
    func damage() throws {
        let directory = try TemporaryDirectory()
        let (root, file) = try file(directory)
        try directory.write("nonsense", to: ".shareserve/things")
        let old = try root.state.folder.exclusively { (lock) throws(RootError) in try file.readForChange(lock)?.identity
        }
        #expect(old == nil)
        let kept = try #require(directory.names(in: ".shareserve").first { $0.hasPrefix("things.damaged-") })
        #expect(directory.text(".shareserve/\(kept)") == "nonsense")
        #expect(root.takeIncidents() == [.damagedFile(name: "things", keptAs: kept)])
        #expect(root.takeIncidents().isEmpty)
    }

    @Test("A generation that another host wrote meanwhile is not overwritten")
    func lostLock() throws {
        let directory = try TemporaryDirectory()
        let (root, file) = try file(directory)
        #expect(throws: RootError.busy) {
            try root.state.folder.exclusively { (lock) throws(RootError) in
                let old = try file.readForChange(lock)
                _ = try file.replace(old, with: [1], lock)
                _ = try file.replace(old, with: [2], lock)
            }
        }
        #expect(try file.read()?.envelope.payload == [1])
        #expect(directory.names(in: ".shareserve") == ["lock", "things"])
    }

    @Test("A link or a file in place of the state folder is refused and not followed", arguments: [true, false])
    func hostileFolder(isLink: Bool) throws {
        let directory = try TemporaryDirectory()
        let outside = try TemporaryDirectory()
        if isLink {
            try directory.link(".shareserve", to: outside.path)
        } else {
            try directory.write("x", to: ".shareserve")
        }
        let (root, file) = try file(directory)
        #expect(throws: RootError.self) {
            try root.state.folder.exclusively { (lock) throws(RootError) in
                _ = try file.replace(nil, with: [1], lock)
            }
        }
        #expect(try file.read() == nil)
        #expect(outside.names().isEmpty)
        #expect(!root.takeIncidents().isEmpty)
        // Writes and reads go on without locks.
        try root.state.locks.check(WriteUse(changes: [.root]), tokens: [], user: nil)
    }

    @Test("A read-only share gets no state folder")
    func readOnly() throws {
        let directory = try TemporaryDirectory()
        let (root, _) = try file(directory, readOnly: true)
        #expect(throws: RootError.readOnly) { try root.state.folder.exclusively { _ in } }
        #expect(directory.names().isEmpty)
    }

    @Test("A state folder that was removed while we ran is made again")
    func removedFolder() throws {
        let directory = try TemporaryDirectory()
        let (root, file) = try file(directory)
        for _ in 0..<2 {
            try root.state.folder.exclusively { (lock) throws(RootError) in
                _ = try file.replace(try file.readForChange(lock), with: [7], lock)
            }
            #expect(try file.read()?.envelope.generation == 1)
            directory.removeAll(".shareserve")
        }
    }

    /// In a separate process: the limit holds for the whole process.
    @Test("What a client knows that can't be opened now is not called gone")
    func snapshotWithoutDescriptor() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let root = try DirectoryRoot(path: directory.path)
            try root.state.snapshots.keep([7], as: "ab")
            #expect(try root.state.snapshots.content("cd") == nil)
            sys_limit_open_files(0)
            #expect(throws: RootError.tooMany) { try root.state.snapshots.content("ab") }
            sys_limit_open_files(.max)
            #expect(try root.state.snapshots.content("ab") == [7])
        }
    }

    @Test("What was just stored is there, however much was in the same second")
    func manySnapshots() throws {
        let fixture = try Fixture.memory()
        let snapshots = fixture.root.state.snapshots
        for number in 0..<300 {
            let name = String(4_096 + number, radix: 16)
            try snapshots.keep([7], as: name)
            #expect(try snapshots.content(name) == [7])
        }
    }

    @Test("Files of another program among the snapshots make room, however large they are")
    func hugeFilesAmongSnapshots() throws {
        let fixture = try Fixture.memory()
        let snapshots = fixture.root.state.snapshots
        try snapshots.keep([7], as: "ab")
        for name in ["one", "two", "three"] {
            let file = ".shareserve/sync/\(name)"
            try fixture.directory.write("", to: file)
            try fixture.directory.resize(file, to: .max)
            let folder = try #require(try fixture.root.state.folder.descriptor(creating: false))
            #expect(sys_set_times_at(folder.number, "sync/\(name)", 0, -1, 1, 0) == 0)
        }
        try snapshots.keep([8], as: "cd")
        #expect(try snapshots.content("cd") == [8])
        #expect(!fixture.directory.exists(".shareserve/sync/one"))
    }
}
