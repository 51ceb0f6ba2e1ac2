/// A strong entity tag: size, modification time to the nanosecond, inode and (where kept) birth time.
///
/// RFC 9110 §8.8.3. Uploads stamp their files with the clock's full nanoseconds, or, in memory, create a new file whose
/// inode number was never used before: two contents written through the server within one kernel tick differ too.
public struct EntityTag: Hashable, Sendable {
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int32
    private let inode: UInt64
    private let birth: Int64

    init(_ attributes: FileAttributes) {
        size = attributes.size
        seconds = attributes.modified.seconds
        nanoseconds = attributes.modified.nanoseconds
        inode = attributes.inode
        birth = attributes.created.map { $0.seconds &* 1_000_000_000 &+ Int64($0.nanoseconds) } ?? 0
    }

    /// Appends the quoted tag as it stands in an `ETag` field: at most 61 ASCII characters.
    public func write(to buffer: inout [UInt8]) {
        // Every member of a listing has a tag: made on the stack and appended in one go.
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.room) { text in
            guard let start = text.baseAddress else { return }
            unsafe buffer.append(contentsOf: text[..<write(at: start)])
        }
    }

    /// Writes the quoted tag at `start`, where there must be ``room`` bytes, and returns its length.
    package func write(at start: UnsafeMutablePointer<UInt8>) -> Int {
        var end = unsafe start
        unsafe Self.put("\"", to: &end)
        unsafe Self.put(hex: inode, to: &end)
        unsafe Self.put("-", to: &end)
        unsafe Self.put(hex: UInt64(bitPattern: size), to: &end)
        unsafe Self.put("-", to: &end)
        unsafe Self.put(hex: UInt64(bitPattern: seconds &* 1_000_000_000 &+ Int64(nanoseconds)), to: &end)
        if birth != 0 {
            unsafe Self.put("-", to: &end)
            // Only its low half: enough to tell two inodes that were given the same number apart.
            unsafe Self.put(hex: UInt64(bitPattern: birth) & 0xFFFF_FFFF, to: &end)
        }
        unsafe Self.put("\"", to: &end)
        return unsafe end - start
    }

    /// Bytes for three numbers of 16 digits, one of 8, what stands between them, and what ``put(_:digits:to:)`` writes
    /// past the end.
    package static let room = 3 * 16 + 8 + 5 + 7

    /// The quoted tag as text.
    public var text: String {
        unsafe String(unsafeUninitializedCapacity: Self.room) { text in
            guard let start = text.baseAddress else { return 0 }
            return unsafe write(at: start)
        }
    }

    @inline(__always)
    private static func put(_ character: Unicode.Scalar, to end: inout UnsafeMutablePointer<UInt8>) {
        unsafe end.pointee = UInt8(ascii: character)
        unsafe end += 1
    }

    private static func put(hex value: UInt64, to end: inout UnsafeMutablePointer<UInt8>) {
        let (high, low) = (UInt32(value >> 32), UInt32(truncatingIfNeeded: value))
        if high == 0 {
            unsafe put(low, digits: low == 0 ? 1 : (35 - low.leadingZeroBitCount) / 4, to: &end)
        } else {
            unsafe put(high, digits: (35 - high.leadingZeroBitCount) / 4, to: &end)
            unsafe put(low, digits: 8, to: &end)
        }
    }

    /// Writes the last 1 to 8 hexadecimal digits of a number in one store; always stores 8 bytes, whatever `digits` is.
    @inline(__always)
    private static func put(_ value: UInt32, digits: Int, to end: inout UnsafeMutablePointer<UInt8>) {
        // Each digit in a byte of its own.
        var word = UInt64(value)
        word = (word | word << 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word << 8) & 0x00FF_00FF_00FF_00FF
        word = (word | word << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in each byte above 9: those become letters, which are 39 code points further on.
        let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        word = word &+ 0x3030_3030_3030_3030 &+ letters &* 39
        unsafe UnsafeMutableRawPointer(end).storeBytes(
            of: (word << UInt64(64 - 8 * digits)).bigEndian, as: UInt64.self)
        unsafe end += digits
    }
}
