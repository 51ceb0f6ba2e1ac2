import DirectoryRoot

/// The JSON for the page, with each member on a line of its own.
struct JSONListing: ListingFormat {
    let mediaType = "application/json"

    /// The folder's path in the page: `/a/`.
    let path: [UInt8]
    let rights: Rights
    var memberFormat: JSONMember
    /// The names of the lock holders.
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
        jsonList(words.lazy.filter { rights.contains($0.0) }) { $0.raw($1.1) }
    }
}
