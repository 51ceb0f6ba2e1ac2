import Testing

@testable import WebUploader

@Suite("JSONNames") struct JSONNamesTests {
    private static let name = String(repeating: "n", count: 65)

    @Test(
        "short names are taken, and long values",
        arguments: [
            "", "{}", #"{"path": "/a", "upload": true}"#, #"["\#(name)", "\#(name)"]"#, #"{"a": "\#(name)"}"#,
            #"{"a": "\":\#(name)\":"}"#, #"{"a\\": 1}"#, #"{"open"#, #"{"open\"#,
        ])
    func short(document: String) {
        #expect(JSONNames.areShort(in: Array(document.utf8)))
    }

    @Test(
        "long names are not, whatever stands around them",
        arguments: [
            #"{"\#(name)": 1}"#, "{\"a\": [{\"\(name)\" \r\n\t:1}]}", #"{"\\\"\#(name)": 1}"#,
            #"{"a": "\\", "\#(name)": 1}"#,
        ])
    func long(document: String) {
        #expect(!JSONNames.areShort(in: Array(document.utf8)))
    }

    @Test("nor is another encoding, where names would look otherwise")
    func encoding() {
        #expect(!JSONNames.areShort(in: "{\"a\": 1}".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), 0] }))
    }
}
