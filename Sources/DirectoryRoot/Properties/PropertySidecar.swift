import CSyscalls

/// Properties that did not fit into extended attributes: one file per resource under `.shareserve/sidecar/`.
///
/// A file is found by the resource's inode number, so that properties instantly follow a rename of the resource or of a
/// folder above it, whoever renames it. The birth time distinguishes a new file with a reused inode number; where the
/// file system keeps no birth times, the path must match too.
struct PropertySidecar: Sendable {
    let state: StateFolder
    /// The root's device: device numbers may change with a restart, "the same as the root's" does not.
    let rootDevice: UInt64

    private static let folder = "sidecar"

    func read(_ resource: PropertyResource) throws(RootError) -> PropertySet? {
        guard let folder = try state.subfolder(Self.folder, creating: false) else { return nil }
        let name = name(of: resource)
        do throws(RootError) {
            guard let bytes = try StateFile.bytes(of: name, in: folder) else { return nil }
            guard let stored = try? Stored(StateEnvelope(file: bytes).payload) else { throw .damaged(name) }
            return stored.describes(resource) ? stored.properties : nil
        } catch  where error.isDamage {
            state.incidents.report(.damagedFile(name: name))
            return nil
        }
    }

    func write(_ set: PropertySet, for resource: PropertyResource) throws(RootError) {
        guard let folder = try state.subfolder(Self.folder, creating: true) else { throw .readOnly }
        let name = name(of: resource)
        let temporary = "\(name).new-\(StateFile.randomName())"
        let file = StateEnvelope(generation: set.sequence, payload: Stored(resource, set).payload).encoded()
        _ = try StateFile.create(
            temporary, in: folder, file, generation: set.sequence, waitsForDisk: state.waitsForDisk)
        let renamed = unsafe sys_renameat(folder.number, temporary, folder.number, name)
        if renamed < 0 {
            // What stays is a leftover, which is removed when it is a day old.
            _ = unsafe sys_unlinkat(folder.number, temporary, 0)
            throw RootError(ofState: renamed, "rename a property file", name)
        }
        if state.waitsForDisk { try WriteBack.waitForNames(in: folder.number) }
    }

    func remove(inode: UInt64, device: UInt64) throws(RootError) {
        guard let folder = try state.subfolder(Self.folder, creating: false) else { return }
        let name = name(inode: inode, device: device)
        let status = unsafe sys_unlinkat(folder.number, name, 0)
        if status != -ENOENT { try checkState(status, "unlink a property file", name) }
    }

    /// Records that what was at and below `source` is at `target` now.
    /// - Parameters:
    ///   - source: where it was.
    ///   - status: of what was moved: a file takes one lookup, but any property file may be about something below a
    ///     folder.
    ///   - target: where it is now.
    /// - Throws: what the disk reports.
    func moved(from source: SharePath, _ status: sys_attributes?, to target: SharePath) throws(RootError) {
        guard let folder = try state.subfolder(Self.folder, creating: false) else { return }
        let names =
            if let status, !status.isDirectory { [name(inode: status.inode, device: status.device)] } else {
                try Self.names(in: folder)
            }
        for name in names {
            guard let stored = read(name, in: folder), let rest = stored.path.relative(to: source),
                let inode = UInt64(name.split(separator: "-").last ?? "", radix: 16),
                let device = name.hasPrefix("r-")
                    ? rootDevice : UInt64(name.split(separator: "-").first ?? "", radix: 16)
            else { continue }
            let resource = PropertyResource(
                inode: inode, device: device, born: stored.born, path: try target.appending(rest))
            try write(stored.properties, for: resource)
        }
    }

    /// Removes files that were not touched for a month and that no resource at their last known path claims.
    /// - Parameters:
    ///   - now: the time of day by the system's clock, compared with times that the kernel sets.
    ///   - find: returns the resource at a path; throws ``RootError/notFound`` when there is none.
    /// - Throws: what the disk reports.
    func sweep(
        at now: Timestamp, _ find: (SharePath) throws(RootError) -> PropertyResource
    ) throws(RootError) {
        guard let folder = try state.subfolder(Self.folder, creating: false) else { return }
        for name in try StateFolder.names(in: folder) {
            StateFolder.removeStray(name, in: folder, at: now)
            var status = sys_attributes()
            guard Self.isWhole(name), unsafe sys_statat(folder.number, name, &status) == 0,
                now.since(Timestamp(seconds: status.changed)) > .seconds(30 * 86_400),
                let stored = read(name, in: folder)
            else { continue }
            do throws(RootError) {
                let resource = try find(stored.path)
                if self.name(of: resource) == name, stored.describes(resource) { continue }
            } catch {
                // What could not be looked at may still exist.
                guard error == .notFound else { continue }
            }
            // What can't be removed now is examined again the next time.
            _ = unsafe sys_unlinkat(folder.number, name, 0)
        }
    }

    /// All property files, except those that are being written.
    private static func names(in folder: IdentifiedDescriptor) throws(RootError) -> [String] {
        try StateFolder.names(in: folder).filter(isWhole)
    }

    private static func isWhole(_ name: String) -> Bool { !name.contains(".") }

    /// The content of one property file, which may be a megabyte: they are read one by one, however many there are.
    /// - Returns: nil when it is missing, damaged or can't be read now.
    private func read(_ name: String, in folder: IdentifiedDescriptor) -> Stored? {
        guard let bytes = try? StateFile.bytes(of: name, in: folder) else { return nil }
        return try? Stored(StateEnvelope(file: bytes).payload)
    }

    private func name(of resource: PropertyResource) -> String {
        name(inode: resource.inode, device: resource.device)
    }

    private func name(inode: UInt64, device: UInt64) -> String {
        (device == rootDevice ? "r" : String(device, radix: 16)) + "-" + String(inode, radix: 16)
    }

    /// The content of one file.
    private struct Stored {
        var path: SharePath
        var born: Timestamp?
        var properties: PropertySet

        init(_ resource: PropertyResource, _ set: PropertySet) {
            path = resource.path
            born = resource.born
            properties = set
        }

        init(_ payload: [UInt8]) throws(DamagedState) {
            guard let record = try StateRecord.all(in: payload).first, let path = record["path"],
                let packed = record["properties"]
            else { throw DamagedState() }
            self.path = SharePath(unchecked: path)
            born = record.time("born")
            properties = try PropertySet(packed: packed)
        }

        var payload: [UInt8] {
            var record = StateRecord()
            record.set("path", path.bytes)
            record.set("born", born)
            record.set("properties", properties.packed)
            var payload: [UInt8] = []
            record.write(to: &payload)
            return payload
        }

        func describes(_ resource: PropertyResource) -> Bool {
            if let born, let other = resource.born { return born == other }
            return path == resource.path
        }
    }
}

/// The resource that properties belong to: an inode, identified also by its birth time, and where it is.
struct PropertyResource: Sendable {
    var inode: UInt64
    var device: UInt64
    var born: Timestamp?
    /// From the root.
    var path: SharePath
}

extension PropertyResource {
    init(_ status: sys_attributes, path: SharePath) {
        inode = status.inode
        device = status.device
        born = status.birthTime
        self.path = path
    }
}
