import CSyscalls
import DirectoryRoot
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What files have besides their bytes, if a move has to copy them.
@Suite struct FileMetadataTests {
    private let attribute = "user.of.another.program"

    private func attributes(of member: String, in fixture: Fixture) throws -> (facts: sys_attributes, note: [UInt8]) {
        let file = open(fixture.directory.path(of: member), O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        var facts = sys_attributes()
        #expect(sys_fstat(file, &facts) == 0)
        var note = [UInt8](repeating: 0, count: 64)
        let count = sys_get_attribute(file, attribute, &note, note.count)
        return (facts, Array(note.prefix(max(0, count))))
    }

    /// - Returns: false if the file system has no user attributes.
    private func mark(_ member: String, _ note: String, in fixture: Fixture) throws -> Bool {
        let file = open(fixture.directory.path(of: member), O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        #expect(fchmod(file, 0o750) == 0 && fchown(file, 12_345, 54_321) == 0)
        return sys_set_attribute(file, attribute, note, note.utf8.count) == 0
    }

    @Test("Owner, bits and attributes of other programs come along to another file system")
    func everythingComesAlong() throws {
        let fixture = try Fixture()
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        try fixture.directory.write("1", to: "file")
        try fixture.directory.write("2", to: "t/a/b")
        for member in ["file", "t", "t/a", "t/a/b"] {
            guard try mark(member, "of \(member)", in: fixture) else {
                try Test.cancel("needs attributes of users")
            }
        }
        try fixture.directory.write("", to: "disk/probe")
        guard try mark("disk/probe", "", in: fixture) else { try Test.cancel("needs tmpfs with attributes of users") }
        #expect(try fixture.move("/file", to: "/disk/file").created)
        #expect(try fixture.move("/t", to: "/disk/t").created)
        for member in ["file", "t", "t/a", "t/a/b"] {
            let (facts, note) = try attributes(of: "disk/" + member, in: fixture)
            #expect(note == Array("of \(member)".utf8))
            #expect(facts.owner == 12_345 && facts.group == 54_321 && facts.mode & 0o777 == 0o750, "\(member)")
        }
        // A copy belongs to us.
        #expect(try fixture.copy("/disk/file", to: "/mine").created)
        let (facts, note) = try attributes(of: "mine", in: fixture)
        #expect(note == [] && facts.owner == geteuid())
    }

    /// An access list in the kernel's format, which lets one more user read and write.
    private func accessList(user: UInt32) -> [UInt8] {
        var packed: [UInt8] = [2, 0, 0, 0]
        let entries: [(tag: UInt8, rights: UInt8, user: UInt32)] = [
            (0x01, 6, .max), (0x02, 6, user), (0x04, 4, .max), (0x10, 6, .max), (0x20, 0, .max),
        ]
        for entry in entries {
            packed += [entry.tag, 0, entry.rights, 0]
            packed += (0..<4).map { UInt8(truncatingIfNeeded: entry.user >> (8 * $0)) }
        }
        return packed
    }

    private func set(_ attribute: String, of member: String, to value: [UInt8], in fixture: Fixture) throws -> Bool {
        let file = open(fixture.directory.path(of: member), O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        return sys_set_attribute(file, attribute, value, value.count) == 0
    }

    private func value(_ attribute: String, of member: String, in fixture: Fixture) throws -> [UInt8]? {
        let file = open(fixture.directory.path(of: member), O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        var value = [UInt8](repeating: 0, count: 65_536)
        let count = sys_get_attribute(file, attribute, &value, value.count)
        return count < 0 ? nil : Array(value.prefix(count))
    }

    @Test("An access list comes along, and that of the folder there does not come instead")
    func accessLists() throws {
        let fixture = try Fixture()
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        let access = "system.posix_acl_access"
        try fixture.directory.write("1", to: "listed")
        try fixture.directory.write("2", to: "plain")
        try fixture.directory.write("3", to: "folder/file")
        try fixture.directory.makeDirectory("disk/open")
        guard try set(access, of: "listed", to: accessList(user: 1_234), in: fixture),
            try set("system.posix_acl_default", of: "disk/open", to: accessList(user: 5_678), in: fixture)
        else { try Test.cancel("needs file systems with access lists") }
        for member in ["listed", "plain", "folder"] {
            #expect(try fixture.move("/" + member, to: "/disk/open/" + member).created)
        }
        #expect(try value(access, of: "disk/open/listed", in: fixture) == accessList(user: 1_234))
        for member in ["plain", "folder", "folder/file"] {
            #expect(try value(access, of: "disk/open/" + member, in: fixture) == nil, "\(member)")
        }
        #expect(try value("system.posix_acl_default", of: "disk/open/folder", in: fixture) == nil)
    }

    @Test("New files have the rights that their folder gives, whatever is missing", arguments: SystemUnderTest.allCases)
    func inherited(system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let access = "system.posix_acl_access"
        let list = accessList(user: 1_234)
        try fixture.directory.makeDirectory("open")
        guard try set("system.posix_acl_default", of: "open", to: list, in: fixture) else {
            try Test.cancel("needs a file system with access lists")
        }
        #expect(chmod(fixture.directory.path(of: "open"), 0o2777) == 0)
        // The state folder has it first.
        try fixture.put("/before", "x")
        try fixture.put("/before", "y")
        try fixture.put("/open/file", "x")
        try fixture.directory.write("z", to: "tree/inner/file")
        #expect(try fixture.copy("/tree", to: "/open/tree").created)
        #expect(try value(access, of: "open/file", in: fixture) == list)
        // A copy's list is bounded by the bits of its source.
        #expect(try value(access, of: "open/tree/inner/file", in: fixture)?.count == list.count)
        for member in ["tree", "tree/inner"] {
            #expect(try attributes(of: "open/" + member, in: fixture).facts.mode & 0o2000 != 0, "\(member)")
        }
        #expect(try value(access, of: "before", in: fixture) == nil)
        #expect(fixture.leftovers == [])
    }

    @Test("What the other file system has no room for stays behind, and the file moves")
    func largeAttribute() throws {
        let fixture = try Fixture()
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        try fixture.directory.write("content", to: "disk/file")
        // More than ext4 can hold.
        guard try set(attribute, of: "disk/file", to: [UInt8](repeating: 7, count: 9_000), in: fixture) else {
            try Test.cancel("needs tmpfs with attributes of users")
        }
        #expect(try fixture.move("/disk/file", to: "/file").created)
        #expect(fixture.directory.text("file") == "content" && !fixture.directory.exists("disk/file"))
    }

    @Test("Holes stay holes, and nothing else", arguments: [SystemUnderTest.whole, .withNothing])
    func holes(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        // Bytes at the start, in the middle and at the end of a file that is far larger than the disk.
        let size = 12 << 20
        let piece = (0..<70_001).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let places = [0, 5 << 20, size - piece.count]
        try fixture.directory.write(piece, to: "image")
        try fixture.directory.resize("image", to: size)
        let file = open(fixture.directory.path(of: "image"), O_WRONLY | O_CLOEXEC)
        for place in places { #expect(sys_pwrite(file, piece, piece.count, Int64(place)) == piece.count) }
        close(file)
        try fixture.directory.write("", to: "hollow")
        try fixture.directory.resize("hollow", to: size)
        #expect(try fixture.copy("/image", to: "/beside").created)
        #expect(try fixture.copy("/beside", to: "/disk/copy").created)
        #expect(try fixture.move("/image", to: "/disk/image").created)
        #expect(try fixture.move("/hollow", to: "/disk/hollow").created)
        for member in ["beside", "disk/copy", "disk/image"] {
            #expect(try attributes(of: member, in: fixture).facts.blocks < 2_000, "\(member)")
            let bytes = try #require(fixture.directory.read(member))
            #expect(bytes.count == size)
            for place in places { #expect(bytes[place..<(place + piece.count)].elementsEqual(piece)) }
            let sum = piece.reduce(0) { $0 + Int($1) }
            #expect(bytes.reduce(0) { $0 + Int($1) } == 3 * sum, "\(member) holds more than was written")
        }
        let hollow = try attributes(of: "disk/hollow", in: fixture).facts
        #expect(hollow.size == size && hollow.blocks < 100)
        // And back again.
        #expect(try fixture.move("/disk/image", to: "/image").created)
        #expect(fixture.directory.read("image")?.count == size)
        #expect(fixture.leftovers == [])
    }
}
