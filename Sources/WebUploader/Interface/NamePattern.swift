#if canImport(Darwin)
    import Foundation
#else
    // Decomposing text is built into the standard library; the public way to it is all of Foundation, which would be
    // most of the program's size.
    @_spi(_Unicode) import Swift
#endif

/// A text that a name must contain, ignoring case and accents, like the page's filter.
struct NamePattern: Sendable {
    private let folded: [UInt8]

    /// The pattern; nil when there is nothing to search for.
    init?(_ text: String) {
        folded = Self.fold(text)
        guard !folded.isEmpty else { return nil }
    }

    /// Whether a name contains the text.
    func matches(_ name: [UInt8]) -> Bool {
        let name = name.allSatisfy { $0 < 0x80 } ? name : Self.fold(String(decoding: name, as: UTF8.self))
        guard name.count >= folded.count else { return false }
        let first = folded[0]
        for start in 0...(name.count - folded.count) where Self.lower(name[start]) == first {
            var length = 1
            while length < folded.count, Self.lower(name[start + length]) == folded[length] { length += 1 }
            if length == folded.count { return true }
        }
        return false
    }

    /// Lower-case letters without their marks, decomposed.
    private static func fold(_ text: String) -> [UInt8] {
        var folded: [UInt8] = []
        for scalar in decompose(text.lowercased()) {
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .spacingMark, .enclosingMark: continue
            default: folded += UTF8.encode(scalar).map { Array($0) } ?? []
            }
        }
        return folded
    }

    /// The canonical decomposition.
    private static func decompose(_ text: String) -> some Sequence<Unicode.Scalar> {
        #if canImport(Darwin)
            text.decomposedStringWithCanonicalMapping.unicodeScalars
        #else
            text._nfd
        #endif
    }

    private static func lower(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }
}
