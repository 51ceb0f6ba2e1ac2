/// An HTML document of ours with slots, `{{name}}`, that writers fill.
///
/// Cut apart once; the slots' values are written by whoever fills them, each with the escaping of its
/// place.
struct PageTemplate: Sendable {
    private enum Part: Sendable {
        case text([UInt8])
        case slot(String)
    }

    private let parts: [Part]

    /// Cuts a document apart; a slot's name is letters only, anything else between braces is text.
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
    ///   - writer: gets it.
    ///   - fill: writes the value of the slot that it is given the name of.
    func write(to writer: inout TextWriter, filling fill: (String, inout TextWriter) throws -> Void) rethrows {
        for part in parts {
            switch part {
            case .text(let text): writer.raw(text)
            case .slot(let name): try fill(name, &writer)
            }
        }
    }
}
