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

/// Moves between two names of one file, where one careless step would remove both.
@Suite("Moves onto the same file") struct SameFileTests {
    @Test("A mount of one directory at two places", arguments: [SystemUnderTest.whole, .withNothing])
    func mountedTwice(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try fixture.directory.write("only", to: "a/file")
        try fixture.directory.write("only", to: "a/tree/file")
        try fixture.directory.makeDirectory("b")
        let place = fixture.directory.path(of: "b")
        guard mount(fixture.directory.path(of: "a"), place, "none", UInt(MS_BIND), nil) == 0 else {
            try Test.cancel("needs root: mounts a directory")
        }
        defer { umount2(place, Int32(MNT_DETACH)) }
        #expect(throws: RootError.selfReference) { try fixture.move("/a/file", to: "/b/file") }
        #expect(throws: RootError.selfReference) { try fixture.move("/a/tree", to: "/b/tree") }
        #expect(throws: RootError.selfReference) { try fixture.copy("/a/tree", to: "/b/tree") }
        #expect(fixture.directory.text("a/file") == "only" && fixture.directory.text("a/tree/file") == "only")
        #expect(try fixture.move("/a/file", to: "/b/other").created && fixture.move("/a/tree", to: "/b/wood").created)
        #expect(fixture.directory.names(in: "a").sorted() == ["other", "wood"])
        #expect(fixture.directory.text("a/other") == "only" && fixture.directory.text("a/wood/file") == "only")
        #expect(fixture.leftovers == [])
    }

    @Test("Of two hard links one is left, with the content", arguments: SystemUnderTest.allCases, [0, 7])
    func hardLinks(_ system: SystemUnderTest, trashDays: Int) throws {
        var policy = RootPolicy()
        policy.trashDays = trashDays
        let fixture = try Fixture(system, policy: policy)
        try fixture.directory.write("only", to: "a")
        try fixture.directory.makeDirectory("folder")
        for target in ["b", "folder/a"] {
            try fixture.directory.hardLink(target, to: "a")
            #expect(try !fixture.move("/a", to: "/" + target).created)
            #expect(!fixture.directory.exists("a") && fixture.directory.text(target) == "only")
            #expect(try fixture.move("/" + target, to: "/a").created)
        }
        #expect(fixture.directory.text("a") == "only" && fixture.leftovers == [])
        #expect(try fixture.list() == ["a", "folder"] && fixture.list("/folder") == [])
    }

    @Test("Names that differ in their letters alone are two files where the directory lists both")
    func otherLetters() throws {
        let fixture = try Fixture()
        try fixture.directory.write("upper", to: "A.txt")
        guard !fixture.directory.exists("a.txt") else { try Test.cancel("the file system ignores case") }
        try fixture.directory.write("lower", to: "a.txt")
        #expect(try !fixture.move("/A.txt", to: "/a.txt").created)
        #expect(try fixture.list() == ["a.txt"] && fixture.get("/a.txt") == "upper")
    }

    @Test("A link does not take the place of what it points at")
    func linkOntoItsTarget() throws {
        let fixture = try Fixture()
        try fixture.directory.write("only", to: "file")
        try fixture.directory.write("only", to: "folder/file")
        try fixture.directory.link("link", to: "file")
        try fixture.directory.link("way", to: "folder")
        #expect(throws: RootError.selfReference) { try fixture.move("/link", to: "/file") }
        #expect(throws: RootError.selfReference) { try fixture.move("/way", to: "/folder") }
        #expect(fixture.directory.text("file") == "only" && fixture.directory.text("folder/file") == "only")
    }
}
