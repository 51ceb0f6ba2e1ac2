import CSyscalls
import DirectoryRoot

/// The part of a file that is still to be sent.
struct FileSpan {
    let entry: Entry
    var offset: Int64
    let end: Int64
    /// How far the page cache is known to hold the file.
    var warmUntil: Int64

    /// Asked and read ahead at a time.
    static let piece: Int64 = 1_024 * 1_024

    init(_ entry: Entry, _ range: Range<Int64>) {
        self.entry = entry
        offset = range.lowerBound
        end = range.upperBound
        warmUntil = range.lowerBound
    }

    var count: Int64 { end - offset }

    /// Whether the next piece can be sent without waiting for the disk, as far as the kernel tells: its first and last byte
    /// are in memory.
    mutating func isWarm() -> Bool {
        if offset < warmUntil { return true }
        if entry.isInMemory {
            warmUntil = end
            return true
        }
        let last = min(end, offset + Self.piece) - 1
        guard isCached(offset), isCached(last) else { return false }
        warmUntil = last + 1
        return true
    }

    private func isCached(_ position: Int64) -> Bool {
        var byte: UInt8 = 0
        // At the end of a file that shrank there is nothing to wait for.
        return entry.peek(&byte, 1, at: position) >= 0
    }

    /// Brings the next piece into memory; waits for the disk.
    func warm() {
        let last = min(end, offset + Self.piece) - 1
        _ = sys_will_need(entry.descriptor, offset, Int64(2) * Self.piece)
        var byte: UInt8 = 0
        _ = sys_pread(entry.descriptor, &byte, 1, offset)
        _ = sys_pread(entry.descriptor, &byte, 1, last)
    }

    /// What ``warm()`` did is known here.
    mutating func markWarm() { warmUntil = min(end, offset + Self.piece) }
}
