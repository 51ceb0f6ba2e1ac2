import CSyscalls
import Synchronization

/// Writes one large file past the kernel's memory of files: a piece that is whole goes to the disk by itself while the
/// next one comes.
///
/// To copy what comes into that memory, page by page, is most of what a large upload costs: 1 GiB takes half of the
/// processor time so, and pushes nothing out that others read. Used by one task at a time.
@safe final class DirectWriter: @unchecked Sendable {
    /// Bytes of a piece.
    ///
    /// A disk is as fast with such as with what the kernel gathers, where it has more than one at a time.
    static let piece = 2 << 20
    /// One is filled while the others are written.
    private static let pieces = 3

    private let queue: UInt64
    private let memory: UnsafeMutableRawBufferPointer
    /// Where in the file the pieces belong that are being written; nil for the others.
    private var inFlight = [Int64?](repeating: nil, count: pieces)
    /// The piece that is filled, how far it is, and where in the file it will begin.
    private var current = 0
    private var filled = 0
    private var start: Int64 = 0
    private var descriptor: Int32 = -1

    /// - Returns: nil where the system has no such writing, or no more of it.
    init?() {
        var queue: UInt64 = 0
        guard unsafe sys_pieces_begin(UInt32(Self.pieces), &queue) == 0 else { return nil }
        self.queue = queue
        unsafe memory = .allocate(byteCount: Self.piece * Self.pieces, alignment: Self.piece)
        unsafe sys_prefer_large_pages(memory.baseAddress, memory.count)
    }

    deinit {
        // Waits for what is being written.
        sys_pieces_end(queue)
        unsafe memory.deallocate()
    }

    /// Takes a file on.
    /// - Parameters:
    ///   - descriptor: of the file, for which ``sys_likes_direct_writes(_:)`` holds.
    ///   - offset: where the next byte goes; a multiple of ``piece``.
    /// - Returns: false where the file cannot be written so.
    func begin(_ descriptor: Int32, at offset: Int64) -> Bool {
        guard offset % Int64(Self.piece) == 0, sys_write_directly(descriptor, true) == 0 else { return false }
        self.descriptor = descriptor
        (current, filled, start) = (0, 0, offset)
        return true
    }

    /// Where the next bytes belong: what is received here need not be copied.
    var room: UnsafeMutableRawBufferPointer {
        let end = (current + 1) * Self.piece
        return unsafe UnsafeMutableRawBufferPointer(rebasing: memory[end - Self.piece + filled..<end])
    }

    /// Takes the first of some bytes.
    /// - Parameter bytes: any, or those that were put at the beginning of ``room``; not none.
    /// - Returns: how many were taken, at least one.
    /// - Throws: what the disk had against this piece, or an earlier one.
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

    /// Has all the bytes written that were taken, waits for that, and lets go of the file.
    /// - Throws: what the disk has against them.
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

    /// Gives back the memory until it is used again.
    ///
    /// What is being written keeps its pages.
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

    /// Writes the rest of a piece in the ordinary way, which also says why it could not be written in this one.
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

/// The few writers of a shared directory: each has memory of its own.
final class DirectWriters: Sendable {
    private static let most = 4

    private struct State {
        var idle: [DirectWriter] = []
        var count = 0
    }

    private let state = Mutex(State())

    /// One for a file, to be given back; nil where all are busy, or the system has none.
    func take() -> DirectWriter? {
        state.withLock { state in
            // One may have been given back in a hurry.
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
