import DirectoryRoot
import ServerCore

/// What the page must know about the server, for `/.shareserve/info` and for the page itself.
struct InfoDocument: Sendable {
    let configuration: UploaderConfiguration
    let languages: [String]

    /// Writes the JSON object.
    /// - Parameters:
    ///   - share: as the requester sees it; nil for a requester who is not logged in yet.
    ///   - writer: receives it.
    func write(for share: Share?, to writer: inout TextWriter) {
        let policy = share?.root.policy
        let isReadOnly = policy?.isReadOnly ?? true
        // Guests of a share link see what it leads to, and no information about users.
        let isGuest = share?.isGuest ?? false
        writer.raw(#"{"version":"#)
        writer.json(configuration.version)
        writer.raw(#","title":"#)
        writer.json(configuration.title)
        writer.raw(#","header":"#)
        writer.json(configuration.header)
        writer.raw(#","footer":"#)
        writer.json(configuration.footer)
        writer.raw(#","readOnly":"#)
        writer.json(isReadOnly)
        writer.raw(#","user":"#)
        if let user = share?.user { writer.json(user) } else { writer.raw("null") }
        writer.raw(#","canLogIn":"#)
        writer.json(configuration.hasUsers && share?.user == nil && !isGuest)
        writer.raw(#","canLogOut":"#)
        writer.json(configuration.hasUsers && share?.user != nil)
        writer.raw(#","trashDays":"#)
        // A trash from which nothing can be restored is not shown.
        writer.integer(isReadOnly || isGuest ? 0 : Int64(policy?.trashDays ?? 0))
        writer.raw(#","links":"#)
        writer.json(configuration.allowsLinks && !isReadOnly && !isGuest)
        writer.raw(#","counted":"#)
        writer.json(share?.countsDownloads == true)
        writer.raw(#","archive":true,"uploads":"#)
        writer.json(!isReadOnly)
        writer.raw(#","trash":"#)
        // If nothing can be noted on the disk any more, the page asks first, and deletes for good.
        writer.json(!isReadOnly && policy?.refusesDelete == false && !isGuest && share?.root.hasRoomForTrash == true)
        writer.raw(#","maxUploadSize":"#)
        if let limit = policy?.maxUploadSize { writer.integer(limit) } else { writer.raw("null") }
        writer.raw(#","languages":"#)
        writer.json(languages)
        writer.raw(#","addresses":"#)
        // A guest need not know the others of the machine's addresses.
        writer.json(share == nil || isGuest ? [] : configuration.addresses())
        writer.raw("}")
    }
}

extension TextWriter {
    /// Writes a JSON list of strings.
    mutating func json(_ texts: [String]) { jsonList(texts) { $0.json($1) } }
}
