import CChecksums
import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A member has changed since the archive was planned: the archive ends before its announced length.
struct ArchiveChanged: Error, CustomStringConvertible {
    /// The member, in the share.
    let path: SharePath

    var description: String { "\(path) changed while it was being read" }
}

/// Produces any span of an archive, piece by piece.
///
/// Used by one task at a time; ``next()`` waits for the disk.
@safe final class ArchiveProducer: @unchecked Sendable {
    /// The next piece to send.
    enum Piece: Sendable {
        case bytes([UInt8])
        /// A span of a file.
        case file(Entry, Range<Int64>)

        var count: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let span): Int64(span.count)
            }
        }
    }

    private static let pieceSize = 256 * 1024
    /// Files from this size on are sent directly by the connection if their checksum is not needed.
    private static let directSize: Int64 = 128 * 1024
    /// A span of a file is read when the client takes it, from the kernel's buffers: only after this many more bytes
    /// were taken has all of it left them, and can be verified.
    private static let underWay: Int64 = 24 << 20
    /// How much at the end is read here, so that everything before it can be verified in time.
    private static let readAtEnd: Int64 = underWay + 8 << 20
    /// Within one tick of its clock, a file system gives two changes the same time.
    private static let tick: Duration = .milliseconds(20)

    private let share: Share
    private let plan: ArchivePlan
    private let format: any ArchiveFormat
    private let layout: ArchiveLayout
    private let range: Range<Int64>
    private let cache: ArchiveChecksums
    private let readsDirectly: Bool
    private var checksums: ChecksumTable
    /// The buffer that files are read into.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 64)

    /// The next step, and its offset in the archive.
    private var step = Step.header(0)
    private var offset: Int64 = 0
    /// The offset of the member's header, while the directory is being written.
    private var memberOffset: Int64 = 0
    /// The file that is being read.
    private var file: OpenFile?
    /// How much was returned: where the last two pieces began, and where the last one ended.
    private var given: (last: Int64, beforeLast: Int64, end: Int64) = (0, 0, 0)
    /// The members of which a span was returned, and where it ended, until they are verified.
    private var unproven: ArraySlice<(member: Int, end: Int64)> = []

    private enum Step {
        case header(Int)
        case content(Int)
        case trailer(Int)
        case directory(Int)
        case end
        case done
    }

    private struct OpenFile {
        var entry: Entry
        /// The next offset to read.
        var position: Int64
        /// The offset where reading may stop.
        var end: Int64
        /// Bytes before this offset are read for the checksum only.
        var firstWanted: Int64
        /// The checksum so far; nil when it is not needed.
        var checksum: UInt32?
    }

    /// - Parameters:
    ///   - plan: the members of the archive.
    ///   - share: the share to read from.
    ///   - format: the format.
    ///   - layout: the positions of its parts.
    ///   - range: the requested span of the archive.
    ///   - cache: provides and stores checksums.
    ///   - readsDirectly: whether pieces may be spans of files.
    init(
        _ plan: ArchivePlan, in share: Share, format: any ArchiveFormat, layout: ArchiveLayout, range: Range<Int64>,
        cache: ArchiveChecksums, readsDirectly: Bool = true
    ) {
        self.readsDirectly = readsDirectly
        self.plan = plan
        self.share = share
        self.format = format
        self.layout = layout
        self.range = range
        self.cache = cache
        checksums = cache.table(for: plan.entityTag, count: format.needsChecksums ? plan.count : 0)
    }

    deinit {
        unsafe buffer.deallocate()
        if format.needsChecksums { cache.keep(checksums, for: plan.entityTag) }
    }

    /// The next piece; nil at the end of the span.
    /// - Throws: ``ArchiveChanged`` when a member has changed; otherwise what the disk reports.
    func next() throws -> Piece? {
        // While the last piece waits to be taken, the one before may still be on its way to the kernel.
        try prove(until: given.beforeLast - Self.underWay)
        let piece = try nextPiece()
        given = (given.end, given.last, given.end + (piece?.count ?? 0))
        return piece
    }

    private func nextPiece() throws -> Piece? {
        var bytes: [UInt8] = []
        while bytes.count < Self.pieceSize {
            if offset >= range.upperBound, file == nil { step = .done }
            if case .done = step { break }
            if case .content(let index) = step {
                if let text = plan.text(at: index) {
                    put(length: text.count, into: &bytes) { text }
                    step = .trailer(index)
                    continue
                }
                if let span = directSpan(index) {
                    guard bytes.isEmpty else { break }
                    return try direct(index, span)
                }
                if bytes.isEmpty { bytes.reserveCapacity(Self.pieceSize + 4096) }
                try readContent(index, into: &bytes)
            } else {
                try writeStep(into: &bytes)
            }
        }
        if case .done = step { try prove(until: .max) }
        return bytes.isEmpty ? nil : .bytes(bytes)
    }

    /// Verifies the members whose spans ended before `count` bytes were returned.
    private func prove(until count: Int64) throws {
        while let (member, end) = unproven.first, end <= count {
            try verify(member)
            unproven.removeFirst()
        }
    }

    /// Writes one part that is not a file's content, as far as it is requested, and continues with the next.
    private func writeStep(into bytes: inout [UInt8]) throws {
        switch step {
        case .header(let index):
            guard index < plan.count else {
                step = .directory(0)
                return
            }
            let member = plan[index]
            put(length: format.headerLength(of: member), into: &bytes) { format.header(of: member) }
            step = .content(index)
        case .trailer(let index):
            let member = plan[index]
            try put(length: format.trailerLength(of: member), into: &bytes) {
                format.trailer(of: member, checksum: try checksum(of: index, size: member.size))
            }
            step = .header(index + 1)
        case .directory(let index):
            guard format.needsChecksums, index < plan.count else {
                step = .end
                return
            }
            let member = plan[index]
            try put(length: format.directoryLength(of: member, offset: memberOffset), into: &bytes) {
                format.directoryEntry(
                    of: member, offset: memberOffset, checksum: try checksum(of: index, size: member.size))
            }
            memberOffset += try ArchiveLayout.extent(of: member, format: format)
            step = .directory(index + 1)
        case .end:
            let end = format.end(
                count: plan.count, directoryOffset: layout.directoryOffset, directoryLength: layout.directoryLength)
            put(length: end.count, into: &bytes) { end }
            step = .done
        case .content, .done: break
        }
    }

    /// Adds the requested bytes of a part; the part is not made when none of them is requested.
    private func put(length: Int, into bytes: inout [UInt8], _ part: () throws -> [UInt8]) rethrows {
        let start = offset
        offset += Int64(length)
        guard offset > range.lowerBound, start < range.upperBound, length > 0 else { return }
        let from = Int(max(0, range.lowerBound - start))
        let to = Int(min(Int64(length), range.upperBound - start))
        bytes += try part()[from..<to]
    }
}

