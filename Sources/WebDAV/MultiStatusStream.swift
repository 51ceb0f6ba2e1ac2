internal import DirectoryRoot
internal import ServerCore

/// A multistatus of a resource and its members, produced piece by piece while it is sent.
///
/// Used by one task at a time; each call waits for the disk. Subfolders are visited one after the other, so
/// that only one directory is open, however deep the tree is.
final class MultiStatusStream: MultiStatusPieces, @unchecked Sendable {
    /// The target and the first members: all of them where they are soon read.
    private(set) var first: [UInt8] = []
    private(set) var isAtEnd = false
    /// Whether the target is a folder.
    let isCollection: Bool

    private let share: Share
    private let memory: TreeMemory.Portion
    private let target: SharePath
    private let spelled: SharePath
    private let selection: PropertySelection
    private let needsProperties: Bool
    private let locks: KnownLocks
    private let hasLocks: Bool
    private var membersLeft: Int?
    private var writer: MultiStatusWriter
    private var cursor: DirectoryCursor?
    private var folder: SharePath
    private var folderBytes: [UInt8] = []
    private var templates: (files: MemberTemplate?, folders: MemberTemplate?) = (nil, nil)
    /// The folders still to be listed, with infinite depth only.
    private var foldersAhead: FoldersAhead?

    /// Members of the first piece: few, so that it is sent soon.
    private static let firstBatch = 32
    /// How long more of them may be added to the first piece.
    ///
    /// Ordinary folders that the kernel has in memory are then sent whole, which saves a change of threads and the
    /// framing of a stream: a third of what a folder of 100 members costs.
    private static let firstTime = Duration.milliseconds(1)
    private static let batch = 512
    /// About 50 KB: what a slow client holds meanwhile.
    private static let smallBatch = 64
    /// One member may carry a megabyte of properties, and every lock that covers it.
    ///
    /// A piece of this size costs hardly more per byte than a larger one, and stays in the processor's cache until it
    /// is sent.
    private static let enoughBytes = 1 << 17

    /// Begins the response.
    ///
    /// Waits for the disk, unless `plain` is given and nothing else is asked for.
    /// - Parameters:
    ///   - target: the requested resource.
    ///   - spelled: its path as the client wrote it, with which the addresses in the response begin.
    ///   - plain: its attributes, if it is known to have no locks and no stored properties that are asked for.
    ///   - share: the requester's view.
    ///   - selection: the properties asked for.
    ///   - depth: how far below the target to list.
    ///   - isMinimal: leaves out properties that are not found (404).
    ///   - prefix: what every `href` begins with.
    ///   - maxMembers: the most members with infinite depth; 0 refuses it where there are members to list.
    ///   - isCrowded: whether many others are listing; the first piece should then be small.
    ///   - memory: counts the pieces that are larger than usual.
    /// - Throws: ``RootError`` when the target can't be looked at; ``RootError/tooMany`` when there is no memory for a
    ///   piece; ``DAVError`` for an infinite depth that is refused.
    init(
        of target: SharePath, spelled: SharePath? = nil, plain: FileAttributes? = nil, in share: Share,
        _ selection: PropertySelection, depth: Depth, isMinimal: Bool, prefix: String, maxMembers: Int?,
        isCrowded: Bool = false, memory: TreeMemory.Portion
    ) throws {
        // To open a folder for listing yields its attributes too; what can't be listed is looked at like any other
        // resource.
        let cursor = depth.reach == .zero ? nil : try? share.list(target)
        let attributes = try plain ?? cursor?.attributes ?? share.attributes(of: target)
        guard !attributes.isDirectory || maxMembers != 0 else {
            throw DAVError(status: .forbidden, condition: .propfindFiniteDepth)
        }
        var selection = selection
        selection.isReadOnly = share.root.policy.isReadOnly
        self.share = share
        self.memory = memory
        isCollection = attributes.isDirectory
        self.target = target
        self.spelled = spelled ?? target
        self.selection = selection
        membersLeft = maxMembers
        folder = target
        let listsMembers = attributes.isDirectory && depth.reach != .zero
        let space = selection.needsSpace ? try share.space(at: target) : nil
        writer = MultiStatusWriter(
            selection, isMinimal: isMinimal, prefix: prefix, space: space, capacity: listsMembers ? 65_536 : 2048)
        // A requester that may only upload sees that a file exists, but no locks on it.
        let mayRead = try isCollection || share.granted(at: share.absolute(target)).contains(.read)
        locks =
            selection.needsLocks && plain == nil && mayRead
            ? try KnownLocks(at: target, andBelow: listsMembers, in: share) : .none
        hasLocks = !locks.isEmpty
        needsProperties = selection.needsKept
        writer.xml.append(MultiStatusWriter.begin)
        if !listsMembers || !depth.leavesOutTarget {
            try appendTarget(
                attributes, mayHaveProperties: plain == nil && cursor?.mayHaveProperties != false)
        }
        if listsMembers {
            let cursor = try cursor ?? share.list(target)
            if depth.reach == .infinity { foldersAhead = FoldersAhead(below: target, entered: cursor) }
            enter(target, cursor)
            try fillFirst(isCrowded: isCrowded)
        } else {
            end(&writer)
        }
        first = writer.xml.take()
        try hold(first)
    }

