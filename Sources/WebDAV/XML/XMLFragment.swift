internal import DirectoryRoot

/// Writes one element again, as XML that stands on its own: its prefixes, attributes and text as sent, and every
/// namespace that it uses, also by a prefix in a value, declared inside it.
///
/// RFC 4918 §4.3.
enum XMLFragment {
    /// The element's XML, with the `xml:lang` in scope added if it has none of its own.
    static func bytes(of element: XMLElement) -> [UInt8] {
        var writer = XMLWriter(capacity: 256)
        var declared: [String: String] = ["xml": "http://www.w3.org/XML/1998/namespace", "": ""]
        // Prefixes may occur in text (XPath, QName values): those are declared on the outermost element.
        var inValues: Set<String> = []
        collectPrefixes(element, into: &inValues)
        let carried = inValues.sorted().compactMap { prefix in
            prefix == "xml" ? nil : element.scope.uri(of: prefix).map { (prefix, $0) }
        }
        let needsLanguage =
            !element.language.isEmpty
            && !element.attributes.contains { $0.prefix == "xml" && $0.name.local == "lang" }
        write(
            element, to: &writer, declared: &declared, carried: carried,
            language: needsLanguage ? element.language : nil)
        return writer.take()
    }

    private static func write(
        _ element: XMLElement, to writer: inout XMLWriter, declared outer: inout [String: String],
        carried: [(prefix: String, uri: String)] = [], language: String? = nil, within around: NamespaceScope? = nil
    ) {
        var declared = outer
        writer.append("<")
        writeName(element.prefix, element.name.local, to: &writer)
        func declare(_ prefix: String, _ uri: String) {
            guard declared[prefix] != uri else { return }
            declared[prefix] = uri
            writer.append(prefix.isEmpty ? " xmlns" : " xmlns:")
            writer.append(bytes: prefix.utf8)
            writer.append("=\"")
            writer.appendAttribute(Array(uri.utf8))
            writer.append("\"")
        }
        declare(element.prefix, element.name.namespace)
        for attribute in element.attributes where !attribute.prefix.isEmpty {
            declare(attribute.prefix, attribute.name.namespace)
        }
        for (prefix, uri) in carried where declared[prefix] == nil { declare(prefix, uri) }
        if let around, around !== element.scope {
            for (prefix, uri) in element.scope.declared { declare(prefix, uri) }
        }
        if let language {
            writer.append(" xml:lang=\"")
            writer.appendAttribute(Array(language.utf8))
            writer.append("\"")
        }
        for attribute in element.attributes {
            writer.append(" ")
            writeName(attribute.prefix, attribute.name.local, to: &writer)
            writer.append("=\"")
            writer.appendAttribute(attribute.value)
            writer.append("\"")
        }
        guard !element.children.isEmpty else {
            writer.append("/>")
            return
        }
        writer.append(">")
        for child in element.children {
            switch child {
            case .text(let text): writer.appendText(text)
            case .element(let inner): write(inner, to: &writer, declared: &declared, within: element.scope)
            }
        }
        writer.append("</")
        writeName(element.prefix, element.name.local, to: &writer)
        writer.append(">")
    }

    private static func writeName(_ prefix: String, _ local: String, to writer: inout XMLWriter) {
        if !prefix.isEmpty {
            writer.append(bytes: prefix.utf8)
            writer.append(":")
        }
        writer.append(bytes: local.utf8)
    }

    /// Collects every word before a colon in text and attribute values.
    private static func collectPrefixes(_ element: XMLElement, into prefixes: inout Set<String>) {
        for attribute in element.attributes { collectPrefixes(attribute.value, into: &prefixes) }
        for child in element.children {
            switch child {
            case .text(let text): collectPrefixes(text, into: &prefixes)
            case .element(let inner): collectPrefixes(inner, into: &prefixes)
            }
        }
    }

    private static func collectPrefixes(_ text: [UInt8], into prefixes: inout Set<String>) {
        for (index, byte) in text.enumerated() where byte == UInt8(ascii: ":") {
            let word = text[..<index].suffix(64).reversed().prefix { byte in
                byte > 0x7F || (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
            }
            if !word.isEmpty, prefixes.count < 256 {
                prefixes.insert(String(decoding: word.reversed(), as: UTF8.self))
            }
        }
    }
}
