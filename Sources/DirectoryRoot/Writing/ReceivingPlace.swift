/// Content being received that may offer memory for its next bytes, so that they need not be copied.
public protocol ReceivingPlace: AnyObject, Sendable {
    /// The memory to put the next bytes in before they are passed to the write function like any others; nil when there
    /// is none.
    ///
    /// Valid until something is written. After the first call, ``pause()`` must be called before any wait that may be
    /// long.
    func room() -> UnsafeMutableRawBufferPointer?

    /// Writes out what is held in memory, since more may take long to come; waits for the disk.
    ///
    /// - Throws: why the disk refused what was written.
    func pause() throws(RootError)
}
