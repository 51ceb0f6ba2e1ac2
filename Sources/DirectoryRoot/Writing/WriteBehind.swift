import CSyscalls

/// Keeps the disk busy behind what is written to one file, and keeps a large file out of the page cache.
///
/// The page cache takes memory, and on a machine that has none left, it evicts what others read. The pages of what is
/// on the disk are released, so that the same few are used again and again: copying 2 GiB took 3.0 seconds of processor
/// time when the pages were new each time, and takes 1.1 this way. If the disk is slower than the data arrives, more of
/// the pages are new. The beginning of a file stays cached, since it is read first, and so does the whole of a file
/// that is not large.
struct WriteBehind {
    /// How many bytes are written before the disk is told to write them back.
    static let interval: Int64 = 8 << 20
    /// How many bytes of each file stay in the page cache.
    static let keptInMemory: Int64 = 64 << 20

    /// The offsets up to which write-back was started, and up to which page cache was released.
    private var started: Int64
    private var released: Int64
    private var releases = true

    /// - Parameter start: where the first byte will be written.
    init(from start: Int64 = 0) {
        started = start
        released = max(Self.keptInMemory, start)
    }

    /// Takes note of how far the file is written.
    /// - Parameters:
    ///   - written: the offset of the next byte, which only grows.
    ///   - descriptor: of the file.
    /// - Returns: whether write-back of another piece was started.
    @discardableResult mutating func follow(to written: Int64, in descriptor: Int32) -> Bool {
        guard written - started >= Self.interval else { return false }
        // Only a hint: the commit waits for it, and reports errors.
        _ = sys_sync_range(descriptor, started, written - started, sys_sync_write)
        release(upTo: started, in: descriptor)
        started = written
        return true
    }

    /// Releases the page cache of what the disk has, piece by piece, without waiting.
    private mutating func release(upTo end: Int64, in descriptor: Int32) {
        while releases, end - released >= Self.interval {
            let answer = sys_is_written_back(descriptor, released, Self.interval)
            if answer == 0 { return }
            releases = answer == 1 && sys_will_not_need(descriptor, released, Self.interval) == 0
            released += Self.interval
        }
    }
}
