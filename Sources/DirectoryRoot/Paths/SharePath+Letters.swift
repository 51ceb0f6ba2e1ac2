extension SharePath {
    /// Whether some letters are decomposed into a base and its marks, as in Unicode normalization form D (NFD), which
    /// Apple's systems use.
    package var mayBeDecomposed: Bool {
        guard bytes.contains(where: { $0 >= 0x80 }), let text = String(validating: bytes, as: UTF8.self) else {
            return false
        }
        return text.unicodeScalars.contains { scalar in
            // The parts of Korean syllables have no combining class.
            scalar.properties.canonicalCombiningClass != .notReordered || (0x1161...0x11FF).contains(scalar.value)
        }
    }
}
