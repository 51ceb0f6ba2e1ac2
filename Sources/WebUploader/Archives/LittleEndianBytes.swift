/// Bytes in little-endian order, as ZIP writes its numbers.
struct LittleEndianBytes {
    var bytes: [UInt8] = []

    mutating func add(_ value: UInt16) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }
    mutating func add(_ value: UInt32) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }
    mutating func add(_ value: UInt64) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }
    mutating func add(_ value: [UInt8]) { bytes.append(contentsOf: value) }
}
