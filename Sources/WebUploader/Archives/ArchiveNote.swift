/// A text at the end of an incomplete archive: what is missing, and why.
///
/// Bounded: what does not fit into ``maxBytes`` is only counted.
struct ArchiveNote: Sendable {
    /// The most bytes of paths.
    static let maxBytes = 256 * 1024

    /// The note's name at the top of the archive.
    /// - Parameter mark: distinguishes it from a member that has the same name.
    /// - Returns: a name.
    static func name(_ mark: some Collection<UInt8> = []) -> [UInt8] {
        Array("NOT-IN-THIS-ARCHIVE".utf8) + (mark.isEmpty ? [] : [UInt8(ascii: "-")] + mark) + Array(".txt".utf8)
    }

    private var lines = TextWriter(capacity: 0)
    private var count = 0
    private var listed = 0

    var isEmpty: Bool { count == 0 }
    /// About how many bytes it holds.
    var byteCount: Int { lines.bytes.capacity }

    /// Adds something that was left out.
    /// - Parameters:
    ///   - path: relative to the archive's folder; raw bytes.
    ///   - isDirectory: whether everything below it is left out too.
    ///   - obstacle: the reason.
    mutating func add(_ path: [UInt8], isDirectory: Bool, _ obstacle: ReadingObstacle) {
        count += 1
        guard count == listed + 1, lines.count + path.count < Self.maxBytes else { return }
        listed = count
        for scalar in String(decoding: path, as: UTF8.self).unicodeScalars {
            lines.raw(Self.isLineBreakOrControl(scalar) ? "\u{FFFD}".utf8 : String(scalar).utf8)
        }
        if isDirectory { lines.raw("/ and all that is in it") }
        lines.raw(": ")
        lines.raw(obstacle.explanation)
        lines.raw("\n")
    }

    /// The whole text, in UTF-8.
    func text() -> [UInt8] {
        var text = TextWriter(capacity: lines.count + 160)
        text.raw("This archive is not complete. The server could not read:\n\n")
        text.raw(lines.bytes)
        if count > listed {
            text.raw("and ")
            text.integer(Int64(count - listed))
            text.raw(" more\n")
        }
        return text.take()
    }

    /// A name may contain line breaks: it must not look like a line of the note.
    private static func isLineBreakOrControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }
}
