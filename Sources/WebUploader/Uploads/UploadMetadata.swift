import DirectoryRoot
import ServerCore

/// What a tus client sends about a file: the pairs of `Upload-Metadata`.
///
/// tus 1.0, Creation.
///
/// Treated as hostile: limited in size, each key only once, values in strict Base64, and the path parsed like every
/// other path.
struct UploadMetadata: Sendable {
    /// Keys in their order, with decoded values.
    let pairs: [(key: String, value: [UInt8])]

    private static let maxBytes = 16 * 1024
    private static let maxPairs = 64

    /// Parses the field.
    /// - Throws: ``HTTPError`` 400 when it is malformed, too long, or names a key twice.
    init(field: String) throws(HTTPError) {
        guard field.utf8.count <= Self.maxBytes else { throw Self.malformed }
        var pairs: [(key: String, value: [UInt8])] = []
        for member in field.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = Array(ASCII.trimmed(Array(member))).split(separator: UInt8(ascii: " "))
            guard (1...2).contains(parts.count), pairs.count < Self.maxPairs,
                parts[0].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { throw Self.malformed }
            let key = String(decoding: parts[0], as: UTF8.self)
            guard let value = parts.count == 2 ? Base64.decode(parts[1]) : [],
                !pairs.contains(where: { $0.key == key })
            else { throw Self.malformed }
            pairs.append((key, value))
        }
        self.pairs = pairs
    }

    /// The value of a key; nil when it is absent.
    subscript(key: String) -> [UInt8]? { pairs.first { $0.key == key }?.value }

    /// The value of a key as text; nil when it is absent or not UTF-8.
    func text(_ key: String) -> String? {
        guard let value = self[key], UTF8Scan.isValid(value) else { return nil }
        return TameText.text(value)
    }

    /// The file to write: `path` is the folder; `relativePath`, `filename` or `name` is relative to it.
    ///
    /// Some clients send the file's own path in `path`: without any name, or with the file's name at its end.
    /// - Parameter isFolder: whether a folder is at a path; called only when `path` may be the file's.
    /// - Returns: the file's path.
    /// - Throws: ``HTTPError`` 400 without a name, or with one that leads out of its folder.
    func target(isFolder: (SharePath) -> Bool) throws(HTTPError) -> SharePath {
        let path = self["path"] ?? []
        // Uppy sends the text `null` as the path of a file that was selected individually.
        let inFolder = self["relativePath"].flatMap { $0.elementsEqual("null".utf8) ? nil : $0 }
        let name = [inFolder, self["filename"], self["name"]].compactMap { $0 }.first { !$0.isEmpty }
        do {
            let place = try SharePath(bytes: path)
            if !path.isEmpty, path.last != UInt8(ascii: "/"), name?.elementsEqual(place.name) ?? true,
                !isFolder(place)
            {
                return place
            }
            if let name {
                let inner = try SharePath(bytes: name)
                guard !inner.isRoot, name.last != UInt8(ascii: "/") else { throw RootError.invalidName }
                return try place.appending(inner)
            }
        } catch {
            throw HTTPError(.badRequest, "The name of the upload cannot be used.")
        }
        throw HTTPError(.badRequest, "The upload has no name: send `filename` in Upload-Metadata.")
    }

    /// The media type that the client sent.
    var mediaType: String? { text("filetype") ?? text("type") }

    /// The file's modification time at the client: `lastModified`, milliseconds since 1970, or `mtime`, which may also
    /// be in seconds.
    func modified() throws(HTTPError) -> Timestamp? {
        let mtime = self["mtime"]
        guard let value = mtime ?? self["lastModified"] else { return nil }
        // As milliseconds, fewer digits would be less than 3.2 years from 1970.
        let digits = value.prefix { $0 != UInt8(ascii: ".") }.count { $0 != UInt8(ascii: "-") }
        let isSeconds = mtime != nil && digits <= 11
        if let time = isSeconds ? ModificationTime(seconds: value) : ModificationTime(milliseconds: value) {
            return time.time
        }
        // A time that file systems can't store, from a clock that is far off, is no reason to refuse a file.
        let number = value.dropFirst(value.first == UInt8(ascii: "-") ? 1 : 0)
        guard ASCII.decimal(number) != nil else { throw Self.malformed }
        return nil
    }

    /// The digest that the whole file must have: `sha256`, hexadecimal or Base64.
    func expectedDigest() throws(HTTPError) -> ReprDigest? {
        guard let value = self["sha256"] else { return nil }
        let bytes = value.count == 64 ? Hex.bytes(value) : Base64.decode(value)
        guard let bytes, bytes.count == 32 else { throw Self.malformed }
        return ReprDigest(.sha256, bytes)
    }

    private static let malformed = HTTPError(.badRequest, "Upload-Metadata is malformed.")
}
