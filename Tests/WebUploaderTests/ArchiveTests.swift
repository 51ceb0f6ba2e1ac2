import DirectoryRoot
import ServerCore
import TestSupport
import Testing

@testable import WebUploader

@Suite("Archives") struct ArchiveTests {
    private let directory: TemporaryDirectory
    private let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("hello", to: "b.txt")
        try directory.write("", to: "empty.txt")
        try directory.makeDirectory("leer/sub")
        try directory.write([UInt8](repeating: 7, count: 300_000), to: "sub/big.bin")
        try directory.write("x", to: "sub/ümläut 日本.txt")
        try directory.write(
            "y", to: "sub/" + String(repeating: "long/", count: 30) + String(repeating: "n", count: 200))
        try directory.link("loop", to: ".")
        share = Share(root: try DirectoryRoot(path: directory.path))
    }

    private func archive(
        _ format: any ArchiveFormat, _ range: Range<Int64>? = nil, cache: ArchiveChecksums = ArchiveChecksums()
    ) throws -> (bytes: [UInt8], length: Int64) {
        let plan = try ArchivePlan(of: .root, in: share, choosing: [], format: format, memory: TreeMemory().portion())
        let layout = try ArchiveLayout(of: plan, format: format)
        let producer = ArchiveProducer(
            plan, in: share, format: format, layout: layout, range: range ?? 0..<layout.length, cache: cache,
            readsDirectly: false)
        var bytes: [UInt8] = []
        while case .bytes(let more)? = try producer.next() { bytes += more }
        return (bytes, layout.length)
    }

    @Test("the length is announced exactly", arguments: [ZipFormat(), TarFormat()] as [any ArchiveFormat])
    func length(format: any ArchiveFormat) throws {
        let (bytes, length) = try archive(format)
        #expect(Int64(bytes.count) == length)
    }

    @Test("any span is the same bytes as in the whole", arguments: [ZipFormat(), TarFormat()] as [any ArchiveFormat])
    func spans(format: any ArchiveFormat) throws {
        let (whole, length) = try archive(format)
        var edges: Set<Int64> = [0, 1, 29, 30, 31, 64, 512, 1000, length - 1, length - 22, length - 30, length - 600]
        for step in 1..<40 { edges.insert(length * Int64(step) / 40) }
        let cache = ArchiveChecksums()
        for edge in edges.sorted() where edge >= 0 && edge < length {
            let ends = [length, min(length, edge + 1), min(length, edge + 777)]
            for end in ends {
                let part = try archive(format, edge..<end, cache: edge % 2 == 0 ? cache : ArchiveChecksums()).bytes
                #expect(part.elementsEqual(whole[Int(edge)..<Int(end)]), "\(edge)..<\(end)")
            }
        }
    }

    @Test("the validator changes with any member, and not without")
    func validator() throws {
        func tag() throws -> String {
            try ArchivePlan(
                of: .root, in: share, choosing: [], format: ZipFormat(), memory: TreeMemory().portion()
            ).entityTag
        }
        let first = try tag()
        #expect(try tag() == first)
        try directory.write("hellO", to: "b.txt")
        #expect(try tag() != first)
    }

    @Test("all plans together are bounded, but for small ones and one that is alone")
    func memory() throws {
        func plan(in memory: TreeMemory) throws {
            _ = try ArchivePlan(of: .root, in: share, choosing: [], format: ZipFormat(), memory: memory.portion())
        }
        for index in 0..<3_000 { try directory.write("", to: "many/\(index) " + String(repeating: "n", count: 100)) }
        let memory = TreeMemory(1_000)
        try plan(in: memory)
        var other: TreeMemory.Portion? = memory.portion()
        try other?.hold(TreeMemory.free + 1)
        #expect(throws: RootError.tooMany) { try plan(in: memory) }
        #expect(throws: Never.self) { try memory.portion().hold(TreeMemory.free) }
        other = nil
        try plan(in: memory)
    }

    @Test("only the chosen members are in it, and a missing one is told")
    func choosing() throws {
        let plan = try ArchivePlan(
            of: .root, in: share, choosing: [SharePath(text: "leer"), SharePath(text: "b.txt")], format: ZipFormat(),
            memory: TreeMemory().portion())
        let names = (0..<plan.count).map { String(decoding: plan[$0].archiveName, as: UTF8.self) }
        #expect(names == ["b.txt", "leer/", "leer/sub/"])
        #expect(throws: RootError.notFound) {
            try ArchivePlan(
                of: .root, in: share, choosing: [SharePath(text: "nothing")], format: ZipFormat(),
                memory: TreeMemory().portion())
        }
    }

    @Test(
        "what no path is short enough for is left out, and named",
        arguments: [(17, "/file: "), (18, "/\(String(repeating: "d", count: 254))/ and all that is in it: ")])
    func tooDeep(levels: Int, told: String) throws {
        try directory.makeDeepTree("eleven byte", levels: levels, named: String(repeating: "d", count: 254))
        let plan = try ArchivePlan(
            of: .root, in: share, choosing: [], format: ZipFormat(), memory: TreeMemory().portion())
        let names = (0..<plan.count).map { String(decoding: plan[$0].archiveName, as: UTF8.self) }
        #expect(names.filter { $0.hasPrefix("eleven byte/") }.count == 17 && names.contains("b.txt"))
        let note = String(decoding: plan.text(at: plan.count - 1) ?? [], as: UTF8.self)
        #expect(note.hasSuffix("d" + told + "its path is too long\n"))
    }

    @Test("links that lead on to folders with links do not multiply what is in it, and the note says so")
    func chainOfLinks() throws {
        for number in 1...12 {
            try directory.write("x", to: "t/\(number)/file")
            guard number < 12 else { break }
            for link in ["a", "b"] { try directory.link("t/\(number)/\(link)", to: "../\(number + 1)") }
        }
        func names(_ path: String) throws -> (Set<String>, note: String?) {
            let plan = try ArchivePlan(
                of: SharePath(text: path), in: share, choosing: [], format: ZipFormat(), memory: TreeMemory().portion())
            let names = (0..<plan.count).map { String(decoding: plan[$0].archiveName, as: UTF8.self) }
            return (Set(names), plan.text(at: plan.count - 1).map { String(decoding: $0, as: UTF8.self) })
        }
        let (chain, note) = try names("/t/1")
        #expect(chain.count < 2_200)
        #expect(chain.isSuperset(of: ["", "a/", "b/", "a/a/", "a/b/", "b/a/", "b/b/"].map { $0 + "file" }))
        let told = try #require(note)
        #expect(told.contains("/ and all that is in it: links lead to it over and over\n"))
        #expect(try names("/t").0.count < 2_400)
        try directory.makeDirectory("versions/1")
        for number in 0..<100 { try directory.link("versions/1/\(number)", to: "../../t/12") }
        for name in ["current", "stable"] { try directory.link("versions/\(name)", to: "1") }
        let (versions, missing) = try names("/versions")
        #expect(versions.count == 3 + 600 && missing == nil)
    }

    @Test("what may not be read is left out")
    func rights() throws {
        var share = share
        share.rights = RightsMap(rules: [
            (.root, .readOnly), (try SharePath(bytes: "sub".utf8), .none), (try SharePath(bytes: "b.txt".utf8), .none),
        ])
        let plan = try ArchivePlan(
            of: .root, in: share, choosing: [], format: TarFormat(), memory: TreeMemory().portion())
        let names = (0..<plan.count).map { String(decoding: plan[$0].archiveName, as: UTF8.self) }
        #expect(names == ["empty.txt", "leer/", "leer/sub/"])
    }

    @Test(
        "a file that changes after the plan ends the archive",
        arguments: [ZipFormat(), TarFormat()] as [any ArchiveFormat])
    func changed(format: any ArchiveFormat) throws {
        let plan = try ArchivePlan(of: .root, in: share, choosing: [], format: format, memory: TreeMemory().portion())
        let layout = try ArchiveLayout(of: plan, format: format)
        let producer = ArchiveProducer(
            plan, in: share, format: format, layout: layout, range: 0..<layout.length, cache: ArchiveChecksums())
        try directory.write("other", to: "sub/big.bin")
        #expect(throws: ArchiveChanged.self) { while try producer.next() != nil {} }
    }

    @Test(
        "a file that is changed in place ends the archive, whatever time it is given back",
        arguments: [("huge.bin", ZipFormat()), ("huge.bin", TarFormat()), ("big.bin", TarFormat())]
            as [(String, any ArchiveFormat)])
    func changedInPlace(name: String, format: any ArchiveFormat) throws {
        // So large that spans of it, and of what precedes it, are sent as they are.
        try directory.write("", to: "sub/huge.bin")
        try directory.resize("sub/huge.bin", to: 64 << 20)
        let plan = try ArchivePlan(
            of: .root, in: share, choosing: [SharePath(text: "sub")], format: format, memory: TreeMemory().portion())
        let layout = try ArchiveLayout(of: plan, format: format)
        let producer = ArchiveProducer(
            plan, in: share, format: format, layout: layout, range: 0..<layout.length, cache: ArchiveChecksums())
        var spans = 0
        for _ in 0..<5 {
            if case .file? = try producer.next() { spans += 1 }
        }
        #expect(spans == (format.needsChecksums ? 0 : 2))
        try directory.changeInPlace("sub/" + name)
        #expect(throws: ArchiveChanged.self) { while try producer.next() != nil {} }
    }

    @Test("what may wait in a connection's buffers is no longer the file's")
    func buffered() throws {
        let format = TarFormat()
        let plan = try ArchivePlan(of: .root, in: share, choosing: [], format: format, memory: TreeMemory().portion())
        let layout = try ArchiveLayout(of: plan, format: format)
        let producer = ArchiveProducer(
            plan, in: share, format: format, layout: layout, range: 0..<layout.length, cache: ArchiveChecksums())
        var count = 0
        while case .bytes(let bytes)? = try producer.next() { count += bytes.count }
        #expect(Int64(count) == layout.length)
    }

    @Test("a file that has just changed is read when its next change would show")
    func justChanged() throws {
        try directory.write("new", to: "b.txt")
        let change = try share.attributes(of: SharePath(bytes: "b.txt".utf8)).changed
        let plan = try ArchivePlan(
            of: .root, in: share, choosing: [SharePath(text: "b.txt")], format: ZipFormat(),
            memory: TreeMemory().portion())
        let layout = try ArchiveLayout(of: plan, format: ZipFormat())
        let producer = ArchiveProducer(
            plan, in: share, format: ZipFormat(), layout: layout, range: 0..<layout.length, cache: ArchiveChecksums())
        _ = try producer.next()
        #expect(RootClock.system.wall() >= change.advanced(by: .milliseconds(10)))
    }

    @Test("the note of what is left out is bounded, and says what it does not list")
    func note() {
        var note = ArchiveNote()
        #expect(note.isEmpty)
        for index in 0..<100_000 {
            note.add(Array("folder/\(index)\nclosed: no permission".utf8), isDirectory: false, .permission)
        }
        let lines = String(decoding: note.text(), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(note.text().count < ArchiveNote.maxBytes + 1024)
        #expect(lines[2] == "folder/0\u{FFFD}closed: no permission: no permission")
        #expect(lines.suffix(2) == ["and \(100_000 - (lines.count - 4)) more", ""])
    }

    @Test("numbers past 32 bits take ZIP64 fields, and all lengths agree")
    func large() throws {
        let format = ZipFormat()
        for size in [0, 1, 0xFFFF_FFFE, 0xFFFF_FFFF, 1 << 40] as [Int64] {
            let member = ArchiveMember(
                path: Array("näme".utf8), isDirectory: false, size: size, modified: 1_700_000_000)
            #expect(format.header(of: member).count == format.headerLength(of: member))
            #expect(format.trailer(of: member, checksum: 1).count == format.trailerLength(of: member))
            for offset in [0, 0xFFFF_FFFF, 1 << 41] as [Int64] {
                #expect(
                    format.directoryEntry(of: member, offset: offset, checksum: 1).count
                        == format.directoryLength(of: member, offset: offset))
            }
        }
    }

    @Test("tar says long names, large sizes and odd times in pax records")
    func pax() {
        let format = TarFormat()
        for (length, size, time) in [
            (1, 0, 0), (99, 1, -5), (100, 8 << 30, 1), (155, 1, 1), (256, 1, 1), (4000, 1, 1 << 40),
        ]
            as [(Int, Int64, Int64)]
        {
            let member = ArchiveMember(
                path: [UInt8](repeating: 0x61, count: length), isDirectory: false, size: size, modified: time)
            #expect(format.header(of: member).count == format.headerLength(of: member))
            #expect(format.header(of: member).count % 512 == 0)
        }
    }
}
