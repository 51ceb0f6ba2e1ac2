/// The checksum of RFC 1950 §9.
struct Adler32: Sendable {
    private var a: UInt32 = 1
    private var b: UInt32 = 0

    mutating func update(_ bytes: [UInt8]) {
        // The most additions that cannot overflow before the remainder is taken.
        var rest = bytes[...]
        while !rest.isEmpty {
            for byte in rest.prefix(5552) {
                a &+= UInt32(byte)
                b &+= a
            }
            a %= 65_521
            b %= 65_521
            rest = rest.dropFirst(5552)
        }
    }

    var value: [UInt8] {
        let word = b << 16 | a
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
    }
}
