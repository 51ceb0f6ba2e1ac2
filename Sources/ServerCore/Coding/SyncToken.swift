/// Identifies one state of one collection.
///
/// RFC 6578 §6.3.
package struct SyncToken: Hashable, Sendable {
    /// The name under which the state is stored.
    package let name: String

    /// The prefix of all tokens.
    static let prefix = "urn:x-shareserve:sync:"

    /// Nil when it can't be a token of this server.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        name = String(text.dropFirst(Self.prefix.count))
        guard name.utf8.count == 40, name.utf8.allSatisfy({ ASCII.hexValue($0) != nil }) else { return nil }
    }

    /// The token of a state, a hash of all its bytes.
    init(of snapshot: [UInt8]) {
        var digester = Digester(.sha256)
        digester.update(snapshot)
        name = Hex.text(digester.finish().prefix(20))
    }

    package var text: String { Self.prefix + name }
}
