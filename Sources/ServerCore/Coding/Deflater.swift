internal import CZlib

/// Compresses a stream, piece by piece, with libz.
///
/// Used by one task at a time.
///
/// Every pointer that libz gets lives only as long as the call that gets it.
package final class Deflater: @unchecked Sendable {
    /// What stands around the compressed bytes.
    package enum Format: Sendable {
        /// A gzip member. RFC 1952.
        case gzip
        /// Nothing, as in a zip archive. RFC 1951.
        case raw
    }

    private let stream: UnsafeMutablePointer<z_stream>

    /// Makes ready to compress.
    /// - Parameters:
    ///   - format: what to write around the bytes.
    ///   - level: 1, fast, to 9, small.
    /// - Throws: ``GzipError/noMemory``.
    package init(_ format: Format = .gzip, level: Int32 = 5) throws(GzipError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let windowBits: Int32 = format == .gzip ? 15 + 16 : -15
        let outcome = deflateInit2_(
            stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard outcome == Z_OK else {
            // deflateEnd in deinit accepts a stream that was never made ready.
            throw .noMemory
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Compresses some bytes; what comes out may be empty until more has gone in.
    package func compress(_ bytes: [UInt8]) -> [UInt8] { run(bytes, Z_NO_FLUSH) }

    /// Compresses some bytes and lets out everything, so that a listing shows while it grows.
    package func flush(_ bytes: [UInt8] = []) -> [UInt8] { run(bytes, Z_SYNC_FLUSH) }

    /// The last bytes of the stream.
    package func finish(_ bytes: [UInt8] = []) -> [UInt8] { run(bytes, Z_FINISH) }

    private func run(_ bytes: [UInt8], _ flush: Int32) -> [UInt8] {
        var result: [UInt8] = []
        bytes.withUnsafeBufferPointer { input in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(clamping: input.count)
            var room = max(256, Int(deflateBound(stream, UInt(input.count))))
            repeat {
                result.append(contentsOf: step(room: room, flush))
                room = 16_384
                // Less than the room given means that libz has nothing more to say.
            } while stream.pointee.avail_out == 0
            stream.pointee.next_in = nil
        }
        return result
    }

    private func step(room: Int, _ flush: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(clamping: buffer.count)
            let given = Int(stream.pointee.avail_out)
            _ = deflate(stream, flush)
            count = given - Int(stream.pointee.avail_out)
            stream.pointee.next_out = nil
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

/// The CRC-32 that gzip and zip use.
///
/// RFC 1952 §8.
package struct CRC32: Sendable {
    /// The sum so far.
    package private(set) var value: UInt32 = 0

    package init() {}

    /// Goes on with some bytes.
    package mutating func update(_ bytes: [UInt8]) {
        value = bytes.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: crc32_z(UInt(value), $0.baseAddress, $0.count))
        }
    }
}
