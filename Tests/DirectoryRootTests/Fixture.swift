import DirectoryRoot
import TestSupport

/// One share over a new directory, with some of the system's abilities switched off.
struct Fixture: Sendable {
    let directory: TemporaryDirectory
    let root: DirectoryRoot
    var share: Share

    init(
        _ system: SystemUnderTest = .whole, policy: RootPolicy = RootPolicy(), in parent: String? = nil,
        clock: RootClock = .system
    ) throws {
        directory = try TemporaryDirectory(in: parent)
        root = try DirectoryRoot(
            path: directory.path, policy: policy, resolving: system.method, abilities: system.abilities, clock: clock)
        share = Share(root: root)
    }

    /// A new server over the same directory.
    init(over directory: TemporaryDirectory, clock: RootClock = .system) throws {
        self.directory = directory
        root = try DirectoryRoot(path: directory.path, clock: clock)
        share = Share(root: root)
    }

    /// Writes a file through the share.
    @discardableResult
    func put(
        _ path: String, _ content: String, replacing: Replacement = .anything
    ) throws -> (attributes: FileAttributes, created: Bool) {
        let upload = try share.beginUpload(to: SharePath(text: path), replacing: replacing)
        try upload.write(Array(content.utf8))
        return try upload.commit()
    }

    /// Reads a file through the share.
    func get(_ path: String) throws -> String { try get(SharePath(text: path)) }

    func get(_ path: SharePath) throws -> String {
        let entry = try share.open(path)
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try entry.read(into: $0, at: Int64(content.count)) }
            if count == 0 { return String(decoding: content, as: UTF8.self) }
            content += buffer[..<count]
        }
    }

    /// The names in a folder, as the share lists them.
    func list(_ path: String = "/") throws -> Set<String> {
        let cursor = try share.list(SharePath(text: path))
        var names: Set<String> = []
        while true {
            let members = try cursor.next()
            if members.isEmpty { return names }
            for member in members { names.insert(String(decoding: member.name, as: UTF8.self)) }
        }
    }

    func move(_ source: String, to target: String, replacing: Replacement = .anything) throws -> TransferResult {
        try share.move(SharePath(text: source), to: SharePath(text: target), replacing: replacing)
    }

    func copy(_ source: String, to target: String, replacing: Replacement = .anything) throws -> TransferResult {
        try share.copy(SharePath(text: source), to: SharePath(text: target), replacing: replacing)
    }

    func remove(_ path: String) throws -> [MemberFailure] { try share.remove(SharePath(text: path)) }

    /// What unfinished work has left behind.
    var leftovers: [String] {
        directory.names(in: ".shareserve/tmp") + directory.names().filter { $0.hasPrefix(".shareserve-") }
    }
}

/// The abilities of the system that may be used.
enum SystemUnderTest: CaseIterable, Sendable {
    case whole
    case withoutOpenat2
    case withoutUnnamedFiles
    case withoutRenameFlags
    case withNothing
    /// Without assuming that folders tell names apart by case.
    case withoutCase

    var method: Resolver.Method? { self == .withoutOpenat2 || self == .withNothing ? .componentWalk : nil }

    var abilities: Abilities {
        var abilities = Abilities()
        if self == .withoutUnnamedFiles || self == .withNothing { abilities.unnamedFiles = false }
        if self == .withoutRenameFlags || self == .withNothing { abilities.renameFlags = false }
        if self == .withNothing { abilities.kernelCopies = false }
        if self == .withoutCase { abilities.tellsNamesApart = false }
        return abilities
    }
}
