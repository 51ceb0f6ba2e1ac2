import DirectoryRoot
import TestSupport
import Testing

@Suite("The root itself") struct RootTests {
    @Test("What is no directory can't be shared") func refused() throws {
        let directory = try TemporaryDirectory()
        try directory.write("x", to: "file")
        #expect(throws: RootError.notFound) { try DirectoryRoot(path: directory.path(of: "none")) }
        #expect(throws: RootError.notDirectory) { try DirectoryRoot(path: directory.path(of: "file")) }
    }

    @Test("A root that was removed and made again is served again", arguments: SystemUnderTest.allCases)
    func removed(_ system: SystemUnderTest) throws {
        let directory = try TemporaryDirectory()
        try directory.write("old", to: "root/file")
        let root = try DirectoryRoot(
            path: directory.path(of: "root"), resolving: system.method, abilities: system.abilities)
        let share = Share(root: root)
        let path = try SharePath(text: "/file")
        _ = try share.open(path)
        try directory.removeTree("root")
        #expect(root.isGone)
        for path in [path, .root] {
            #expect(throws: RootError.rootGone, "it is not empty") { try share.open(path) }
            #expect(throws: RootError.wouldBlock) { try share.open(path, waiting: false) }
        }
        #expect(throws: RootError.rootGone) { try share.list(.root) }
        #expect(throws: RootError.rootGone) { try share.remove(path) }
        #expect(throws: RootError.rootGone) { try share.beginUpload(to: path, replacing: .anything) }
        try directory.write("new!", to: "root/file")
        #expect(throws: RootError.wouldBlock) { try share.open(path, waiting: false) }
        #expect(try share.open(path).attributes.size == 4)
        #expect(!root.isGone)
        #expect(try share.remove(path) == [])
    }

    @Test("Another directory or link under its path is not followed while the root is there, and that is told")
    func replaced() throws {
        let directory = try TemporaryDirectory()
        try directory.write("mine", to: "root/file")
        try directory.write("other", to: "other/file")
        let share = Share(root: try DirectoryRoot(path: directory.path(of: "root")))
        #expect(share.root.pathLeft == nil)
        try directory.rename("root", to: "moved")
        #expect(share.root.pathLeft == directory.path(of: "root"))
        try directory.link("root", to: "other")
        #expect(try share.open(SharePath(text: "/file")).attributes.size == 4)
        #expect(share.root.pathLeft == directory.path(of: "root"))
        try directory.removeTree("root")
        try directory.link("root", to: "moved")
        #expect(share.root.pathLeft == nil, "another way to it is as good")
        try directory.removeTree("moved")
        #expect(share.root.pathLeft == nil, "it is gone, and can't be served")
    }
}
