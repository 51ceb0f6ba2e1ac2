import DirectoryRoot
import ServerCore
import TestSupport
import Testing

@testable import WebDAV

@Suite("PROPFIND, RFC 4918 §9.1")
struct PropfindTests {
    private func fixture() throws -> DAVFixture {
        let fixture = try DAVFixture()
        try fixture.directory.write("hello", to: "a.txt")
        try fixture.directory.write("x", to: "sub/deep/b.html")
        return fixture
    }

    @Test("§9.1 an empty body asks for all; Depth 0 is the target alone")
    func allprop() async throws {
        let reply = try await fixture().send("PROPFIND", "/a.txt", [("Depth", "0")])
        #expect(reply.status == 207)
        #expect(reply["Content-Type"]?.hasPrefix("application/xml") == true)
        #expect(try reply.hrefs() == ["/a.txt"])
        #expect(try reply.value("getcontentlength") == "5")
        #expect(try reply.value("getcontenttype")?.hasPrefix("text/plain") == true)
        #expect(try reply.value("displayname") == "a.txt")
        #expect(try reply.value("getetag")?.hasPrefix("\"") == true)
        #expect(try reply.value("getlastmodified")?.hasSuffix(" GMT") == true)
        #expect(try reply.value("creationdate")?.hasSuffix("Z") == true)
        #expect(try reply.property("resourcetype")?.element.elements.isEmpty == true)
        #expect(try reply.property("supportedlock")?.element.elements.count == 2)
        #expect(try reply.property("lockdiscovery")?.element.elements.isEmpty == true)
        #expect(try reply.property("getcontentlanguage") == nil)
        #expect(try reply.property("quota-available-bytes") == nil)
    }

    @Test("§5.2, §9.1 Depth 1 lists the members, folders with a last slash")
    func depthOne() async throws {
        let reply = try await fixture().send("PROPFIND", "/", [("Depth", "1")])
        #expect(try Set(reply.hrefs()) == ["/", "/a.txt", "/sub/"])
        #expect(try reply.property("resourcetype", of: "/sub/")?.element.child("collection") != nil)
        #expect(try reply.property("getcontentlength", of: "/sub/") == nil)
        let below = try await fixture().send("PROPFIND", "/sub", [("Depth", "1")])
        #expect(try below.hrefs() == ["/sub/", "/sub/deep/"])
    }

    @Test("Depth 1,noroot and depth-noroot leave the target out")
    func noRoot() async throws {
        let fixture = try fixture()
        #expect(try await fixture.send("PROPFIND", "/sub/", [("Depth", "1,noroot")]).hrefs() == ["/sub/deep/"])
        let preferred = try await fixture.send("PROPFIND", "/sub/", [("Depth", "1"), ("Prefer", "depth-noroot")])
        #expect(try preferred.hrefs() == ["/sub/deep/"])
        #expect(preferred["Preference-Applied"] == "depth-noroot")
    }

    @Test("§9.1 a missing Depth is infinity")
    func missingDepth() async throws {
        let reply = try await fixture().send("PROPFIND", "/")
        #expect(try Set(reply.hrefs()) == ["/", "/a.txt", "/sub/", "/sub/deep/", "/sub/deep/b.html"])
    }

    @Test("Members are listed at their own place, however many links lead there", arguments: ["/", "/there", "/sub"])
    func linksBesideFolders(top: String) async throws {
        let fixture = try fixture()
        try fixture.directory.write("", to: "beside/c")
        try fixture.directory.link("there", to: ".")
        for index in 0..<8 {
            try fixture.directory.link("link\(index)", to: "sub")
            try fixture.directory.link("sub/link\(index)", to: "deep")
        }
        try fixture.directory.link("sub/outside", to: "../beside")
        let base = top == "/" ? "" : top
        let hrefs = try await fixture.send("PROPFIND", top, [("Depth", "infinity")]).hrefs()
        #expect(hrefs.count == Set(hrefs).count)
        let below = top == "/sub" ? base : base + "/sub"
        #expect(hrefs.filter { $0.hasSuffix("/b.html") } == [below + "/deep/b.html"])
        #expect(hrefs.filter { $0.hasSuffix("/c") } == [top == "/sub" ? "/sub/outside/c" : base + "/beside/c"])
    }

    @Test("§9.1 infinity is refused with propfind-finite-depth when it is switched off")
    func finiteDepth() async throws {
        var options = WebDAVOptions()
        options.maxInfiniteMembers = 0
        let fixture = try DAVFixture(options: options)
        let reply = try await fixture.send("PROPFIND", "/", [("Depth", "infinity")])
        #expect(reply.status == 403)
        #expect(reply.names("propfind-finite-depth"))
        #expect(try await fixture.send("PROPFIND", "/", [("Depth", "1")]).status == 207)
    }

