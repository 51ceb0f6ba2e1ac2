import DirectoryRoot

/// One name per line, folders with a slash: for `curl` and scripts.
///
/// A name with a control character, or one that changes the text direction, is written completely percent-encoded, so
/// that a line is always one name and nothing controls the terminal.
struct TextListing: ListingFormat {
    let mediaType = "text/plain; charset=utf-8"

    func begin(_ writer: inout TextWriter) {}

    func member(_ member: DirectoryMember, _ writer: inout TextWriter) {
        writer.line(member.name)
        if member.attributes.isDirectory { writer.raw("/") }
        writer.raw("\n")
    }

    func end(_ writer: inout TextWriter) {}
}
