import Crypto
import DirectoryRoot
import ServerCore

/// Writes the single HTML document that a browser gets at every folder.
///
/// It contains as JSON what the page needs first, so that a folder of ordinary size is shown after three requests;
/// inside `noscript`, it contains the same folder as a table and a form.
struct PageWriter: Sendable {
    private let template: PageTemplate
    private let css: [UInt8]
    private let words: [String: [UInt8]]
    /// The languages whose file has the line `dir=rtl`.
    private let rightToLeft: Set<String>
    private let assets: AssetStore
    private let info: InfoDocument

    /// The page's `Content-Security-Policy`: only our own files, no inline script, one style by its hash.
    let policy: String

    init(assets: AssetStore, info: InfoDocument) {
        self.assets = assets
        self.info = info
        template = PageTemplate(assets["index.html"]?.bytes ?? [])
        css = assets["app.css"]?.bytes ?? []
        // Data in a script element ends at the first `</script`, whatever it is: no `<` may remain.
        let words = Dictionary(
            uniqueKeysWithValues: assets.languages.map { language in
                (language, (assets["languages/" + language + ".txt"]?.bytes ?? []).filter { $0 != UInt8(ascii: "<") })
            })
        self.words = words
        rightToLeft = Set(
            words.filter { $0.value.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual("dir=rtl".utf8) } }
                .keys)
        policy = Self.policy(css: css)
    }

    /// Writes the page.
    /// - Parameters:
    ///   - place: the folder to show.
    ///   - visitor: for whom.
    /// - Returns: the document.
    func page(of place: PagePlace, for visitor: PageVisitor) -> [UInt8] {
        let language =
            Negotiation.language(acceptLanguage: visitor.acceptLanguage, offered: assets.languages) ?? "en"
        var writer = TextWriter(capacity: 32 * 1024)
        template.write(to: &writer) { slot, writer in
            switch slot {
            case "language": writer.html(language)
            case "direction": writer.raw(rightToLeft.contains(language) ? "rtl" : "ltr")
            case "title": writer.html(info.configuration.title)
            case "css": writer.raw(css)
            case "assets": writer.html(assetsAddress(visitor))
            case "words": writer.raw(words[language] ?? [])
            case "boot": boot(place, language, visitor, &writer)
            case "fallback": fallback(place, visitor, &writer)
            case "header": writer.html(info.configuration.header)
            case "footer": writer.html(info.configuration.footer)
            default: break
            }
        }
        return writer.take()
    }

    private func assetsAddress(_ visitor: PageVisitor) -> String {
        visitor.prefix + "/.shareserve/assets/" + assets.hash + "/"
    }

    private func boot(_ place: PagePlace, _ language: String, _ visitor: PageVisitor, _ writer: inout TextWriter) {
        writer.raw(#"{"path":"#)
        writer.json(place.path.folderPath)
        writer.raw(#","base":"#)
        writer.json(visitor.prefix)
        writer.raw(#","assets":"#)
        writer.json(assetsAddress(visitor))
        writer.raw(#","language":"#)
        writer.json(language)
        writer.raw(#","status":"#)
        writer.integer(Int64(place.status.code))
        if place.logIn?.isForLink == true { writer.raw(#","isLink":true"#) }
        writer.raw(#","rights":"#)
        writer.json(place.rights)
        writer.raw(#","info":"#)
        info.write(for: visitor.share, to: &writer)
        writer.raw(#","listing":"#)
        if let members = place.members {
            let isWhole = place.isWhole && members.count <= PagePlace.inlineCount
            var listing = JSONListing(
                path: place.path.folderPath, rights: place.rights, address: visitor.folderAddress(place.path),
                lockOwners: place.lockOwners)
            // The page does not use them.
            listing.memberFormat.hasTags = false
            listing.write(isWhole ? members : Array(members.prefix(PagePlace.firstCount)), to: &writer)
            writer.raw(#","isWhole":"#)
            writer.json(isWhole)
            if let version = place.version {
                writer.raw(#","version":"#)
                writer.json(version)
            }
        } else {
            writer.raw("null")
        }
        writer.raw("}")
    }

    /// What is shown without scripts.
    private func fallback(_ place: PagePlace, _ visitor: PageVisitor, _ writer: inout TextWriter) {
        if let prompt = place.logIn { return logInForm(prompt, &writer) }
        guard place.status == .ok else {
            if place.status == .forbidden {
                writer.raw("<h1>You may not look here.</h1>\n<p><a href=\"")
            } else {
                writer.raw("<h1>There is nothing at this address.</h1>\n<p><a href=\"")
            }
            writer.raw(visitor.folderAddress(.root))
            writer.raw("\">Go to the first folder.</a></p>\n")
            return
        }
        var listing = HTMLListing(
            path: place.path.folderPath, address: visitor.folderAddress(place.path), rights: place.rights,
            isDocument: false, title: info.configuration.title)
        if let members = place.members, place.isWhole {
            listing.write(members, to: &writer)
        } else {
            listing.begin(&writer)
            writer.raw("<tr><td><a href=\"?html&amp;from=0\">List this folder, ")
            writer.integer(Int64(HTMLListing.pageCount))
            writer.raw(" at a time</a></td></tr>\n")
            listing.end(&writer)
        }
    }

    private func logInForm(_ prompt: LogInPrompt, _ writer: inout TextWriter) {
        writer.raw(prompt.isForLink ? "<h1>This link has a password</h1>\n" : "<h1>Log in</h1>\n")
        if prompt.isWrong {
            writer.raw("<p role=\"alert\">")
            writer.raw(prompt.isForLink ? "The password is wrong." : "The user or the password is wrong.")
            writer.raw("</p>\n")
        }
        writer.raw("<form method=\"post\" action=\"")
        writer.html(prompt.action)
        writer.raw("\">\n<input type=\"hidden\" name=\"return\" value=\"")
        writer.html(prompt.returnTo)
        writer.raw("\">\n")
        if !prompt.isForLink {
            writer.raw("<label>User <input name=\"user\" autocomplete=\"username\" required></label>\n")
        }
        writer.raw("<label>Password <input name=\"password\" type=\"password\" autocomplete=\"current-password\"")
        writer.raw(" required></label>\n<button class=\"button\">Log in</button>\n</form>\n")
    }

    private static func policy(css: [UInt8]) -> String {
        let style = Base64.encode(SHA256.hash(data: css))
        return "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" + style
            + "'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; worker-src 'self'; "
            + "frame-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
    /// The path of a folder as people and the page write it: `/a/`.
    var folderPath: [UInt8] { isRoot ? [0x2F] : [0x2F] + bytes + [0x2F] }
}
