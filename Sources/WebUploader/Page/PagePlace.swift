import DirectoryRoot
import ServerCore

/// One folder for the page to show, or what stands in its place.
struct PagePlace {
    /// The folder; of a missing one, the asked path.
    var path: SharePath
    var rights: Rights
    /// The members, or the first of them; nil where there is nothing to list.
    var members: [DirectoryMember]?
    /// The folder's version before they were read.
    var version: String?
    /// Whether these are all.
    var isWhole = true
    var lockOwners = LockOwners()
    /// 200, or why there is no folder.
    var status = Status.ok
    /// Set when the person must log in first.
    var logIn: LogInPrompt?

    /// The most members that stand in the page itself.
    static let inlineCount = 500
    /// So many of more stand in it, to be seen until the whole is there.
    static let firstCount = 100
}

/// For whom the page is written.
struct PageVisitor {
    /// What every address begins with.
    var prefix: String
    var acceptLanguage: String?
    /// As the visitor sees it; nil before they have logged in.
    var share: Share?

    /// The one who sent a request.
    init(_ request: Request) {
        prefix = request.prefix
        acceptLanguage = request.fields["accept-language"]
        share = request.share
    }

    /// Somebody who has still to log in.
    init(_ prompt: LogInPrompt) {
        prefix = String(prompt.action.dropLast("/.shareserve/login".utf8.count))
        acceptLanguage = prompt.acceptLanguage
    }

    /// The percent-encoded address of a folder, with its last slash.
    func folderAddress(_ path: SharePath) -> [UInt8] {
        var writer = TextWriter(capacity: 64)
        writer.raw(prefix.utf8)
        writer.address(path.folderPath)
        return writer.take()
    }
}

extension Request {
    /// The percent-encoded address of a folder, with its last slash.
    func folderAddress(_ path: SharePath) -> [UInt8] { PageVisitor(self).folderAddress(path) }
}
