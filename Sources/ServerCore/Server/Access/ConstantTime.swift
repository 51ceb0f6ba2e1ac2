/// Comparison of what a client sent with what only the server may know.
enum ConstantTime {
    /// Compares without stopping at the first difference.
    static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for (x, y) in zip(a, b) { difference |= x ^ y }
        return difference == 0
    }
}
