internal import DirectoryRoot
internal import ServerCore

/// The lock that UNLOCK names.
///
/// RFC 4918 §10.5.
struct LockTokenHeader: Hashable, Sendable {
    let token: LockToken

    /// Reads a Coded-URL; Windows may leave out its angle brackets.
    /// - Throws: 400 when it is missing or not an absolute URI.
    init(header: String?) throws(HTTPError) {
        guard var text = header?.trimmingBlanks, !text.isEmpty else {
            throw HTTPError(.badRequest, "UNLOCK needs a Lock-Token field.")
        }
        if text.hasPrefix("<"), text.hasSuffix(">"), text.utf8.count > 2 {
            text = String(text.dropFirst().dropLast())
        }
        guard AbsoluteURI.isValid(text) else {
            throw HTTPError(.badRequest, "The Lock-Token field must hold one URI in angle brackets.")
        }
        token = LockToken(uri: text)
    }
}
