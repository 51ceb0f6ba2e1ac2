/// Sends everybody who comes without TLS to the same address with it.
struct RedirectAccess: AccessControl {
    /// Where TLS is.
    let port: Int
    /// Knows the server's names there.
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
        // 308 keeps the method; what a body's sender does with it is its own affair.
        var response = Response.text(.permanentRedirect, "This server speaks https:// only.")
        response.fields["Location"] = place
        return .refuse(response)
    }

    /// A part of a target as it came, but for bytes beyond ASCII: not all of them are UTF-8.
    private static func encoded(_ part: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in part {
            if byte < 0x80 { text.append(byte) } else { text += "%\(Hex.text([byte]).uppercased())".utf8 }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
