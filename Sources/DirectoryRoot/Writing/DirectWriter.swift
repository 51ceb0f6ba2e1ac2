import CSyscalls
import Synchronization

/// Writes one large file with direct I/O, past the page cache: a complete piece is written asynchronously while the
/// next one is received.
///
/// Copying the data into the page cache, page by page, is most of the cost of a large upload: without that, 1 GiB takes
/// half the processor time, and evicts nothing that others read. Used by one task at a time.
@safe final class DirectWriter: @unchecked Sendable {
    /// The size of a piece in bytes.
    ///
    /// A disk is as fast with such pieces as with what the kernel would gather, if it has more than one at once.
    static let piece = 2 << 20
    /// The number of pieces: one is filled while the others are being written.
    private static let pieces = 3

    private let queue: UInt64
    private let memory: UnsafeMutableRawBufferPointer
    /// For each piece that is being written, its offset in the file; nil for the others.
    private var inFlight = [Int64?](repeating: nil, count: pieces)
    /// The piece that is being filled, how many bytes it has, and its offset in the file.
    private var current = 0
    private var filled = 0
    private var start: Int64 = 0
    private var descriptor: Int32 = -1

    /// - Returns: nil when the system has no asynchronous writes, or no more of them.
    init?() {
        var queue: UInt64 = 0
        guard unsafe sys_pieces_begin(UInt32(Self.pieces), &queue) == 0 else { return nil }
        self.queue = queue
        unsafe memory = .allocate(byteCount: Self.piece * Self.pieces, alignment: Self.piece)
        unsafe sys_prefer_large_pages(memory.baseAddress, memory.count)
    }

    deinit {
        // Waits for the writes under way.
        sys_pieces_end(queue)
        unsafe memory.deallocate()
    }

    /// Begins with a file.
    /// - Parameters:
    ///   - descriptor: of the file, for which ``sys_likes_direct_writes(_:)`` holds.
    ///   - offset: of the next byte; a multiple of ``piece``.
    /// - Returns: false when the file can't be written with direct I/O.
    func begin(_ descriptor: Int32, at offset: Int64) -> Bool {
        guard offset % Int64(Self.piece) == 0, sys_write_directly(descriptor, true) == 0 else { return false }
        self.descriptor = descriptor
        (current, filled, start) = (0, 0, offset)
        return true
    }

    /// The memory for the next bytes: what is received here need not be copied.
    var room: UnsafeMutableRawBufferPointer {
        let end = (current + 1) * Self.piece
        return unsafe UnsafeMutableRawBufferPointer(rebasing: memory[end - Self.piece + filled..<end])
    }

    /// Accepts some of the given bytes, from their beginning.
    /// - Parameter bytes: any bytes, or those at the beginning of ``room``; not empty.
    /// - Returns: the number accepted, at least one.
    /// - Throws: why the disk refused this piece, or an earlier one.
    func take(_ bytes: UnsafeRawBufferPointer) throws(RootError) -> Int {
        let room = unsafe room
        let count = min(bytes.count, room.count)
        if unsafe bytes.baseAddress != UnsafeRawPointer(room.baseAddress) {
            unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        filled += count
        if filled == Self.piece { try send() }
        return count
    }

    /// Writes all accepted bytes, waits for that, and releases the file.
    /// - Throws: why the disk refused them.
    func end() throws(RootError) {
        try awaitAll()
        defer { descriptor = -1 }
        try check(sys_write_directly(descriptor, false), "fcntl")
        try write(piece: current, from: 0, to: filled, at: start)
    }

    /// Whether no piece is being written any more, after ``end()`` or without it; does not wait.
    func isAtRest() -> Bool {
        while inFlight.contains(where: { $0 != nil }) {
            var (mark, result) = (UInt64.max, Int64(0))
            guard unsafe sys_piece_done(queue, false, &mark, &result) == 1,
                let index = inFlight.indices.first(where: { $0 == mark })
            else { return false }
            inFlight[index] = nil
        }
        return true
    }

    /// Gives the memory back to the system until it is used again.
    ///
    /// Pages that are being written are kept.
    func rest() { unsafe sys_give_back_pages(memory.baseAddress, memory.count) }

    private func send() throws(RootError) {
        let (bytes, mark) = unsafe (memory.baseAddress.map { unsafe $0 + current * Self.piece }, UInt64(current))
        if unsafe sys_piece_write(queue, descriptor, bytes, Self.piece, start, mark) == 0 {
            inFlight[current] = start
        } else {
            try writeAgain(piece: current, from: 0, at: start)
        }
        start += Int64(Self.piece)
        filled = 0
        while true {
            if let free = inFlight.firstIndex(of: nil) {
                current = free
                return
            }
            try awaitOne()
        }
    }

    private func awaitAll() throws(RootError) {
        while inFlight.contains(where: { $0 != nil }) { try awaitOne() }
    }

    private func awaitOne() throws(RootError) {
        var (mark, result) = (UInt64.max, Int64(0))
        try unsafe check(sys_piece_done(queue, true, &mark, &result), "io_getevents")
        guard let index = inFlight.indices.first(where: { $0 == mark }), let offset = inFlight[index] else {
            throw .system(errno: EIO, call: "io_getevents")
        }
        inFlight[index] = nil
        guard result < Self.piece else { return }
        switch -result {
        case Int64(EINVAL), Int64(EOPNOTSUPP), Int64(EAGAIN): try writeAgain(piece: index, from: 0, at: offset)
        default:
            let count = Int(try check(result, "write"))
            try writeAgain(piece: index, from: count, at: offset)
        }
    }

    /// Writes the rest of a piece with ordinary I/O, which also reports the error if that fails too.
    private func writeAgain(piece index: Int, from count: Int, at offset: Int64) throws(RootError) {
        try check(sys_write_directly(descriptor, false), "fcntl")
        try write(piece: index, from: count, to: Self.piece, at: offset)
        try check(sys_write_directly(descriptor, true), "fcntl")
    }

    private func write(piece index: Int, from first: Int, to end: Int, at offset: Int64) throws(RootError) {
        let piece = unsafe memory[index * Self.piece..<(index + 1) * Self.piece]
        let bytes = unsafe UnsafeRawBufferPointer(UnsafeMutableRawBufferPointer(rebasing: piece))
        var position = offset + Int64(first)
        try unsafe writeAll(UnsafeRawBufferPointer(rebasing: bytes[first..<end]), to: descriptor, at: &position)
    }
}

/// The few direct writers of a root: each has memory of its own.
final class DirectWriters: Sendable {
    private static let most = 4

    private struct State {
        var idle: [DirectWriter] = []
        var count = 0
    }

    private let state = Mutex(State())

    /// A writer for a file, to be given back; nil when all are busy, or the system has none.
    func take() -> DirectWriter? {
        state.withLock { state in
            // A writer may have been given back while pieces were still being written.
            if let index = state.idle.firstIndex(where: { $0.isAtRest() }) { return state.idle.remove(at: index) }
            guard state.count < Self.most, let writer = DirectWriter() else { return nil }
            state.count += 1
            return writer
        }
    }

    func giveBack(_ writer: DirectWriter) {
        writer.rest()
        state.withLock { $0.idle.append(writer) }
    }
}
