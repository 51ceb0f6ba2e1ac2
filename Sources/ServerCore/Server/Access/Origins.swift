/// Decides whether a page of another site has caused a request, and which other sites may.
///
/// A browser sends `Sec-Fetch-Site` or `Origin` with what a page makes it do; WebDAV clients and curl send neither, and
/// act only for their users. Fetch Standard §3.2, §4; Fetch Metadata §2.3.
struct Origins: Sendable {
    private let allowed: Set<String>
    private let allowsAll: Bool

    /// The schemes of sites, and their default ports.
    private static let schemes = [("http://", ":80"), ("https://", ":443")]

    /// Collects the sites whose pages may use this server.
    /// - Parameter allowed: `https://app.example.com`, `app://obsidian.md`, or `*`.
    init(allowed: [String]) {
        self.allowed = Set(allowed.map(Self.asBrowsersSay))
        allowsAll = allowed.contains("*")
    }

    /// A site as browsers name it: without a trailing slash, and without the default port of its scheme.
    private static func asBrowsersSay(_ site: String) -> String {
        let site = (site.hasSuffix("/") ? String(site.dropLast()) : site).lowercased()
        for (scheme, port) in schemes where site.hasPrefix(scheme) {
            return String(decoding: bare(Array(site.utf8), port), as: UTF8.self)
        }
        return site
    }

    /// Whether no other site is allowed, so that responses need no CORS fields.
    var isEmpty: Bool { allowed.isEmpty }

    /// Whether a page from `origin` may use this server though it belongs to another site.
    func allows(_ origin: String) -> Bool { allowsAll || allowed.contains(origin.lowercased()) }

    /// Whether a request that changes something may proceed.
    /// - Parameters:
    ///   - fields: of the request.
    ///   - authority: the host and port that it was sent to.
    /// - Returns: false when a page of another site has caused it.
    func admits(_ fields: RequestFields, authority: String) -> Bool {
        let origin = fields["origin"]
        if let origin, allows(origin) { return true }
        if let site = fields["sec-fetch-site"] { return site == "same-origin" || site == "none" }
        if let origin { return Self.isSame(origin, authority) }
        guard let referer = fields["referer"], let page = Self.site(of: referer) else { return true }
        return Self.isSame(page, authority) || allows(page)
    }

    /// Adds what allows a page of an allowed site to read the response.
    func addFields(to response: inout Response, for origin: String?) {
        guard !isEmpty else { return }
        response.fields.merge("Vary", "Origin")
        guard let origin, allows(origin) else { return }
        let isNamed = allowed.contains(origin.lowercased())
        response.fields["Access-Control-Allow-Origin"] = isNamed ? origin : "*"
        if isNamed { response.fields["Access-Control-Allow-Credentials"] = "true" }
        response.fields["Access-Control-Expose-Headers"] = Self.exposed
    }

    /// The response to a preflight; never requires credentials, since browsers never send them with it.
    /// - Parameters:
    ///   - fields: of an OPTIONS request with `Access-Control-Request-Method`.
    ///   - methods: all the methods of the server.
    /// - Returns: 204 for an allowed site, 403 for others.
    func preflight(_ fields: RequestFields, methods: String) -> Response {
        guard let origin = fields["origin"], allows(origin) else {
            return .text(
                .forbidden, "Pages of this site may not use this server. Its owner can allow them with --cors.")
        }
        var response = Response(.noContent)
        addFields(to: &response, for: origin)
        response.fields["Access-Control-Allow-Methods"] = methods
        if let asked = fields["access-control-request-headers"] {
            let names = asked.utf8.split(separator: UInt8(ascii: ",")).prefix(64).map { ASCII.trimmed(Array($0)) }
            let proper = names.filter { !$0.isEmpty && $0.count <= 128 && $0.allSatisfy(ASCII.isToken) }
            response.fields["Access-Control-Allow-Headers"] = proper.map { String(decoding: $0, as: UTF8.self) }
                .joined(separator: ", ")
        }
        if fields["access-control-request-private-network"] == "true" {
            response.fields["Access-Control-Allow-Private-Network"] = "true"
        }
        response.fields["Access-Control-Max-Age"] = "7200"
        response.fields.merge("Vary", "Access-Control-Request-Headers")
        return response
    }

    private static let exposed = """
        Accept-Patch, Accept-Ranges, Allow, Content-Disposition, Content-Encoding, Content-Length, Content-Location, \
        Content-Range, DAV, ETag, Last-Modified, Location, Lock-Token, OC-Checksum, OC-ETag, OC-FileId, \
        Preference-Applied, Repr-Digest, Retry-After, Tus-Checksum-Algorithm, Tus-Extension, Tus-Max-Size, \
        Tus-Resumable, Tus-Version, Upload-Complete, Upload-Concat, Upload-Defer-Length, \
        Upload-Draft-Interop-Version, Upload-Expires, Upload-Incomplete, Upload-Length, Upload-Limit, \
        Upload-Metadata, Upload-Offset, X-OC-MTime
        """

    /// Whether an origin's host and port are those to which a request was sent.
    ///
    /// The scheme may differ behind a proxy that terminates TLS.
    private static func isSame(_ origin: String, _ authority: String) -> Bool {
        let text = Array(origin.lowercased().utf8)
        for (scheme, port) in schemes where text.starts(with: scheme.utf8) {
            let host = Array(text.dropFirst(scheme.utf8.count))
            return !host.isEmpty && bare(host, port).elementsEqual(bare(Array(authority.lowercased().utf8), port))
        }
        return false
    }

    private static func bare(_ host: [UInt8], _ port: String) -> ArraySlice<UInt8> {
        host.count > port.utf8.count && host.suffix(port.utf8.count).elementsEqual(port.utf8)
            ? host.dropLast(port.utf8.count) : host[...]
    }

    /// The origin of an address; nil for one that is not http or https.
    private static func site(of address: String) -> String? {
        for (scheme, _) in schemes where address.lowercased().hasPrefix(scheme) {
            let host = address.utf8.dropFirst(scheme.utf8.count)
                .prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            return scheme + String(decoding: host.split(separator: UInt8(ascii: "@")).last ?? host, as: UTF8.self)
        }
        return nil
    }
}
