/// Checks a body before the parser sees it, for what would cost the parser more than it is worth.
///
/// libxml2 compares each attribute of an element with all others, so a megabyte of attributes takes minutes; and it
/// reads document type declarations, which no method needs. On a well-formed body this scan sees what the parser sees;
/// on any other the parser stops at the first error anyway.
struct XMLBounds {
    static let maxDepth = 256
    static let maxAttributes = 256
    /// Names are compared, stored and repeated; no client's are longer.
    static let maxNameBytes = 4096

    private let text: [UInt8]
    private let maxDepth: Int
    private var position = 0
    private var depth = 0

    /// - Throws: ``XMLError/documentType``, ``XMLError/tooComplex``, or ``XMLError/malformed`` for a NUL.
    static func check(_ text: [UInt8], maxDepth: Int = Self.maxDepth) throws(XMLError) {
        guard !text.contains(0) else { throw .malformed }
        var bounds = XMLBounds(text: text, maxDepth: min(maxDepth, Self.maxDepth))
        try bounds.scan()
    }

    private init(text: [UInt8], maxDepth: Int) {
        self.text = text
        self.maxDepth = maxDepth
    }

    private mutating func scan() throws(XMLError) {
        while let open = text[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = open + 1
            guard position < text.count else { return }
            switch text[position] {
            case UInt8(ascii: "?"): skip(past: "?>")
            case UInt8(ascii: "/"):
                depth -= 1
                skip(past: ">")
            case UInt8(ascii: "!"):
                if starts(with: "!--") {
                    position += 3
                    skip(past: "-->")
                } else if starts(with: "![CDATA[") {
                    skip(past: "]]>")
                } else {
                    throw .documentType
                }
            default: try tag()
            }
        }
    }

    /// Reads from after a start tag's `<` to after its `>`.
    private mutating func tag() throws(XMLError) {
        var attributes = 0
        var quote: UInt8?
        var nameBytes = 0
        while position < text.count {
            let byte = text[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
                continue
            }
            nameBytes += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
            case UInt8(ascii: "="):
                attributes += 1
                nameBytes = 0
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\t"), UInt8(ascii: "\r"): nameBytes = 0
            case UInt8(ascii: ">"):
                if position < 2 || text[position - 2] != UInt8(ascii: "/") { depth += 1 }
                guard depth <= maxDepth else { throw .tooComplex }
                return
            default: break
            }
            guard attributes <= Self.maxAttributes, nameBytes <= Self.maxNameBytes else { throw .tooComplex }
        }
    }

    private func starts(with token: StaticString) -> Bool {
        let end = position + token.utf8CodeUnitCount
        guard end <= text.count else { return false }
        return token.withUTF8Buffer { unsafe text[position..<end].elementsEqual($0) }
    }

    /// Moves past the next `token`, or to the end.
    private mutating func skip(past token: StaticString) {
        while position < text.count {
            if starts(with: token) {
                position += token.utf8CodeUnitCount
                return
            }
            position += 1
        }
    }
}
