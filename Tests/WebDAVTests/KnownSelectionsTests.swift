import DirectoryRoot
import ServerCore
import Testing

@testable import WebDAV

@Suite("Bodies of PROPFIND that come again")
struct KnownSelectionsTests {
    private let selections = KnownSelections(maxDepth: 10)

    private func body(_ name: String) -> [UInt8] {
        Array("<D:propfind xmlns:D='DAV:'><D:prop><x:\(name) xmlns:x='urn:x'/></D:prop></D:propfind>".utf8)
    }

    @Test("Each gets what it asks for, whatever came before")
    func order() throws {
        let names = (0..<KnownSelections.capacity * 3).map { "p\($0)" } + ["p0", "p1", "p1"]
        for name in names + names.reversed() {
            let selection = try selections.selection(propfind: body(name), charset: nil)
            #expect(selection.dead.map(\.local) == [name])
        }
    }

    @Test("The same bytes in another encoding are another body")
    func charsets() throws {
        let latin = Array("<?xml version='1.0' encoding='ISO-8859-1'?>".utf8) + body("caf\u{e9}")
        for _ in 0..<2 {
            #expect(throws: HTTPError.self) { try selections.selection(propfind: latin, charset: nil) }
            for charset in ["UTF-8", "utf-8"] {
                let selection = try selections.selection(propfind: latin, charset: charset)
                #expect(selection.dead.map(\.local) == ["caf\u{e9}"])
            }
        }
    }

    @Test("What is refused once is refused again, and what is large is read each time")
    func others() throws {
        let large = body("large") + [UInt8](repeating: 0x20, count: KnownSelections.mostBytes)
        for _ in 0..<2 {
            #expect(throws: HTTPError.self) { try selections.selection(propfind: body("1"), charset: nil) }
            #expect(try selections.selection(propfind: large, charset: nil).dead.map(\.local) == ["large"])
            #expect(try selections.selection(propfind: [], charset: nil).form == .all)
        }
    }
}
