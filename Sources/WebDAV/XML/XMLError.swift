/// Why a body cannot be read as XML.
enum XMLError: Error, Hashable, Sendable {
    /// Not well-formed, or uses a prefix that is not declared.
    case malformed
    /// A namespace name that is not a URI.
    case namespace
    /// A document type declaration, whatever its content: it could define entities.
    case documentType
    /// Deeper, or with more attributes or namespaces, than any client's.
    case tooComplex
    /// In an encoding other than UTF-8, UTF-16, ISO 8859-1 or ASCII, or not in the one that is declared.
    case encoding
}
