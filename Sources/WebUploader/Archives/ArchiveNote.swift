/// The text at the end of an archive that lacks something: what, and why.
///
/// Bounded: what does not fit in ``maxBytes`` is counted only.
struct ArchiveNote: Sendable {
    /// Paths take no more bytes than this.
    static let maxBytes = 256 * 1024

    /// What the note is called at the top of the archive.
    /// - Parameter mark: tells it from a member that is called so, too.
    /// - Returns: a name.
    static func name(_ mark: some Collection<UInt8> = []) -> [UInt8] {
        Array("NOT-IN-THIS-ARCHIVE".utf8) + (mark.isEmpty ? [] : [UInt8(ascii: "-")] + mark) + Array(".txt".utf8)
    }

    private var lines = TextWriter(capacity: 0)
    private var count = 0
    private var listed = 0

    var isEmpty: Bool { count == 0 }
    /// Bytes that it holds, about.
    var byteCount: Int { lines.bytes.capacity }

    /// Adds something that is left out.
    /// - Parameters:
    ///   - path: relative to the archive's folder; raw bytes.
    ///   - isDirectory: whether all below it is left out, too.
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

    /// A name may hold line breaks: it must not look like a line of ours.
    private static func isLineBreakOrControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }
}
