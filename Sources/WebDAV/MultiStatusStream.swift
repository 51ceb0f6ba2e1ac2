internal import DirectoryRoot
internal import ServerCore

/// A multistatus of a resource and its members, made piece by piece while it is sent.
///
/// Used by one task at a time; each call waits for the disk. Folders below are visited one after the other, so that one
/// directory is open at a time however deep the tree is.
final class MultiStatusStream: MultiStatusPieces, @unchecked Sendable {
    /// With the target and the first few members.
    private(set) var first: [UInt8] = []
    private(set) var isAtEnd = false
    /// Whether the target is a folder.
    let isCollection: Bool

    private let share: Share
    private let target: SharePath
    private let selection: PropertySelection
    private let isRecursive: Bool
    private let locks: KnownLocks
    private let hints: PropertyHints
    private var membersLeft: Int?
    private var writer: MultiStatusWriter
    private var cursor: DirectoryCursor?
    private var folder: SharePath
    private var folderBytes: [UInt8] = []
    /// Members that were read from the directory; those before `position` are written.
    private var listed: [DirectoryMember] = []
    private var position = 0
    private var foldersAhead: [SharePath] = []
    /// Links can lead back up: each folder is entered once.
    private var entered: Set<DirectoryIdentity> = []

    /// Members of the first piece: few, so that it is soon there.
    private static let firstBatch = 32
    private static let batch = 512
    /// Some 50 KB: what a slow client holds meanwhile.
    private static let smallBatch = 64
    /// Each member may carry a megabyte of properties, and every lock that covers it.
    private static let enoughBytes = 1 << 18

    /// Begins the answer.
    ///
    /// Waits for the disk.
    /// - Parameters:
    /// - target: the resource asked about.
    /// - share: the requester's view.
    /// - selection: what is asked.
    /// - depth: how far down.
    /// - isMinimal: leaves 404s out.
    /// - prefix: what every address begins with.
    /// - maxMembers: the limit of an infinite depth; 0 refuses it where there are members to list.
    init?(
        of target: SharePath, in share: Share, _ selection: PropertySelection, depth: Depth, isMinimal: Bool,
        prefix: String, maxMembers: Int?
    ) throws {
        let attributes = try share.attributes(of: target)
        if attributes.isDirectory, maxMembers == 0 { return nil }
        self.share = share
        isCollection = attributes.isDirectory
        self.target = target
        self.selection = selection
        membersLeft = maxMembers
        folder = target
        isRecursive = depth.reach == .infinity
        entered = [DirectoryIdentity(attributes)]
        let listsMembers = attributes.isDirectory && depth.reach != .zero
        let space = selection.needsSpace ? try share.space(at: target) : nil
        writer = MultiStatusWriter(
            selection, isMinimal: isMinimal, prefix: prefix, space: space, capacity: listsMembers ? 65_536 : 2048)
        locks =
            selection.needsLocks
            ? try KnownLocks(at: target, andBelow: listsMembers, in: share) : .none
        hints = try share.root.state.properties.hints()
        writer.xml.append(MultiStatusWriter.begin)
        if !listsMembers || !depth.leavesOutTarget {
            let dead = selection.needsDead ? try share.properties(of: target) : []
            if selection.needsChecksums { writer.checksums = try share.checksums(of: target) }
            if selection.live.contains(.syncToken), attributes.isDirectory, !share.root.policy.isReadOnly {
                writer.syncToken = try SyncToken(of: target, in: share)
            }
            // The display name is the last component alone, the href the whole path.
            var parent = target.parent.bytes
            if !parent.isEmpty { parent.append(UInt8(ascii: "/")) }
            writer.append(
                in: parent, name: target.name, attributes: attributes, dead: dead, locks: locks.covering(target))
        }
        writer.syncToken = nil
        if listsMembers {
            try open(target)
            try fill(Self.firstBatch)
        } else {
            end()
        }
        first = writer.xml.take()
    }

    func next(isCrowded: Bool) throws -> [UInt8]? {
        guard !isAtEnd else { return nil }
        try fill(isCrowded ? Self.smallBatch : Self.batch)
        return writer.xml.take()
    }

    private func open(_ path: SharePath) throws {
        let cursor = try share.list(path)
        cursor.looksForProperties = selection.needsDead || selection.needsChecksums
        self.cursor = cursor
        folder = path
        folderBytes = path.bytes
        if !folderBytes.isEmpty { folderBytes.append(UInt8(ascii: "/")) }
    }

    /// Writes `count` members, fewer where much is to be said of each, and the end behind the last one.
    private func fill(_ count: Int) throws {
        var wanted = count
        while wanted > 0, writer.xml.count < Self.enoughBytes {
            if position < listed.count {
                if let left = membersLeft {
                    guard left > 0 else { return endAtLimit() }
                    membersLeft = left - 1
                }
                position += 1
                wanted -= 1
                try append(listed[position - 1])
                continue
            }
            guard let cursor else { return end() }
            listed = try cursor.next(wanted)
            position = 0
            if listed.isEmpty { try openNext() }
        }
    }

    private func append(_ member: DirectoryMember) throws {
        var path: SharePath?
        var dead: [DeadProperty] = []
        if selection.needsDead || selection.needsChecksums, member.mayHaveProperties,
            hints.mayHaveProperties(member.attributes)
        {
            let here = try folder.appending(member.name)
            path = here
            if selection.needsDead { dead = (try? share.properties(of: here)) ?? [] }
            if selection.needsChecksums { writer.checksums = (try? share.checksums(of: here)) ?? [:] }
        } else if selection.needsChecksums {
            writer.checksums = [:]
        }
        var covering: [ShownLock] = []
        if !locks.isEmpty { covering = locks.covering(try path ?? folder.appending(member.name)) }
        writer.append(
            in: folderBytes, name: member.name[...], attributes: member.attributes, dead: dead, locks: covering)
        if isRecursive, member.attributes.isDirectory, entered.insert(DirectoryIdentity(member.attributes)).inserted {
            foldersAhead.append(try path ?? folder.appending(member.name))
        }
    }

    /// Goes on with a folder further down; one that has gone, or may not be read, is left as it was listed.
    private func openNext() throws {
        cursor = nil
        while let next = foldersAhead.popLast() {
            do {
                try open(next)
                return
            } catch RootError.notFound, RootError.notDirectory, RootError.forbidden {
                continue
            }
        }
    }

    private func end() {
        writer.xml.append(MultiStatusWriter.end)
        isAtEnd = true
        cursor = nil
    }

    /// RFC 4918 §11.5 within the 207, in the way of RFC 6578 §3.6.
    private func endAtLimit() {
        writer.append(
            Place(target, isDirectory: true), status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        end()
    }
}
