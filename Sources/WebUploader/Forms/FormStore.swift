import DirectoryRoot
import ServerCore

/// Stores the files of one form as they come.
///
/// Used by one task at a time; ``take(_:)`` waits for the disk.
final class FormStore: @unchecked Sendable {
    /// One file that is wholly there.
    struct Stored: Sendable {
        var path: SharePath
        var attributes: FileAttributes
        var created: Bool
    }

    private static let longestField = 4096

    /// Each file that waits for the end of its form is an open one, and of these everybody has a share.
    private static let mostWaiting = 64

    /// Bytes of all the paths of one form: those of 20,000 files in folders that are a few levels deep.
    private static let mostNames = 3 << 20

    private let share: Share
    private let body: RequestBody
    private let folder: SharePath
    private let waitsForAll: Bool
    private var rule = ConflictRule.keep
    private var part = PartKind.ignored
    private var whole: [Whole] = []
    /// Bytes of the paths that came.
    private var names = 0
    /// Bytes that the files stored take here and will take in the answer, as counted.
    private var held = 0
    /// The next number to try beside a name that has come before: a form may bring one name thousands of times.
    private var numbers: [SharePath: Int] = [:]

    /// What was stored so far, in order.
    private(set) var stored: [Stored] = []
    /// The name, as sent, of the file that is being stored.
    private(set) var current: [UInt8]?

    private enum PartKind {
        case ignored
        case field(name: [UInt8], value: [UInt8])
        /// The wished path, which number beside it was free when the upload began, and the upload.
        case file(SharePath, Int, PendingUpload)
    }

    /// A file that has all its bytes and no name yet.
    private struct Whole {
        var path: SharePath
        var number: Int
        var upload: PendingUpload
        var rule: ConflictRule
    }

    /// - Parameters:
    ///   - folder: where the names are.
    ///   - share: where to store.
    ///   - body: where the form comes from.
    ///   - waitsForAll: no file is there before ``storeAll()``, for a form that is good as a whole only.
    init(below folder: SharePath, in share: Share, from body: RequestBody, waitsForAll: Bool) {
        self.folder = folder
        self.share = share
        self.body = body
        self.waitsForAll = waitsForAll
    }

    // Giving back is never refused.
    deinit { try? body.holdNames(0, insteadOf: held) }

    /// Goes on with what the parser found.
    /// - Throws: ``RootError`` or ``HTTPError`` of the ``current`` file; what is in ``stored`` stays.
    func take(_ events: [MultipartParser.Event]) throws {
        for event in events {
            switch event {
            case .part(let header): try begin(header)
            case .data(let bytes): try add(bytes)
            case .partEnd: try end()
            }
        }
    }

    private func begin(_ header: MultipartParser.Part) throws {
        guard let name = header.filename else {
            part = .field(name: header.name, value: [])
            return
        }
        // A file input with nothing chosen.
        guard !name.isEmpty else {
            part = .ignored
            return
        }
        current = name
        guard whole.count < Self.mostWaiting else {
            throw HTTPError(
                .contentTooLarge,
                "A form with a digest can have at most \(Self.mostWaiting) files. Send the others in another form.")
        }
        let path: SharePath
        do {
            let inner = try SharePath(bytes: name)
            guard !inner.isRoot, name.last != UInt8(ascii: "/") else { throw RootError.invalidName }
            path = try folder.appending(inner)
        } catch {
            throw HTTPError(.badRequest, "A file's name cannot be used here.")
        }
        try holdName(path)
        let first = rule == .keep ? numbers[path] ?? 0 : 0
        let (number, upload) = try share.beginUpload(to: path, by: rule, from: first)
        part = .file(path, number, upload)
    }

    /// Counts what one more file takes until the form is answered.
    ///
    /// The answer tells each path and address, whose bytes may be written with three or six each.
    private func holdName(_ path: SharePath) throws(HTTPError) {
        names += path.bytes.count
        guard names <= Self.mostNames else {
            throw HTTPError(
                .contentTooLarge, "The names in this form are too long, all together. Send fewer files at once.")
        }
        let more = held + 256 + 6 * path.bytes.count
        try body.holdNames(more, insteadOf: held)
        held = more
    }

    private func add(_ bytes: [UInt8]) throws {
        switch part {
        case .ignored: break
        case .field(let name, let value):
            guard value.count + bytes.count <= Self.longestField else {
                throw HTTPError(.contentTooLarge, "A field of the form is too long.")
            }
            part = .field(name: name, value: value + bytes)
        case .file(_, _, let upload):
            try unsafe bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in try unsafe upload.write(bytes)
            }
        }
    }

    private func end() throws {
        switch part {
        case .ignored: break
        case .field(let name, let value) where name.elementsEqual("conflict".utf8):
            rule = try ConflictRule(parameter: String(decoding: value, as: UTF8.self))
        case .field: break
        case .file(let path, let number, let upload):
            whole.append(Whole(path: path, number: number, upload: upload, rule: rule))
            if waitsForAll { current = nil } else { try storeAll() }
        }
        part = .ignored
    }

    /// Gives the whole files their names.
    /// - Throws: ``RootError`` of the first that cannot have it; what is in ``stored`` stays.
    func storeAll() throws {
        while let file = whole.first {
            current = Array(file.path.name)
            stored.append(try commit(file))
            whole.removeFirst()
        }
        current = nil
    }

    /// Takes the next free name where somebody else took this one meanwhile and both shall stay.
    private func commit(_ file: Whole) throws -> Stored {
        try file.path.withFreeName(by: file.rule, from: file.number) { path, number in
            let (attributes, created) = try file.upload.commit(to: path)
            if number > 0 { numbers[file.path] = min(number + 1, ConflictRule.attempts) }
            return Stored(path: path, attributes: attributes, created: created)
        }
    }
}
