import DirectoryRoot
import TestSupport
import Testing

@Suite("Reading") struct ReadingTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    func share(_ method: Resolver.Method) throws -> Share {
        Share(root: try DirectoryRoot(path: directory.path, resolving: method))
    }

    @Test("Opens, describes and lists what is there", arguments: [Resolver.Method.openat2, .componentWalk])
    func basics(_ method: Resolver.Method) throws {
        try directory.write("hello", to: "a/b.txt")
        try directory.makeDirectory("a/c")
        let share = try share(method)
        let entry = try share.open(SharePath(decoding: "/a/b.txt"))
        #expect(entry.attributes.size == 5 && entry.attributes.kind == .file)
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(try bytes.withUnsafeMutableBytes { try entry.read(into: $0, at: 1) } == 4)
        #expect(try share.attributes(of: .root).isDirectory)
        #expect(throws: RootError.notFound) { try share.open(SharePath(decoding: "/a/b.txt/x")) }
        #expect(throws: RootError.notFound) { try share.open(SharePath(decoding: "/nothing")) }
        #expect(throws: RootError.notDirectory) { try share.list(SharePath(decoding: "/a/b.txt")) }
        let members = try share.list(SharePath(decoding: "/a")).next()
        #expect(Set(members.map { String(decoding: $0.name, as: UTF8.self) }) == ["b.txt", "c"])
        #expect(try share.space(at: .root).available > 0)
    }
}
