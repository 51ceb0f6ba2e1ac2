import ArgumentParser
import DirectoryRoot
import ServerCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// `shareserve link PATH`: creates, lists and revokes share links of a directory, whether or not a server serves it.
struct LinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shareserve link",
        abstract: "Makes a link that opens one file or folder to whoever has it; lists and revokes links.",
        discussion: """
            The path is the file or folder itself. The shared directory is the one of --root, else that of the server \
            that runs on it, else the nearest one above it that was ever served.
            """)

    @Argument(help: "The file or folder; the shared directory with --list and --revoke.", completion: .file())
    var path: String = "."

    @Option(help: .init("The shared directory.", valueName: "directory"), completion: .directory)
    var root: String?

    @Option(help: .init("When the link ends, as in 30m, 24h or 2d; default: never.", valueName: "time"))
    var expires: String?

    @Flag(help: "Whoever has the link may upload into the folder, and replaces nothing.")
    var upload = false

    @Flag(help: "Ask for a password that the link needs besides.")
    var password = false

    @Option(help: .init("How many downloads the link allows.", valueName: "number"))
    var maxDownloads: Int64?

    @Option(help: .init("What the server's address is, to print the whole link.", valueName: "url"))
    var url: String?

    @Flag(help: "List the links.")
    var list = false

    @Option(help: .init("End the link of this id.", valueName: "id"))
    var revoke: String?

    /// Does what the options ask for.
    ///
    /// - Throws: ``StartError`` when there is nothing to share, no such link, or the output cannot be written.
    func run() throws {
        // Most likely a script's variable that was never set; it must not become a link to the whole share.
        guard !path.isEmpty, root?.isEmpty != true else { throw StartError.usage("the path is empty") }
        guard revoke == nil || !list else { throw StartError.usage("--list and --revoke exclude each other") }
        let place = Self.real(path)
        let server = runningServer(for: place)
        let directory = try sharedDirectory(of: place, server)
        var policy = RootPolicy()
        policy.stateOwner = Self.stateOwner(of: directory, server)
        let opened: DirectoryRoot
        do throws(RootError) {
            opened = try DirectoryRoot(path: directory, policy: policy)
        } catch {
            throw StartError(error, opening: directory)
        }
        do {
            if let revoke {
                try opened.links.revoke(id: revoke)
            } else if list {
                // Elsewhere a state folder that this user may not enter counts as none; here that would be a wrong
                // answer.
                guard unsafe faccessat(AT_FDCWD, directory + "/.shareserve", X_OK, AT_EACCESS) == 0 || errno != EACCES
                else { throw RootError.system(errno: EACCES, call: "look into the state folder") }
                for link in try opened.links.all() { try StandardStreams.deliver(Self.line(link)) }
            } else {
                try make(in: opened, directory: directory, place: place, server)
            }
        } catch RootError.unknownToken {
            throw StartError.usage("there is no link with this id")
        } catch let error as RootError {
            throw StartError(error, opening: path, of: "file or directory")
        }
    }

    private func make(in opened: DirectoryRoot, directory: String, place: String, _ server: RunningServer?) throws {
        let relative = place.utf8.dropFirst(directory.utf8.count).drop { $0 == UInt8(ascii: "/") }
        let share = Share(root: opened)
        guard let shared = try? SharePath(bytes: relative) else {
            throw StartError.usage("\(path) cannot be shared")
        }
        let isDirectory = try share.attributes(of: shared).isDirectory
        guard isDirectory || !upload else {
            throw StartError.usage("upload: '\(path)' is not a folder")
        }
        var life: Duration?
        if let expires {
            guard let span = TimeSpan(expires)?.duration, span > .zero else {
                throw StartError.usage(
                    "expires: '\(expires)' is not a time such as 30m, 24h or 2d, of at most 100 years")
            }
            life = span
        }
        if let url, !Self.isAddress(url) {
            throw StartError.usage("url: '\(url)' is not an address such as https://files.example.com")
        }
        if let maxDownloads, maxDownloads < 1 { throw StartError.usage("max-downloads: at least 1") }
        let hash =
            password ? try PasswordHash.yescrypt.make(password: PasswordPrompt.read(), user: "") : nil
        let (secret, secretHash) = LinkToken.makeSecret()
        let link = try opened.links.create(
            ShareLink(
                secretHash: secretHash, path: shared, rights: upload ? [.read, .create] : .readOnly,
                expires: life.map { Timestamp(seconds: Int64(time(nil)) + $0.components.seconds) }, passwordHash: hash,
                downloadsLeft: maxDownloads))
        // A program that saves a file under the last component of its address then uses the file's own name.
        let name = isDirectory ? "" : URICharacters.unreservedPath.text(Array(shared.name))
        let base = url.map(Self.withoutSlash) ?? server?.url
        do throws(StartError) {
            try StandardStreams.deliver(
                "\(base ?? "")/.shareserve/s/\(LinkToken.text(id: link.id, secret: secret))/\(name)")
        } catch {
            // Nobody has seen the link.
            try opened.links.revoke(id: link.id)
            throw error
        }
        if base == nil { StandardStreams.complain("shareserve: the server's address goes in front; --url adds it") }
    }

    /// The server that knows the link; one that shares a directory above that of `--root` does not know it.
    private func runningServer(for place: String) -> RunningServer? {
        guard let root else { return RunningServer.sharing(place) }
        let directory = Self.real(root)
        return RunningServer.sharing(directory).flatMap { $0.root == directory ? $0 : nil }
    }

    /// The nearest directory at or above `place` that is or was served.
    private func sharedDirectory(of place: String, _ server: RunningServer?) throws -> String {
        if let root {
            let directory = Self.real(root)
            guard place == directory || place.hasPrefix(directory + "/") || list || revoke != nil else {
                throw StartError.usage("\(path) is not in \(root)")
            }
            return directory
        }
        if let server { return server.root }
        var directory = place
        while !directory.isEmpty {
            var found = stat()
            if unsafe stat(directory + "/.shareserve", &found) == 0, found.st_mode & S_IFMT == S_IFDIR {
                return directory
            }
            directory = directory.lastIndex(of: "/").map { String(directory[..<$0]) } ?? ""
        }
        throw StartError.usage("no shared directory is known above \(path); name it with --root")
    }

    /// The owner of the state that this command changes as root: a server of another user could not read root's files.
    private static func stateOwner(of directory: String, _ server: RunningServer?) -> FileOwner? {
        guard geteuid() == 0 else { return nil }
        var found = stat()
        if unsafe lstat(directory + "/.shareserve", &found) == 0 {
            return FileOwner(user: found.st_uid, group: found.st_gid)
        }
        if let owner = server?.owner { return owner }
        return unsafe stat(directory, &found) == 0 ? FileOwner(user: found.st_uid, group: found.st_gid) : nil
    }

    /// The absolute path without symbolic links, as the kernel knows it; with its links when nothing is there.
    private static func real(_ path: String) -> String {
        guard let found = unsafe realpath(path, nil) else {
            return withoutSlash(URL(filePath: path).standardizedFileURL.path(percentEncoded: false))
        }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Whether what is appended to it can be opened.
    private static func isAddress(_ text: String) -> Bool {
        guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else { return false }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        return rest.first.map { $0 != UInt8(ascii: "/") } == true && rest.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    private static func withoutSlash(_ path: String) -> String {
        path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Tab-separated: id, path, rights, expiry, downloads left, password, creator (`*` for a visitor without a name,
    /// `-` for a link that was not created on the page).
    private static func line(_ link: ShareLink) -> String {
        [
            link.id, "/" + URICharacters.plainPath.text(link.path.bytes),
            link.rights.contains(.create) ? "upload" : "read",
            link.expires.map { HTTPDate.text($0.seconds) } ?? "never",
            link.downloadsLeft.map { "\($0) left" } ?? "unlimited",
            link.passwordHash == nil ? "open" : "password", link.creator.map { $0.isEmpty ? "*" : $0 } ?? "-",
        ].joined(separator: "\t")
    }
}
