/// An HTML document of ours with slots, `{{name}}`, for values.
///
/// Parsed once; the values are written by the caller, each with the escaping that its place requires.
struct PageTemplate: Sendable {
    private enum Part: Sendable {
        case text([UInt8])
        case slot(String)
    }

    private let parts: [Part]

    /// Parses a document; a slot's name consists of letters only, anything else between braces is text.
    init(_ document: [UInt8]) {
        var parts: [Part] = []
        var textStart = 0
        var index = 0
        let brace = UInt8(ascii: "{")
        while index + 1 < document.count {
            guard document[index] == brace, document[index + 1] == brace else {
                index += 1
                continue
            }
            let name = document[(index + 2)...].prefix { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }
            guard !name.isEmpty, document[name.endIndex...].starts(with: "}}".utf8) else {
                index += 1
                continue
            }
            parts.append(.text(Array(document[textStart..<index])))
            parts.append(.slot(String(decoding: name, as: UTF8.self)))
            index = name.endIndex + 2
            textStart = index
        }
        parts.append(.text(Array(document[textStart...])))
        self.parts = parts
    }

    /// Writes the document.
    /// - Parameters:
    ///   - writer: receives it.
    ///   - fill: called with the name of a slot, to write its value.
    func write(to writer: inout TextWriter, filling fill: (String, inout TextWriter) throws -> Void) rethrows {
        for part in parts {
            switch part {
            case .text(let text): writer.raw(text)
            case .slot(let name): try fill(name, &writer)
            }
        }
    }
}
