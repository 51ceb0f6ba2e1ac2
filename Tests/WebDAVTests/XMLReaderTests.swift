import DirectoryRoot
import Testing

@testable import WebDAV

@Suite("Reading XML from strangers")
struct XMLReaderTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test("Names come with their namespaces, text with its references resolved")
    func names() throws {
        let root = try XMLReader.read(
            bytes("<a:x xmlns:a='u:1' xmlns='u:2' q='1 &amp;&lt;&#38;#38;'><y a:z='2'>t&amp;<![CDATA[<u>]]></y></a:x>"))
        #expect(root.name == PropertyName(namespace: "u:1", local: "x"))
        #expect(root.attributes.map(\.value) == [bytes("1 &<&#38;")])
        let inner = try #require(root.elements.first)
        #expect(inner.name == PropertyName(namespace: "u:2", local: "y"))
        #expect(inner.attributes.first?.name == PropertyName(namespace: "u:1", local: "z"))
        #expect(inner.text == "t&<u>")
    }

    @Test("A namespace is any URI, with its references resolved")
    func namespaces() throws {
        let root = try XMLReader.read(
            bytes("<a:x xmlns:a='http://x/?a=1&amp;b=2&amp;c#&#100;'><y xmlns='relative' a:z=''/></a:x>"))
        #expect(root.name.namespace == "http://x/?a=1&b=2&c#d")
        #expect(root.elements.first?.name.namespace == "relative")
        #expect(root.elements.first?.attributes.first?.name.namespace == "http://x/?a=1&b=2&c#d")
        #expect(try XMLReader.read(XMLFragment.bytes(of: root)).name == root.name)
    }

    @Test(
        "A namespace that would end the reading of a listing is refused, wherever it is declared",
        arguments: ["http://a b/", "http://x/{y}", "urn:&lt;&quot;", "http://x/&#10;y", "http://[", "%", "\\", "é"])
    func noNamespaces(uri: String) {
        for text in ["<x xmlns='\(uri)'/>", "<a:x xmlns:a='\(uri)'/>", "<x><y xmlns:unused='\(uri)'/></x>"] {
            #expect(throws: XMLError.namespace) { try XMLReader.read(bytes(text)) }
        }
    }

    @Test("xml:lang is inherited and overridden")
    func language() throws {
        let root = try XMLReader.read(bytes("<a xml:lang='de'><b/><c xml:lang='fr'/></a>"))
        #expect(root.elements.map(\.language) == ["de", "fr"])
    }

    @Test("UTF-16 with a byte order mark, and Latin-1 that says so, are read")
    func encodings() throws {
        let text = "<?xml version=\"1.0\" encoding=\"utf-16\"?><ä>ö\u{1F600}</ä>"
        var big: [UInt8] = [0xFE, 0xFF]
        var little: [UInt8] = [0xFF, 0xFE]
        for unit in text.utf16 {
            big += [UInt8(unit >> 8), UInt8(unit & 255)]
            little += [UInt8(unit & 255), UInt8(unit >> 8)]
        }
        for body in [big, little] {
            let root = try XMLReader.read(body)
            #expect(root.name.local == "ä")
            #expect(root.text == "ö\u{1F600}")
        }
        let latin = bytes("<?xml version='1.0' encoding='ISO-8859-1'?><a>") + [0xE4] + bytes("</a>")
        #expect(try XMLReader.read(latin).text == "ä")
        #expect(try XMLReader.read([0xEF, 0xBB, 0xBF] + bytes("<a>ä</a>")).text == "ä")
        let labelled = bytes("<a>") + [0xE4] + bytes("</a>")
        #expect(try XMLReader.read(labelled, charset: "iso-8859-1").text == "ä")
    }

    @Test("An encoding that is unknown or not the true one is refused")
    func wrongEncodings() {
        let rows: [[UInt8]] = [
            bytes("<?xml version='1.0' encoding='utf-7'?><a>+ADw-</a>"),
            bytes("<?xml version='1.0' encoding='utf-16'?><a/>"),
            bytes("<?xml version='1.0' encoding='shift_jis'?><a/>"),
            bytes("<a>") + [0xE4] + bytes("</a>"),
            bytes("<a>") + [0xC0, 0x80] + bytes("</a>"),
            bytes("<a>") + [0xED, 0xA0, 0x80] + bytes("</a>"),
            [0, 0, 0, 0x3C, 0, 0, 0, 0x61],
            [0xFF, 0xFE, 0, 0, 0x3C, 0, 0, 0],
            [0x4C, 0x6F, 0xA7, 0x94],
            [0xFE, 0xFF, 0xD8, 0x00, 0x00, 0x3C],
            [0xFE, 0xFF, 0x00],
        ]
        for row in rows { #expect(throws: XMLError.self, "\(row)") { try XMLReader.read(row) } }
    }

    @Test("A document type is refused, whatever is in it")
    func documentTypes() {
        let laughs =
            "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY lol 'lol'><!ENTITY lol2 '&lol;&lol;&lol;&lol;'>]><lolz>&lol2;</lolz>"
        let external = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"
        for text in [laughs, external, "<!DOCTYPE a><a/>", "<!-- c --><!DOCTYPE a SYSTEM 'http://localhost/x'><a/>"] {
            #expect(throws: XMLError.documentType) { try XMLReader.read(bytes(text)) }
        }
    }

    @Test(
        "What is not well-formed is refused",
        arguments: [
            "", " ", "a", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b='1' b='2'/>", "<a>&x;</a>", "<a>&#0;</a>",
            "<a>&#xD800;</a>", "<x:a/>", "<a xmlns:b=''/>", "<a>\u{1}</a>", "<a b='<'/>", "<a>]]></a>", "text<a/>",
            "<a><?xml version='1.0'?></a>", "<a", "<", "<!", "<!--", "<a><![CDATA[", "<a b='", "</a>", "<?", "<a/>x",
        ])
    func malformed(text: String) {
        #expect(throws: XMLError.self) { try XMLReader.read(bytes(text)) }
    }

    @Test("NUL is refused wherever it is")
    func nul() {
        for body in [bytes("<a>") + [0] + bytes("</a>"), bytes("<a/>") + [0], [0] + bytes("<a/>")] {
            #expect(throws: XMLError.self) { try XMLReader.read(body) }
        }
    }

    @Test("Depth, attributes and names are bounded, at no great cost")
    func bounds() throws {
        func nested(_ depth: Int) -> [UInt8] {
            bytes(String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth))
        }
        _ = try XMLReader.read(nested(200))
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(nested(257)) }
        _ = try XMLReader.read(nested(8), maxDepth: 8)
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(nested(9), maxDepth: 8) }
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(nested(100_000)) }
        let attributes = (0..<100_000).map { "a\($0)=''" }.joined(separator: " ")
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(bytes("<a \(attributes)/>")) }
        let namespaces = (0..<100_000).map { "xmlns:a\($0)='u'" }.joined(separator: " ")
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(bytes("<a \(namespaces)/>")) }
        let name = String(repeating: "n", count: 100_000)
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(bytes("<\(name)/>")) }
        let stacked = (0..<100).map { level in
            "<a " + (0..<200).map { "xmlns:p\(level)_\($0)='u'" }.joined(separator: " ") + ">"
        }
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(bytes(stacked.joined())) }
        func wide(_ count: Int) -> [UInt8] { bytes("<a>" + String(repeating: "<b/>", count: count) + "</a>") }
        #expect(try XMLReader.read(wide(20_000)).elements.count == 20_000)
        #expect(throws: XMLError.tooComplex) { try XMLReader.read(wide(100_000)) }
    }

    @Test("No prefix and no single changed byte of a body crashes the reader")
    func mutations() {
        let body = bytes(
            "<?xml version='1.0' encoding='utf-8'?><D:a xmlns:D='DAV:' b='&amp;'><!-- c --><![CDATA[x]]><?p i?>\u{e4}</D:a>"
        )
        for length in body.indices {
            _ = try? XMLReader.read(Array(body[..<length]))
            for byte: UInt8 in [0, 0x20, 0x22, 0x26, 0x3C, 0x3E, 0x7F, 0xC3, 0xFF] {
                var changed = body
                changed[length] = byte
                _ = try? XMLReader.read(changed)
            }
        }
    }
}

