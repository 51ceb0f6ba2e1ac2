import CSyscalls
import DirectoryRoot
import NIOCore

/// The part of a file that is still to be sent.
struct FileSpan {
    let entry: Entry
    var offset: Int64
    let end: Int64
    /// The offset up to which the page cache is known to hold the file.
    var warmUntil: Int64
    /// For a file on a far file system: what a thread has read of it, from `offset` on; empty when nothing can be read.
    private var held: ByteBuffer?

    /// The number of bytes that are checked and read ahead in one step.
    static let piece: Int64 = 1_024 * 1_024

    /// The number of bytes passed to `sendfile`: the rest if it is up to 64 KiB; otherwise what fits into one packet of
    /// 64 KiB with its headers, up to the end of a page.
    ///
    /// The kernel takes 16 pages of a file in one step; a little of that does not fit, and went out as a small packet
    /// after each large one. Sending 1 GiB to a client on the same machine took 0.35 CPU seconds in pieces of 1 MiB,
    /// and takes 0.12 this way. What is left in the end is such a small packet anyway.
    var packet: Int64 { count <= 64 * 1_024 ? count : 15 * 4_096 - (offset & 4_095) }

    init(_ entry: Entry, _ range: Range<Int64>) {
        self.entry = entry
        offset = range.lowerBound
        end = range.upperBound
        warmUntil = range.lowerBound
    }

    var count: Int64 { end - offset }

    /// Where the next piece ends; a file may be as large as 63 bits can express.
    private var pieceEnd: Int64 { count > Self.piece ? offset + Self.piece : end }

    /// Whether the next piece can be sent without waiting for the disk, as far as the kernel can tell: its first and
    /// last byte are in memory.
    mutating func isWarm() -> Bool {
        if entry.isFar { return held != nil }
        if offset < warmUntil { return true }
        if entry.isInMemory {
            warmUntil = end
            return true
        }
        let last = pieceEnd - 1
        guard isCached(offset), isCached(last) else { return false }
        warmUntil = last + 1
        return true
    }

    private func isCached(_ position: Int64) -> Bool {
        var byte: UInt8 = 0
        // At the end of a truncated file there is nothing to wait for.
        return unsafe entry.peek(&byte, 1, at: position) >= 0
    }

    /// Brings the next piece into memory; waits for the disk.
    /// - Parameter limit: the most bytes to read of a file on a far file system.
    /// - Returns: the bytes read, if any.
    func warm(upTo limit: Int) -> ByteBuffer? {
        if entry.isFar { return readAhead(upTo: limit) }
        let last = pieceEnd - 1
        _ = sys_will_need(entry.descriptor, offset, Int64(2) * Self.piece)
        var byte: UInt8 = 0
        _ = unsafe sys_pread(entry.descriptor, &byte, 1, offset)
        _ = unsafe sys_pread(entry.descriptor, &byte, 1, last)
        return nil
    }

    private func readAhead(upTo limit: Int) -> ByteBuffer {
        var buffer = ByteBuffer()
        let wanted = Int(min(count, Int64(limit)))
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { free in
            max(0, unsafe sys_pread(entry.descriptor, free.baseAddress, wanted, offset))
        }
        return buffer
    }

    /// Runs ``warm(upTo:)`` on a thread of `pool`, then calls `next` on `loop` with the bytes read, if any.
    func warm(
        on pool: PoolThreads, _ loop: any EventLoop, upTo limit: Int,
        _ next: @escaping @Sendable (ByteBuffer?) -> Void
    ) {
        pool.submit {
            let read = warm(upTo: limit)
            loop.execute { next(read) }
        }
    }

    /// The result of ``read(upTo:with:)``.
    enum Read {
        case bytes(ByteBuffer)
        /// Reading would have to wait for the disk: see ``warm(on:_:upTo:_:)``.
        case cold
        /// The file was truncated while it was being sent.
        case gone
    }

    /// Reads a piece that is in memory, and advances past it.
    mutating func read(upTo limit: Int, with allocator: ByteBufferAllocator) -> Read {
        if entry.isFar { return takeHeld(upTo: limit) }
        let wanted = Int(min(count, Int64(limit), max(warmUntil - offset, 1)))
        var buffer = allocator.buffer(capacity: wanted)
        var answer = 0
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { free in
            answer = unsafe entry.peek(free.baseAddress, wanted, at: offset)
            if answer == -Int(sys_not_supported) {
                answer = unsafe sys_pread(entry.descriptor, free.baseAddress, wanted, offset)
            }
            return max(answer, 0)
        }
        if answer == -Int(sys_again) {
            warmUntil = offset
            return .cold
        }
        guard answer > 0 else { return .gone }
        offset += Int64(answer)
        return .bytes(buffer)
    }

    private mutating func takeHeld(upTo limit: Int) -> Read {
        guard var bytes = held.take() else { return .cold }
        guard let piece = bytes.readSlice(length: min(bytes.readableBytes, limit)), piece.readableBytes > 0 else {
            return .gone
        }
        offset += Int64(piece.readableBytes)
        if bytes.readableBytes > 0 { held = bytes }
        return .bytes(piece)
    }

    /// Records the result of ``warm(on:_:upTo:_:)``.
    mutating func markWarm(_ read: ByteBuffer?) {
        warmUntil = pieceEnd
        held = read
    }
}
