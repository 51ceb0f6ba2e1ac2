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

    /// Compares bytes: names that only look the same are different.
    ///
    /// Namespaces in XML 1.0 §2.3.
    public static func == (one: PropertyName, other: PropertyName) -> Bool {
        one.local.utf8.elementsEqual(other.local.utf8) && one.namespace.utf8.elementsEqual(other.namespace.utf8)
    }

    /// Hashes what ``==(_:_:)`` compares, in time proportional to the name's length.
    public func hash(into hasher: inout Hasher) {
        func combine(_ text: String) {
            var text = text
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(0xFF as UInt8)
        }
        combine(namespace)
        combine(local)
    }
}

/// A property that the server keeps and does not interpret.
///
/// RFC 4918 §4.
public struct DeadProperty: Hashable, Sendable {
    /// Its name, which ``xml`` repeats.
    public var name: PropertyName
    /// The whole element as self-contained, well-formed XML: own name, `xml:lang` in scope and content exactly as sent,
    /// with every namespace that it uses declared inside it.
    ///
    /// At most ``mostBytes``.
    public var xml: [UInt8]

    /// Bytes that ``xml`` may have: 64 KiB of value, and room for its tags and namespaces.
    package static let mostBytes = 72 << 10

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
    /// Removes it, whether it exists or not.
    case remove(PropertyName)
}
