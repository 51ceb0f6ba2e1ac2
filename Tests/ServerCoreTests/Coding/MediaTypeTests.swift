import ServerCore
import Testing

@Suite("MediaType")
struct MediaTypeTests {
    static let names: [(String, String)] = [
        ("a.txt", "text/plain; charset=utf-8"), ("A.HTML", "text/html; charset=utf-8"),
        ("a.tar.gz", "application/gzip"),
        ("photo.JPG", "image/jpeg"), ("a.svg", "image/svg+xml"), ("a.js", "text/javascript; charset=utf-8"),
        ("a.json", "application/json"), ("a.webmanifest", "application/manifest+json"), ("a.mkv", "video/matroska"),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("a.pdf", "application/pdf"),
        ("a.css", "text/css; charset=utf-8"), ("a.csv", "text/csv; charset=utf-8"), ("a.mp4", "video/mp4"),
        ("a.mp3", "audio/mpeg"), ("a.wasm", "application/wasm"), ("a.md", "text/markdown; charset=utf-8"),
        ("noextension", "application/octet-stream"), ("txt", "application/octet-stream"),
        ("", "application/octet-stream"),
        (".", "application/octet-stream"), ("a.", "application/octet-stream"),
        ("dir.txt/file", "application/octet-stream"),
        ("dir/a.png", "image/png"), ("a.unknownextensionthatislong", "application/octet-stream"),
        ("a.xxxxxxxxxxxxxxxxtxt", "application/octet-stream"), ("ä.jpeg", "image/jpeg"),
        ("a.tx\0t", "application/octet-stream"),
    ]

    @Test("The type follows the last extension, in any case", arguments: names)
    func types(name: String, type: String) {
        #expect(MediaType(filename: Array(name.utf8)).name == type)
    }

    @Test("Text compresses, pictures do not")
    func compressible() {
        for name in ["a.txt", "a.json", "a.svg", "a.xml", "a.js", "a.geojson", "a.bmp"] {
            #expect(MediaType(filename: Array(name.utf8)).isCompressible, "\(name)")
        }
        for name in ["a.png", "a.zip", "a.mp4", "a", "a.docx", "a.woff2"] {
            #expect(!MediaType(filename: Array(name.utf8)).isCompressible, "\(name)")
        }
    }
}
