import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A walk over one directory's members. Use from one task at a time; each ``next(_:)`` waits for the disk.
public final class DirectoryCursor: @unchecked Sendable {
    /// The directory itself, as it was when the walk began.
    public let attributes: FileAttributes

    private let share: Share
    private let descriptor: Int32
    private let realPath: SharePath
    private let hasUniformRights: Bool
    private let isReadable: Bool

    /// Records as the kernel packed them; the unread ones are at `position ..< filled`.
    private let buffer: UnsafeMutableRawBufferPointer
    private var position = 0
    private var filled = 0
    private var isAtEnd = false

    /// - Parameters:
    ///   - share: who asks.
    ///   - directory: open for reading; owned from now on.
    ///   - attributes: of the directory.
    ///   - realPath: where it is, from the root.
    init(share: Share, directory: consuming Descriptor, attributes: FileAttributes, realPath: SharePath) {
        self.share = share
        self.attributes = attributes
        self.realPath = realPath
        descriptor = directory.release()
        hasUniformRights = share.rights.isUniform(below: realPath)
        isReadable = share.rights.rights(at: realPath).contains(.read)
        buffer = .allocate(byteCount: 65_536, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        _ = sys_close(descriptor)
    }

    /// The next members, at most `limit` of them; empty at the end. A member that vanishes meanwhile is left out.
    /// Links that stay inside the root appear as what they point at, others not at all.
    public func next(_ limit: Int = 512) throws(RootError) -> [DirectoryMember] {
        var members: [DirectoryMember] = []
        members.reserveCapacity(min(limit, 512))
        while members.count < limit, let record = try nextRecord() {
            guard let member = member(record) else { continue }
            members.append(member)
        }
        return members
    }

    /// The next record that can be a member of a share; nil at the end.
    private func nextRecord() throws(RootError) -> sys_name? {
        var record = sys_name()
        while true {
            if sys_next_name(buffer.baseAddress, filled, &position, &record) == 1 {
                if isCandidate(record) { return record }
                continue
            }
            if isAtEnd { return nil }
            let answer = sys_getdents(descriptor, buffer.baseAddress, buffer.count)
            // A directory that was removed while we read it has no more members.
            filled = answer == -ENOENT ? 0 : try check(answer, "getdents64")
            position = 0
            isAtEnd = filled == 0
        }
    }

    private func isCandidate(_ record: sys_name) -> Bool {
        switch record.type {
        case UInt32(DT_REG), UInt32(DT_DIR), UInt32(DT_LNK), UInt32(DT_UNKNOWN): break
        default: return false
        }
        let name = record.bytes
        guard let first = name.first else { return false }
        if first == UInt8(ascii: "."), name.count == 1 || name.count == 2 && name[1] == first { return false }
        return share.root.policy.shows(name: name)
    }

    private func member(_ record: sys_name) -> DirectoryMember? {
        var status = sys_attributes()
        // A member that vanished, or that we may not look at, is not there.
        guard sys_statat(descriptor, record.name, &status) == 0 else { return nil }
        let name = Array(record.bytes)
        if status.isLink {
            guard let path = try? realPath.appending(name), let target = try? share.look(at: path, waiting: true)
            else { return nil }
            status = target.status
        }
        guard let attributes = FileAttributes(status), isVisible(name, isDirectory: attributes.isDirectory) else {
            return nil
        }
        return DirectoryMember(name: name, attributes: attributes, mayHaveProperties: true)
    }

    private func isVisible(_ name: [UInt8], isDirectory: Bool) -> Bool {
        if hasUniformRights { return isReadable }
        guard let path = try? realPath.appending(name) else { return false }
        return share.maySee(path, isDirectory: isDirectory, listed: true)
    }
}

extension sys_name {
    /// The name, valid until the next record is read.
    var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self), count: Int(length))
    }
}
