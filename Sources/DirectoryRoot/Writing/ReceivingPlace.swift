/// Content being received that may offer memory for its next bytes, so that they need not be copied.
package protocol ReceivingPlace: AnyObject, Sendable {
    /// The memory to put the next bytes in before they are passed to the write function like any others; nil when there
    /// is none.
    ///
    /// Valid until something is written. After the first call, ``pause()`` must be called before any wait that may be
    /// long.
    func room() -> UnsafeMutableRawBufferPointer?

    /// Whether the next bytes may come through a pipe, by ``write(_:from:)``: then nothing is copied.
    var takesPipes: Bool { get }

    /// Appends what waits in a pipe; waits for the disk.
    /// - Parameters:
    ///   - count: the number of bytes, all of which wait there.
    ///   - pipe: open for reading, without waiting.
    /// - Throws: why the disk refused them; some may be left in the pipe then.
    func write(_ count: Int, from pipe: Int32) throws(RootError)

    /// Writes out what is held in memory, since more may take long to come; waits for the disk.
    ///
    /// - Throws: why the disk refused what was written.
    func pause() throws(RootError)
}
