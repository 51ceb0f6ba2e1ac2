/// The frame around the payload of every state file, by which a torn or foreign file is recognised.
///
///     shareserve 1 <generation> <payload bytes> <checksum><LF><payload><padding>
///
/// The numbers are 16 hexadecimal digits. The padding's length depends on the generation, so that two versions written
/// within one tick of a coarse clock differ in size too.
struct StateEnvelope {
    var generation: UInt64
    var payload: [UInt8]

    init(generation: UInt64, payload: [UInt8]) {
        self.generation = generation
        self.payload = payload
    }

    private static let magic = Array("shareserve 1 ".utf8)
    private static let headCount = magic.count + 3 * 17

    init(file: [UInt8]) throws(DamagedState) {
        guard file.count >= Self.headCount, file.starts(with: Self.magic) else { throw DamagedState() }
        var position = Self.magic.count
        var numbers: [UInt64] = []
        for separator in [UInt8(ascii: " "), UInt8(ascii: " "), UInt8(ascii: "\n")] {
            guard file[position + 16] == separator,
                let number = UInt64(String(decoding: file[position..<position + 16], as: UTF8.self), radix: 16)
            else { throw DamagedState() }
            numbers.append(number)
            position += 17
        }
        guard numbers[1] <= UInt64(file.count - position) else { throw DamagedState() }
        payload = Array(file[position..<position + Int(numbers[1])])
        guard Self.sum(payload) == numbers[2] else { throw DamagedState() }
        generation = numbers[0]
    }

    /// The whole file.
    func encoded() -> [UInt8] {
        var file: [UInt8] = []
        file.reserveCapacity(Self.headCount + payload.count + 64)
        file.append(contentsOf: Self.magic)
        for (number, separator) in [(generation, " "), (UInt64(payload.count), " "), (Self.sum(payload), "\n")] {
            let digits = String(number, radix: 16)
            file.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 16 - digits.utf8.count))
            file.append(contentsOf: digits.utf8)
            file.append(contentsOf: separator.utf8)
        }
        file.append(contentsOf: payload)
        file.append(contentsOf: repeatElement(UInt8(ascii: "\n"), count: Int(generation % 61)))
        return file
    }

    /// Not protected against malice: whoever can write here can write anything.
    ///
    /// Processes eight bytes per step, so that it costs next to nothing.
    static func sum(_ bytes: [UInt8]) -> UInt64 {
        unsafe bytes.withUnsafeBytes { buffer in
            var sum: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(buffer.count)
            var position = 0
            while position + 8 <= buffer.count {
                sum = unsafe mix(sum, buffer.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian)
                position += 8
            }
            while position < buffer.count {
                sum = unsafe mix(sum, UInt64(buffer[position]) &+ 0x100)
                position += 1
            }
            return sum
        }
    }

    private static func mix(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let product = (sum ^ word) &* 0xFF51_AFD7_ED55_8CCD
        return product ^ (product >> 32)
    }
}
