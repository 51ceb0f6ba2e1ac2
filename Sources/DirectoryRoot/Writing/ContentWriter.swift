import CSyscalls

/// Writes a file from its beginning on, as is cheapest for its size: room is taken ahead of what is written, the disk
/// is kept at work, and most of a large file that comes fast goes past memory.
///
/// Used by one task at a time.
final class ContentWriter {
    /// Bytes that were taken so far; not all of them may be in the file before ``finish(_:)``.
    private(set) var written: Int64 = 0

    private let root: DirectoryRoot
    /// All the bytes that will come, where that is known.
    private let size: Int64?
    private var behind = WriteBehind()
    /// Whether room is taken before the bytes come, and up to where it was, or may have been.
    private var reserves: Bool
    private var reserved: Int64 = 0
    /// What writes past memory now, and from where on it may be tried, again.
    private var direct: DirectWriter?
    private var directFrom: Int64
    private var isAsked = false

    /// Room is taken from the first of these on, and for no more than the second at a time; more where it is written
    /// past memory, since to take room waits for that.
    private static let reserveStart: Int64 = 1 << 20
    private static let reserveInterval: Int64 = 16 << 20
    private static let directInterval: Int64 = 64 << 20
    /// With less to come, and for smaller pieces, it is not worth to go past memory: who sends these is slower than the
    /// disk.
    private static let leastDirect: Int64 = 8 << 20
    private static let leastPiece = 128 << 10

    /// - Parameters:
    ///   - root: of the file.
    ///   - size: the number of bytes that will come, where known.
    ///   - start: so many bytes stay in memory, whatever comes.
    init(in root: DirectoryRoot, size: Int64?, keeping start: Int64 = WriteBehind.keptInMemory) {
        self.root = root
        self.size = size
        directFrom = start
        reserves = size ?? 0 > Self.reserveStart
    }

    deinit { abandon() }

    /// Takes no more; waits for nothing.
    func abandon() {
        if let direct { root.directWriters.giveBack(direct) }
        direct = nil
    }

    /// Goes on behind what somebody else wrote to the file.
    func skip(to offset: Int64) {
        written = offset
        behind = WriteBehind(from: offset)
    }

    /// Where the next bytes may be received, so that ``write(_:to:)`` need not copy them; nil where it does not.
    ///
    /// Only who has asked, and will ``pause(_:)``, has anything written past memory: others could keep for long what
    /// there are few of.
    func room() -> UnsafeMutableRawBufferPointer? {
        isAsked = true
        return unsafe direct?.room
    }

    /// Appends the bytes; waits for the disk.
    /// - Parameters:
    ///   - bytes: any, or those at the beginning of ``room()``.
    ///   - descriptor: of the file, always the same.
    /// - Throws: what the disk has against these bytes, or earlier ones; no more can be written then.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(RootError) {
        reserve(bytes.count, in: descriptor)
        var rest = unsafe bytes
        if direct == nil, isWorthGoingDirect(with: bytes.count) {
            let gap = Int(-written & Int64(DirectWriter.piece - 1))
            if gap < rest.count {
                try unsafe writeAll(UnsafeRawBufferPointer(rebasing: rest[..<gap]), to: descriptor, at: &written)
                unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[gap...])
                goDirect(descriptor)
            }
        }
        if let direct {
            while unsafe !rest.isEmpty {
                let count = try unsafe direct.take(rest)
                written += Int64(count)
                unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            // Without room, each piece would wait for the one before it. Not before: the bytes may be in its memory.
            if !reserves { try pause(descriptor) }
        } else {
            try unsafe writeAll(rest, to: descriptor, at: &written)
        }
        // Whether the reserve of free space is touched.
        if behind.follow(to: written, in: descriptor) { try root.requireSpace(for: 0, at: descriptor) }
    }

    /// Has all that was taken written, as before an end, or where no more may come for a while: what writes past memory
    /// is for others then.
    /// - Parameter descriptor: of the file.
    /// - Throws: as ``write(_:to:)``.
    func pause(_ descriptor: Int32) throws(RootError) {
        guard let direct else { return }
        try direct.end()
        root.directWriters.giveBack(direct)
        self.direct = nil
        directFrom = written + Self.leastDirect
    }

    /// Ends the file where its content ends, also when less came than was announced.
    /// - Parameter descriptor: of the file.
    /// - Throws: as ``write(_:to:)``.
    func finish(_ descriptor: Int32) throws(RootError) {
        try pause(descriptor)
        guard reserved > 0 else { return }
        let size = try Int64(clamping: sys_attributes(of: descriptor).size)
        // Not all that was taken is there: no name for that.
        guard size >= written else { throw .system(errno: EIO, call: "write") }
        if size > written { try check(sys_truncate(descriptor, written), "ftruncate") }
    }

    /// Takes room ahead of what is written where that makes writing cheaper: it costs a third less then.
    ///
    /// No more than has come already: an announced length alone takes nothing from anybody.
    private func reserve(_ count: Int, in descriptor: Int32) {
        guard reserves, let size, written >= Self.reserveStart, written + Int64(count) > reserved else { return }
        let start = max(reserved, written)
        let room = min(direct == nil ? Self.reserveInterval : Self.directInterval, written, size - start)
        guard room > 0, reserved > 0 || sys_likes_allocation(descriptor) == 1 else {
            reserves = false
            return
        }
        // Whatever comes of it: ext4 makes the file longer by what it found, also where that is not all.
        reserved = start + room
        // Only a comfort: whether there is room is for the write to say.
        if sys_allocate(descriptor, start, room) != 0 { reserves = false }
    }

    private func isWorthGoingDirect(with count: Int) -> Bool {
        guard isAsked, reserves, let size, count >= Self.leastPiece else { return false }
        return written >= directFrom && size - written >= Self.leastDirect
    }

    private func goDirect(_ descriptor: Int32) {
        guard sys_likes_direct_writes(descriptor) == 1 else {
            directFrom = .max
            return
        }
        directFrom = written + Self.leastDirect
        guard let writer = root.directWriters.take() else { return }
        if writer.begin(descriptor, at: written) {
            direct = writer
        } else {
            root.directWriters.giveBack(writer)
            directFrom = .max
        }
    }
}