@Suite("Keeping XML as it was sent")
struct XMLFragmentTests {
    private func kept(_ document: String) throws -> String {
        let root = try XMLReader.read(Array(document.utf8))
        let property = try #require(root.elements.first)
        let bytes = XMLFragment.bytes(of: property)
        // Whatever is stored must stand on its own.
        #expect(try XMLReader.read(bytes).name == property.name)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Namespaces that are used are declared inside, with the prefixes as sent")
    func namespaces() throws {
        #expect(
            try kept("<r xmlns:a='u:a' xmlns:b='u:b' xmlns:c='u:c'><a:p b:q='1'><x/></a:p></r>")
                == "<a:p xmlns:a=\"u:a\" xmlns:b=\"u:b\" b:q=\"1\"><x/></a:p>")
        #expect(try kept("<r xmlns='u:d'><p/></r>") == "<p xmlns=\"u:d\"/>")
        #expect(
            try kept("<D:r xmlns:D='DAV:'><p xmlns='u:d'><q xmlns=''/></p></D:r>")
                == "<p xmlns=\"u:d\"><q xmlns=\"\"/></p>")
    }

    @Test("A prefix inside a value is declared too")
    func prefixesInValues() throws {
        #expect(
            try kept("<r xmlns:t='u:t'><p type='t:int'>x</p></r>") == "<p xmlns:t=\"u:t\" type=\"t:int\">x</p>")
        #expect(try kept("<r xmlns:t='u:t'><p>http://host</p></r>") == "<p>http://host</p>")
    }

    @Test("Mixed content, references and the language in scope stay")
    func content() throws {
        #expect(
            try kept("<r xml:lang='de'><p>a<b>c</b> d&lt;&#13;&amp;<![CDATA[<e>]]></p></r>")
                == "<p xml:lang=\"de\">a<b>c</b> d&lt;&#13;&amp;&lt;e&gt;</p>")
        #expect(try kept("<r><p a='&#10;&quot;&lt;&amp;'/></r>") == "<p a=\"&#10;&quot;&lt;&amp;\"/>")
        #expect(try kept("<r xml:lang='de'><p xml:lang='fr'/></r>") == "<p xml:lang=\"fr\"/>")
    }
}
