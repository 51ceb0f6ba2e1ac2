extension SharePath {
    /// Whether some letters are written in parts, a base and its marks, as Apple's systems write all of them (NFD).
    package var mayBeDecomposed: Bool {
        guard bytes.contains(where: { $0 >= 0x80 }), let text = String(validating: bytes, as: UTF8.self) else {
            return false
        }
        return text.unicodeScalars.contains { scalar in
            // The parts of Korean syllables are no marks.
            scalar.properties.canonicalCombiningClass != .notReordered || (0x1161...0x11FF).contains(scalar.value)
        }
    }
}