    /// Writes the selected properties of the target itself.
    private func appendTarget(_ attributes: FileAttributes, mayHaveProperties: Bool) throws {
        let dead = selection.needsDead && mayHaveProperties ? try share.properties(of: target) : []
        if selection.needsChecksums, mayHaveProperties { writer.checksums = try share.checksums(of: target) }
        if selection.needsSyncToken, attributes.isDirectory, !share.root.policy.isReadOnly {
            writer.syncToken = try SyncToken(of: target, in: share, memory: memory)
        }
        // The display name is the last component alone, the `href` the whole path.
        var parent = spelled.parent.bytes
        if !parent.isEmpty { parent.append(UInt8(ascii: "/")) }
        writer.append(
            in: parent, name: spelled.name, attributes: attributes, dead: dead, locks: locks.covering(target))
        // Only the target has one.
        writer.syncToken = nil
    }

    func next(isCrowded: Bool) throws -> [UInt8]? {
        guard !isAtEnd else { return nil }
        try fill(isCrowded ? Self.smallBatch : Self.batch)
        let piece = writer.xml.take()
        try hold(piece)
        return piece
    }

    /// Counts the piece that waits to be sent, and the folders still to be entered.
    private func hold(_ piece: [UInt8]) throws(RootError) {
        try memory.hold(piece.count + (foldersAhead?.byteCount ?? 0))
    }

    private func enter(_ path: SharePath, _ cursor: DirectoryCursor) {
        cursor.looksForProperties = needsProperties
        cursor.listsArrivals = true
        cursor.entersFolders = foldersAhead != nil
        self.cursor = cursor
        folder = path
        folderBytes = shown(path).bytes
        if !folderBytes.isEmpty { folderBytes.append(UInt8(ascii: "/")) }
        templates = writer.templates(in: folderBytes)
    }

    /// A path at or below the target, as the client would write it.
    private func shown(_ path: SharePath) -> SharePath {
        spelled == target ? path : SharePath(unchecked: spelled.bytes + path.bytes.dropFirst(target.bytes.count))
    }

    /// Writes the first few members, and more for as long as ``firstTime``.
    private func fillFirst(isCrowded: Bool) throws {
        let start = ContinuousClock.now
        repeat {
            try fill(Self.firstBatch)
        } while !isCrowded && !isAtEnd && writer.xml.count < Self.enoughBytes
            && ContinuousClock.now - start < Self.firstTime
    }

    /// Writes `count` members, fewer if they are large, and the end after the last one.
    private func fill(_ count: Int) throws {
        var wanted = count
        while wanted > 0, !isAtEnd, writer.xml.count < Self.enoughBytes {
            guard let cursor else { return end(&writer) }
            // The writer is taken once for all of them: each access to the property would be checked for exclusivity.
            if try !write(&wanted, from: cursor, to: &writer) { try enterNext() }
        }
    }

    /// Writes members of one folder.
    /// - Returns: false when there are no more.
    private func write(
        _ wanted: inout Int, from cursor: DirectoryCursor, to writer: inout MultiStatusWriter
    ) throws(RootError) -> Bool {
        let (files, folders) = hasLocks ? (nil, nil) : templates
        let needsProperties = needsProperties
        let isLimited = membersLeft != nil
        let isRecursive = foldersAhead != nil
        return try unsafe cursor.visit { (name, attributes, mayHaveProperties) throws(RootError) in
            if isLimited, !takePlace() {
                let path = shown(try unsafe folder.appending(name))
                endAtLimit(Place(path, isDirectory: attributes.isDirectory), &writer)
                return false
            }
            let looks = needsProperties && mayHaveProperties
            if !looks, let template = attributes.isDirectory ? folders : files {
                unsafe writer.append(template, name: name, attributes)
            } else {
                try unsafe append(name, attributes, looksForProperties: looks, to: &writer)
            }
            if isRecursive, attributes.isDirectory { foldersAhead?.add(try unsafe folder.appending(name)) }
            wanted -= 1
            return wanted > 0 && writer.xml.count < Self.enoughBytes
        }
    }

    /// Counts one member towards the limit; false when the limit is reached.
    private func takePlace() -> Bool {
        guard let left = membersLeft, left > 0 else { return false }
        membersLeft = left - 1
        return true
    }

    /// Writes a member that may have stored properties or locks besides its attributes.
    private func append(
        _ name: UnsafeBufferPointer<UInt8>, _ attributes: FileAttributes, looksForProperties: Bool,
        to writer: inout MultiStatusWriter
    ) throws(RootError) {
        let path = looksForProperties || hasLocks ? try unsafe folder.appending(name) : folder
        var dead: [DeadProperty] = []
        writer.checksums = [:]
        if looksForProperties { (dead, writer.checksums) = try selection.kept(of: path, in: share) }
        unsafe writer.append(
            in: folderBytes, name: name, attributes: attributes, dead: dead, locks: hasLocks ? locks.covering(path) : []
        )
    }

    /// Continues with the next subfolder; one that has gone, or may not be read, stays as it was listed.
    private func enterNext() throws {
        cursor = nil
        guard let (path, cursor) = try foldersAhead?.next(in: share) else { return }
        enter(path, cursor)
    }

    private func end(_ writer: inout MultiStatusWriter) {
        writer.xml.append(MultiStatusWriter.end)
        isAtEnd = true
        cursor = nil
    }

    /// Writes the 507 of RFC 4918 §11.5 into the 207, at the first member that is left out: RFC 6578 §3.6 puts it at
    /// the target, which has been listed already, and RFC 4918 §14.24 allows each address only once.
    private func endAtLimit(_ place: Place, _ writer: inout MultiStatusWriter) {
        writer.append(
            place, status: .insufficientStorage, condition: .numberOfMatchesWithinLimits,
            description: "This listing ends here: more members than the server lists at once.")
        end(&writer)
    }
}
