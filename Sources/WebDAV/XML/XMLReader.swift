internal import CLibXML2
internal import DirectoryRoot
internal import ServerCore

/// Parses one request body into elements, with libxml2's SAX2 parser; the only owner of libxml2's memory.
///
/// No network, no document type, no entities but the five predefined ones, and limits on depth, attributes and names:
/// the cost of a hostile body is in proportion to its bytes.
@safe final class XMLReader {
    private let context: xmlParserCtxtPtr

    /// libxml2 needs its tables initialized once, before any thread parses.
    private static let prepare: Void = xmlInitParser()

    /// The root element of `body`.
    /// - Parameters:
    ///   - body: a whole document.
    ///   - charset: the encoding that the Content-Type names, if any.
    ///   - maxDepth: the most levels of elements.
    /// - Returns: the element with its content.
    /// - Throws: ``XMLError``.
    static func read(
        _ body: [UInt8], charset: String? = nil, maxDepth: Int = XMLBounds.maxDepth
    ) throws(XMLError) -> XMLElement {
        let text = try XMLText.decode(body, charset: charset)
        try XMLBounds.check(text, maxDepth: maxDepth)
        let builder = XMLTreeBuilder()
        guard !text.isEmpty else { throw .malformed }
        // The parser reads from `text` as long as it exists, so it exists only inside this call.
        let isWellFormed = unsafe text.withUnsafeBytes { bytes in
            guard let reader = unsafe XMLReader(bytes) else { return false }
            return reader.parse(into: builder)
        }
        if let refusal = builder.refusal { throw refusal }
        guard isWellFormed, let root = builder.root else { throw .malformed }
        return root
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        Self.prepare
        guard let size = Int32(exactly: bytes.count),
            let context = unsafe xmlCreateMemoryParserCtxt(bytes.bindMemory(to: CChar.self).baseAddress, size)
        else { return nil }
        unsafe self.context = unsafe context
        // Without NOERROR and NOWARNING: since libxml2 2.13 they also suppress the parser's structured error events,
        // and only those report an undeclared prefix.
        let options = XML_PARSE_NONET.rawValue | XML_PARSE_IGNORE_ENC.rawValue
        unsafe xmlCtxtUseOptions(context, Int32(options))
    }

    deinit {
        // A parser with its own events builds no document; freed all the same in case it ever does.
        if let document = unsafe context.pointee.myDoc { unsafe xmlFreeDoc(document) }
        unsafe xmlFreeParserCtxt(context)
    }

    private func parse(into builder: XMLTreeBuilder) -> Bool {
        guard let events = unsafe context.pointee.sax else { return false }
        unsafe events.pointee = unsafe xmlSAXHandler()
        unsafe events.pointee.initialized = UInt32(XML_SAX2_MAGIC)
        unsafe events.pointee.startElementNs = unsafe startElement
        unsafe events.pointee.endElementNs = { state, _, _, _ in unsafe XMLTreeBuilder.of(state)?.endElement() }
        unsafe events.pointee.characters = { state, text, count in unsafe XMLTreeBuilder.of(state)?.append(text, count)
        }
        unsafe events.pointee.ignorableWhitespace = unsafe events.pointee.characters
        unsafe events.pointee.cdataBlock = unsafe events.pointee.characters
        // An undeclared prefix is an error. Whether a namespace name is valid is checked once its references are
        // resolved.
        unsafe events.pointee.serror = { state, error in
            guard let error = unsafe error, unsafe error.pointee.domain == Int32(XML_FROM_NAMESPACE.rawValue) else {
                return
            }
            guard unsafe error.pointee.code != Int32(XML_WAR_NS_URI.rawValue),
                unsafe error.pointee.code != Int32(XML_WAR_NS_URI_RELATIVE.rawValue)
            else { return }
            unsafe XMLTreeBuilder.of(state)?.refuse(.malformed)
        }
        unsafe events.pointee.internalSubset = { state, _, _, _ in
            unsafe XMLTreeBuilder.of(state)?.refuse(.documentType)
        }
        unsafe builder.stop = { [context] in unsafe xmlStopParser(context) }
        unsafe context.pointee.userData = unsafe Unmanaged.passUnretained(builder).toOpaque()
        let status = withExtendedLifetime(builder) { unsafe xmlParseDocument(context) }
        return unsafe status == 0 && context.pointee.wellFormed == 1
    }
}

private let startElement: startElementNsSAX2Func = {
    state, local, prefix, namespace, namespaceCount, namespaces, attributeCount, _, attributes in
    guard let builder = unsafe XMLTreeBuilder.of(state) else { return }
    var declared: [(prefix: String, uri: String)] = []
    if let namespaces = unsafe namespaces {
        for index in 0..<Int(namespaceCount) {
            unsafe declared.append((text(namespaces[2 * index]), uri(namespaces[2 * index + 1])))
        }
        guard declared.allSatisfy({ isReference($0.uri) }) else {
            builder.refuse(.namespace)
            return
        }
    }
    var found: [XMLAttribute] = []
    if let attributes = unsafe attributes {
        for index in 0..<Int(attributeCount) {
            let fields = unsafe attributes + 5 * index
            let name = unsafe PropertyName(namespace: uri(fields[2]), local: text(fields[0]))
            var value: [UInt8] = []
            if let start = unsafe fields[3], let end = unsafe fields[4] {
                value = unsafe Array(UnsafeBufferPointer(start: start, count: end - start))
            }
            unsafe found.append(XMLAttribute(name: name, prefix: text(fields[1]), value: resolvingAmpersands(value)))
        }
    }
    let name = unsafe PropertyName(namespace: uri(namespace), local: text(local))
    let prefix = unsafe text(prefix)
    // These are looked up and compared again and again, which is expensive with combining characters. Namespace names
    // are URI references, which have none.
    let names = [name.local, prefix] + declared.map(\.prefix) + found.flatMap { [$0.name.local, $0.prefix] }
    guard names.allSatisfy(TameText.isTame) else {
        builder.refuse(.tooComplex)
        return
    }
    builder.startElement(name, prefix: prefix, declared: declared, attributes: found)
}

private func text(_ pointer: UnsafePointer<xmlChar>?) -> String {
    unsafe pointer.map { unsafe String(cString: $0) } ?? ""
}

/// A namespace name, which came as an attribute value.
private func uri(_ pointer: UnsafePointer<xmlChar>?) -> String {
    let name = unsafe text(pointer)
    guard name.utf8.contains(UInt8(ascii: "&")) else { return name }
    return String(decoding: resolvingAmpersands(Array(name.utf8)), as: UTF8.self)
}

/// Whether a namespace name is a URI reference, as it must be; it may be empty.
///
/// Namespaces in XML 1.0 §2.1. If one property's is not, libxml2 and expat give their clients nothing of a whole
/// listing, which some clients take for an empty folder.
private func isReference(_ uri: String) -> Bool {
    guard !uri.isEmpty else { return true }
    guard let parts = unsafe xmlParseURI(uri) else { return false }
    unsafe xmlFreeURI(parts)
    return true
}

/// Replaces each `&#38;` by an ampersand: without entity substitution libxml2 leaves them in attribute values, for its
/// tree builder to resolve.
private func resolvingAmpersands(_ value: [UInt8]) -> [UInt8] {
    guard value.contains(UInt8(ascii: "&")) else { return value }
    var resolved: [UInt8] = []
    var index = 0
    while index < value.count {
        resolved.append(value[index])
        let isReference = value[index...].starts(with: Array("&#38;".utf8))
        index += isReference ? 5 : 1
    }
    return resolved
}
