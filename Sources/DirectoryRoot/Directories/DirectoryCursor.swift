import CSyscalls

/// A walk over one directory's members.
///
/// Use from one task at a time; each ``next(_:)`` waits for the disk.
public final class DirectoryCursor: @unchecked Sendable {
    /// The directory itself, as it was when the walk began.
    public let attributes: FileAttributes

    private let share: Share
    private let descriptor: Int32
    /// Where it is, from the root and without links.
    package let realPath: SharePath
    /// Whether members' attributes may be taken from the kernel's cache, in case they are the roots of far file
    /// systems.
    private let isNear: Bool
    /// Whether a link among the members may lead to a far file system that this directory itself is not on.
    private let isBesideFar: Bool
    private let hasUniformRights: Bool
    private let isReadable: Bool
    /// The most bytes that a member's name may have: a path with a longer one would be too long.
    private let longestName: Int

    private let hints: PropertyHints
    private let policy: RootPolicy
    /// Ask the disk about every member that may have properties, so that `mayHaveProperties` is exact.
    package var looksForProperties = false
    /// Wait for far file systems, because the members of folders are listed next.
    package var entersFolders = false
    /// Also show members whose path is too long to be requested, for a caller that reports what is left out.
    package var listsUnreachable = false
    /// Show what the requester has just uploaded and may not read: a mounted drive that does not find the file it is
    /// about to fill takes it for deleted.
    package var listsArrivals = false
    private var reader: DirectoryReader
    /// How this directory compares names; nil until a name resembles a hidden one.
    private var names: FolderNames?
    /// Whether the disk takes this directory's own path for the path of a rule in another spelling: the same for every
    /// member.
    private var confusions: [OtherSpelling: Bool] = [:]

    /// - Parameters:
    ///   - share: the requester's view.
    ///   - directory: open for reading; owned from now on.
    ///   - attributes: of the directory.
    ///   - path: as it was requested, from the root.
    ///   - realPath: where it is, from the root.
    /// - Throws: what reading the state folder met.
    init(
        share: Share, directory: consuming Descriptor, attributes: FileAttributes, path: SharePath, realPath: SharePath
    ) throws(RootError) {
        hints = try share.root.state.properties.hints()
        self.share = share
        policy = share.root.policy
        self.attributes = attributes
        self.realPath = realPath
        descriptor = directory.release()
        let system = share.root.resolver.system
        isNear =
            attributes.device == system.device
            ? !system.isFar : !share.root.farMounts.has(device: attributes.device)
        isBesideFar = share.root.farMounts.areAny && share.root.farMounts.mount(of: realPath) == nil
        hasUniformRights = share.rights.isUniform(below: realPath)
        isReadable = share.granted(at: realPath).contains(.read)
        longestName = min(path.longestMemberName, realPath.longestMemberName)
        reader = DirectoryReader(descriptor: descriptor, byteCount: 65_536)
    }

    deinit { _ = sys_close(descriptor) }

    /// Whether properties may be kept beside the directory itself.
    package var mayHaveProperties: Bool { hints.mayHaveProperties(attributes) }

    /// The next members, at most `limit` of them; empty at the end.
    ///
    /// A member that vanishes meanwhile is left out, and so is one whose path is too long to be requested (moving a
    /// folder may create such members). Links that stay inside the root appear as what they point at; other links do
    /// not appear.
    /// - Throws: what the disk reports for the directory or a member: a client that syncs by a listing would take an
    ///   omitted member for a deleted one.
    public func next(_ limit: Int = 512) throws(RootError) -> [DirectoryMember] {
        var members: [DirectoryMember] = []
        guard limit > 0 else { return members }
        members.reserveCapacity(min(limit, 512))
        _ = try unsafe visit { name, attributes, mayHaveProperties in
            members.append(
                unsafe DirectoryMember(name: Array(name), attributes: attributes, mayHaveProperties: mayHaveProperties))
            return members.count < limit
        }
        return members
    }

    /// Passes on the next members, as ``next(_:)`` returns them, without copying their names.
    ///
    /// - Parameter body: gets a name, valid during the call only, its attributes, and whether it may have properties;
    ///   returns false when it has enough.
    /// - Throws: what the disk reports, and what `body` throws.
    /// - Returns: false when there are no more.
    package func visit(
        _ body: (UnsafeBufferPointer<UInt8>, FileAttributes, Bool) throws(RootError) -> Bool
    ) throws(RootError) -> Bool {
        let looksForProperties = looksForProperties
        // One exclusive access to the reader for all of them: otherwise each record would pay for its own exclusivity
        // check.
        return try unsafe reader.each { (record) throws(RootError) in
            var way = Way.named
            guard unsafe canBeMember(record), let attributes = try unsafe attributes(of: record, &way) else {
                return true
            }
            var mayHaveProperties = way.leadsToProperties && hints.mayHaveProperties(attributes)
            if mayHaveProperties, looksForProperties, way == .named {
                mayHaveProperties = unsafe share.root.state.properties.mayHold(descriptor, record.name, hints)
            }
            return try unsafe body(record.bytes, attributes, mayHaveProperties)
        }
    }

