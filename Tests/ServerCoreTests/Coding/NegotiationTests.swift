import ServerCore
import Testing

@Suite("Negotiation")
struct NegotiationTests {
    static let offered = ["text/plain", "text/html", "application/json"]
    static let types: [(String?, String?)] = [
        (nil, "text/plain"), ("*/*", "text/plain"), ("text/html", "text/html"),
        ("application/json", "application/json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", "text/html"),
        ("text/*;q=0.3, text/html;q=0.7, */*;q=0.5", "text/html"), ("text/*;q=0.3, */*;q=0.5", "application/json"),
        ("text/plain;q=0, */*", "text/html"), ("image/png", nil), ("*/*;q=0", nil), ("TEXT/HTML", "text/html"),
        ("text/html ; level=1 ; q=0.5, application/json;q=0.4", "text/html"), ("", "text/plain"), (",,,", "text/plain"),
        ("text/html;q=abc, application/json", "application/json"),
        ("text/html;q=1.1,application/json;q=0.1", "application/json"),
        ("text/html;q=0.0001, text/plain;q=0.001", "text/plain"), ("*", "text/plain"),
        // axios, lynx and w3m
        ("application/json, text/plain, */*", "application/json"),
        ("text/html, text/plain, text/sgml, text/css, */*;q=0.01", "text/html"),
        ("text/html, text/*;q=0.5, image/*, application/*", "text/html"), ("*/*, text/html", "text/html"),
        ("text/plain, text/html", "text/plain"), ("text/*, application/*", "text/plain"),
    ]

    @Test(
        "The best weight of the most specific range wins, then what is named itself, then what comes first",
        arguments: types)
    func mediaTypes(accept: String?, expected: String?) {
        #expect(Negotiation.mediaType(accept: accept, offered: Self.offered) == expected)
    }

    static let codings: [(String?, Negotiation.Coding)] = [
        (nil, .identity), ("", .identity), ("gzip", .gzip), ("gzip, deflate, br, zstd", .gzip), ("x-gzip", .gzip),
        ("*", .gzip), ("br", .identity), ("gzip;q=0", .identity), ("gzip;q=0.5, identity", .identity),
        ("gzip, identity;q=0", .gzipOnly), ("identity;q=0", .none), ("*;q=0", .none), ("gzip, *;q=0", .gzipOnly),
        ("GZIP;Q=1", .gzip), ("gzip;q=", .identity), ("identity", .identity), ("gzip;q=0.001", .gzip),
    ]

    @Test("gzip is sent only where it is liked at least as much", arguments: codings)
    func picksCoding(field: String?, expected: Negotiation.Coding) {
        #expect(Negotiation.coding(acceptEncoding: field) == expected)
    }

    static let languages: [(String?, String)] = [
        (nil, "en"), ("de", "de"), ("de-CH, fr;q=0.5", "de"), ("fr;q=0.5, de;q=0.4", "fr"), ("ja", "en"), ("*", "en"),
        ("ja, *;q=0.1", "en"), ("DE-at-1996", "de"), ("de;q=0, fr", "fr"), ("-", "en"), ("zh-TW", "en"),
        ("zh-Hans-CN", "zh-Hans"),
    ]

    @Test("A language falls back from its region to itself, then to the default", arguments: languages)
    func picksLanguage(field: String?, expected: String) {
        #expect(Negotiation.language(acceptLanguage: field, offered: ["en", "de", "fr", "zh-Hans"]) == expected)
    }
}
