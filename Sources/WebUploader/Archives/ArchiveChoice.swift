import DirectoryRoot
import ServerCore

/// The members of a folder that are selected for an archive, by `name` or by `path`, which may lead deeper: in the
/// query, and in the body of a POST, since an address is too short for hundreds of names.
struct ArchiveChoice {
    /// Relative to the folder, in the order in which they were named; empty for the whole folder.
    private(set) var paths: [SharePath] = []

    /// The most members that may be selected, and the most fields of a list, whether they select one or not.
    private static let most = 20_000
    private static let mostBytes = 4 << 20
    /// The most bytes of a field that can name a path: every byte encoded, plus the field's own name.
    private static let longestField = 3 * (SharePath.longestPath + 1) + 16

    /// The body of a POST that may contain a list.
    /// - Throws: ``HTTPError`` 413; 415 if it is not a form's: a list without any path would select everything.
    static func list(in request: Request) async throws -> [UInt8] {
        let list: [UInt8]
        do {
            list = try await request.body.collect(upTo: mostBytes)
        } catch let error as HTTPError where error.status == .contentTooLarge {
            throw tooMany
        }
        let mediaType = request.fields["content-type"].map { HeaderParameters($0.utf8).value }
        guard let mediaType, !list.isEmpty, !mediaTypes.contains(where: { mediaType.elementsEqual($0.utf8) }) else {
            return list
        }
        throw HTTPError(
            .unsupportedMediaType, "Send the list of paths as a form: application/x-www-form-urlencoded or text/plain.")
    }

    private static let mediaTypes = ["application/x-www-form-urlencoded", "text/plain"]

    /// Parses a query and a list, which may take long: not for an event loop.
    /// - Parameters:
    ///   - query: of the address, without the question mark.
    ///   - list: fields as in a query, or one on each line.
    /// - Throws: ``HTTPError`` 400 for what can't be a member's path, and for a list that selects nothing; 413.
    init(query: String?, list: [UInt8]) throws(HTTPError) {
        try choose(from: Array((query ?? "").utf8))
        guard !list.isEmpty else { return }
        let before = paths.count
        try choose(from: list)
        guard paths.count > before else {
            throw HTTPError(.badRequest, "This list names nothing. Send path=… for each file or folder.")
        }
    }

    private mutating func choose(from text: [UInt8]) throws(HTTPError) {
        var rest = text[...]
        var count = 0
        while let start = rest.firstIndex(where: { !Self.endsField($0) }) {
            let field = rest[start...].prefix { !Self.endsField($0) }
            rest = rest[field.endIndex...]
            count += 1
            guard count <= Self.most else { throw Self.tooMany }
            try choose(by: field)
            guard paths.count <= Self.most else { throw Self.tooMany }
        }
    }

    private mutating func choose(by field: ArraySlice<UInt8>) throws(HTTPError) {
        // A field this long can't name anything; checked before it is decoded.
        guard field.count <= Self.longestField else { throw Self.tooLong }
        let (name, value) = PercentCoding.formField(field)
        if name.elementsEqual("name".utf8) {
            paths.append(SharePath(unchecked: try Self.name(value)))
        } else if name.elementsEqual("path".utf8) {
            guard let path = try? SharePath(bytes: value), !path.isRoot else {
                throw HTTPError(.badRequest, "“path” must be a path below this folder.")
            }
            paths.append(path)
        }
    }

    /// Whether a byte ends a field; in a `text/plain` form, a line end does.
    private static func endsField(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == 0x0D || byte == 0x0A
    }

    /// A member's name from a query or a form.
    static func name(_ value: [UInt8]) throws(HTTPError) -> [UInt8] {
        var name = value
        if name.last == UInt8(ascii: "/") { name.removeLast() }
        guard SharePath.isName(name) else { throw HTTPError(.badRequest, "“name” must be a name in this folder.") }
        return name
    }

    private static var tooLong: HTTPError { HTTPError(.badRequest, "No path is as long as one in this list.") }

    private static var tooMany: HTTPError {
        HTTPError(.contentTooLarge, "Choose at most \(most) files and folders, or all of the folder.")
    }
}
