import DirectoryRoot

/// Recognises browsers in which a link's password was given, by a cookie that nobody else can make.
///
/// The cookie contains the time, sealed with the share's own key together with the link and its password: it opens this
/// link only, and no longer than the link exists. The browser drops it at its end, and sends it only to addresses below
/// the link.
struct LinkSessions {
    /// The cookie's name.
    static let cookie = "shareserve-link"

    /// Seals the cookies.
    let secret: ShareSecret
    /// Milliseconds of the time of day.
    let clock: @Sendable () -> Int64

    /// Admits a browser to one link from now on; may wait for the disk.
    /// - Parameters:
    ///   - link: a link whose password was given.
    ///   - prefix: the link's own address.
    ///   - isSecure: whether the client came over TLS.
    /// - Returns: the `Set-Cookie` field.
    func begin(_ link: ShareLink, prefix: String, isSecure: Bool) -> String {
        let begun = Sessions.bytes(clock())
        // Links are followed from mails and other sites: with `Strict`, the password would be required each time.
        return "\(Self.cookie)=\(Hex.text(begun + seal(begun, link))); Path=\(prefix); HttpOnly; SameSite=Lax"
            + (isSecure ? "; Secure" : "")
    }

    /// Whether a request's cookies admit it to a link; may wait for the disk.
    /// - Parameters:
    ///   - cookies: the `Cookie` field.
    ///   - link: the requested link.
    /// - Returns: true when one of them was made for this link and its password, and is not too old.
    func admits(cookies: String, to link: ShareLink) -> Bool {
        Sessions.values(of: Self.cookie, in: cookies).contains { value in
            guard let bytes = Hex.bytes(value.utf8), bytes.count == 8 + Sessions.sealCount else { return false }
            let begun = Array(bytes[..<8])
            guard ConstantTime.equal(seal(begun, link), Array(bytes[8...])) else { return false }
            let (age, isOverflow) = clock().subtractingReportingOverflow(Sessions.number(begun[...]))
            return !isOverflow && age >= -Sessions.skew && age < Sessions.longest
        }
    }

    private func seal(_ begun: [UInt8], _ link: ShareLink) -> [UInt8] {
        secret.seal("link", begun + link.secretHash + Array((link.passwordHash ?? "").utf8))
    }
}
