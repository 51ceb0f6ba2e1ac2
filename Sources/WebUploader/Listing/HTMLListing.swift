import DirectoryRoot

/// A folder as a table and forms that need no script.
///
/// Written as a fragment into the page's `noscript`, and as a complete document for `?html`.
struct HTMLListing: ListingFormat {
    let mediaType = "text/html; charset=utf-8"

    /// The folder's path for people: `/a/`.
    let path: [UInt8]
    /// The prefix of each member's address: the folder's own address, percent-encoded, with a trailing slash.
    var address: [UInt8]
    let rights: Rights
    /// Whether this is a complete document.
    let isDocument: Bool
    let title: String
    /// Whether it is read by programs that follow its links: they take bare names for members, dates and sizes in
    /// Apache's order and format, and an archive of the folder for one more file.
    var isForPrograms = false
    /// The index of the first member on the page before this one, and on the one after it.
    var previous: Int?
    var next: Int?

    /// How many members a page has, if pages are requested.
    static let pageCount = 1000

    func begin(_ writer: inout TextWriter) {
        if isDocument {
            writer.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>")
            writer.html(title)
            writer.raw(" ")
            writer.html(path)
            writer.raw("</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
            writer.raw("<meta name=\"color-scheme\" content=\"light dark\">\n</head>\n<body>\n<main>\n")
        }
        writer.raw("<h1>")
        writer.html(path)
        writer.raw("</h1>\n")
        if rights.contains(.create) { form(&writer) }
        guard rights.contains(.read) else { return }
        let (size, modified): (StaticString, StaticString) = ("Size", "Modified (UTC)")
        writer.raw("<table>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">")
        writer.raw(isForPrograms ? modified : size)
        writer.raw("</th><th scope=\"col\">")
        writer.raw(isForPrograms ? size : modified)
        writer.raw("</th></tr></thead>\n<tbody>\n")
        if !path.elementsEqual("/".utf8) {
            writer.raw("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n")
        }
    }

    func member(_ member: DirectoryMember, _ writer: inout TextWriter) {
        let (isDirectory, size) = (member.attributes.isDirectory, member.attributes.size)
        writer.raw("<tr><td><a href=\"")
        writer.raw(address)
        writer.address(member.name)
        if isDirectory { writer.raw("/") }
        writer.raw("\">")
        writer.html(member.name)
        if isDirectory { writer.raw("/") }
        writer.raw("</a></td>")
        let modified = CalendarTime(seconds: member.attributes.modified.seconds)
        guard !isForPrograms else {
            // lftp drops the tags, and takes what is left for a size if it begins with one.
            writer.raw("<td align=\"right\">")
            writer.calendar(modified)
            writer.raw("  </td><td align=\"right\">")
            if isDirectory { writer.raw("  - ") } else { writer.shortSize(size) }
            writer.raw("</td></tr>\n")
            return
        }
        writer.raw("<td>")
        if !isDirectory { writer.size(size) }
        writer.raw("</td><td>")
        writer.calendar(modified)
        writer.raw("</td></tr>\n")
    }

    func end(_ writer: inout TextWriter) {
        if rights.contains(.read) {
            writer.raw("</tbody>\n</table>\n<p>")
            link("Previous", to: previous, &writer)
            link("Next", to: next, &writer)
            if !isForPrograms { writer.raw("<a href=\"?archive=zip\">ZIP</a>") }
            writer.raw("</p>\n")
        }
        if isDocument { writer.raw("</main>\n</body>\n</html>\n") }
    }

    private func link(_ word: StaticString, to first: Int?, _ writer: inout TextWriter) {
        guard let first else { return }
        writer.raw("<a href=\"?html&amp;from=")
        writer.integer(Int64(first))
        writer.raw("\">")
        writer.raw(word)
        writer.raw("</a> ")
    }

    private func form(_ writer: inout TextWriter) {
        writer.raw("<form method=\"post\" enctype=\"multipart/form-data\" action=\"")
        writer.raw(address)
        // The rule comes before the files, since they are stored as they arrive.
        writer.raw("\">\n<label>If a name is taken <select name=\"conflict\">")
        writer.raw("<option value=\"keep\">keep both</option>")
        if rights.contains(.overwrite) { writer.raw("<option value=\"replace\">replace</option>") }
        writer.raw("<option value=\"fail\">stop</option></select></label>\n")
        writer.raw("<label>Files <input type=\"file\" name=\"files\" multiple required></label>\n")
        writer.raw("<button class=\"button\">Upload</button>\n</form>\n")
    }
}
