import CSyscalls

/// Writes a file from its beginning, in the cheapest way for its size: space is allocated ahead, the disk is kept busy,
/// and most of a large file that arrives fast is written with direct I/O.
///
/// Used by one task at a time.
final class ContentWriter {
    /// The number of bytes accepted so far; not all of them may be in the file before ``finish(_:)``.
    private(set) var written: Int64 = 0

    private let root: DirectoryRoot
    /// The total number of bytes, if known.
    private let size: Int64?
    private var behind = WriteBehind()
    /// Whether space is allocated ahead, and up to which offset it was, or may have been.
    private var reserves: Bool
    private var reserved: Int64 = 0
    /// The direct writer in use, and the offset from which on direct I/O may be tried (again).
    private var direct: DirectWriter?
    private var directFrom: Int64
    private var isAsked = false
    /// Whether the file system, as far as is known, can be written to from a pipe.
    private var movesPipes = true

    /// Space is allocated ahead after the first of these, at most the second in one step; with direct I/O in larger
    /// steps, since an allocation waits for the writes under way.
    private static let reserveStart: Int64 = 1 << 20
    private static let reserveInterval: Int64 = 16 << 20
    private static let directInterval: Int64 = 64 << 20
    /// With less than the first of these to come, or in chunks smaller than the second, direct I/O is not worth it:
    /// such clients are slower than the disk.
    private static let leastDirect: Int64 = 8 << 20
    private static let leastPiece = 128 << 10

    /// - Parameters:
    ///   - root: the root that the file is in.
    ///   - size: the number of bytes that will come, where known.
    ///   - start: the number of bytes at the beginning that always stay in the page cache.
    init(in root: DirectoryRoot, size: Int64?, keeping start: Int64 = WriteBehind.keptInMemory) {
        self.root = root
        self.size = size
        directFrom = start
        reserves = size ?? 0 > Self.reserveStart
    }

    deinit { abandon() }

    /// Accepts no more; waits for nothing.
    func abandon() {
        if let direct { root.directWriters.giveBack(direct) }
        direct = nil
    }

    /// Continues after what was written to the file by other means.
    func skip(to offset: Int64) {
        written = offset
        behind = WriteBehind(from: offset)
    }

    /// The memory to receive the next bytes in, so that ``write(_:to:)`` need not copy them; nil when it would not
    /// help.
    ///
    /// Direct I/O is used only for callers that have asked for this, and will call ``pause(_:)``: others could hold one
    /// of the few direct writers for long.
    func room() -> UnsafeMutableRawBufferPointer? {
        isAsked = true
        return unsafe direct?.room
    }

    /// Appends the bytes; waits for the disk.
    /// - Parameters:
    ///   - bytes: any bytes, or those at the beginning of ``room()``.
    ///   - descriptor: of the file, always the same.
    /// - Throws: why the disk refused these bytes, or earlier ones; no more can be written then.
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
            // Without allocated space, each piece would wait for the one before it. Only after the write: the bytes may
            // be in the writer's memory.
            if !reserves { try pause(descriptor) }
        } else {
            try unsafe writeAll(rest, to: descriptor, at: &written)
        }
        // Whether the reserve of free space is touched.
        if behind.follow(to: written, in: descriptor) { try root.requireSpace(for: 0, at: descriptor) }
    }

    /// Whether the next bytes may come through a pipe: not while they are written with direct I/O, or should be.
    var takesPipes: Bool { movesPipes && direct == nil && !mayGoDirect }

    /// Appends what waits in a pipe, within the kernel; waits for the disk.
    /// - Parameters:
    ///   - count: the number of bytes, all of which wait there.
    ///   - pipe: open for reading, without waiting.
    ///   - descriptor: of the file, always the same.
    /// - Throws: as ``write(_:to:)``.
    func write(_ count: Int, from pipe: Int32, to descriptor: Int32) throws(RootError) {
        reserve(count, in: descriptor)
        var rest = count
        while rest > 0 {
            let moved = movesPipes ? sys_drain_pipe(pipe, descriptor, written, rest) : -Int(EINVAL)
            if sys_means_no_pipe(moved) {
                movesPipes = false
                rest -= try copy(rest, from: pipe, to: descriptor)
            } else {
                let moved = try check(moved, "splice")
                // If the disk writes nothing and reports no error, this would loop for ever.
                guard moved > 0 else { throw .noSpace }
                written += Int64(moved)
                rest -= moved
            }
        }
        if behind.follow(to: written, in: descriptor) { try root.requireSpace(for: 0, at: descriptor) }
    }

    /// Appends some of what waits in a pipe by way of this program's memory.
    /// - Returns: the number of bytes.
    private func copy(_ most: Int, from pipe: Int32, to descriptor: Int32) throws(RootError) -> Int {
        var bytes = [UInt8](repeating: 0, count: min(most, 64 << 10))
        let count = try unsafe check(sys_read(pipe, &bytes, bytes.count), "read")
        guard count > 0 else { throw .system(errno: EIO, call: "read") }
        let outcome = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(RootError) in
                try unsafe writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<count]), to: descriptor, at: &written)
            }
        }
        try outcome.get()
        return count
    }

    /// Writes all accepted bytes, before the end or when no more may come for a while: the direct writer is returned to
    /// others.
    /// - Parameter descriptor: of the file.
    /// - Throws: as ``write(_:to:)``.
    func pause(_ descriptor: Int32) throws(RootError) {
        guard let direct else { return }
        try direct.end()
        root.directWriters.giveBack(direct)
        self.direct = nil
        directFrom = written + Self.leastDirect
    }

    /// Truncates the file to its content, also when less came than was announced.
    /// - Parameter descriptor: of the file.
    /// - Throws: as ``write(_:to:)``.
    func finish(_ descriptor: Int32) throws(RootError) {
        try pause(descriptor)
        guard reserved > 0 else { return }
        let size = try Int64(clamping: sys_attributes(of: descriptor).size)
        // Not all accepted bytes are there: such a file must not get its name.
        guard size >= written else { throw .system(errno: EIO, call: "write") }
        if size > written { try check(sys_truncate(descriptor, written), "ftruncate") }
    }

    /// Allocates space ahead where that makes writing cheaper: it then costs a third less.
    ///
    /// Never more than has been received already: an announced length alone takes no space from others.
    private func reserve(_ count: Int, in descriptor: Int32) {
        guard reserves, let size, written >= Self.reserveStart, written + Int64(count) > reserved else { return }
        let start = max(reserved, written)
        let room = min(direct == nil ? Self.reserveInterval : Self.directInterval, written, size - start)
        guard room > 0, reserved > 0 || sys_likes_allocation(descriptor) == 1 else {
            reserves = false
            return
        }
        // Also after a failure: ext4 extends the file by the space it found, even if that is not all.
        reserved = start + room
        // An optimisation only: a lack of space is reported by the write.
        if sys_allocate(descriptor, start, room) != 0 { reserves = false }
    }

    private func isWorthGoingDirect(with count: Int) -> Bool {
        count >= Self.leastPiece && mayGoDirect
    }

    private var mayGoDirect: Bool {
        guard isAsked, reserves, let size else { return false }
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
