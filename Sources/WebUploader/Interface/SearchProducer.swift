import DirectoryRoot
import ServerCore

/// Finds names below a folder, result by result, however large the tree.
///
/// Bounded: at most ``maxResults`` results and a million folders, fewer while other searches use much memory, and the
/// response says so if there may be more; a blank line is sent while nothing is found, so that the walk ends once the
/// client has disconnected.
final class SearchProducer: ChunkProducer, @unchecked Sendable {
    private static let maxResults = 10_000
    private static let membersAtOnce = 4096

    private let share: Share
    private let top: SharePath
    private let pattern: NamePattern
    private let member: JSONMember
    private let maxFolders: Int
    private var writer = TextWriter(capacity: 16 * 1024)
    private var ahead: FoldersAhead
    private let memory: TreeMemory.Portion
    /// Whether there is no memory to remember more folders.
    private var isFull = false
    private var cursor: DirectoryCursor?
    private var folder: SharePath
    private var results = 0
    /// Whether there are folders that were not searched.
    private var isCut = false
    private var state = State.begin

    private enum State {
        case begin
        case walking
        case done
    }

    /// - Parameters:
    ///   - pattern: what the names must contain.
    ///   - top: the folder to begin with.
    ///   - share: determines what the requester may see.
    ///   - address: the percent-encoded address of the whole share, with a trailing slash.
    ///   - memory: counts the folders that are still to be searched.
    ///   - maxFolders: the most folders that are searched.
    /// - Throws: ``RootError`` when the folder cannot be listed.
    init(
        for pattern: NamePattern, below top: SharePath, in share: Share, address: [UInt8], memory: TreeMemory.Portion,
        maxFolders: Int = 1_000_000
    ) throws {
        self.memory = memory
        self.maxFolders = maxFolders
        self.share = share
        self.top = top
        self.pattern = pattern
        member = JSONMember(base: address)
        folder = top
        let cursor = try share.list(top)
        self.cursor = cursor
        ahead = FoldersAhead(below: top, entered: cursor)
    }

    func next() throws -> [UInt8]? {
        switch state {
        case .begin:
            writer.raw(#"{"path":"#)
            writer.json(top.folderPath)
            writer.raw(",\"entries\":[\n")
            state = .walking
            return writer.take()
        case .walking:
            var looked = 0
            while looked < Self.membersAtOnce, writer.count < 12 * 1024 {
                guard let members = try nextMembers() else {
                    writer.raw(isCut || results >= Self.maxResults ? "],\"more\":true}\n" : "]}\n")
                    state = .done
                    break
                }
                looked += members.count + 1
                for found in members where results < Self.maxResults { try look(at: found) }
            }
            if writer.count == 0 { writer.raw("\n") }
            return writer.take()
        case .done: return nil
        }
    }

    /// The next members of the current folder, or of the next one; nil at the end of the walk.
    private func nextMembers() throws -> [DirectoryMember]? {
        guard results < Self.maxResults else { return nil }
        if cursor == nil {
            guard let next = try ahead.next(in: share) else { return nil }
            (folder, cursor) = next
        }
        let members = try cursor?.next() ?? []
        if members.isEmpty { cursor = nil }
        do throws(RootError) {
            try memory.hold(ahead.byteCount)
            isFull = false
        } catch {
            isFull = true
        }
        return members
    }

    private func look(at found: DirectoryMember) throws {
        // What has too long a path to be requested is not reported either.
        guard let path = try? folder.appending(found.name) else { return }
        if pattern.matches(found.name) {
            if results > 0 { writer.raw(",") }
            results += 1
            let shown = [UInt8(ascii: "/")] + path.bytes + (found.attributes.isDirectory ? [UInt8(ascii: "/")] : [])
            member.write(path: path.bytes, shown: shown, found.attributes, to: &writer)
            // The line ends here, not where the next begins: the page shows each line as soon as it is complete.
            writer.raw("\n")
        }
        guard found.attributes.isDirectory else { return }
        guard ahead.count < maxFolders, !isFull else {
            isCut = true
            return
        }
        ahead.add(path)
    }
}
