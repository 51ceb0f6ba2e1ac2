internal import CChecksums
internal import CZlib

/// Compresses to one gzip member, piece by piece, with zlib.
///
/// RFC 1952. Used by one task at a time.
///
/// The gzip header and trailer are written here and not by zlib: its checksum took 4 % of the time at level 5, that of
/// `CChecksums` next to nothing.
///
/// Every pointer that zlib gets lives only as long as the call that gets it.
@safe package final class Deflater: @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>
    private var checksum: UInt32 = 0
    /// The number of input bytes modulo 2^32, as in the trailer.
    private var length: UInt32 = 0
    private var hasBegun = false

    /// Magic, deflate, no name, no time, from Unix.
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    /// A compromise between processor time and transferred bytes.
    private static let levelOfFiles: Int32 = 5

    /// Prepares for compression.
    /// - Parameters:
    ///   - level: from 1 (fast) to 9 (small).
    ///   - size: the number of input bytes, if known: a few kilobytes need no tables of 256 KiB.
    /// - Throws: ``GzipError/noMemory``.
    package init(level: Int32 = levelOfFiles, expecting size: Int64 = .max) throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // A window and a hash table just large enough for all of it, so that the result is hardly longer.
        let isSmall = size <= 4_096
        let outcome = unsafe deflateInit2_(
            stream, level, Z_DEFLATED, isSmall ? -12 : -15, isSmall ? 6 : 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard outcome == Z_OK else {
            // deflateEnd in deinit accepts a stream that was never initialised.
            throw .noMemory
        }
        if level == Self.levelOfFiles { tune() }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Searches 24 positions for a match instead of the level's 32, and a quarter of them once it has one of 4 bytes
    /// instead of 8.
    ///
    /// Source code, package metadata and JSON took 8 to 22 % less time, and became up to 1 % longer.
    private func tune() {
        // It fails only for a stream that was never initialised.
        _ = unsafe deflateTune(stream, 4, 16, 32, 24)
    }

    /// Compresses some bytes; their output may be delayed until more input has come.
    package func compress(_ bytes: [UInt8]) -> [UInt8] { run(bytes, Z_NO_FLUSH) }

    /// Compresses some bytes and outputs everything so far, so that a listing shows while it grows.
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
                // If the output buffer is not full, zlib has no more output.
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
            // It fails only when there is nothing to do, and then outputs nothing: the count shows that.
            _ = unsafe deflate(stream, flush)
            count = unsafe given - Int(stream.pointee.avail_out)
            unsafe stream.pointee.next_out = nil
        }
    }
}

/// Why a gzip stream can't be written or read.
package enum GzipError: Error, Equatable, Sendable {
    /// zlib found no memory.
    case noMemory
    /// These bytes are not gzip, are damaged, or continue after the end.
    case malformed
    /// The stream ended before its end marker.
    case truncated
    /// The output exceeds the limits.
    case expandsTooMuch
}
