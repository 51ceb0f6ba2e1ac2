import CSyscalls
import Dispatch

/// Closes, out of everybody's way, what takes its time to be closed.
///
/// A program (FUSE) or another machine is asked when one of its files is closed, also one that was only read, and may be
/// hung. The last close of a large file that was removed gives its blocks back.
enum SlowClose {
    /// What hangs holds up the others of its own disk, and seldom those of another one.
    private static let queues = (0..<16).map { DispatchQueue(label: "close \($0)") }

    /// Closes a descriptor soon; waits for nothing.
    /// - Parameters:
    ///   - descriptor: nobody else's.
    ///   - device: of the file system that it is on.
    static func close(_ descriptor: Int32, on device: UInt64) {
        // The numbers of file systems without a disk of their own follow each other.
        queues[Int(truncatingIfNeeded: (device ^ device >> 8) & 15)].async { _ = sys_close(descriptor) }
    }
}
