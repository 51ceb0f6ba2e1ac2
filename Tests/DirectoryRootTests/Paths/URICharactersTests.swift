import DirectoryRoot
import Testing

@Suite("URICharacters") struct URICharactersTests {
    @Test(
        "A set keeps its own characters and encodes every other byte",
        arguments: [
            (URICharacters.unreserved, ""), (.unreservedPath, "/"), (.plainPath, "/!$()*,:@"), (.path, "/!$()*,:@+="),
        ])
    func sets(set: URICharacters, marks: String) {
        let kept = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~" + marks
        for byte in UInt8.min...UInt8.max {
            let digits = [byte >> 4, byte & 15].map { String($0, radix: 16, uppercase: true) }.joined()
            let expected = kept.utf8.contains(byte) ? String(UnicodeScalar(byte)) : "%" + digits
            #expect(set.text([byte]) == expected)
        }
    }

    @Test("What is appended stands behind what was there, whatever its length", arguments: [0, 1, 255, 5_000])
    func appending(count: Int) {
        var buffer = Array("/p".utf8)
        URICharacters.path.append([UInt8](repeating: 0xFF, count: count), to: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self) == "/p" + String(repeating: "%FF", count: count))
    }
}
