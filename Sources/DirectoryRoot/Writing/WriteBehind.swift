import CSyscalls

/// Keeps the disk at work behind what is written to one file, and a large file out of memory.
///
/// What the kernel keeps of a file in memory takes pages, and on a machine that has none left pushes out what others
/// read. The pages of what the disk has are given back, so that the same few are written again and again: to copy
/// 2 GiB took 3.0 seconds of processor time on pages that were new each time, and takes 1.1 so. A disk that is slower
/// than what comes leaves more of them to be new. Its beginning stays, which is what is read first, and all of a file
/// that is not large.
struct WriteBehind {
    /// How much is written before the disk is set to work on it.
    static let interval: Int64 = 8 << 20
    /// Of each file, so much stays in memory.
    static let keptInMemory: Int64 = 64 << 20

    /// Up to here the kernel was told to write back, and up to there memory was given back.
    private var started: Int64
    private var released: Int64
    private var releases = true

    /// - Parameter start: where the first byte will be written.
    init(from start: Int64 = 0) {
        started = start
        released = max(Self.keptInMemory, start)
    }

    /// Looks at how far the file is written.
    /// - Parameters:
    ///   - written: where the next byte will be written, which only grows.
    ///   - descriptor: of the file.
    /// - Returns: whether the disk was set to work on another piece.
    @discardableResult mutating func follow(to written: Int64, in descriptor: Int32) -> Bool {
        guard written - started >= Self.interval else { return false }
        // Only a hint: the commit waits for it, and reports what went wrong.
        _ = sys_sync_range(descriptor, started, written - started, sys_sync_write)
        release(upTo: started, in: descriptor)
        started = written
        return true
    }

    /// Gives back the memory of what the disk has taken, piece by piece, and waits for none.
    private mutating func release(upTo end: Int64, in descriptor: Int32) {
        while releases, end - released >= Self.interval {
            let answer = sys_is_written_back(descriptor, released, Self.interval)
            if answer == 0 { return }
            releases = answer == 1 && sys_will_not_need(descriptor, released, Self.interval) == 0
            released += Self.interval
        }
    }
}
