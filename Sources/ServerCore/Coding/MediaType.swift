/// A file's media type, by the extension of its name.
package struct MediaType: Equatable, Sendable {
    /// The value for `Content-Type`, with the charset of text.
    package let name: String
    /// Whether gzip makes such content smaller.
    package let isCompressible: Bool

    /// For unknown extensions.
    package static let unknown = MediaType("application/octet-stream")

    private init(_ type: String) {
        let isText = type.hasPrefix("text/")
        name = isText ? type + "; charset=utf-8" : type
        isCompressible =
            isText || type.hasSuffix("+xml") || type.hasSuffix("+json") || type.hasSuffix("/json")
            || type.hasSuffix("/xml") || Self.alsoCompressible.contains(type)
    }

    /// The type of a file by its name, without copying the name.
    /// - Parameter filename: the raw bytes of a name, or of a whole path.
    package init(filename: some Collection<UInt8>) {
        var key: UInt128 = 0
        var hasDot = false
        var count = 0
        for byte in filename {
            switch byte {
            case UInt8(ascii: "/"): (key, count, hasDot) = (0, 0, false)
            case UInt8(ascii: "."): (key, count, hasDot) = (0, 0, true)
            default:
                count += 1
                if count <= 16 { key = key << 8 | UInt128(ASCII.lowercased(byte)) }
            }
        }
        self = hasDot && count <= 16 ? Self.byExtension[key] ?? .unknown : .unknown
    }

    /// By extension, packed into an integer so that a lookup allocates nothing.
    private static let byExtension: [UInt128: MediaType] = {
        var types = [UInt128: MediaType](minimumCapacity: 700)
        for line in mediaTypeTable.utf8.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: 0x20)
            guard let first = words.first else { continue }
            let type = MediaType(String(decoding: first, as: UTF8.self))
            for word in words.dropFirst() where word.count <= 16 {
                types[word.reduce(0) { $0 << 8 | UInt128($1) }] = type
            }
        }
        return types
    }()

    private static let alsoCompressible: Set<String> = [
        "application/javascript", "application/rtf", "application/wasm", "application/x-sh", "application/x-tar",
        "application/sql", "application/toml", "application/x-ndjson", "application/vnd.ms-fontobject",
        "application/x-subrip", "application/postscript", "application/x-tex", "application/yaml", "font/otf",
        "font/ttf", "image/bmp", "image/vnd.microsoft.icon", "application/vnd.apple.mpegurl", "message/rfc822",
        "model/obj", "model/stl", "application/x-httpd-php", "application/pem-certificate-chain",
    ]
}