    /// Whether the process may look up names here; without that permission, all members would seem absent.
    package func canSearch() -> Bool {
        let opened = unsafe sys_openat(descriptor, ".", sys_o_path | O_DIRECTORY, 0)
        guard opened >= 0 else { return RootError(opened, "openat") != .forbidden }
        _ = sys_close(opened)
        return true
    }

    /// Whether some path is short enough to request a member of this name.
    package func reaches(_ name: [UInt8]) -> Bool { name.count <= longestName }

    /// Tries whether the process can open a file of this directory for reading.
    /// - Parameter name: of a member that ``next(_:)`` gave.
    /// - Throws: why it can't.
    package func tryReading(_ name: [UInt8]) throws(RootError) {
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
        let opened = unsafe CString.with(name) { unsafe sys_openat(descriptor, $0, flags | O_NOFOLLOW, 0) }
        guard opened < 0 else {
            _ = sys_close(opened)
            return
        }
        guard opened == -ELOOP else { throw RootError(opened, "openat") }
        _ = try share.root.resolver.open(realPath.appending(name), flags: flags)
    }

    /// Whether a record can be a member of a share; removes it when it is a leftover of ours.
    private func canBeMember(_ record: sys_name) -> Bool {
        switch unsafe record.type {
        case UInt32(DT_REG), UInt32(DT_DIR), UInt32(DT_LNK), UInt32(DT_UNKNOWN):
            if unsafe policy.shows(name: record.bytes) {
                return unsafe (record.bytes.count <= longestName || listsUnreachable) && !hides(record.bytes)
            }
            unsafe cleanUp(record)
            return false
        default: return false
        }
    }

    /// Like ``DirectoryRoot/hides(_:in:)``, but examines this directory once for all of its members.
    private func hides(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe share.root.hiddenSpellings.mayHave(name: name) else { return false }
        if names == nil { names = try? FolderNames(in: descriptor, assumesNothing: share.root.resolver.doubtsNames) }
        switch names {
        case .some(let names): return unsafe names.mayRespell(Array(name))
        case .none: return true
        }
    }

    /// Removes what a crash left in this directory because it could not be in the scratch folder.
    private func cleanUp(_ record: sys_name) {
        // A name that merely begins like ours belongs to somebody, hidden or not.
        guard unsafe ReservedName.isTemporary(record.bytes), !policy.isReadOnly,
            unsafe ScratchFolder.isLeftover(descriptor, record, at: share.root.state.clock.wall()),
            unsafe !share.root.scratch.mayHaveNote(of: Array(record.bytes))
        else { return }
        _ = unsafe TreeRemoval.remove(Array(record.bytes), in: descriptor)
    }

    /// How a record relates to what it stands for.
    private enum Way {
        case named, linked
        /// The root of a far file system, which is not asked when a folder above is listed, or a link to one that does
        /// not answer: looking at it could hang.
        case mounted
        /// The requester has uploaded it, and may not read its properties.
        case brought

        var leadsToProperties: Bool { self == .named || self == .linked }
    }

    /// The attributes of what a record stands for, for a link of its target; nil when that is no member of the share.
    private func attributes(of record: sys_name, _ way: inout Way) throws(RootError) -> FileAttributes? {
        var status = sys_attributes()
        do throws(RootError) {
            let isAtOnce = unsafe isNear && !entersFolders && record.type == UInt32(DT_DIR)
            let answer =
                unsafe isAtOnce
                ? sys_statat_now(descriptor, record.name, &status) : sys_statat(descriptor, record.name, &status)
            try check(answer, "statx")
            if isAtOnce, status.is_mount_root != 0, share.root.farMounts.has(device: status.device) {
                way = .mounted
                // The root of a far file system that the kernel has never asked has no modification time yet.
                if status.modified == 0 {
                    try unsafe check(sys_statat(descriptor, record.name, &status), "statx")
                }
            }
            if status.isLink {
                way = .linked
                let link = try unsafe realPath.appending(record.bytes)
                var isKnown = true
                let target =
                    isBesideFar && !entersFolders
                    ? try share.target(ofLink: link, isKnown: &isKnown) : try share.look(at: link, waiting: true)
                if !isKnown { way = .mounted }
                guard share.maySee(target.realPath, isDirectory: target.status.isDirectory, listed: true) else {
                    return nil
                }
                status = target.status
            }
        } catch {
            // A member that vanished, or that the process may not look at, counts as absent.
            guard error.meansAbsent else { throw error }
            return nil
        }
        guard let attributes = FileAttributes(status) else { return nil }
        if unsafe isVisible(record.bytes, isDirectory: attributes.isDirectory) { return attributes }
        guard listsArrivals, way == .named, let path = try? unsafe realPath.appending(record.bytes),
            share.listsArrival(attributes, at: path)
        else { return nil }
        way = .brought
        return attributes
    }

    private func isVisible(_ name: UnsafeBufferPointer<UInt8>, isDirectory: Bool) -> Bool {
        if hasUniformRights { return isReadable }
        guard let path = try? unsafe realPath.appending(name) else { return false }
        let here = share.granted(at: path) { spelling in
            if let known = confusions[spelling] { return known }
            let answer = share.root.confuses(spelling)
            if spelling.folder != realPath { confusions[spelling] = answer }
            return answer
        }
        return share.maySee(path, with: here, isDirectory: isDirectory, listed: true)
    }
}
