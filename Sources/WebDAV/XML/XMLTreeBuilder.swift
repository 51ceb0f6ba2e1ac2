internal import DirectoryRoot

/// Builds elements from a parser's events; used for one body.
final class XMLTreeBuilder {
    private(set) var root: XMLElement?
    private(set) var refusal: XMLError?
    /// Stops the parser that feeds this builder.
    var stop: () -> Void = {}
    private var open: [XMLElement] = []

    /// The most namespaces in scope: a look-up walks through all of them.
    private static let maxNamespaces = 1024
    /// The most elements of one body: each takes a hundred times the bytes that it took on the wire.
    private static let maxElements = 32_768
    private var elements = 0

    /// The builder that a parser's `void *` stands for.
    static func of(_ state: UnsafeMutableRawPointer?) -> XMLTreeBuilder? {
        unsafe state.map { unsafe Unmanaged<XMLTreeBuilder>.fromOpaque($0).takeUnretainedValue() }
    }

    func refuse(_ reason: XMLError) {
        if refusal == nil { refusal = reason }
        stop()
    }

    func startElement(
        _ name: PropertyName, prefix: String, declared: [(prefix: String, uri: String)], attributes: [XMLAttribute]
    ) {
        guard refusal == nil else { return }
        elements += 1
        let outer = open.last
        var scope = outer?.scope ?? NamespaceScope(outer: nil, declared: [])
        if !declared.isEmpty { scope = NamespaceScope(outer: scope, declared: declared) }
        guard open.count < XMLBounds.maxDepth, attributes.count <= XMLBounds.maxAttributes,
            scope.count <= Self.maxNamespaces, elements <= Self.maxElements
        else {
            refuse(.tooComplex)
            return
        }
        var language = outer?.language ?? ""
        if let sent = attributes.first(where: { $0.prefix == "xml" && $0.name.local == "lang" }) {
            language = String(decoding: sent.value, as: UTF8.self)
        }
        open.append(
            XMLElement(name: name, prefix: prefix, attributes: attributes, scope: scope, language: language))
    }

    func endElement() {
        guard refusal == nil, let element = open.popLast() else { return }
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].children.append(.element(element))
        }
    }

    func append(_ text: UnsafePointer<UInt8>?, _ count: Int32) {
        guard refusal == nil, !open.isEmpty, let text = unsafe text, count > 0 else { return }
        let bytes = unsafe UnsafeBufferPointer(start: text, count: Int(count))
        let top = open.count - 1
        let last = open[top].children.count - 1
        if last >= 0, case .text(var before) = open[top].children[last] {
            // Taken out while it grows, so that it is not copied for each piece.
            open[top].children[last] = .text([])
            unsafe before.append(contentsOf: bytes)
            open[top].children[last] = .text(before)
        } else {
            unsafe open[top].children.append(.text(Array(bytes)))
        }
    }
}
