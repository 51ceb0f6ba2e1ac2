internal import CChecksums
internal import CZlib

/// Makes a gzip member, piece by piece, with libz.
///
/// RFC 1952. Used by one task at a time.
///
/// The frame around the compressed bytes is written here and not by libz: its checksum took 4 % of the time at level 5,
/// that of `CChecksums` next to nothing.
///
/// Every pointer that libz gets lives only as long as the call that gets it.
@safe package final class Deflater: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>
    private var checksum: UInt32 = 0
    /// Modulo 2^32, as the trailer has it.
    private var length: UInt32 = 0
    private var hasBegun = false

    /// Magic, deflate, no name, no time, from Unix.
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    /// Between what a file takes of the processor and what it takes of the line.
    private static let levelOfFiles: Int32 = 5

    /// Makes ready to compress.
    /// - Parameters:
    ///   - level: 1, fast, to 9, small.
    ///   - size: how many bytes will come, where that is known: a few kilobytes need no tables of 256 KiB.
    /// - Throws: ``GzipError/noMemory``.
    package init(level: Int32 = levelOfFiles, expecting size: Int64 = .max) throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // A window and a table of matches that hold it all, so that it becomes hardly longer.
        let isSmall = size <= 4_096
        let outcome = unsafe deflateInit2_(
            stream, level, Z_DEFLATED, isSmall ? -12 : -15, isSmall ? 6 : 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard outcome == Z_OK else {
            // deflateEnd in deinit accepts a stream that was never made ready.
            throw .noMemory
        }
        if level == Self.levelOfFiles { tune() }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Looks at 24 places for a match instead of the level's 32, and at a quarter of them once it has one of 4 bytes
    /// instead of 8.
    ///
    /// Source code, packages' descriptions and JSON took 8 to 22 % less time and became up to 1 % longer.
    private func tune() {
        // It fails only for a stream that was never made ready.
        _ = unsafe deflateTune(stream, 4, 16, 32, 24)
    }

    /// Compresses some bytes; nothing of them may come out until more have gone in.
    package func compress(_ bytes: [UInt8]) -> [UInt8] { run(bytes, Z_NO_FLUSH) }

    /// Compresses some bytes and lets out everything, so that a listing shows while it grows.
    package func flush(_ bytes: [UInt8] = []) -> [UInt8] { run(bytes, Z_SYNC_FLUSH) }

    /// The last bytes of the stream.
    package func finish(_ bytes: [UInt8] = []) -> [UInt8] {
        var result = run(bytes, Z_FINISH)
        for number in [checksum, length] {
            unsafe withUnsafeBytes(of: number.littleEndian) { unsafe result.append(contentsOf: $0) }
        }
        return result
    }

    private func run(_ bytes: [UInt8], _ flush: Int32) -> [UInt8] {
        var result = hasBegun ? [] : Self.header
        hasBegun = true
        unsafe bytes.withUnsafeBufferPointer { input in
            checksum = unsafe checksum_crc32(checksum, input.baseAddress, input.count)
            length &+= UInt32(truncatingIfNeeded: input.count)
            unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
            repeat {
                result.append(contentsOf: step(flush))
                // Less than the room given means that libz has nothing more to say.
            } while unsafe stream.pointee.avail_out == 0
            unsafe stream.pointee.next_in = nil
        }
        return result
    }

    private func step(_ flush: Int32) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32_768) { buffer, count in
            unsafe stream.pointee.next_out = buffer.baseAddress
            unsafe stream.pointee.avail_out = UInt32(clamping: buffer.count)
            let given = unsafe Int(stream.pointee.avail_out)
            // It fails only when it has nothing to do, and then gives nothing either: the count tells.
            _ = unsafe deflate(stream, flush)
            count = unsafe given - Int(stream.pointee.avail_out)
            unsafe stream.pointee.next_out = nil
        }
    }
}

/// Why a gzip stream cannot be written or read.
package enum GzipError: Error, Equatable, Sendable {
    /// libz found no memory.
    case noMemory
    /// These bytes are not gzip, are damaged, or go on after the end.
    case malformed
    /// The stream ended in its middle.
    case truncated
    /// More comes out than the limits allow.
    case expandsTooMuch
}
