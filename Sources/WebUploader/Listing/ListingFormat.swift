import DirectoryRoot

/// One way to write a folder's members down: what comes before them, each of them, and what comes after.
protocol ListingFormat: Sendable {
    /// The media type of the whole.
    var mediaType: String { get }

    /// Writes what comes before the first member.
    mutating func begin(_ writer: inout TextWriter)

    /// Writes one member.
    mutating func member(_ member: DirectoryMember, _ writer: inout TextWriter)

    /// Writes what comes after the last member.
    mutating func end(_ writer: inout TextWriter)
}

/// One name a line, folders with a slash: what `curl` shows and a script reads.
///
/// A name with a control character in it is written percent-encoded in full, so that a line is always one name and
/// nothing speaks to the terminal.
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

/// The JSON that the page reads, each member on its own line.
struct JSONListing: ListingFormat {
    let mediaType = "application/json"

    /// The folder as the page names it: `/a/`.
    let path: [UInt8]
    let rights: Rights
    let memberFormat: JSONMember
    /// Who holds a lock, by name.
    let lockOwners: LockOwners
    private var isFirst = true

    init(path: [UInt8], rights: Rights, address: [UInt8], lockOwners: LockOwners = LockOwners()) {
        self.path = path
        self.rights = rights
        self.lockOwners = lockOwners
        memberFormat = JSONMember(base: address)
    }

    func begin(_ writer: inout TextWriter) {
        writer.raw(#"{"path":"#)
        writer.json(path)
        writer.raw(#","rights":"#)
        writer.json(rights)
        writer.raw(#","entries":["#)
    }

    mutating func member(_ member: DirectoryMember, _ writer: inout TextWriter) {
        if isFirst { writer.raw("\n") } else { writer.raw(",\n") }
        isFirst = false
        memberFormat.write(member.name, member.attributes, lockOwner: lockOwners[member.name], to: &writer)
    }

    func end(_ writer: inout TextWriter) {
        writer.raw("\n]}\n")
    }
}

extension TextWriter {
    /// Writes rights as a JSON list of words.
    mutating func json(_ rights: Rights) {
        let words: [(Rights, StaticString)] = [
            (.read, #""read""#), (.create, #""create""#), (.overwrite, #""overwrite""#), (.delete, #""delete""#),
        ]
        raw("[")
        var isFirst = true
        for (right, word) in words where rights.contains(right) {
            if !isFirst { raw(",") }
            isFirst = false
            raw(word)
        }
        raw("]")
    }
}