extension ArchiveProducer {
    /// The span of a file's content that need not be read here: it is large, its checksum is known, and enough follows.
    private func directSpan(_ index: Int) -> Range<Int64>? {
        guard readsDirectly, file == nil else { return nil }
        let size = plan[index].size
        let from = max(0, range.lowerBound - offset)
        let to = min(size, range.upperBound - Self.readAtEnd - offset)
        guard to - from >= Self.directSize, !format.needsChecksums || checksums[index] != nil else { return nil }
        return from..<to
    }

    /// Returns a span of a file; what is then still requested of it is read here.
    private func direct(_ index: Int, _ span: Range<Int64>) throws -> Piece {
        let entry = try open(index)
        unproven.append((index, given.end + Int64(span.count)))
        let end = min(plan[index].size, range.upperBound - offset)
        if span.upperBound < end {
            file = OpenFile(
                entry: entry, position: span.upperBound, end: end, firstWanted: span.upperBound, checksum: nil)
        } else {
            pass(index)
        }
        return .file(entry, span)
    }

    /// Continues to read a file until the piece is full or the file ends.
    private func readContent(_ index: Int, into bytes: inout [UInt8]) throws {
        if file == nil {
            let size = plan[index].size
            guard try begin(index, size: size) else { return pass(index) }
        }
        while var reading = file, reading.position < reading.end, bytes.count < Self.pieceSize {
            let isWanted = reading.position >= reading.firstWanted
            let left = (isWanted ? reading.end : reading.firstWanted) - reading.position
            let count = Int(min(Int64(Self.pieceSize), left))
            let read = try unsafe read(count, of: reading.entry, at: reading.position, member: index)
            if let checksum = reading.checksum {
                reading.checksum = unsafe checksum_crc32(checksum, read.baseAddress, read.count)
            }
            if isWanted { unsafe bytes.append(contentsOf: read.bindMemory(to: UInt8.self)) }
            reading.position += Int64(count)
            file = reading
        }
        guard let reading = file, reading.position >= reading.end else { return }
        file = nil
        try verify(index)
        if let checksum = reading.checksum { checksums[index] = checksum }
        pass(index)
    }

