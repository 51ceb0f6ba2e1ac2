import CSyscalls
import DirectoryRoot
import TestSupport
import Testing

/// A name is bytes: whatever they are, they come back unchanged.
@Suite("Hostile names") struct HostileNameTests {
    static let names: [[UInt8]] =
        [
            "with space", " leading", "trailing ", "a#b", "100%", "%41", "%2F", "%2e%2e", "what?", "a&b", "'single'",
            "\"double\"", "back\\slash", "..\\..\\up", "line\nfeed", "carriage\rreturn", "tab\there", "bell\u{07}",
            "<img src=x onerror=alert(1)>", "]]>", "😀", "👩‍👩‍👧‍👦", "漢字かな", "ü", "u\u{308}", "é", "e\u{301}", "\u{FEFF}bom",
            "\u{202E}right-to-left", "-rf", "--", "...", "..a", "a..", "~", "*", "a:b", "CON", "aux.txt", "trailing.",
            "$HOME", "`id`", ";", "|", "\u{7F}", "con\u{1}trol", "shareserve", ".shareservex", ".hidden",
        ].map { Array($0.utf8) } + [
            [0xFF], [0xC3, 0x28], [0x80, 0x81], [0xED, 0xA0, 0x80], Array("latin-\u{FC}".utf8.prefix(6)) + [0xFC],
            [UInt8](repeating: UInt8(ascii: "x"), count: 255), [UInt8](repeating: 0xE4, count: 255),
            Array(String(repeating: "ü", count: 127).utf8) + [UInt8(ascii: "x")],
        ]

    @Test("Every name is written, listed, read, copied, moved and removed", arguments: SystemUnderTest.allCases)
    func everything(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let share = fixture.share
        for (number, name) in Self.names.enumerated() {
            let path = try SharePath.root.appending(name)
            let upload = try share.beginUpload(to: path, replacing: .nothing)
            try upload.write(Array("\(number)".utf8))
            #expect(try upload.commit().created)
        }
        var listed: Set<[UInt8]> = []
        let cursor = try share.list(.root)
        while true {
            let members = try cursor.next(7)
            if members.isEmpty { break }
            listed.formUnion(members.map(\.name))
        }
        #expect(listed == Set(Self.names))
        for (number, name) in Self.names.enumerated() {
            let path = try SharePath.root.appending(name)
            #expect(try fixture.get(path) == "\(number)")
            let folder = try SharePath(text: "/folder-\(number)")
            try share.createDirectory(at: folder)
            let copy = try folder.appending(name)
            #expect(try share.copy(path, to: copy, replacing: .nothing).created)
            #expect(try !share.move(copy, to: path, replacing: .anything).created)
            let upload = try share.beginUpload(to: path, replacing: .anything)
            #expect(try !upload.commit().created)
            #expect(try share.remove(path) == [] && share.remove(folder) == [])
        }
        #expect(try fixture.list() == [] && fixture.leftovers == [])
    }

    @Test("Composed and decomposed umlauts are two names") func normalization() throws {
        let fixture = try Fixture()
        try fixture.put("/\u{FC}", "composed")
        try fixture.put("/u\u{308}", "decomposed")
        #expect(try fixture.get("/\u{FC}") == "composed" && fixture.get("/u\u{308}") == "decomposed")
        #expect(try fixture.share.list(.root).next().count == 2)
    }

    @Test("Paths up to PATH_MAX work, longer ones are refused", arguments: SystemUnderTest.allCases)
    func longPaths(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let name = [UInt8](repeating: UInt8(ascii: "n"), count: 254)
        var folder = SharePath.root
        while folder.bytes.count + 510 <= 4_095 {
            folder = try folder.appending(name)
            try fixture.share.createDirectory(at: folder)
        }
        let last = try folder.appending(
            [UInt8](
                repeating: UInt8(ascii: "f"),
                count: 4_095 - folder.bytes.count - 1 > 255 ? 255 : 4_095 - folder.bytes.count - 1))
        let upload = try fixture.share.beginUpload(to: last, replacing: .nothing)
        try upload.write(Array("deep".utf8))
        #expect(try upload.commit().created)
        #expect(try fixture.share.open(last).attributes.size == 4)
        #expect(try fixture.share.list(folder).next().map(\.name) == [Array(last.name)])
        #expect(throws: RootError.invalidName) { try last.appending(name).appending(name) }
        #expect(throws: RootError.invalidName) {
            try SharePath.root.appending([UInt8](repeating: UInt8(ascii: "n"), count: 256))
        }
    }

    @Test("A listing of 100,000 names stays small") func manyNames() throws {
        let fixture = try Fixture(in: "/dev/shm")
        for number in 0..<100_000 { try fixture.directory.touch("name-\(number)") }
        // Other tests use memory at the same time; a listing that held its members would show in every round.
        var isSmall = false
        for _ in 0..<20 where !isSmall {
            sys_forget_code()
            let before = TemporaryDirectory.residentBytes
            let cursor = try fixture.share.list(.root)
            var count = 0
            while true {
                let members = try cursor.next()
                if members.isEmpty { break }
                count += members.count
            }
            #expect(count == 100_000)
            let growth = TemporaryDirectory.residentBytes - before
            isSmall = growth < (8 << 20) * TemporaryDirectory.sanitizerOverhead
        }
        #expect(isSmall)
    }
}
