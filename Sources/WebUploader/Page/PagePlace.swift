import DirectoryRoot
import ServerCore

/// The folder that a page shows, or what is shown instead.
struct PagePlace {
    /// The folder; if it does not exist, the requested path.
    var path: SharePath
    var rights: Rights
    /// The members, or the first of them; nil when there is nothing to list.
    var members: [DirectoryMember]?
    /// The folder's version before they were read.
    var version: String?
    /// Whether ``members`` are all.
    var isWhole = true
    var lockOwners = LockOwners()
    /// 200, or why there is no folder.
    var status = Status.ok
    /// Set when the person must log in first.
    var logIn: LogInPrompt?

    /// The most members that are contained in the page itself.
    static let inlineCount = 500
    /// How many members of a larger folder it contains, to be shown until the whole listing is there.
    static let firstCount = 100
}

/// The visitor for whom a page is written.
struct PageVisitor {
    /// The prefix of every address.
    var prefix: String
    var acceptLanguage: String?
    /// As the visitor sees it; nil before logging in.
    var share: Share?

    /// The visitor who sent a request.
    init(_ request: Request) {
        prefix = request.prefix
        acceptLanguage = request.fields["accept-language"]
        share = request.share
    }

    /// A visitor who is not logged in yet.
    init(_ prompt: LogInPrompt) {
        prefix = String(prompt.action.dropLast("/.shareserve/login".utf8.count))
        acceptLanguage = prompt.acceptLanguage
    }

    /// The percent-encoded address of a folder, with a trailing slash.
    func folderAddress(_ path: SharePath) -> [UInt8] {
        var writer = TextWriter(capacity: 64)
        writer.raw(prefix.utf8)
        writer.address(path.folderPath)
        return writer.take()
    }
}

extension Request {
    /// The percent-encoded address of a folder, with a trailing slash.
    func folderAddress(_ path: SharePath) -> [UInt8] { PageVisitor(self).folderAddress(path) }
}
