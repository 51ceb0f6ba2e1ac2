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
        let entry = try share.open(SharePath(text: "/a/b.txt"))
        #expect(entry.attributes.size == 5 && entry.attributes.kind == .file)
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(try bytes.withUnsafeMutableBytes { try entry.read(into: $0, at: 1) } == 4)
        #expect(try share.attributes(of: .root).isDirectory)
        #expect(throws: RootError.notFound) { try share.open(SharePath(text: "/a/b.txt/x")) }
        #expect(throws: RootError.notFound) { try share.open(SharePath(text: "/nothing")) }
        #expect(throws: RootError.notDirectory) { try share.list(SharePath(text: "/a/b.txt")) }
        let members = try share.list(SharePath(text: "/a")).next()
        #expect(Set(members.map { String(decoding: $0.name, as: UTF8.self) }) == ["b.txt", "c"])
        #expect(try share.space(at: .root)?.available ?? 0 > 0)
    }

    @Test(
        "What no path is short enough for is not listed",
        arguments: [Resolver.Method.openat2, .componentWalk],
        [("/ten bytes.", ["file"]), ("/eleven byte", []), ("/base/five_", ["file"]), ("/base/six___", [])])
    func tooDeep(_ method: Resolver.Method, _ row: (top: String, members: [String])) throws {
        let name = String(repeating: "d", count: 254)
        try directory.makeDeepTree(String(row.top.dropFirst()), levels: 17, named: name)
        let top = try SharePath(text: row.top)
        let root = try DirectoryRoot(path: directory.path, resolving: method)
        let share = Share(root: root, base: top.parent)
        var path = SharePath(unchecked: Array(top.name))
        for _ in 1..<17 { path = try path.appending(Array(name.utf8)) }
        let names = try share.list(path).next().map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names == row.members)
    }

    @Test(
        "An entity tag says inode, size, time and birth in hexadecimal digits",
        arguments: [0, 1, 9, 10, 15, 16, 0x9ABC_DEF0, 0xFFFF_FFFF, 0x1_0000_0000, 0xFEDC_BA98_7654_3210, .max]
            as [UInt64])
    func entityTag(_ number: UInt64) {
        func hexadecimal(_ value: UInt64) -> String { String(value, radix: 16) }
        let time = Timestamp(seconds: 1, nanoseconds: 23)
        var attributes = FileAttributes(
            kind: .file, size: Int64(number >> 1), modified: time, created: nil, accessed: time, changed: time,
            inode: number, device: 0)
        let beginning = "\"\(hexadecimal(number))-\(hexadecimal(number >> 1))-3b9aca17"
        #expect(attributes.entityTag.text == beginning + "\"")
        attributes.created = Timestamp(seconds: 0, nanoseconds: Int32(truncatingIfNeeded: number & 0x3FFF_FFFF))
        let birth = number & 0x3FFF_FFFF
        #expect(attributes.entityTag.text == beginning + (birth == 0 ? "" : "-" + hexadecimal(birth)) + "\"")
    }
}
