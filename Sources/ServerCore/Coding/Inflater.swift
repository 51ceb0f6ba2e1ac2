internal import CZlib

/// Decompresses gzip, piece by piece, with zlib, and stops when the output exceeds its limits.
///
/// Used by one task at a time.
///
/// Feed some bytes, then take pieces until there are none; a piece is never larger than ``pieceSize``, however much the
/// input expands. Consecutive gzip members form one stream. RFC 1952 §2.2.
@safe package final class Inflater: @unchecked Sendable {
    /// The largest piece, in bytes.
    package static let pieceSize = 65_536

    private let stream: UnsafeMutablePointer<z_stream>
    private let maxRatio: Int64
    private let maxBytes: Int64
    private var input: [UInt8] = []
    private var used = 0
    private var bytesIn: Int64 = 0
    private var bytesOut: Int64 = 0
    private var isAtEnd = false
    private var hasMore = false

    /// Prepares for decompression.
    /// - Parameters:
    ///   - maxRatio: how many times as large as the input the output may be, beyond the first mebibyte.
    ///   - maxBytes: the most bytes of output.
    /// - Throws: ``GzipError/noMemory``.
    package init(maxRatio: Int64 = 128, maxBytes: Int64 = .max) throws(GzipError) {
        self.maxRatio = maxRatio
        self.maxBytes = maxBytes
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let outcome = unsafe inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard outcome == Z_OK else { throw .noMemory }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Passes the next input bytes.
    ///
    /// Take every piece before the next call.
    package func feed(_ bytes: [UInt8]) {
        input = used < input.count ? Array(input[used...]) + bytes : bytes
        used = 0
        bytesIn = bytesIn.addingReportingOverflow(Int64(bytes.count)).partialValue
    }

    /// The next piece of output; nil when more input is needed.
    package func piece() throws(GzipError) -> [UInt8]? {
        while true {
            if isAtEnd {
                guard used < input.count else { return nil }
                guard unsafe inflateReset(stream) == Z_OK else { throw .malformed }
                isAtEnd = false
            }
            guard used < input.count || hasMore else { return nil }
            let piece = try step()
            if !piece.isEmpty { return piece }
        }
    }

    /// Ends the input.
    /// - Throws: ``GzipError/truncated`` when the stream has not ended.
    package func finish() throws(GzipError) {
        guard isAtEnd, used == input.count else { throw .truncated }
    }

    private func step() throws(GzipError) -> [UInt8] {
        var outcome = Z_OK
        let piece = unsafe input.withUnsafeBufferPointer { input in
            let rest = unsafe UnsafeBufferPointer(rebasing: input[used...])
            unsafe stream.pointee.next_in = unsafe UnsafeMutablePointer(mutating: rest.baseAddress)
            unsafe stream.pointee.avail_in = UInt32(clamping: rest.count)
            let given = unsafe Int(stream.pointee.avail_in)
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
                unsafe stream.pointee.next_out = buffer.baseAddress
                unsafe stream.pointee.avail_out = UInt32(clamping: Self.pieceSize)
                outcome = unsafe inflate(stream, Z_NO_FLUSH)
                count = unsafe Self.pieceSize - Int(stream.pointee.avail_out)
                unsafe stream.pointee.next_out = nil
            }
            unsafe used += given - Int(stream.pointee.avail_in)
            unsafe stream.pointee.next_in = nil
            return piece
        }
        // A full piece may have left output inside zlib, without any input left.
        hasMore = piece.count == Self.pieceSize && outcome == Z_OK
        bytesOut += Int64(piece.count)
        switch outcome {
        case Z_STREAM_END: isAtEnd = true
        case Z_OK, Z_BUF_ERROR: break
        case Z_MEM_ERROR: throw .noMemory
        default: throw .malformed
        }
        let (grown, overflow) = bytesIn.multipliedReportingOverflow(by: maxRatio)
        guard bytesOut <= maxBytes, overflow || bytesOut <= 1_048_576 || bytesOut <= grown else {
            throw .expandsTooMuch
        }
        return piece
    }
}
