import CBundledAssets
import Crypto
import DirectoryRoot
import ServerCore

/// The page's files: those compiled into the program, or those of a directory that replace them.
///
/// Their addresses contain one hash over all of them, so that a browser may keep them for ever, and modules find each
/// other by relative names.
struct AssetStore: Sendable {
    /// 16 hexadecimal digits over all names and contents.
    let hash: String
    /// The tags of the available languages, English first.
    let languages: [String]

    private let assets: [String: Asset]

    private static let maxBytes = 16 * 1024 * 1024

    /// The program's own files.
    init() { self.init(Self.bundled()) }

    /// The program's files, replaced by those of a directory; waits for the disk.
    /// - Parameter directory: as the process sees it.
    /// - Throws: ``RootError`` when the directory cannot be read or is larger than 16 MiB.
    init(replacedBy directory: String) throws {
        var files = Self.bundled()
        try Self.read(directory, into: &files)
        self.init(files)
    }

    private init(_ files: [String: File]) {
        var hash = SHA256()
        var assets: [String: Asset] = [:]
        for (name, file) in files.sorted(by: { $0.key < $1.key }) {
            hash.update(data: Array(name.utf8) + [0])
            hash.update(data: file.bytes)
            assets[name] = Asset(name: name, mediaType: file.mediaType, bytes: file.bytes)
        }
        self.assets = assets
        self.hash = Hex.text(hash.finalize().prefix(8))
        // The texts in the page itself are English.
        let words = assets.keys.filter { $0.hasPrefix("languages/") && $0.hasSuffix(".txt") }
        let others = words.map { String($0.dropFirst(10).dropLast(4)) }.filter { $0 != "en" }
        languages = ["en"] + others.sorted()
    }

    /// A file by its name.
    subscript(name: String) -> Asset? { assets[name] }

    private typealias File = (mediaType: String, bytes: [UInt8])

    private static func bundled() -> [String: File] {
        var count = 0
        var files: [String: File] = [:]
        let first = unsafe bundled_assets(&count)
        let assets = unsafe UnsafeBufferPointer(start: first, count: count)
        for index in 0..<count {
            let asset = unsafe assets[index]
            guard let name = unsafe asset.name, let type = unsafe asset.media_type else { continue }
            let bytes = unsafe Array(UnsafeBufferPointer(start: asset.bytes, count: asset.length))
            unsafe files[String(cString: name)] = unsafe (String(cString: type), bytes)
        }
        return files
    }

    private static func read(_ directory: String, into files: inout [String: File]) throws {
        var policy = RootPolicy()
        policy.isReadOnly = true
        let share = Share(root: try DirectoryRoot(path: directory, policy: policy))
        var folders = [SharePath.root]
        var room = maxBytes
        while let folder = folders.popLast() {
            let cursor = try share.list(folder)
            while case let members = try cursor.next(), !members.isEmpty {
                for member in members {
                    let path = try folder.appending(member.name)
                    guard !member.attributes.isDirectory else {
                        if path.depth <= 8 { folders.append(path) }
                        continue
                    }
                    let bytes = try contents(of: try share.open(path), upTo: room)
                    room -= bytes.count
                    let type = FileResponder.mediaType(of: member.name)
                    files[String(decoding: path.bytes, as: UTF8.self)] = (type, bytes)
                }
            }
        }
    }

    private static func contents(of entry: Entry, upTo limit: Int) throws -> [UInt8] {
        guard entry.attributes.size <= Int64(limit) else { throw RootError.tooLarge }
        let size = Int(entry.attributes.size)
        var bytes = [UInt8](repeating: 0, count: size)
        var filled = 0
        while filled < size {
            let count = try unsafe bytes.withUnsafeMutableBytes { buffer in
                try unsafe entry.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: Int64(filled))
            }
            guard count > 0 else { break }
            filled += count
        }
        return Array(bytes[..<filled])
    }
}
