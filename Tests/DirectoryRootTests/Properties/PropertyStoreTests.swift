import CSyscalls
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

@Suite("Property store") struct PropertyStoreTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("content", to: "file0")
        try directory.makeDirectory("folder/below")
    }

    private func share(attributes: Bool = true) throws -> Share {
        var abilities = Abilities()
        abilities.extendedAttributes = attributes
        return Share(root: try DirectoryRoot(path: directory.path, resolving: nil, abilities: abilities))
    }

    private func property(_ local: String, _ content: String, namespace: String = "urn:t") -> DeadProperty {
        DeadProperty(
            name: PropertyName(namespace: namespace, local: local), xml: Array("<x>\(content)</x>".utf8))
    }

    @Test("Properties that stand elsewhere stay with a file's other name, and with what the trash keeps")
    func otherNames() throws {
        var abilities = Abilities()
        abilities.extendedAttributes = false
        let directory = try TemporaryDirectory()
        let share = Share(root: try DirectoryRoot(path: directory.path, resolving: nil, abilities: abilities))
        try directory.write("old", to: "a")
        try directory.hardLink("b", to: "a")
        let property = DeadProperty(name: PropertyName(namespace: "u", local: "p"), xml: Array("<p/>".utf8))
        try share.updateProperties(of: SharePath("b"), [.set(property)])
        let upload = try share.beginUpload(to: SharePath("a"), replacing: .anything)
        try upload.write(Array("new".utf8))
        _ = try upload.commit()
        #expect(try share.properties(of: SharePath("a")) == [property])
        #expect(try share.properties(of: SharePath("b")) == [property])
    }

    @Test("Properties are set, replaced, removed and kept in order of first setting", arguments: [true, false])
    func basics(attributes: Bool) throws {
        let share = try share(attributes: attributes)
        for path in ["file0", "folder", ""].map({ SharePath($0) }) {
            #expect(try share.properties(of: path).isEmpty)
            try share.updateProperties(of: path, ["b", "a", "c"].map { .set(property($0, "1")) })
            try share.updateProperties(
                of: path,
                [
                    .set(property("b", "2")), .remove(PropertyName(namespace: "urn:t", local: "a")),
                    .set(property("d", "4", namespace: "")),
                ])
            let expected = [property("b", "2"), property("c", "1"), property("d", "4", namespace: "")]
            #expect(try share.properties(of: path) == expected)
            // Like another process.
            #expect(try self.share(attributes: attributes).properties(of: path) == expected)
            try share.updateProperties(of: path, expected.map { .remove($0.name) })
            #expect(try share.properties(of: path).isEmpty)
        }
        #expect(directory.exists(".shareserve/sidecar") == !attributes)
        #expect(directory.names(in: ".shareserve/sidecar").isEmpty)
    }

    @Test("Nothing is looked at, and no state made, before a property was set")
    func free() throws {
        let share = try share()
        let old = try share.attributes(of: SharePath("file0"))
        #expect(try !share.root.state.properties.hints().mayHaveProperties(old))
        #expect(!directory.exists(".shareserve"))
        try directory.write("x", to: "other")
        try share.updateProperties(of: SharePath("file0"), [.set(property("a", "1"))])
        let hints = try share.root.state.properties.hints()
        #expect(hints.mayHaveProperties(try share.attributes(of: SharePath("file0"))))
        var ancient = old
        ancient.changed.seconds -= 10
        #expect(!hints.mayHaveProperties(ancient))
    }

    @Test("A listing that looks for properties names just the members that have some", arguments: [true, false])
    func listing(attributes: Bool) throws {
        let share = try share(attributes: attributes)
        for index in 0..<20 { try directory.write("x", to: "list/f\(index)") }
        try share.updateProperties(of: SharePath("list/f7"), [.set(property("a", "1"))])
        for index in 20..<40 { try directory.write("x", to: "list/f\(index)") }
        let cursor = try share.list(SharePath("list"))
        cursor.looksForProperties = true
        let names = try cursor.next().filter(\.mayHaveProperties).map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names.contains("f7"))
        if attributes { #expect(names == ["f7"]) }
    }

    @Test("Large and many values go where they fit, and back", arguments: [true, false])
    func large(attributes: Bool) throws {
        let share = try share(attributes: attributes)
        let path = SharePath("file0")
        let huge = property("huge", String(repeating: "y", count: 65_536))
        try share.updateProperties(of: path, [.set(property("a", "1")), .set(huge)])
        #expect(try share.properties(of: path) == [property("a", "1"), huge])
        #expect(directory.names(in: ".shareserve/sidecar").count == 1)
        try share.updateProperties(of: path, [.remove(huge.name)])
        #expect(try share.properties(of: path) == [property("a", "1")])
        #expect(directory.names(in: ".shareserve/sidecar").count == (attributes ? 0 : 1))
        try share.updateProperties(
            of: path, (0..<900).map { .set(property("n\($0)", String(repeating: "z", count: 500))) })
        #expect(try share.properties(of: path).count == 901)
        #expect(throws: RootError.tooManyProperties) {
            try share.updateProperties(
                of: path, (0..<20).map { .set(property("h\($0)", String(repeating: "y", count: 65_536))) })
        }
        #expect(throws: RootError.tooManyProperties) {
            try share.updateProperties(of: path, (0..<100).map { .set(property("k\($0)", "")) })
        }
        #expect(try share.properties(of: path).count == 901, "all or nothing")
    }

    @Test("Properties follow a rename by anybody, and a new file with the old name has none", arguments: [true, false])
    func renames(attributes: Bool) throws {
        let share = try share(attributes: attributes)
        try directory.write("x", to: "folder/below/deep")
        let deep = SharePath("folder/below/deep")
        try share.updateProperties(of: deep, [.set(property("a", "1"))])
        #expect(Child.run("/bin/mv", directory.path(of: "folder"), directory.path(of: "moved")) == 0)
        #expect(try share.properties(of: SharePath("moved/below/deep")) == [property("a", "1")])
        try directory.write("x", to: "folder/below/deep")
        #expect(try share.properties(of: deep).isEmpty)
        // An inode number that is reused.
        directory.removeAll("moved/below/deep")
        for index in 0..<20 {
            try directory.write("x", to: "moved/below/new\(index)")
            #expect(try share.properties(of: SharePath("moved/below/new\(index)")).isEmpty)
        }
    }

    @Test("A new file gets the old one's properties before it takes its name", arguments: [true, false])
    func carry(attributes: Bool) throws {
        let share = try share(attributes: attributes)
        let path = SharePath("file0")
        let store = share.root.state.properties
        let properties = [property("a", "1"), property("b", attributes ? "2" : String(repeating: "2", count: 70_000))]
        try share.updateProperties(of: path, properties.map { .set($0) })
        try directory.write("new", to: "temporary")
        let source = open(directory.path(of: "file0"), O_RDONLY)
        let target = open(directory.path(of: "temporary"), O_WRONLY)
        defer {
            close(source)
            close(target)
        }
        try store.carry(from: source, at: path, to: target, at: path)
        rename(directory.path(of: "temporary"), directory.path(of: "file0"))
        #expect(try share.properties(of: path) == properties)
        #expect(directory.text("file0") == "new")
    }

    @Test("PUT, COPY, MOVE and DELETE through the share keep, copy, move and end properties", arguments: [true, false])
    func operations(attributes: Bool) throws {
        let share = try share(attributes: attributes)
        let file = property("f", attributes ? "1" : String(repeating: "1", count: 70_000))
        let folder = property("d", "2")
        try directory.write("x", to: "folder/below/deep")
        try share.updateProperties(of: SharePath("folder/below/deep"), [.set(file)])
        try share.updateProperties(of: SharePath("folder"), [.set(folder)])
        _ = try share.copy(SharePath("folder"), to: SharePath("copy"), replacing: .nothing)
        _ = try share.move(SharePath("folder"), to: SharePath("moved"), replacing: .nothing)
        let upload = try share.beginUpload(to: SharePath("moved/below/deep"), replacing: .anything)
        try upload.write(Array("new".utf8))
        _ = try upload.commit()
        for top in ["copy", "moved"] {
            #expect(try share.properties(of: SharePath(top)) == [folder])
            #expect(try share.properties(of: SharePath(top + "/below/deep")) == [file])
            #expect(try share.properties(of: SharePath(top + "/below")).isEmpty)
        }
        _ = try share.copy(SharePath("moved/below/deep"), to: SharePath("single"), replacing: .nothing)
        _ = try share.copy(SharePath("file0"), to: SharePath("moved/below/deep"), replacing: .anything)
        #expect(try share.properties(of: SharePath("single")) == [file])
        #expect(try share.properties(of: SharePath("moved/below/deep")).isEmpty)
        #expect(try share.remove(SharePath("copy")).isEmpty)
        try share.createDirectory(at: SharePath("copy"))
        #expect(try share.properties(of: SharePath("copy")).isEmpty)
    }

    @Test("What is kept beside knows where its resource went")
    func places() throws {
        let share = try share(attributes: false)
        try directory.write("x", to: "folder/below/deep")
        for path in ["file0", "folder/below/deep"] {
            try share.updateProperties(of: SharePath(path), [.set(property("a", "1"))])
        }
        _ = try share.move(SharePath("file0"), to: SharePath("folder/renamed"), replacing: .nothing)
        _ = try share.move(SharePath("folder"), to: SharePath("moved"), replacing: .nothing)
        let kept = directory.names(in: ".shareserve/sidecar").compactMap { directory.text(".shareserve/sidecar/\($0)") }
        #expect(kept.count == 2)
        for path in ["moved/renamed", "moved/below/deep"] { #expect(kept.contains { $0.contains(path) }) }
        #expect(!kept.contains { $0.contains("file0") || $0.contains("folder/") })
    }

    @Test("Check sums are no properties, and a stale check sum never shows")
    func checksumsOfContents() throws {
        let share = try share()
        let path = SharePath("file0")
        let tag = try share.attributes(of: path).entityTag
        try share.updateProperties(of: path, [.set(property("a", "1"))])
        try share.setChecksums(["sha1": [1, 2], "md5": [3]], of: path, for: tag)
        #expect(try share.properties(of: path) == [property("a", "1")])
        #expect(try share.checksums(of: path) == ["sha1": [1, 2], "md5": [3]])
        try directory.write("other content", to: "file0")
        #expect(try share.checksums(of: path).isEmpty)
        let next = try share.attributes(of: path).entityTag
        try share.setChecksums(["sha256": [9]], of: path, for: next)
        #expect(try share.checksums(of: path) == ["sha256": [9]])
    }

    @Test("Rights, read-only shares and locks of others forbid a change")
    func forbidden() throws {
        let path = SharePath("file0")
        var share = try share()
        let changes = [PropertyChange.set(property("a", "1"))]
        share.rights = RightsMap(rules: [(.root, .readOnly)])
        #expect(throws: RootError.forbidden) { try share.updateProperties(of: path, changes) }
        let tag = try share.attributes(of: path).entityTag
        #expect(throws: RootError.forbidden) { try share.updateChecksums(of: path, ["sha1": [1]], for: tag) }
        share.rights = .all
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        let lock = try share.lock(path, request).lock
        #expect(throws: RootError.locked([path])) { try share.updateProperties(of: path, changes) }
        #expect(throws: RootError.locked([path])) { try share.updateChecksums(of: path, ["sha1": [1]], for: tag) }
        share.tokens = [lock.token]
        try share.updateProperties(of: path, changes)
        try share.updateChecksums(of: path, ["sha1": [2]], for: tag)
        #expect(try share.checksums(of: path) == ["sha1": [2]])
        var policy = RootPolicy()
        policy.isReadOnly = true
        let reader = Share(root: try DirectoryRoot(path: directory.path, policy: policy))
        #expect(throws: RootError.readOnly) { try reader.updateProperties(of: path, changes) }
        #expect(try reader.properties(of: path) == [property("a", "1")])
    }

    @Test("A lock taken through a link binds the resource, not the way to it")
    func links() throws {
        try directory.link("link", to: "folder/below")
        try directory.write("x", to: "folder/below/deep")
        let share = try share()
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        let lock = try share.lock(SharePath("link/deep"), request).lock
        #expect(try share.locks(covering: SharePath("folder/below/deep")).map(\.token) == [lock.token])
        #expect(throws: RootError.locked([SharePath("folder/below/deep")])) {
            try share.lock(SharePath("folder/below/deep"), request)
        }
        try share.unlock(SharePath("folder/below/deep"), token: lock.token)
    }

    @Test("A damaged attribute is reported, not shown, and replaced by the next change")
    func damaged() throws {
        let share = try share()
        let path = SharePath("file0")
        try share.updateProperties(of: path, [.set(property("a", "1"))])
        for hostile in ["", "SSP1", "SSP1\u{1}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{1}\u{7F}\u{7F}\u{7F}\u{7F}"] {
            #expect(setxattr(directory.path(of: "file0"), Array(hostile.utf8)))
            #expect(try share.properties(of: path).isEmpty)
        }
        try share.updateProperties(of: path, [.set(property("b", "2"))])
        #expect(try share.properties(of: path) == [property("b", "2")])
    }

    @Test("Properties that stand elsewhere go a month after their file, and not when that can't be looked at")
    func sweeping() throws {
        let share = try share(attributes: false)
        let path = SharePath("file0")
        try share.updateProperties(of: path, [.set(property("a", "1"))])
        let store = share.root.state.properties
        let torn = ".shareserve/sidecar/r-12.new-ab"
        try directory.write("of a process that was killed", to: torn)
        let later = RootClock.system.wall().advanced(by: .seconds(40 * 86_400))
        try store.sweep { (_) throws(RootError) in throw .tooMany }
        #expect(directory.exists(torn))
        try store.sweep(at: later) { (_) throws(RootError) in throw .tooMany }
        #expect(try share.properties(of: path) == [property("a", "1")] && !directory.exists(torn))
        try store.sweep { (_) throws(RootError) in throw .notFound }
        #expect(try share.properties(of: path) == [property("a", "1")])
        try store.sweep(at: later) { (_) throws(RootError) in throw .notFound }
        #expect(try share.properties(of: path).isEmpty)
    }

    @Test("The last number that another program could leave in an attribute is followed by one more change")
    func lastSequence() throws {
        let share = try share()
        let path = SharePath("file0")
        try share.updateProperties(of: path, [.set(property("a", "1"))])
        var last = PropertySet()
        last.sequence = .max
        #expect(setxattr(directory.path(of: "file0"), last.packed))
        try share.updateProperties(of: path, [.set(property("b", "2"))])
        #expect(try share.properties(of: path) == [property("b", "2")])
    }

    @Test("What is kept beside a resource changes its change time: who copies it meanwhile sees that")
    func changeTime() throws {
        let share = try share()
        let path = SharePath("file0")
        let large = String(repeating: "x", count: 20_000)
        func stamp() throws -> FileStamp {
            // Longer than a tick of the kernel's clock.
            usleep(20_000)
            var status = sys_attributes()
            try #require(sys_stat(directory.path(of: "file0"), &status) == 0)
            return FileStamp(status)
        }
        let before = try stamp()
        try share.updateProperties(of: path, [.set(property("a", large))])
        let first = try stamp()
        try share.updateProperties(of: path, [.set(property("a", large + "y"))])
        let second = try stamp()
        try share.updateProperties(of: path, [.remove(property("a", "").name)])
        #expect(try Set([before, first, second, stamp()]).count == 4)
        #expect(try share.properties(of: path).isEmpty)
    }

    @Test("A process killed while it sets two properties leaves both old or both new")
    func kills() throws {
        let share = try share()
        for round in 0..<10 {
            let child = try Child.drill(directory.path, "properties")
            usleep(UInt32(25_000 + round * 3_000))
            child.kill()
            #expect(child.wait() == -SIGKILL)
            let properties = try share.properties(of: SharePath("file0"))
            #expect(properties.isEmpty || properties.count == 2 && properties[0].xml == properties[1].xml)
        }
        #expect(share.root.takeIncidents().isEmpty)
    }

    private func setxattr(_ path: String, _ bytes: [UInt8]) -> Bool {
        let file = open(path, O_RDWR)
        defer { close(file) }
        return sys_set_attribute(file, PropertyStore.attribute, bytes, bytes.count) == 0
    }
}
