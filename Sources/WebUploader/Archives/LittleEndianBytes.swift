/// Bytes in little-endian order, as ZIP writes its numbers.
struct LittleEndianBytes {
    var bytes: [UInt8] = []

    mutating func add(_ value: UInt16) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }
    mutating func add(_ value: UInt32) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }
    mutating func add(_ value: UInt64) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }
    mutating func add(_ value: [UInt8]) { bytes.append(contentsOf: value) }
}