    @Test("A tree with more members than the limit is refused before any of it is sent")
    func limit() async throws {
        var options = WebDAVOptions()
        options.maxInfiniteMembers = 3
        let fixture = try DAVFixture(options: options)
        for name in ["a", "d/b"] { try fixture.directory.write("", to: name) }
        #expect(try await fixture.send("PROPFIND", "/", [("Depth", "infinity")]).hrefs().count == 4)
        try fixture.directory.write("", to: "d/c")
        let reply = try await fixture.send("PROPFIND", "/", [("Depth", "infinity")])
        #expect(reply.status == 403)
        #expect(reply.names("propfind-finite-depth"))
        #expect(try await fixture.send("PROPFIND", "/d", [("Depth", "infinity")]).hrefs().count == 3)
    }

    @Test("A listing whose tree grows beyond the limit meanwhile ends in a 507 inside the 207, each address only once")
    func limitMeanwhile() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("", to: "d/e f/x")
        for (path, first) in [("", 0), ("d", 1)] {
            let stream = try MultiStatusStream(
                of: SharePath(text: path), in: fixture.share, .all, depth: .infinity, isMinimal: false, prefix: "/deep",
                maxMembers: 1, memory: TreeMemory().portion())
            var bytes = stream.first
            while let piece = try stream.next(isCrowded: false) { bytes += piece }
            let found = try XMLReader.read(bytes).elements
            let all = ["/deep/", "/deep/d/", "/deep/d/e%20f/", "/deep/d/e%20f/x"]
            #expect(found.map { $0.child("href")?.text } == Array(all.dropFirst(first).prefix(3)))
            let last = try #require(found.last)
            #expect(last.child("status")?.text.contains("507") == true)
            #expect(last.child("error")?.child("number-of-matches-within-limits") != nil)
            #expect(last.child("responsedescription")?.text.isEmpty == false)
        }
    }

    @Test("However much each member carries, an answer is made in pieces of bounded size")
    func boundedPieces() async throws {
        let fixture = try await DAVFixture.withLargeProperties(copies: 5)
        let stream = try MultiStatusStream(
            of: .root, in: fixture.share, .all, depth: .one, isMinimal: false, prefix: "", maxMembers: nil,
            memory: TreeMemory().portion())
        var pieces = [stream.first]
        while let piece = try stream.next(isCrowded: false) { pieces.append(piece) }
        #expect(pieces.allSatisfy { $0.count < 2 << 20 })
        let all = try XMLReader.read(pieces.flatMap { $0 })
        #expect(all.elements.count == 7)
    }

    @Test("While many list, each holds a small piece only")
    func smallPieces() async throws {
        let fixture = try DAVFixture()
        for index in 0..<600 { try fixture.directory.write("", to: "\(index)") }
        func longest(isCrowded: Bool) throws -> Int {
            let stream = try MultiStatusStream(
                of: .root, in: fixture.share, .all, depth: .one, isMinimal: false, prefix: "", maxMembers: nil,
                memory: TreeMemory().portion())
            var longest = 0
            while let piece = try stream.next(isCrowded: isCrowded) { longest = max(longest, piece.count) }
            return longest
        }
        #expect(try longest(isCrowded: true) < 64 << 10)
        #expect(try longest(isCrowded: false) > 96 << 10)
    }

    @Test("§9.1.1 named properties come with 200, unknown ones with 404")
    func named() async throws {
        let reply = try await fixture().send(
            "PROPFIND", "/a.txt", [("Depth", "0")], propfind("<D:getetag/><x:none/><D:bogus/><nons xmlns=''/>"))
        #expect(try reply.property("getetag")?.status == 200)
        #expect(try reply.property("none", in: "urn:x")?.status == 404)
        #expect(try reply.property("bogus")?.status == 404)
        #expect(try reply.property("nons", in: "")?.status == 404)
        #expect(try reply.property("getcontentlength") == nil)
    }

    @Test("§9.1.3 propname gives names without values")
    func names() async throws {
        let fixture = try fixture()
        _ = try await fixture.send(
            "PROPPATCH", "/a.txt", [], proppatch("<D:set><D:prop><x:mine>v</x:mine></D:prop></D:set>"))
        let reply = try await fixture.send(
            "PROPFIND", "/a.txt", [("Depth", "0")], "<propfind xmlns='DAV:'><propname/></propfind>")
        #expect(try reply.property("getetag")?.element.children.isEmpty == true)
        #expect(try reply.property("mine", in: "urn:x")?.element.children.isEmpty == true)
        let folder = try await fixture.send(
            "PROPFIND", "/sub/", [("Depth", "0")], "<propfind xmlns='DAV:'><propname/></propfind>")
        #expect(try folder.property("getcontentlength") == nil)
    }

    @Test("§9.1.6 include adds live properties to allprop")
    func include() async throws {
        let reply = try await fixture().send(
            "PROPFIND", "/a.txt", [("Depth", "0")],
            "<propfind xmlns='DAV:'><allprop/><include><quota-used-bytes/><nope/></include></propfind>")
        #expect(try reply.value("quota-used-bytes").flatMap { Int64($0) } != nil)
        #expect(try reply.value("getcontentlength") == "5")
        #expect(try reply.property("nope")?.status == 404)
    }

    @Test("RFC 4331 quota is there when asked for")
    func quota() async throws {
        let reply = try await fixture().send(
            "PROPFIND", "/", [("Depth", "0")], propfind("<D:quota-available-bytes/><D:quota-used-bytes/>"))
        #expect(try reply.value("quota-available-bytes").flatMap { Int64($0) }.map { $0 > 0 } == true)
        #expect(try reply.value("quota-used-bytes").flatMap { Int64($0) } != nil)
    }

    @Test("Prefer: return=minimal and Brief: t leave 404s out, RFC 8144 §2.1")
    func minimal() async throws {
        let fixture = try fixture()
        for field in [("Prefer", "return=minimal"), ("Brief", "t")] {
            let reply = try await fixture.send(
                "PROPFIND", "/a.txt", [("Depth", "0"), field], propfind("<D:getetag/><x:none/>"))
            #expect(try reply.property("getetag")?.status == 200)
            #expect(try reply.property("none", in: "urn:x") == nil)
            #expect(reply["Vary"]?.contains("Prefer") == true)
            let nothing = try await fixture.send("PROPFIND", "/a.txt", [("Depth", "0"), field], propfind("<x:none/>"))
            #expect(try nothing.xml().elements.first?.child("propstat") != nil)
        }
        let reply = try await fixture.send("PROPFIND", "/", [("Depth", "0"), ("Prefer", "return=minimal")])
        #expect(reply["Preference-Applied"] == "return=minimal")
    }

    @Test("What is missing is 404; a broken body or Depth 400")
    func refusals() async throws {
        let fixture = try fixture()
        #expect(try await fixture.send("PROPFIND", "/none").status == 404)
        for body in [
            "<a", "<D:propfind xmlns:D='DAV:'/>", "<D:propfind xmlns:D='DAV:'><D:prop><x:y/></D:prop></D:propfind>",
            "<D:propfind xmlns:D='DAV:'><D:prop/><D:allprop/></D:propfind>", " ",
            "<D:propfind xmlns:D='DAV:'><D:prop><b:f xmlns:b=''/></D:prop></D:propfind>",
            "<propfind><prop/></propfind>",
            "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><D:propfind xmlns:D='DAV:'><D:allprop/></D:propfind>",
        ] {
            #expect(try await fixture.send("PROPFIND", "/", [("Depth", "0")], body).status == 400, "\(body)")
        }
        #expect(try await fixture.send("PROPFIND", "/", [("Depth", "2")]).status == 400)
        let large = String(repeating: " ", count: 1_048_577)
        #expect(try await fixture.send("PROPFIND", "/", [("Depth", "0")], large).status == 413)
        let greedy = propfind((0..<600).map { "<x:p\($0)/>" }.joined())
        #expect(try await fixture.send("PROPFIND", "/", [("Depth", "1")], greedy).status == 400)
    }

    @Test("§14.? unknown elements and attributes are ignored, §17")
    func extensions() async throws {
        let body = """
            <D:propfind xmlns:D='DAV:' xmlns:q='urn:q' q:a='1'><q:leave-out/><D:prop q:b='2'><D:getetag/></D:prop></D:propfind>
            """
        let reply = try await fixture().send("PROPFIND", "/a.txt", [("Depth", "0")], body)
        #expect(try reply.property("getetag")?.status == 200)
    }

    @Test("§8.3 every name comes back byte for byte, in well-formed XML")
    func hostileNames() async throws {
        let fixture = try DAVFixture()
        let names: [[UInt8]] = [
            Array("a b".utf8), Array("#%?&<>\"'\\".utf8), Array("new\nline\u{1}".utf8), [0xFF, 0xFE, 0x41],
            Array("\u{1F600}\u{4E2D}".utf8), Array("u\u{308}".utf8), Array("\u{FC}".utf8), Array("]]>".utf8),
            Array(repeating: 0x78, count: 255),
        ]
        for name in names {
            let href = "/" + name.map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
            #expect(try await fixture.send("PUT", href, [], "x").status == 201)
        }
        let hrefs = try await fixture.send("PROPFIND", "/", [("Depth", "1,noroot")]).hrefs()
        #expect(hrefs.count == names.count)
        for href in hrefs {
            var raw: [UInt8] = []
            var rest = Array(href.utf8.dropFirst())[...]
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "%") {
                    let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                    raw.append(try #require(UInt8(digits, radix: 16)))
                    rest = rest.dropFirst(2)
                } else {
                    raw.append(byte)
                }
            }
            #expect(names.contains(raw), "\(href)")
        }
    }

    @Test(
        "A member of a listing is told as it is told alone",
        arguments: [
            PropertySelection.all, PropertySelection(form: .names, named: []),
            PropertySelection(form: .named, named: LiveProperty.all.map(\.name)),
            PropertySelection(form: .named, named: [LiveProperty.displayname.name, LiveProperty.ocSize.name]),
            PropertySelection(form: .named, named: [PropertyName(namespace: "urn:x", local: "mine")]),
        ])
    func sameAlone(_ selection: PropertySelection) async throws {
        let fixture = try DAVFixture()
        let names = ["a.txt", "b.HTML", "none", "a b<&>\"'%]]>", "\u{1F600}\u{FC}", "new\nline\r\u{1}", "x.y.z"]
        for (index, name) in names.enumerated() {
            try fixture.directory.write(String(repeating: "x", count: index * 7), to: "within/" + name)
        }
        try fixture.directory.write("", to: "within/folder & more/file")
        _ = try await fixture.send("PUT", "/within/%FF%FE", [], "x")
        let set = proppatch("<D:set><D:prop><x:mine>v</x:mine><D:displayname>other</D:displayname></D:prop></D:set>")
        #expect(try await fixture.send("PROPPATCH", "/within/x.y.z", [], set).status == 207)

        func responses(_ path: SharePath, _ depth: Depth) throws -> [ArraySlice<UInt8>] {
            let stream = try MultiStatusStream(
                of: path, in: fixture.share, selection, depth: depth, isMinimal: false, prefix: "/my%20files",
                maxMembers: nil, memory: TreeMemory().portion())
            var bytes = stream.first
            while let piece = try stream.next(isCrowded: false) { bytes += piece }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(try XMLReader.read(bytes).elements.count == text.split(separator: "<D:response>").count - 1)
            return text.replacing("</D:multistatus>", with: "").split(separator: "<D:response>").dropFirst().map {
                Array($0.utf8)[...]
            }
        }
        let listed = try responses(
            SharePath(text: "/within"), Depth(reach: .one, leavesOutTarget: true))
        let members = try fixture.share.list(SharePath(text: "/within")).next()
        #expect(members.count == names.count + 2 && listed.count == members.count)
        for member in members {
            let path = try SharePath(text: "/within").appending(member.name)
            #expect(try listed.contains(responses(path, .zero)[0]), "\(path)")
        }
    }

    @Test("Addresses begin with the server's prefix")
    func prefix() async throws {
        var fixture = try fixture()
        fixture.prefix = "/my%20files"
        let reply = try await fixture.send("PROPFIND", "/my%20files/", [("Depth", "1")])
        #expect(try Set(reply.hrefs()) == ["/my%20files/", "/my%20files/a.txt", "/my%20files/sub/"])
    }

    @Test("ownCloud's properties answer when asked for")
    func ownCloud() async throws {
        let fixture = try fixture()
        let sum = "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
        _ = try await fixture.send("PUT", "/c", [("OC-Checksum", sum)], "hello")
        let ask = propfind("<oc:checksums/><oc:permissions/><oc:size/><oc:fileid/><oc:id/>")
        let reply = try await fixture.send("PROPFIND", "/c", [("Depth", "0")], ask)
        let checksums = try reply.property("checksums", in: "http://owncloud.org/ns")
        #expect(checksums?.element.elements.first?.text == sum)
        #expect(try reply.value("size", in: "http://owncloud.org/ns") == "5")
        #expect(try reply.value("permissions", in: "http://owncloud.org/ns")?.contains("W") == true)
        _ = try await fixture.send("PUT", "/c", [], "other")
        let later = try await fixture.send("PROPFIND", "/c", [("Depth", "0")], ask)
        #expect(try later.property("checksums", in: "http://owncloud.org/ns")?.status == 404)
    }
}
