import DirectoryRoot

/// One name a line, folders with a slash: what `curl` shows and a script reads.
///
/// A name with a control character in it, or one that turns the reading direction, is written percent-encoded in full,
/// so that a line is always one name and nothing speaks to the terminal.
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
