import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A walk over one directory's members.
///
/// Use from one task at a time; each ``next(_:)`` waits for the disk.
public final class DirectoryCursor: @unchecked Sendable {
    /// The directory itself, as it was when the walk began.
    public let attributes: FileAttributes

    private let share: Share
    private let descriptor: Int32
    private let realPath: SharePath
    private let hasUniformRights: Bool
    private let isReadable: Bool

    private let hints: PropertyHints
    private let policy: RootPolicy
    /// Ask the disk about every member that may have properties, so that only those that do say so.
    package var looksForProperties = false
    private var reader: DirectoryReader

    /// - Parameters:
    ///   - share: who asks.
    ///   - directory: open for reading; owned from now on.
    ///   - attributes: of the directory.
    ///   - realPath: where it is, from the root.
    /// - Throws: what reading the state folder met.
    init(
        share: Share, directory: consuming Descriptor, attributes: FileAttributes, realPath: SharePath
    ) throws(RootError) {
        hints = try share.root.state.properties.hints()
        self.share = share
        policy = share.root.policy
        self.attributes = attributes
        self.realPath = realPath
        descriptor = directory.release()
        hasUniformRights = share.rights.isUniform(below: realPath)
        isReadable = share.granted(at: realPath).contains(.read)
        reader = DirectoryReader(descriptor: descriptor, byteCount: 65_536)
    }

    deinit { _ = sys_close(descriptor) }

    /// The next members, at most `limit` of them; empty at the end.
    ///
    /// A member that vanishes meanwhile is left out.
    /// Links that stay inside the root appear as what they point at, others not at all.
    /// - Throws: what the disk says of the directory or of a member: who keeps a copy in step with a listing would take
    ///   one that is left out for a deleted one.
    public func next(_ limit: Int = 512) throws(RootError) -> [DirectoryMember] {
        var members: [DirectoryMember] = []
        members.reserveCapacity(min(limit, 512))
        while members.count < limit, let record = try unsafe nextRecord() {
            guard let member = try unsafe member(record) else { continue }
            members.append(member)
        }
        return members
    }

    /// The next names only, at most `limit` of them; empty at the end.
    ///
    /// Asks the disk about single names only where the
    /// directory itself does not say what they are.
    public func nextNames(_ limit: Int = 4_096) throws(RootError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        names.reserveCapacity(min(limit, 4_096))
        while names.count < limit, let record = try unsafe nextRecord() {
            let isDirectory = unsafe record.type == UInt32(DT_DIR)
            if unsafe isDirectory || record.type == UInt32(DT_REG) {
                let name = unsafe Array(record.bytes)
                if isVisible(name, isDirectory: isDirectory) { names.append(name) }
            } else if let member = try unsafe member(record) {
                names.append(member.name)
            }
        }
        return names
    }

    /// The next record that can be a member of a share; nil at the end.
    private func nextRecord() throws(RootError) -> sys_name? {
        while let record = try unsafe reader.next() {
            switch unsafe record.type {
            case UInt32(DT_REG), UInt32(DT_DIR), UInt32(DT_LNK), UInt32(DT_UNKNOWN):
                if unsafe policy.shows(name: record.bytes) {
                    if unsafe !share.root.hides(record.bytes, in: realPath) { return unsafe record }
                } else {
                    unsafe cleanUp(record)
                }
            default:
                continue
            }
        }
        return nil
    }

    /// Removes what a crash left in this directory because it could not stand in the scratch folder.
    private func cleanUp(_ record: sys_name) {
        // A name that only begins like ours is somebody's, hidden or not.
        guard unsafe ReservedName.made(record.bytes) != nil, !policy.isReadOnly,
            unsafe ScratchFolder.isLeftover(descriptor, record)
        else { return }
        _ = unsafe TreeRemoval.remove(Array(record.bytes), in: descriptor)
    }

    private func member(_ record: sys_name) throws(RootError) -> DirectoryMember? {
        let name = unsafe Array(record.bytes)
        var status = sys_attributes()
        var isLink = false
        do throws(RootError) {
            try unsafe check(sys_statat(descriptor, record.name, &status), "statx")
            isLink = status.isLink
            if isLink {
                let target = try share.look(at: realPath.appending(name), waiting: true)
                guard share.maySee(target.realPath, isDirectory: target.status.isDirectory, listed: true) else {
                    return nil
                }
                status = target.status
            }
        } catch {
            // A member that vanished, or that we may not look at, is not there.
            guard [.notFound, .notDirectory, .forbidden, .invalidName].contains(error) else { throw error }
            return nil
        }
        guard let attributes = FileAttributes(status), isVisible(name, isDirectory: attributes.isDirectory) else {
            return nil
        }
        var mayHaveProperties = hints.mayHaveProperties(attributes)
        if mayHaveProperties, looksForProperties, !isLink {
            mayHaveProperties = unsafe share.root.state.properties.mayHold(descriptor, record.name, hints)
        }
        return DirectoryMember(name: name, attributes: attributes, mayHaveProperties: mayHaveProperties)
    }

    private func isVisible(_ name: [UInt8], isDirectory: Bool) -> Bool {
        if hasUniformRights { return isReadable }
        guard let path = try? realPath.appending(name) else { return false }
        return share.maySee(path, isDirectory: isDirectory, listed: true)
    }
}
