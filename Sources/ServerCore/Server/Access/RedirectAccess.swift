/// Redirects all requests without TLS to the same address with TLS.
struct RedirectAccess: AccessControl {
    /// The port with TLS.
    let port: Int
    /// The access control there, which knows the server's names.
    let secure: any AccessControl

    func admit(_ head: RequestHeadView) -> Admission {
        if let misdirected = secure.misdirection(of: head) { return .refuse(misdirected) }
        let host = HostNames.host(of: head.authority)
        guard !host.isEmpty, !head.target.isAsterisk else {
            return .refuse(.text(.badRequest, "This server speaks https:// at port \(port)."))
        }
        var place = "https://\(host)\(port == 443 ? "" : ":\(port)")" + Self.encoded(head.target.path)
        if head.target.path.isEmpty { place += "/" }
        if let query = head.target.query { place += "?" + Self.encoded(query) }
        // 308 keeps the method; whether the client sends a body again is up to it.
        var response = Response.text(.permanentRedirect, "This server speaks https:// only.")
        response.fields["Location"] = place
        return .refuse(response)
    }

    /// A part of a target, with bytes beyond ASCII percent-encoded: not all of them are UTF-8.
    private static func encoded(_ part: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in part {
            if byte < 0x80 { text.append(byte) } else { text += "%\(Hex.text([byte]).uppercased())".utf8 }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
