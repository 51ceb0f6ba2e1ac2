internal import DirectoryRoot
internal import ServerCore

/// One element of a request body, with everything needed to write it again.
struct XMLElement: Sendable {
    var name: PropertyName
    /// As sent; empty for the default namespace.
    var prefix: String
    var attributes: [XMLAttribute]
    /// The namespaces in scope.
    var scope: NamespaceScope
    /// The `xml:lang` in scope; empty when there is none.
    var language: String
    var children: [XMLNode] = []

    /// The child elements, without text.
    var elements: [XMLElement] {
        children.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// The text directly inside, without that of child elements.
    var text: String {
        var bytes: [UInt8] = []
        for case .text(let part) in children { bytes += part }
        return TameText.text(bytes)
    }

    /// Whether this is the element `local` of the namespace `DAV:`.
    func isDAV(_ local: String) -> Bool { name.namespace == "DAV:" && name.local == local }

    /// The first child element `local` of the namespace `DAV:`.
    func child(_ local: String) -> XMLElement? { elements.first { $0.isDAV(local) } }
}

enum XMLNode: Sendable {
    case element(XMLElement)
    /// Character data including CDATA sections, as UTF-8 with all references resolved.
    case text([UInt8])
}

struct XMLAttribute: Hashable, Sendable {
    var name: PropertyName
    /// As sent; empty for none.
    var prefix: String
    var value: [UInt8]
}

/// The namespace declarations in scope at an element: its own and those around it.
final class NamespaceScope: Sendable {
    let outer: NamespaceScope?
    let declared: [(prefix: String, uri: String)]
    /// The number of declarations in scope, including hidden ones: what a look-up may cost.
    let count: Int

    init(outer: NamespaceScope?, declared: [(prefix: String, uri: String)]) {
        self.outer = outer
        self.declared = declared
        count = (outer?.count ?? 0) + declared.count
    }

    /// The namespace bound to `prefix`; nil when it is not declared.
    func uri(of prefix: String) -> String? {
        var scope: NamespaceScope? = self
        while let current = scope {
            if let found = current.declared.last(where: { $0.prefix == prefix }) { return found.uri }
            scope = current.outer
        }
        return nil
    }
}
