/// The CRC-32 of each member of one archive, as far as known.
struct ChecksumTable: Sendable {
    private var values: [UInt32]
    private var isKnown: [UInt64]

    /// An empty table for `count` members.
    init(count: Int) {
        values = [UInt32](repeating: 0, count: count)
        isKnown = [UInt64](repeating: 0, count: (count + 63) / 64)
    }

    var count: Int { values.count }

    /// A member's checksum; nil when it is not known yet.
    subscript(index: Int) -> UInt32? {
        get { isKnown[index / 64] >> UInt64(index % 64) & 1 == 1 ? values[index] : nil }
        set {
            guard let newValue else { return }
            values[index] = newValue
            isKnown[index / 64] |= 1 << UInt64(index % 64)
        }
    }

    /// Adds the checksums from another table of the same archive.
    mutating func learn(from other: ChecksumTable) {
        guard other.count == count else { return }
        for index in 0..<count where self[index] == nil { self[index] = other[index] }
    }
}
