import DirectoryRoot
import ServerCore

/// Stores the files of one form as they arrive.
///
/// Used by one task at a time; ``take(_:)`` waits for the disk.
final class FormStore: @unchecked Sendable {
    /// One file that is completely stored.
    struct Stored: Sendable {
        var path: SharePath
        var attributes: FileAttributes
        var created: Bool
    }

    private static let longestField = 4096

    /// The most files that may wait for the end of their form: each is open, and the number of open files is limited.
    private static let mostWaiting = 64

    /// The most bytes of all paths of one form: enough for 20,000 files in folders that are a few levels deep.
    private static let mostNames = 3 << 20

    private let request: Request
    private let waitsForAll: Bool
    private var rule = ConflictRule.keep
    private var part = PartKind.ignored
    private var whole: [Whole] = []
    /// The number of bytes of the paths so far.
    private var names = 0
    /// How many bytes the stored files take here and will take in the response, as counted.
    private var held = 0
    /// What this form has put in the place of something else, or might have.
    private var given: [SharePath: EntityTag] = [:]
    /// The next number to try for a name that was used before: a form may contain one name thousands of times.
    private var numbers: [SharePath: Int] = [:]

    /// What was stored so far, in order.
    private(set) var stored: [Stored] = []
    /// The name, as sent, of the file that is being stored.
    private(set) var current: [UInt8]?

    private enum PartKind {
        case ignored
        case field(name: [UInt8], value: [UInt8])
        /// The requested path, the number that was free when the upload began, and the upload.
        case file(SharePath, Int, PendingUpload)
    }

    /// A complete file that has no name yet.
    private struct Whole {
        var path: SharePath
        var number: Int
        var upload: PendingUpload
        var rule: ConflictRule
    }

    /// - Parameters:
    ///   - request: has the form, and the address of the folder for its files.
    ///   - waitsForAll: no file gets its name before ``storeAll()``, for a form that is valid only as a whole.
    init(of request: Request, waitsForAll: Bool) {
        self.request = request
        self.waitsForAll = waitsForAll
    }

    // Releasing is never refused.
    deinit { try? request.body.holdNames(0, insteadOf: held) }

    /// Processes what the parser has found.
    /// - Throws: the ``RootError`` or ``HTTPError`` for the ``current`` file; what is in ``stored`` stays.
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
        // A file input without a selected file.
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
            path = try request.path.appending(inner)
        } catch {
            throw HTTPError(.badRequest, "A file's name cannot be used here.")
        }
        try holdName(path)
        let first = rule == .keep ? numbers[path] ?? 0 : 0
        let (number, upload) = try request.share.beginUpload(
            to: path, by: rule, replacing: rule.replacement, from: first)
        part = .file(path, number, upload)
    }

    /// Counts what one more file takes until the form is answered.
    ///
    /// The response contains each path and address, whose bytes may be encoded as three or six each.
    private func holdName(_ path: SharePath) throws(HTTPError) {
        names += path.bytes.count
        guard names <= Self.mostNames else {
            throw HTTPError(
                .contentTooLarge, "The names in this form are too long, all together. Send fewer files at once.")
        }
        let more = held + 256 + 6 * path.bytes.count
        try request.body.holdNames(more, insteadOf: held)
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

    /// Gives the complete files their names.
    /// - Throws: the ``RootError`` for the first that can't have its name; what is in ``stored`` stays.
    func storeAll() throws {
        while let file = whole.first {
            current = Array(file.path.name)
            stored.append(try commit(file))
            whole.removeFirst()
        }
        current = nil
    }

    /// Uses the next free name if somebody else has taken this one meanwhile and both files are to be kept.
    private func commit(_ file: Whole) throws -> Stored {
        try file.path.withFreeName(by: file.rule, from: file.number) { path, number in
            let seen = SeenTarget(file.upload.seen, by: request)
            // Not newer than the form, though it came after it began.
            let own = given[path]
            let (attributes, created) = try file.upload.commit(to: path) { there in
                seen.mayBeReplaced(now: there) || own != nil && there?.entityTag == own
            }
            if file.rule == .replace { given[path] = attributes.entityTag }
            if number > 0 { numbers[file.path] = min(number + 1, ConflictRule.attempts) }
            return Stored(path: path, attributes: attributes, created: created)
        }
    }
}
