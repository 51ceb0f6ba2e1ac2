import DirectoryRoot

/// A folder's listing, chunk by chunk, in constant memory however many members there are.
///
/// A folder of up to ``sortedCount`` members comes sorted, folders first; a larger one in the disk's order.
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
    ///   - format: how to write.
    init(_ cursor: DirectoryCursor, as format: Format) {
        self.cursor = cursor
        self.format = format
    }

    func next() throws -> [UInt8]? {
        switch state {
        case .begin:
            format.begin(&writer)
            try writeFirst()
        case .members:
            while writer.count < 64 * 1024 {
                let members = try cursor.next(512)
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

    private func writeFirst() throws {
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

/// A folder of up to so many members is sorted by the server.
let listingSortedCount = 1000

extension DirectoryCursor {
    /// The first members: all of them, sorted, when there are at most `count`; else the first that the disk gives.
    func first(_ count: Int) throws -> (members: [DirectoryMember], isAll: Bool) {
        var members: [DirectoryMember] = []
        while members.count <= count {
            let more = try next(count + 1 - members.count)
            if more.isEmpty {
                members.sort { a, b in
                    a.attributes.isDirectory == b.attributes.isDirectory
                        ? a.name.lexicographicallyPrecedes(b.name) : a.attributes.isDirectory
                }
                return (members, true)
            }
            members += more
        }
        return (members, false)
    }
}
