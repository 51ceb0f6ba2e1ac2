/// Text that a name shall hold, whatever the case of its letters.
struct NamePattern: Sendable {
    private let bytes: [UInt8]
    /// Set when the text has other letters than ASCII's.
    private let text: String?

    /// The pattern; nil when there is nothing to look for.
    init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        let lower = text.lowercased()
        bytes = Array(lower.utf8)
        self.text = lower.utf8.allSatisfy { $0 < 0x80 } ? nil : lower
    }

    /// Whether a name holds the text.
    func matches(_ name: [UInt8]) -> Bool {
        if let text { return String(decoding: name, as: UTF8.self).lowercased().contains(text) }
        guard name.count >= bytes.count else { return false }
        let first = bytes[0]
        for start in 0...(name.count - bytes.count) where Self.lower(name[start]) == first {
            var length = 1
            while length < bytes.count, Self.lower(name[start + length]) == bytes[length] { length += 1 }
            if length == bytes.count { return true }
        }
        return false
    }

    private static func lower(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }
}