    /// Opens a file if any of its bytes is requested.
    private func begin(_ index: Int, size: Int64) throws -> Bool {
        let from = max(0, range.lowerBound - offset)
        let to = min(size, range.upperBound - offset)
        guard from < to else { return false }
        let entry = try open(index)
        // The checksum is needed when something after the content is requested.
        let isChecked = format.needsChecksums && checksums[index] == nil && range.upperBound > offset + size
        file = OpenFile(
            entry: entry, position: isChecked ? 0 : from, end: to, firstWanted: from, checksum: isChecked ? 0 : nil)
        return true
    }

    /// Checks that a member has not changed since the archive was planned.
    private func verify(_ index: Int) throws {
        guard let now = try found({ try share.attributes(of: plan.path(at: index)) }), plan.describes(now, at: index)
        else { throw changed(index) }
    }

    private func pass(_ index: Int) {
        offset += plan[index].size
        step = .trailer(index)
    }

    private func open(_ index: Int) throws -> Entry {
        guard let entry = try found({ try share.open(plan.path(at: index)) }),
            plan.describes(entry.attributes, at: index)
        else { throw changed(index) }
        waitOut(entry.attributes.changed)
        return entry
    }

    /// The result of `look`; nil when nothing is there any more.
    private func found<Found>(_ look: () throws -> Found) throws -> Found? {
        do {
            return try look()
        } catch let error as RootError where error.meansAbsent {
            return nil
        }
    }

    private func changed(_ index: Int) -> ArchiveChanged { ArchiveChanged(path: plan.path(at: index)) }

    /// Waits until any further change would get a different time than this last one.
    private func waitOut(_ change: Timestamp) {
        let now = RootClock.system.wall()
        let over = change.advanced(by: Self.tick)
        guard change <= now, now < over else { return }
        usleep(UInt32(Self.tick / .microseconds(1)))
    }

    /// A member's checksum, read from the disk if it is not known yet.
    private func checksum(of index: Int, size: Int64) throws -> UInt32 {
        guard format.needsChecksums, size > 0 else { return 0 }
        if let known = checksums[index] { return known }
        if let text = plan.text(at: index) {
            return unsafe text.withUnsafeBytes { unsafe checksum_crc32(0, $0.baseAddress, $0.count) }
        }
        let entry = try open(index)
        var checksum: UInt32 = 0
        var position: Int64 = 0
        while position < size {
            try Task.checkCancellation()
            let count = Int(min(Int64(Self.pieceSize), size - position))
            let read = try unsafe read(count, of: entry, at: position, member: index)
            checksum = unsafe checksum_crc32(checksum, read.baseAddress, read.count)
            position += Int64(read.count)
        }
        try verify(index)
        checksums[index] = checksum
        return checksum
    }

    /// Reads exactly `count` bytes of a member's file, at most a piece.
    /// - Returns: the bytes, valid until the next call.
    private func read(
        _ count: Int, of entry: Entry, at position: Int64, member index: Int
    ) throws -> UnsafeRawBufferPointer {
        var filled = 0
        while filled < count {
            let read = try unsafe entry.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<count]), at: position + Int64(filled))
            guard read > 0 else { throw changed(index) }
            filled += read
        }
        return unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }
}
