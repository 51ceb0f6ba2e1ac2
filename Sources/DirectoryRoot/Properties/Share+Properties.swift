import CSyscalls

extension Share {
    /// All dead properties of a resource, in the order in which they were first set; empty, at no cost, when there are
    /// none.
    public func properties(of path: SharePath) throws(RootError) -> [DeadProperty] {
        try keptValues(of: path)?.set.dead ?? []
    }

    /// Applies all changes in order, or none.
    /// - Throws: ``RootError/tooManyProperties`` when one has more than ``DeadProperty/mostBytes``, or they would be more than
    ///   1,000, or 1 MiB, beside one resource.
    public func updateProperties(of path: SharePath, _ changes: [PropertyChange]) throws(RootError) {
        try change(path) { (set) throws(RootError) in try set.apply(changes) }
    }

    /// Checksums of the current content, by algorithm (`sha1`); those of older contents are never returned.
    public func checksums(of path: SharePath) throws(RootError) -> [String: [UInt8]] {
        guard let (set, attributes) = try keptValues(of: path) else { return [:] }
        let tag = Array((attributes.entityTag.text + " ").utf8)
        var sums: [String: [UInt8]] = [:]
        for (name, value) in set.values where name.hasPrefix(Self.checksumPrefix) && value.starts(with: tag) {
            sums[String(name.dropFirst(Self.checksumPrefix.count))] = Array(value.dropFirst(tag.count))
        }
        return sums
    }

    /// Stores checksums, by algorithm, of the content with the entity tag `tag`.
    ///
    /// Those of other contents are removed. Called by the server for what it has just written or read. Ignores locks,
    /// since nothing that a client sees of the resource changes.
    public func setChecksums(_ sums: [String: [UInt8]], of path: SharePath, for tag: EntityTag) throws(RootError) {
        guard !root.policy.isReadOnly else { return }
        let full = try absolute(path)
        let opened = try root.resolver.open(full, flags: sys_o_path)
        if let real = opened.realPath { try admit(real) }
        try root.state.properties.update(opened.descriptor.number, at: opened.realPath ?? full) {
            (set) throws(RootError) in Self.keep(sums, for: tag, in: &set)
        }
    }

    /// The same for what a client asks to store: others will believe it, so it needs the right to overwrite.
    public func updateChecksums(
        of path: SharePath, _ sums: [String: [UInt8]], for tag: EntityTag
    ) throws(RootError) {
        try change(path) { set throws(RootError) in Self.keep(sums, for: tag, in: &set) }
    }

    private static func keep(_ sums: [String: [UInt8]], for tag: EntityTag, in set: inout PropertySet) {
        let prefix = Array((tag.text + " ").utf8)
        for (name, value) in set.values where name.hasPrefix(checksumPrefix) && !value.starts(with: prefix) {
            set.apply([name: nil])
        }
        for (name, sum) in sums { set.apply([checksumPrefix + name: prefix + sum]) }
    }

    /// Changes the entity tag of the checksums of a file to that of its copy.
    static func keepChecksums(
        of source: Int32, for copy: Int32, in set: inout PropertySet
    ) throws(RootError) {
        let sums = set.values.filter { $0.key.hasPrefix(checksumPrefix) }
        guard !sums.isEmpty else { return }
        let (old, new) = (try checksumTag(of: source), try checksumTag(of: copy))
        for (name, value) in sums where value.starts(with: old) {
            set.apply([name: new + value.dropFirst(old.count)])
        }
    }

    /// The prefix of an open file's stored checksums: its entity tag.
    private static func checksumTag(of file: Int32) throws(RootError) -> [UInt8] {
        FileAttributes(try sys_attributes(of: file)).map { Array(($0.entityTag.text + " ").utf8) } ?? []
    }

    private static var checksumPrefix: String { "checksum." }

    private func keptValues(of path: SharePath) throws(RootError) -> (set: PropertySet, attributes: FileAttributes)? {
        let hints = try root.state.properties.hints()
        if hints.marker == nil { return nil }
        let opened = try openVisible(absolute(path), flags: sys_o_path, waiting: true)
        // The uploader of a file sees that it has arrived, but nothing that others have stored with it.
        guard hints.mayHaveProperties(opened.attributes),
            opened.attributes.isDirectory || granted(at: opened.realPath).contains(.read)
        else { return nil }
        return (
            try root.state.properties.read(opened.descriptor.number, at: opened.realPath), opened.attributes
        )
    }

    private func change(
        _ path: SharePath, _ body: (inout PropertySet) throws(RootError) -> Void
    ) throws(RootError) {
        guard !root.policy.isReadOnly else { throw .readOnly }
        let full = try absolute(path)
        root.awaitFarDisk(of: full)
        try root.commitLock.withLock { () throws(RootError) in
            // Opened under the lock: if the content was being replaced, or the file moved away, the change would go
            // where nobody looks for it, or where a lock forbids it.
            let opened = try openVisible(full, flags: sys_o_path, waiting: true)
            guard granted(at: opened.realPath).contains(.overwrite), granted(at: full).contains(.overwrite)
            else { throw .forbidden }
            try checkLocks(WriteUse(changes: [opened.realPath]))
            try root.state.properties.update(opened.descriptor.number, at: opened.realPath, body)
        }
    }
}
