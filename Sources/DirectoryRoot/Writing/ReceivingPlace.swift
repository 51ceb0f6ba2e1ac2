/// A content in the making that may have a place for its next bytes, so that they are received where they belong.
public protocol ReceivingPlace: AnyObject, Sendable {
    /// Where the next bytes may be put before they are written as any others, which are not copied then; nil where they
    /// may not.
    ///
    /// Good until something is written. Who asks once calls ``pause()`` before any wait that may be long.
    func room() -> UnsafeMutableRawBufferPointer?

    /// Keeps nothing in memory until more comes, which may take long; waits for the disk.
    ///
    /// - Throws: what the disk has against what was written.
    func pause() throws(RootError)
}
