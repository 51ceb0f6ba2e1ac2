/// The credentials in an `Authorization` field.
///
/// RFC 9110 §11.6.2.
enum Credentials: Equatable {
    /// RFC 7617.
    case basic(user: String, password: [UInt8])
    /// RFC 7616.
    case digest(DigestCredentials)
    /// A scheme that was not offered, or malformed credentials.
    case malformed

    /// Reads a field's value.
    init(field: String) {
        let text = ASCII.trimmed(Array(field.utf8))
        let scheme = text.prefix { !ASCII.isBlank($0) }
        let rest = ASCII.trimmed(text.dropFirst(scheme.count))
        if ASCII.equalIgnoringCase(scheme, "basic".utf8), let basic = Self.basic(rest) {
            self = basic
        } else if ASCII.equalIgnoringCase(scheme, "digest".utf8), let digest = DigestCredentials(rest) {
            self = .digest(digest)
        } else {
            self = .malformed
        }
    }

    /// The UTF-8 form of a password sent in ISO 8859-1; nil if it is valid UTF-8.
    ///
    /// RFC 7617 §2.1 requires UTF-8 if the server says so; older libraries (Python's requests, .NET Framework) do not
    /// comply.
    static func inUTF8(_ password: [UInt8]) -> [UInt8]? {
        guard String(validating: password, as: UTF8.self) == nil else { return nil }
        return Array(String(String.UnicodeScalarView(password.map { Unicode.Scalar($0) })).utf8)
    }

    /// The ISO 8859-1 form of a name or password known in UTF-8; nil if it is the same in both, or has no such form.
    ///
    /// KDE's programs hash both in that form for Digest, whatever `charset` says.
    static func inLatin1(_ bytes: [UInt8]) -> [UInt8]? {
        guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        let latin = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        return latin.count == text.unicodeScalars.count ? latin : nil
    }

    private static func basic(_ token: ArraySlice<UInt8>) -> Credentials? {
        guard let text = Base64.decode(token), let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return .basic(user: RequestHead.text(text[..<colon]), password: Array(text[(colon + 1)...]))
    }
}

/// The parameters of a Digest response.
///
/// RFC 7616 §3.4.
struct DigestCredentials: Equatable {
    /// As sent, unquoted.
    var user: [UInt8]
    /// Whether `user` is a hash of the name.
    var isUserHash: Bool
    var realm: [UInt8]
    var nonce: [UInt8]
    var uri: [UInt8]
    var response: [UInt8]
    var algorithm: DigestAlgorithm
    var cnonce: [UInt8]
    /// Eight hexadecimal digits, as sent.
    var nc: [UInt8]
    var count: UInt32

    /// Parses the parameters; nil when a required one is missing, repeated or malformed, or uses what was not offered:
    /// another algorithm, or another `qop` than `auth`.
    init?(_ text: ArraySlice<UInt8>) {
        guard let parameters = Self.parameters(text) else { return nil }
        guard let realm = parameters["realm"], let nonce = parameters["nonce"], let uri = parameters["uri"],
            let response = parameters["response"], let cnonce = parameters["cnonce"], !cnonce.isEmpty,
            let nc = parameters["nc"], nc.count == 8,
            let qop = parameters["qop"], ASCII.equalIgnoringCase(qop, "auth".utf8)
        else { return nil }
        var count: UInt32 = 0
        for byte in nc {
            guard let digit = ASCII.hexValue(byte) else { return nil }
            count = count << 4 | UInt32(digit)
        }
        switch String(decoding: parameters["algorithm"] ?? [], as: UTF8.self).uppercased() {
        case "", "MD5": algorithm = .md5
        // lftp labels its MD5 response with the algorithm that was offered first. As MD5 is offered too, accepting this
        // admits nothing that would not be admitted anyway.
        case "SHA-256": algorithm = response.count == DigestAlgorithm.md5.length * 2 ? .md5 : .sha256
        default: return nil
        }
        guard response.count == algorithm.length * 2 else { return nil }
        if let user = parameters["username"] {
            guard parameters["username*"] == nil else { return nil }
            self.user = user
        } else {
            guard let text = parameters["username*"],
                let user = HeaderParameters(Array("; u*=".utf8) + text).extended("u")
            else { return nil }
            self.user = user
        }
        isUserHash = parameters["userhash"].map { ASCII.equalIgnoringCase($0, "true".utf8) } ?? false
        (self.realm, self.nonce, self.uri, self.response) = (realm, nonce, uri, response.map(ASCII.lowercased))
        (self.cnonce, self.nc, self.count) = (cnonce, nc, count)
    }

    /// Parses `name=value` or `name="value"`, separated by commas; nil when a name is repeated.
    ///
    /// At most 32 are parsed.
    private static func parameters(_ text: ArraySlice<UInt8>) -> [String: [UInt8]]? {
        var result: [String: [UInt8]] = [:]
        var rest = text
        while !rest.isEmpty {
            rest = rest.drop { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }
            let name = rest.prefix(while: ASCII.isToken)
            guard !name.isEmpty else { break }
            rest = rest.dropFirst(name.count).drop(while: ASCII.isBlank)
            guard rest.first == UInt8(ascii: "=") else { return nil }
            rest = rest.dropFirst().drop(while: ASCII.isBlank)
            guard let value = value(&rest) else { return nil }
            let key = String(decoding: name.map(ASCII.lowercased), as: UTF8.self)
            guard result[key] == nil, result.count < 32 else { return nil }
            result[key] = value
        }
        return rest.isEmpty ? result : nil
    }

    private static func value(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.first == UInt8(ascii: "\"") else {
            let word = rest.prefix { $0 != UInt8(ascii: ",") && !ASCII.isBlank($0) }
            rest = rest.dropFirst(word.count)
            return Array(word)
        }
        var value: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return value }
            // Windows sends `DOMAIN\user` without escaping its backslash.
            if byte == UInt8(ascii: "\\"), let next = rest.first,
                next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\")
            {
                value.append(next)
                rest = rest.dropFirst()
            } else {
                value.append(byte)
            }
        }
        return nil
    }
}
