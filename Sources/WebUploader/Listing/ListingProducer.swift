import DirectoryRoot

/// A folder's listing, chunk by chunk, in constant memory for any number of members.
///
/// A folder with up to ``listingSortedCount`` members is sorted, folders first; a larger one is in the disk's order.
final class ListingProducer<Format: ListingFormat>: ChunkProducer, @unchecked Sendable {
    private let cursor: DirectoryCursor
    private var format: Format
    private var writer = TextWriter(capacity: 72 * 1024)
    private var state = State.begin

    private enum State {
        case begin
        case members
        case done
    }

    /// - Parameters:
    ///   - cursor: at its beginning.
    ///   - format: the format.
    init(_ cursor: DirectoryCursor, as format: Format) {
        self.cursor = cursor
        self.format = format
    }

    /// The complete listing if it is sorted; nil for a larger folder, of which ``next()`` then returns all.
    ///
    /// Called before ``next()``, if at all.
    func whole() throws -> [UInt8]? {
        try begin()
        return state == .done ? writer.take() : nil
    }

    func next() throws -> [UInt8]? {
        switch state {
        case .begin: try begin()
        case .members:
            while writer.count < 64 * 1024 {
                let members = try cursor.next(128)
                write(members)
                guard !members.isEmpty else {
                    end()
                    break
                }
            }
        case .done: return nil
        }
        return writer.count > 0 ? writer.take() : try next()
    }

    private func begin() throws {
        format.begin(&writer)
        let (first, isAll) = try cursor.first(listingSortedCount)
        write(first)
        if isAll { end() } else { state = .members }
    }

    private func write(_ members: [DirectoryMember]) {
        for member in members { format.member(member, &writer) }
    }

    private func end() {
        format.end(&writer)
        state = .done
    }
}

/// The most members of a folder that the server sorts.
let listingSortedCount = 1000

extension DirectoryCursor {
    /// The first members, sorted: all of them if there are at most `count`, else more than `count` in the disk's order.
    func first(_ count: Int) throws -> (members: [DirectoryMember], isAll: Bool) {
        var members: [DirectoryMember] = []
        var isAll = false
        while members.count <= count, !isAll {
            let more = try next(count + 1 - members.count)
            isAll = more.isEmpty
            members += more
        }
        members.sort { a, b in
            a.attributes.isDirectory == b.attributes.isDirectory
                ? a.name.lexicographicallyPrecedes(b.name) : a.attributes.isDirectory
        }
        return (members, isAll)
    }
}
