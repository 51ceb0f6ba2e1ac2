package import DirectoryRoot

extension SyncToken {
    /// The token of `snapshot`, which is stored until the token comes back.
    package init(keeping snapshot: CollectionSnapshot, in store: SnapshotStore) throws(RootError) {
        let bytes = snapshot.bytes
        self.init(of: bytes)
        try store.keep(bytes, as: name)
    }

    /// The token of a collection and everything below it, as a property.
    ///
    /// RFC 6578 §4.
    ///
    /// Nil when it has too many members.
    /// - Parameters:
    ///   - path: of the collection.
    ///   - share: the requester's view.
    ///   - memory: counts what is held meanwhile.
    /// - Throws: ``RootError/tooMany`` when others have used up the memory.
    package init?(of path: SharePath, in share: Share, memory: TreeMemory.Portion) throws(RootError) {
        let snapshot: CollectionSnapshot
        do {
            snapshot = try CollectionSnapshot(of: path, in: share, isRecursive: true)
        } catch {
            guard error == .collectionTooLarge else { throw error }
            return nil
        }
        try memory.hold(snapshot.byteCount)
        try self.init(keeping: snapshot, in: share.root.state.snapshots)
    }
}
