import DirectoryRoot
import TestSupport
import Testing

@testable import WebDAV

@Suite("PROPPATCH, RFC 4918 §9.2")
struct ProppatchTests {
    private func fixture() async throws -> DAVFixture {
        let fixture = try DAVFixture()
        try fixture.directory.write("hello", to: "a")
        try fixture.directory.makeDirectory("d")
        return fixture
    }

    private func set(_ xml: String) -> String { proppatch("<D:set><D:prop>\(xml)</D:prop></D:set>") }

    @Test("§9.2 properties are set, listed and removed, on files and folders", arguments: ["/a", "/d"])
    func cycle(path: String) async throws {
        let fixture = try await fixture()
        let reply = try await fixture.send("PROPPATCH", path, [], set("<x:p>v</x:p>"))
        #expect(reply.status == 207)
        #expect(try reply.property("p", in: "urn:x")?.status == 200)
        let ask = propfind("<x:p/>")
        #expect(try await fixture.send("PROPFIND", path, [("Depth", "0")], ask).value("p", in: "urn:x") == "v")
        #expect(try await fixture.send("PROPFIND", path, [("Depth", "0")]).value("p", in: "urn:x") == "v")
        _ = try await fixture.send("PROPPATCH", path, [], proppatch("<D:remove><D:prop><x:p/></D:prop></D:remove>"))
        let gone = try await fixture.send("PROPFIND", path, [("Depth", "0")], ask)
        #expect(try gone.property("p", in: "urn:x")?.status == 404)
    }

    @Test("A property as deep as it may be is shown at a depth that clients read")
    func deep() async throws {
        let fixture = try await fixture()
        func property(_ depth: Int) -> String {
            "<x:p>" + String(repeating: "<x:q>", count: depth) + String(repeating: "</x:q>", count: depth) + "</x:p>"
        }
        #expect(try await fixture.send("PROPPATCH", "/a", [], set(property(252))).status == 400)
        #expect(try await fixture.send("PROPPATCH", "/a", [], set(property(251))).status == 207)
        let listing = try await fixture.send("PROPFIND", "/", [("Depth", "1")])
        #expect(listing.text.contains("<x:q/>"))
        #expect(try listing.hrefs().contains("/a"))
    }

    @Test("§9.2 instructions run in document order")
    func order() async throws {
        let fixture = try await fixture()
        _ = try await fixture.send(
            "PROPPATCH", "/a", [],
            proppatch(
                """
                <D:set><D:prop><x:p>1</x:p></D:prop></D:set><D:remove><D:prop><x:p/></D:prop></D:remove>\
                <D:set><D:prop><x:q>2</x:q><x:p>3</x:p></D:prop></D:set><D:remove><D:prop><x:q/></D:prop></D:remove>
                """))
        let reply = try await fixture.send("PROPFIND", "/a", [("Depth", "0")], propfind("<x:p/><x:q/>"))
        #expect(try reply.value("p", in: "urn:x") == "3")
        #expect(try reply.property("q", in: "urn:x")?.status == 404)
    }

    @Test("§9.2 all or none: a protected property fails with 403, the others with 424")
    func atomic() async throws {
        let fixture = try await fixture()
        for name in ["getetag", "resourcetype", "lockdiscovery", "getcontentlength", "creationdate", "supportedlock"] {
            let reply = try await fixture.send("PROPPATCH", "/a", [], set("<x:p>v</x:p><D:\(name)>1</D:\(name)><x:q/>"))
            #expect(reply.status == 207)
            #expect(try reply.property(name)?.status == 403)
            #expect(try reply.property("p", in: "urn:x")?.status == 424)
            #expect(try reply.property("q", in: "urn:x")?.status == 424)
            #expect(reply.text.contains("cannot-modify-protected-property"))
        }
        let after = try await fixture.send("PROPFIND", "/a", [("Depth", "0")], propfind("<x:p/>"))
        #expect(try after.property("p", in: "urn:x")?.status == 404)
    }

