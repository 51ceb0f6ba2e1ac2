/// Why a body is not read as XML.
enum XMLError: Error, Hashable, Sendable {
    /// Not well-formed, or names a namespace that is not declared.
    case malformed
    /// A namespace that is no URI.
    case namespace
    /// A document type declaration, of whatever content: entities live there.
    case documentType
    /// Deeper, or with more attributes or namespaces, than any client's.
    case tooComplex
    /// In a character encoding other than UTF-8, UTF-16, ISO 8859-1 or ASCII, or not in the one it claims.
    case encoding
}
