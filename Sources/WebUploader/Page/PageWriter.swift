import Crypto
import DirectoryRoot
import ServerCore

/// Writes the one HTML document that the browser gets at every folder.
///
/// What the page needs first stands in it as JSON, so that a folder of ordinary size shows after three requests; inside
/// `noscript` stand the same folder as a table and a form.
struct PageWriter: Sendable {
    private let template: PageTemplate
    private let css: [UInt8]
    private let words: [String: [UInt8]]
    /// Languages whose file says `"dir": "rtl"`.
    private let rightToLeft: Set<String>
    private let assets: AssetStore
    private let info: InfoDocument

    /// The page's `Content-Security-Policy`: nothing but our own files, no inline script, one style by its hash.
    let policy: String

    init(assets: AssetStore, info: InfoDocument) {
        self.assets = assets
        self.info = info
        template = PageTemplate(assets["index.html"]?.bytes ?? [])
        css = assets["app.css"]?.bytes ?? []
        // Data in a script element ends at the first `</script`, whatever the JSON says: no `<` may stay.
        words = Dictionary(
            uniqueKeysWithValues: assets.languages.map { language in
                (language, Self.withoutMarkup(assets["languages/" + language + ".json"]?.bytes ?? Array("{}".utf8)))
            })
        rightToLeft = Set(
            words.filter { String(decoding: $0.value.filter { $0 > 0x20 }, as: UTF8.self).contains(#""dir":"rtl""#) }
                .keys)
        policy = Self.policy(css: css)
    }

    /// One folder, or what stands in its place.
    struct Place {
        /// The folder; of a missing one, the asked path.
        var path: SharePath
        var rights: Rights
        /// The members, when all of them are at hand.
        var members: [DirectoryMember]?
        /// 200, or why there is no folder.
        var status = Status.ok
        /// A line for the person, such as that a password was wrong.
        var message: String?
    }

    /// The most members that stand in the page itself.
    static let inlineCount = 500

    /// Writes the page.
    func page(of place: Place, for request: Request) -> [UInt8] {
        let language =
            Negotiation.language(
                acceptLanguage: request.fields["accept-language"], offered: assets.languages) ?? "en"
        let base = request.prefix
        var writer = TextWriter(capacity: 32 * 1024)
        template.write(to: &writer) { slot, writer in
            switch slot {
            case "language": writer.html(language)
            case "direction": writer.raw(rightToLeft.contains(language) ? "rtl" : "ltr")
            case "title": writer.html(info.configuration.title)
            case "css": writer.raw(css)
            case "assets": writer.html(assetsAddress(base))
            case "words": writer.raw(words[language] ?? Array("{}".utf8))
            case "boot": boot(place, language, request, &writer)
            case "fallback": fallback(place, request, &writer)
            case "header": writer.html(info.configuration.header)
            case "footer": writer.html(info.configuration.footer)
            default: break
            }
        }
        return writer.take()
    }

    private func assetsAddress(_ base: String) -> String { base + "/.shareserve/assets/" + assets.hash + "/" }

    private func boot(_ place: Place, _ language: String, _ request: Request, _ writer: inout TextWriter) {
        writer.raw(#"{"path":"#)
        writer.json(place.path.folderPath)
        writer.raw(#","base":"#)
        writer.json(request.prefix)
        writer.raw(#","assets":"#)
        writer.json(assetsAddress(request.prefix))
        writer.raw(#","language":"#)
        writer.json(language)
        writer.raw(#","status":"#)
        writer.integer(Int64(place.status.code))
        if let message = place.message {
            writer.raw(#","message":"#)
            writer.json(message)
        }
        writer.raw(#","rights":"#)
        writer.json(place.rights)
        writer.raw(#","info":"#)
        info.write(for: request.share, to: &writer)
        writer.raw(#","listing":"#)
        if let members = place.members, members.count <= Self.inlineCount {
            var listing = JSONListing(
                path: place.path.folderPath, rights: place.rights, address: request.folderAddress(place.path))
            listing.write(members, to: &writer)
        } else {
            writer.raw("null")
        }
        writer.raw("}")
    }

    private func fallback(_ place: Place, _ request: Request, _ writer: inout TextWriter) {
        guard place.status == .ok else {
            writer.raw("<p>There is nothing at this address. <a href=\"")
            writer.html(request.href(.root, isDirectory: true))
            writer.raw("\">Go to the first folder.</a></p>\n")
            return
        }
        var listing = HTMLListing(
            path: place.path.folderPath, address: request.folderAddress(place.path), rights: place.rights,
            isDocument: false, title: info.configuration.title)
        if let members = place.members {
            listing.write(members, to: &writer)
        } else {
            writer.raw("<p><a href=\"?html\">List this folder without scripts.</a></p>\n")
        }
    }

    private static func policy(css: [UInt8]) -> String {
        let style = Base64.encode(SHA256.hash(data: css))
        return "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" + style
            + "'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; worker-src 'self'; "
            + "frame-src 'self' blob:; object-src 'self' blob:; font-src 'self'; manifest-src 'self'; "
            + "form-action 'self'; base-uri 'none'; "
            + "frame-ancestors 'none'"
    }

    private static func withoutMarkup(_ json: [UInt8]) -> [UInt8] {
        json.flatMap { $0 == UInt8(ascii: "<") ? Array(#"\u003c"#.utf8) : [$0] }
    }
}

extension ListingFormat {
    /// Writes a whole listing.
    mutating func write(_ members: [DirectoryMember], to writer: inout TextWriter) {
        begin(&writer)
        for member in members { self.member(member, &writer) }
        end(&writer)
    }
}

extension SharePath {
    /// The path as people and the page write a folder: `/a/`.
    var folderPath: [UInt8] { isRoot ? [0x2F] : [0x2F] + bytes + [0x2F] }
}

extension Request {
    /// The percent-encoded address of a folder, with its last slash.
    func folderAddress(_ path: SharePath) -> [UInt8] { Array(href(path, isDirectory: true).utf8) }
}
