internal import DirectoryRoot

extension SyncToken {
    /// The token of `snapshot`, which is kept until the token comes back.
    init(keeping snapshot: CollectionSnapshot, in store: SnapshotStore) throws(RootError) {
        let bytes = snapshot.bytes
        self.init(of: bytes)
        try store.keep(bytes, as: name)
    }

    /// The token of a collection and everything below it, as a property.
    ///
    /// RFC 6578 §4.
    ///
    /// Nil when it holds too much for one.
    init?(of path: SharePath, in share: Share) throws(RootError) {
        do {
            let snapshot = try CollectionSnapshot(of: path, in: share, isRecursive: true)
            try self.init(keeping: snapshot, in: share.root.state.snapshots)
        } catch {
            guard error == .tooMany else { throw error }
            return nil
        }
    }
}
