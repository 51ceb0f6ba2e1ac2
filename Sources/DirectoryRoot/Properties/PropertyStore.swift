package import CSyscalls
import Synchronization

/// Dead properties of resources, and values of the server's own that are stored with them.
///
/// They are packed into one extended attribute of the resource itself, so that they move with it, whoever moves it;
/// what does not fit, or can't be set, goes to the sidecar. Of the two, the one with the higher sequence number counts,
/// so that a process killed between writing one and removing the other leaves the new state. RFC 4918 §4.
package final class PropertyStore: Sendable {
    static let attribute = "user.shareserve.properties"
    /// The most bytes that the kernel accepts in one attribute.
    private static let largestAttribute = 65_536
    /// Whether an error means that there is no such attribute, or that this file can't have one.
    static func meansNoAttribute(_ answer: some BinaryInteger) -> Bool {
        noAttribute.contains(Int32(truncatingIfNeeded: 0 - answer))
    }

    private static let noAttribute = [ENODATA, EOPNOTSUPP, EPERM, EACCES, ENOSYS]

    private let state: StateFolder
    private let file: StateFile
    private let sidecar: PropertySidecar
    private let usesAttributes: Bool
    private let known = Mutex<(identity: StateFile.Identity?, marker: PropertyMarker?)>((nil, nil))

    init(state: StateFolder, rootDevice: UInt64, usesAttributes: Bool) {
        self.state = state
        file = StateFile(state: state, name: "properties")
        sidecar = PropertySidecar(state: state, rootDevice: rootDevice)
        self.usesAttributes = usesAttributes
    }

    /// Which resources may have properties at all; one `fstatat`.
    package func hints() throws(RootError) -> PropertyHints { PropertyHints(marker: try marker()) }

    /// The same, without waiting for the disk.
    /// - Parameter isInMemory: whether the root's file system is in memory.
    /// - Returns: the same.
    /// - Throws: ``RootError/wouldBlock`` when that would take waiting.
    func hintsAtOnce(isInMemory: Bool) throws(RootError) -> PropertyHints {
        guard let identity = try file.identityAtOnce(isInMemory: isInMemory) else { return PropertyHints(marker: nil) }
        let marker = known.withLock { $0.identity == identity ? $0.marker : nil }
        guard let marker else { throw .wouldBlock }
        return PropertyHints(marker: marker)
    }

    /// Whether a member of an open directory has properties, by one system call; true when that can't tell.
    func mayHold(_ directory: Int32, _ name: UnsafePointer<CChar>, _ hints: PropertyHints) -> Bool {
        guard usesAttributes, hints.marker?.hasSidecar == false else { return true }
        let answer = unsafe sys_get_attribute_at(directory, name, Self.attribute, nil, 0)
        return answer != -Int(ENODATA) && answer != -Int(EOPNOTSUPP)
    }

    /// Reads what is stored with an open resource.
    /// - Parameters:
    ///   - descriptor: of the resource; may be opened with `O_PATH`.
    ///   - path: from the root.
    /// - Returns: all of it; empty when there is nothing.
    /// - Throws: what the disk reports.
    func read(_ descriptor: Int32, at path: SharePath) throws(RootError) -> PropertySet {
        guard let marker = try marker() else { return PropertySet() }
        return try read(descriptor, at: path, marker)
    }

    /// Changes what is stored with an open resource: all of it, or nothing when `change` throws.
    func update(
        _ descriptor: Int32, at path: SharePath, _ change: (inout PropertySet) throws(RootError) -> Void
    ) throws(RootError) {
        try state.exclusively { (lock) throws(RootError) in
            let marker = try markerForChange(lock)
            let old = try marker.map { (marker) throws(RootError) in try read(descriptor, at: path, marker) }
            var new = old ?? PropertySet()
            try change(&new)
            if new == old ?? PropertySet() { return }
            try store(new, descriptor, at: path, lock)
        }
    }

    /// Gives `target` what is stored with `source`, before it gets its name: for PUT over a file, and for COPY.
    /// - Parameters:
    ///   - source: an open resource.
    ///   - sourcePath: of the source, from the root.
    ///   - target: the new file or folder, open and maybe still without a name.
    ///   - path: where the target will be, from the root.
    ///   - adapt: changes what is carried, where there is any.
    /// - Throws: ``RootError/tooManyProperties``; ``RootError/noSpace`` and what else the disk says.
    func carry(
        from source: Int32, at sourcePath: SharePath, to target: Int32, at path: SharePath,
        _ adapt: (inout PropertySet) throws(RootError) -> Void = { (_) throws(RootError) in }
    ) throws(RootError) {
        guard let marker = try marker() else { return }
        var set = try read(source, at: sourcePath, marker)
        if set.isEmpty { return }
        try adapt(&set)
        try state.exclusively { (lock) throws(RootError) in try store(set, target, at: path, lock) }
    }

    /// Whether the sidecar holds anything, so that ``removed(inode:device:)`` and ``moved(from:_:to:)`` matter.
    private func needsNews() throws(RootError) -> Bool { try marker()?.hasSidecar ?? false }

    /// Removes what the sidecar has about a resource that was deleted.
    package func removed(inode: UInt64, device: UInt64) throws(RootError) {
        guard try needsNews() else { return }
        try sidecar.remove(inode: inode, device: device)
    }

    /// A closure to call for each thing that is removed with a tree; nil when the sidecar is empty.
    package func forgetting() throws(RootError) -> (@Sendable (sys_attributes) -> Void)? {
        guard try needsNews() else { return nil }
        return { [self] status in
            guard status.isDirectory || status.links <= 1 else { return }
            // What stays is distinguished from a later file by its birth time, so this is no reason to fail.
            try? removed(inode: status.inode, device: status.device)
        }
    }

    /// Follows a rename.
    /// - Parameters:
    ///   - source: where it was.
    ///   - status: of what was renamed; nil when unknown.
    ///   - target: where it is now.
    /// - Throws: what the disk reports.
    package func moved(
        from source: SharePath, _ status: sys_attributes?, to target: SharePath
    ) throws(RootError) {
        guard try needsNews() else { return }
        try state.exclusively { (_) throws(RootError) in try sidecar.moved(from: source, status, to: target) }
    }

    /// Removes from the sidecar what is left of resources that were deleted long ago.
    /// - Parameters:
    ///   - now: by the system's clock, not the policy's.
    ///   - find: returns the resource at a path; throws ``RootError/notFound`` when there is none.
    /// - Throws: what the disk reports.
    func sweep(
        at now: Timestamp = RootClock.system.wall(), _ find: (SharePath) throws(RootError) -> PropertyResource
    ) throws(RootError) {
        guard !state.isReadOnly, try needsNews() else { return }
        try sidecar.sweep(at: now, find)
    }

    // MARK: One resource

    private func read(
        _ descriptor: Int32, at path: SharePath, _ marker: PropertyMarker
    ) throws(RootError) -> PropertySet {
        let own = try readAttribute(descriptor)
        guard marker.hasSidecar else { return own ?? PropertySet() }
        let beside = try sidecar.read(try Self.resource(descriptor, path))
        guard let own, let beside else { return own ?? beside ?? PropertySet() }
        return own.sequence >= beside.sequence ? own : beside
    }

    private func store(
        _ set: PropertySet, _ descriptor: Int32, at path: SharePath, _ lock: StateLock
    ) throws(RootError) {
        var set = set
        // It was read from the resource, where any program may have written it: the number may be at its maximum.
        set.sequence &+= 1
        let packed = set.packed
        guard packed.count <= PropertySet.largest else { throw .tooManyProperties }
        let resource = try Self.resource(descriptor, path)
        // By the system's clock, not the policy's: it is compared with times that the kernel sets.
        let now = min(RootClock.system.wall(), try Self.changeTime(descriptor))
        // Before the change: properties outside the marker would never be read.
        var marker = try mark(now.advanced(by: .seconds(-2)), sidecar: false, lock)

        if set.isEmpty {
            try removeAll(descriptor, resource, marker)
        } else if setAttribute(descriptor, packed) {
            // The higher number counts, so it does not matter if this fails.
            if marker.hasSidecar { try? sidecar.remove(inode: resource.inode, device: resource.device) }
        } else {
            marker = try mark(now, sidecar: true, lock)
            try sidecar.write(set, for: resource)
            // The same is true here.
            _ = unsafe sys_remove_attribute(descriptor, Self.attribute)
            noteChange(of: descriptor)
        }
        if state.waitsForDisk {
            // The descriptor may be one opened with `O_PATH`.
            let opened = try Descriptor(sys_reopen(descriptor, O_RDONLY | O_NONBLOCK), "open")
            if try opened.status().isDirectory {
                try WriteBack.waitForNames(in: opened.number)
            } else {
                try check(sys_fsync(opened.number), "fsync")
            }
        }
        // The clock was set back meanwhile.
        let changed = try Self.changeTime(descriptor)
        if changed < marker.since { _ = try mark(changed.advanced(by: .seconds(-2)), sidecar: false, lock) }
    }

    /// Removes the older copy first: if the process ends in between, the copy that counted still counts.
    private func removeAll(
        _ descriptor: Int32, _ resource: PropertyResource, _ marker: PropertyMarker
    ) throws(RootError) {
        let beside = marker.hasSidecar ? try sidecar.read(resource) : nil
        let own = try readAttribute(descriptor)
        let attributeFirst = (own?.sequence ?? 0) < (beside?.sequence ?? 0)
        if own != nil && attributeFirst { try removeAttribute(descriptor) }
        if beside != nil { try sidecar.remove(inode: resource.inode, device: resource.device) }
        if own != nil && !attributeFirst { try removeAttribute(descriptor) }
        if beside != nil { noteChange(of: descriptor) }
    }

    /// Makes the disk record a change of the resource itself: nothing else shows a process that is copying it to
    /// another disk that what is stored with it has changed.
    private func noteChange(of descriptor: Int32) {
        guard sys_note_change(descriptor) != 0 else { return }
        // A process that does not own it may still be permitted to set an attribute. Without either, nothing can be
        // done.
        let name = Self.attribute + ".change"
        if unsafe sys_set_attribute(descriptor, name, "", 0) == 0 {
            _ = unsafe sys_remove_attribute(descriptor, name)
        }
    }

    private func removeAttribute(_ descriptor: Int32) throws(RootError) {
        let status = unsafe sys_remove_attribute(descriptor, Self.attribute)
        if status != -ENODATA { try check(status, "fremovexattr") }
    }

    /// Whether the attribute was set; false without support for attributes, without space, and without permission.
    private func setAttribute(_ descriptor: Int32, _ packed: [UInt8]) -> Bool {
        guard usesAttributes, packed.count <= Self.largestAttribute else { return false }
        return unsafe packed.withUnsafeBytes { bytes in
            unsafe sys_set_attribute(descriptor, Self.attribute, bytes.baseAddress, bytes.count) == 0
        }
    }

    /// - Throws: what the disk reports, so that a change based on what could not be read does not remove it.
    private func readAttribute(_ descriptor: Int32) throws(RootError) -> PropertySet? {
        guard usesAttributes else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var count = 0
        while true {
            count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe sys_get_attribute(descriptor, Self.attribute, bytes.baseAddress, bytes.count)
            }
            guard count == -Int(ERANGE), buffer.count < Self.largestAttribute else { break }
            buffer = [UInt8](repeating: 0, count: Self.largestAttribute)
        }
        if Self.meansNoAttribute(count) { return nil }
        // Some file systems without attributes answer EIO to reading one of a file.
        let asked = unsafe count == -Int(EIO) ? sys_get_attribute_at(state.root, ".", Self.attribute, nil, 0) : 0
        if asked == -Int(EOPNOTSUPP) { return nil }
        try check(count, "fgetxattr")
        buffer.removeLast(buffer.count - count)
        do {
            return try PropertySet(packed: buffer)
        } catch {
            state.incidents.report(.damagedFile(name: Self.attribute))
            return nil
        }
    }

    private static func resource(_ descriptor: Int32, _ path: SharePath) throws(RootError) -> PropertyResource {
        PropertyResource(try sys_attributes(of: descriptor), path: path)
    }

    private static func changeTime(_ descriptor: Int32) throws(RootError) -> Timestamp {
        try sys_attributes(of: descriptor).changeTime
    }

    // MARK: The marker

    /// The marker; costs one `fstatat` while nothing has changed.
    private func marker() throws(RootError) -> PropertyMarker? {
        let identity = try file.identity()
        guard let identity else { return nil }
        let cached = known.withLock { $0.identity == identity ? $0.marker : nil }
        if let cached { return cached }
        do throws(RootError) {
            guard let contents = try file.read() else { return nil }
            guard let marker = try? PropertyMarker(payload: contents.envelope.payload) else {
                throw .damaged(file.name)
            }
            known.withLock { $0 = (contents.identity, marker) }
            return marker
        } catch  where error.isDamage {
            // Rather look at every resource than overlook properties.
            state.incidents.report(.damagedFile(name: file.name))
            return Self.everything
        }
    }

    private static let everything = PropertyMarker(since: Timestamp(seconds: .min), hasSidecar: true)

    private func markerForChange(_ lock: StateLock) throws(RootError) -> PropertyMarker? {
        try readMarker(lock).marker
    }

    private func readMarker(
        _ lock: StateLock
    ) throws(RootError) -> (contents: StateFile.Contents?, marker: PropertyMarker?) {
        let existed = try file.identity() != nil
        let contents = try file.readForChange(lock)
        guard let contents else { return (nil, existed ? Self.everything : nil) }
        if let marker = try? PropertyMarker(payload: contents.envelope.payload) { return (contents, marker) }
        try file.setAside(lock)
        return (nil, Self.everything)
    }

    /// Makes the marker cover a change at `time`.
    private func mark(_ time: Timestamp, sidecar: Bool, _ lock: StateLock) throws(RootError) -> PropertyMarker {
        let (contents, old) = try readMarker(lock)
        let new = old?.covering(time, sidecar: sidecar) ?? PropertyMarker(since: time, hasSidecar: sidecar)
        if new == old && contents != nil { return new }
        let identity = try file.replace(contents, with: new.payload, lock)
        known.withLock { $0 = (identity, new) }
        return new
    }
}
