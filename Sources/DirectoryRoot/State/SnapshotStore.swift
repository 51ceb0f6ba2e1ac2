import CSyscalls

/// What collections contained when synchronising clients last asked, so that only changes need be reported.
///
/// Stored under names derived from the content, so that all processes that see the same content issue the same token.
/// The oldest are removed when there are too many: their clients start over. RFC 6578 §3.8.
package struct SnapshotStore: Sendable {
    private let state: StateFolder
    private let clock: RootClock

    private static let folder = "sync"
    private static let maxCount = 128
    package static let maxBytes: UInt64 = 128 << 20

    init(state: StateFolder, clock: RootClock) {
        self.state = state
        self.clock = clock
    }

    /// Stores `content`; storing the same again renews its age.
    /// - Parameters:
    ///   - content: the snapshot.
    ///   - name: hexadecimal digits that identify this content.
    /// - Throws: ``RootError/readOnly`` on a read-only share, or what the disk reports.
    package func keep(_ content: [UInt8], as name: String) throws(RootError) {
        try state.exclusively { (_) throws(RootError) in
            guard let folder = try state.subfolder(Self.folder, creating: true) else { throw .readOnly }
            if touch(name, in: folder) { return }
            // What stays after a crash is removed like all others when there are too many.
            try StateFile.put(
                StateEnvelope(generation: 0, payload: content).encoded(), as: name,
                by: "new-" + StateFile.randomName(), in: folder, waitsForDisk: false)
            try evict(from: folder, except: name)
        }
    }

    /// The content stored under this name; nil when it was removed, never existed, or is more than `limit` bytes.
    package func content(_ name: String, upTo limit: UInt64 = Self.maxBytes) throws(RootError) -> [UInt8]? {
        guard let folder = try folder(for: name) else { return nil }
        do throws(RootError) {
            guard let bytes = try StateFile.bytes(of: name, in: folder, upTo: limit) else { return nil }
            // A torn file counts as none, as does whatever else has its name.
            return try? StateEnvelope(file: bytes).payload
        } catch  where error.isDamage {
            return nil
        }
    }

    /// Whether more than `limit` bytes are stored under this name.
    package func isLarge(_ name: String, over limit: UInt64) throws(RootError) -> Bool {
        guard let folder = try folder(for: name) else { return false }
        var found = sys_attributes()
        return unsafe sys_statat(folder.number, name, &found) == 0 && found.size > limit
    }

    /// The folder that would contain this name; nil when it can't be one of ours, since it comes from a client.
    private func folder(for name: String) throws(RootError) -> IdentifiedDescriptor? {
        guard !name.isEmpty, name.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else {
            return nil
        }
        return try state.subfolder(Self.folder, creating: false)
    }

    private func touch(_ name: String, in folder: IdentifiedDescriptor) -> Bool {
        let opened = unsafe sys_openat(folder.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard opened >= 0 else { return false }
        defer { _ = sys_close(opened) }
        let now = clock.wall()
        return sys_set_times(opened, 0, -1, now.seconds, Int64(now.nanoseconds)) == 0
    }

    /// Removes the oldest, but never `newest`, though others were stored in the same second.
    private func evict(from folder: IdentifiedDescriptor, except newest: String) throws(RootError) {
        var kept: [(name: String, age: Timestamp, size: UInt64)] = []
        for name in try StateFolder.names(in: folder) {
            var found = sys_attributes()
            guard unsafe sys_statat(folder.number, name, &found) == 0 else { continue }
            let age = name == newest ? Timestamp(seconds: .max) : StateFile.Identity(found).modified
            kept.append((name, age, found.size))
        }
        kept.sort { $0.age > $1.age }
        var bytes: UInt64 = 0
        for (index, item) in kept.enumerated() {
            // Another program can leave files here, and sparse ones may have any size.
            let (sum, overflow) = bytes.addingReportingOverflow(item.size)
            bytes = overflow ? .max : sum
            guard index >= Self.maxCount || index > 0 && bytes > Self.maxBytes else { continue }
            // What can't be removed is the first to be removed the next time.
            _ = unsafe sys_unlinkat(folder.number, item.name, 0)
        }
    }
}