    @Test("§4.3, §4.4 values stay exactly: mixed content, language, namespaces, markup")
    func values() async throws {
        let fixture = try await fixture()
        let body = """
            <?xml version="1.0"?><E:propertyupdate xmlns:E='DAV:' xmlns:q='urn:q'><E:set><E:prop xml:lang='de'>\
            <p xmlns='urn:n' q:a='1&amp;2'>text <b>bold</b> &lt;tail&gt;<![CDATA[<c>]]><q:e/></p></E:prop></E:set>\
            </E:propertyupdate>
            """
        _ = try await fixture.send("PROPPATCH", "/a", [], body)
        let ask = "<f:propfind xmlns:f='DAV:' xmlns:n='urn:n'><f:prop><n:p/></f:prop></f:propfind>"
        let reply = try await fixture.send("PROPFIND", "/a", [("Depth", "0")], ask)
        let property = try #require(try reply.property("p", in: "urn:n")?.element)
        #expect(property.language == "de")
        #expect(
            property.attributes.contains {
                $0.name == PropertyName(namespace: "urn:q", local: "a") && $0.value == Array("1&2".utf8)
            })
        #expect(property.text == "text  <tail><c>")
        #expect(
            property.elements.map(\.name) == [
                PropertyName(namespace: "urn:n", local: "b"), PropertyName(namespace: "urn:q", local: "e"),
            ])
    }

    @Test("§4.3 Prefixes that only values use keep their meaning, wherever they were declared")
    func prefixesInValues() async throws {
        let fixture = try await fixture()
        let value = """
            <x:p xmlns:t='urn:outer'><a>t:one</a><b xmlns:t='urn:inner' xmlns:u='urn:u' k='u:two'>t:two<c/></b>\
            <d xmlns:x='urn:other'>x:three</d></x:p>
            """
        #expect(try await fixture.send("PROPPATCH", "/a", [], set(value)).property("p", in: "urn:x")?.status == 200)
        let reply = try await fixture.send("PROPFIND", "/a", [("Depth", "0")], propfind("<x:p/>"))
        let property = try #require(try reply.property("p", in: "urn:x")?.element)
        let inner = property.elements
        try #require(inner.map(\.name.local) == ["a", "b", "d"])
        #expect(inner[0].scope.uri(of: "t") == "urn:outer")
        #expect(inner[1].scope.uri(of: "t") == "urn:inner")
        #expect(inner[1].scope.uri(of: "u") == "urn:u")
        #expect(inner[2].scope.uri(of: "x") == "urn:other")
    }

    @Test("A value of 64 KiB is kept, and one much larger refused with 507")
    func large() async throws {
        let fixture = try await fixture()
        let value = String(repeating: "0123456789abcdef", count: 4096)
        #expect(
            try await fixture.send("PROPPATCH", "/a", [], set("<x:p>\(value)</x:p>")).property("p", in: "urn:x")?.status
                == 200)
        let reply = try await fixture.send("PROPFIND", "/a", [("Depth", "0")], propfind("<x:p/>"))
        #expect(try reply.value("p", in: "urn:x") == value)
        let larger = set("<x:q>\(value)\(value)</x:q>")
        #expect(try await fixture.send("PROPPATCH", "/a", [], larger).property("q", in: "urn:x")?.status == 507)
    }

    @Test("Many properties at once")
    func many() async throws {
        let fixture = try await fixture()
        let all = (0..<300).map { "<x:p\($0)>\($0)</x:p\($0)>" }.joined()
        #expect(try await fixture.send("PROPPATCH", "/a", [], set(all)).status == 207)
        let reply = try await fixture.send("PROPFIND", "/a", [("Depth", "0")])
        for index in [0, 17, 299] { #expect(try reply.value("p\(index)", in: "urn:x") == "\(index)") }
    }

    @Test("Windows' times and attributes succeed, and set the file's time")
    func windows() async throws {
        let fixture = try await fixture()
        let body = set(
            """
            <Z:Win32CreationTime>Sat, 01 Jan 2022 10:00:00 GMT</Z:Win32CreationTime>\
            <Z:Win32LastAccessTime>Sat, 01 Jan 2022 10:00:01 GMT</Z:Win32LastAccessTime>\
            <Z:Win32LastModifiedTime>Sat, 01 Jan 2022 10:00:02 GMT</Z:Win32LastModifiedTime>\
            <Z:Win32FileAttributes>00000020</Z:Win32FileAttributes>
            """)
        let reply = try await fixture.send("PROPPATCH", "/a", [], body)
        for name in ["Win32CreationTime", "Win32LastAccessTime", "Win32LastModifiedTime", "Win32FileAttributes"] {
            #expect(try reply.property(name, in: "urn:schemas-microsoft-com:")?.status == 200)
        }
        let after = try await fixture.send("PROPFIND", "/a", [("Depth", "0")])
        #expect(try after.value("getlastmodified") == "Sat, 01 Jan 2022 10:00:02 GMT")
        #expect(
            try after.value("Win32LastModifiedTime", in: "urn:schemas-microsoft-com:")
                == "Sat, 01 Jan 2022 10:00:02 GMT")
        #expect(try after.value("Win32FileAttributes", in: "urn:schemas-microsoft-com:") == "00000020")
        #expect(
            try after.value("Win32CreationTime", in: "urn:schemas-microsoft-com:") == "Sat, 01 Jan 2022 10:00:00 GMT")
    }

    @Test(
        "The modification time can be set as various clients try it",
        arguments: [
            "<D:getlastmodified>Sat, 01 Jan 2022 10:00:02 GMT</D:getlastmodified>",
            "<D:lastmodified>1641031202</D:lastmodified>",
            "<D:getlastmodified>2022-01-01T10:00:02Z</D:getlastmodified>",
        ])
    func modified(xml: String) async throws {
        let fixture = try await fixture()
        #expect(try await fixture.send("PROPPATCH", "/a", [], set(xml)).text.contains("200 OK"))
        let after = try await fixture.send("PROPFIND", "/a", [("Depth", "0")])
        #expect(try after.value("getlastmodified") == "Sat, 01 Jan 2022 10:00:02 GMT")
    }

    @Test(
        "A time that is none fails with 409, and with it everything", arguments: ["yesterday", "2022-02-31T10:00:02Z"])
    func badTime(time: String) async throws {
        let fixture = try await fixture()
        let reply = try await fixture.send(
            "PROPPATCH", "/a", [], set("<x:p/><D:getlastmodified>\(time)</D:getlastmodified>"))
        #expect(try reply.property("getlastmodified")?.status == 409)
        #expect(try reply.property("p", in: "urn:x")?.status == 424)
    }

    @Test("A display name of one's own is kept")
    func displayName() async throws {
        let fixture = try await fixture()
        _ = try await fixture.send("PROPPATCH", "/a", [], set("<D:displayname>M&amp;y</D:displayname>"))
        #expect(try await fixture.send("PROPFIND", "/a", [("Depth", "0")]).value("displayname") == "M&y")
    }

    @Test("RFC 8144 §2.2 minimal: success has no body")
    func minimal() async throws {
        let reply = try await fixture().send("PROPPATCH", "/a", [("Prefer", "return=minimal")], set("<x:p/>"))
        #expect(reply.status == 200)
        #expect(reply.body.isEmpty)
    }

    @Test("What is missing is 404, a wrong body 400")
    func refusals() async throws {
        let fixture = try await fixture()
        #expect(try await fixture.send("PROPPATCH", "/none", [], set("<x:p/>")).status == 404)
        for body in [
            "", "<x/>", "<D:propertyupdate xmlns:D='DAV:'/>", proppatch("<D:set><D:prop><y:p/></D:prop></D:set>"),
        ] {
            #expect(try await fixture.send("PROPPATCH", "/a", [], body).status == 400)
        }
    }

    @Test("§9.8.2, §9.9.1 properties follow COPY and MOVE, and leave with DELETE")
    func follow() async throws {
        let fixture = try await fixture()
        let ask = propfind("<x:p/>")
        _ = try await fixture.send("PROPPATCH", "/a", [], set("<x:p>v</x:p>"))
        _ = try await fixture.send("COPY", "/a", [("Destination", "/b")])
        _ = try await fixture.send("MOVE", "/a", [("Destination", "/c")])
        for path in ["/b", "/c"] {
            #expect(try await fixture.send("PROPFIND", path, [("Depth", "0")], ask).value("p", in: "urn:x") == "v")
        }
        _ = try await fixture.send("DELETE", "/c")
        _ = try await fixture.send("PUT", "/c", [], "new")
        #expect(
            try await fixture.send("PROPFIND", "/c", [("Depth", "0")], ask).property("p", in: "urn:x")?.status == 404)
        _ = try await fixture.send("PUT", "/b", [], "replaced")
        #expect(try await fixture.send("PROPFIND", "/b", [("Depth", "0")], ask).value("p", in: "urn:x") == "v")
    }
}
