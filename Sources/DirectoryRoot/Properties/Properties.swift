/// A property name: namespace (may be empty) and local name.
public struct PropertyName: Hashable, Sendable {
    /// A URI, or empty.
    public var namespace: String
    /// The name without its prefix.
    public var local: String

    /// Names a property.
    public init(namespace: String, local: String) {
        self.namespace = namespace
        self.local = local
    }
}

/// A property that the server keeps and does not interpret.
///
/// RFC 4918 §4.
public struct DeadProperty: Hashable, Sendable {
    /// Its name, which the XML repeats.
    public var name: PropertyName
    /// The whole element as self-contained, well-formed XML: own name, `xml:lang` in scope and content exactly as sent,
    /// with every namespace that it uses declared inside it.
    public var xml: [UInt8]

    /// Describes a property.
    public init(name: PropertyName, xml: [UInt8]) {
        self.name = name
        self.xml = xml
    }
}

/// One instruction of a PROPPATCH.
public enum PropertyChange: Sendable {
    /// Sets or replaces it.
    case set(DeadProperty)
    /// Removes it, be it there or not.
    case remove(PropertyName)
}
