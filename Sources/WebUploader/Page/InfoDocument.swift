import DirectoryRoot
import ServerCore

/// What the page must know about the server, as `/.shareserve/info` answers it and as it stands in the page itself.
struct InfoDocument: Sendable {
    let configuration: UploaderConfiguration
    let languages: [String]

    /// Writes the JSON object.
    func write(for share: Share, to writer: inout TextWriter) {
        let policy = share.root.policy
        writer.raw(#"{"version":"#)
        writer.json(configuration.version)
        writer.raw(#","title":"#)
        writer.json(configuration.title)
        writer.raw(#","header":"#)
        writer.json(configuration.header)
        writer.raw(#","footer":"#)
        writer.json(configuration.footer)
        writer.raw(#","readOnly":"#)
        writer.json(policy.isReadOnly)
        writer.raw(#","user":"#)
        if let user = share.user { writer.json(user) } else { writer.raw("null") }
        writer.raw(#","canLogIn":"#)
        writer.json(configuration.hasUsers && share.user == nil)
        writer.raw(#","canLogOut":"#)
        writer.json(configuration.hasUsers && share.user != nil)
        writer.raw(#","trashDays":"#)
        writer.integer(Int64(configuration.trashDays))
        writer.raw(#","links":"#)
        writer.json(configuration.allowsLinks && !policy.isReadOnly)
        writer.raw(#","archive":true,"uploads":"#)
        writer.json(!policy.isReadOnly)
        writer.raw(#","trash":"#)
        writer.json(!policy.isReadOnly && !policy.refusesDelete)
        writer.raw(#","maxUploadSize":"#)
        if let limit = policy.maxUploadSize { writer.integer(limit) } else { writer.raw("null") }
        writer.raw(#","languages":"#)
        writer.json(languages)
        writer.raw(#","addresses":"#)
        writer.json(configuration.addresses())
        writer.raw("}")
    }
}

extension TextWriter {
    /// Writes a JSON list of strings.
    mutating func json(_ texts: [String]) {
        raw("[")
        for (index, text) in texts.enumerated() {
            if index > 0 { raw(",") }
            json(text)
        }
        raw("]")
    }
}
