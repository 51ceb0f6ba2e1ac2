/// An output buffer of one event loop, used for the connection that it is serving at the moment.
///
/// One for each loop, not for each connection: idle connections hold no memory for output. It is empty whenever the
/// loop leaves a connection.
@safe final class OutBuffer {
    private let capacity: Int

    private let base: UnsafeMutableRawPointer
    private(set) var count = 0

    /// - Parameter capacity: the number of bytes it holds; when it is full, it is sent before more is added.
    init(capacity: Int = 256 * 1_024) {
        self.capacity = capacity
        unsafe base = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit { unsafe base.deallocate() }

    /// The number of bytes that still fit.
    var freeBytes: Int { capacity - count }

    /// The buffered bytes.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    /// The free part, to read into directly; to be followed by ``advance(by:)``.
    var free: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
    }

    func advance(by more: Int) { count += min(max(more, 0), freeBytes) }

    func clear() { count = 0 }

    /// Appends bytes, which must fit: see ``freeBytes``.
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count <= freeBytes else { return }
        unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    func append(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func append(_ text: String) {
        // Nearly all strings are contiguous, and need no copy to be read.
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe append(UnsafeRawBufferPointer(bytes))
        }
        guard isDone == nil else { return }
        var whole = text
        whole.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    func append(byte: UInt8) {
        guard freeBytes > 0 else { return }
        unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    func append(decimal number: Int64) {
        var rest = number.magnitude
        if number < 0 { append(byte: UInt8(ascii: "-")) }
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(byte: 48 + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    func append(hexadecimal number: Int) {
        var shift = max(0, (63 - number.leadingZeroBitCount) / 4 * 4)
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: (number >> shift) & 15)
            append(byte: digit < 10 ? digit + 48 : digit + 87)
            shift -= 4
        }
    }
}
