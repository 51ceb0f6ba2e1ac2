import Synchronization

/// The share links, in one file of the state folder.
///
/// Looking up a link costs one `fstatat` while nothing has changed.
public final class LinkStore: Sendable {
    private let file: StateFile
    private let clock: RootClock
    private let known = Mutex<(identity: StateFile.Identity?, links: [String: ShareLink])>((nil, [:]))
    /// When each link that has expired was first seen so by ``sweep()``, by the running clock.
    private let seenOver = Mutex<[String: Duration]>([:])

    /// The most links that have not expired; a limit for the people who manage them, not for the machine.
    ///
    /// Nobody has more of them than are left for others, except the link command on the server's machine.
    static let limit = 10_000
    /// The most bytes that their paths take in the file, which is written anew with every change and every counted
    /// download; shared in the same way.
    private static let mostPathBytes = 4 << 20
    /// How many links stay in the file though they have expired, and for how long while a server runs.
    ///
    /// They open nothing and are not listed; but if it was the machine's clock that was wrong for a while, they are
    /// there when it is right again. Later, a clock that is set back must not open them once more.
    static let mostExpired = 100
    static let keepsExpired: Duration = .seconds(3_600)

    init(state: StateFolder, clock: RootClock) {
        file = StateFile(state: state, name: "links")
        self.clock = clock
    }

    /// Stores a new link.
    /// - Parameter link: its id and creation time are set here.
    /// - Returns: the link as it is kept.
    /// - Throws: ``RootError/tooManyLinks`` at the limit; ``RootError/readOnly``.
    public func create(_ link: ShareLink) throws(RootError) -> ShareLink {
        var link = link
        link.id = String(StateFile.randomName().prefix(16))
        link.created = clock.wall()
        let new = link
        try change { (links) throws(RootError) in
            try Self.requireRoom(for: new, among: links.values.filter { !$0.isOver(at: new.created) })
            links[new.id] = new
        }
        return new
    }

    private static func requireRoom(for new: ShareLink, among living: [ShareLink]) throws(RootError) {
        let own = new.creator == nil ? [] : living.filter { $0.creator == new.creator }
        let bytes = { (links: [ShareLink]) in links.reduce(0) { $0 + $1.path.bytes.count } }
        guard own.count < limit - living.count, bytes(own) + new.path.bytes.count <= mostPathBytes - bytes(living)
        else {
            throw .tooManyLinks
        }
    }

    /// Removes links that expired long ago; called at the start, and every minute.
    /// - Throws: what the disk reports.
    func sweep() throws(RootError) {
        guard !file.state.isReadOnly else { return }
        let (now, elapsed) = (clock.wall(), clock.elapsed())
        let over = Set(try current().values.filter { $0.isOver(at: now) }.map(\.id))
        let due = seenOver.withLock { seen in
            seen = Dictionary(uniqueKeysWithValues: over.map { ($0, seen[$0] ?? elapsed) })
            return seen.filter { elapsed - $0.value >= Self.keepsExpired }.keys
        }
        guard !due.isEmpty else { return }
        try file.state.usingSpareRoom { () throws(RootError) in
            try change { (links) throws(RootError) in
                for id in due where links[id]?.isOver(at: now) == true { links[id] = nil }
            }
        }
    }

    /// The link with this id, unless it has expired; a link without downloads left is still returned.
    public func link(id: String) throws(RootError) -> ShareLink? {
        guard let link = try current()[id], !link.isOver(at: clock.wall()) else { return nil }
        return link
    }

    /// All links.
    /// - Parameter includingExpired: whether those are among them that are only kept in case the clock is wrong.
    /// - Returns: the newest first.
    /// - Throws: what the disk reports.
    public func all(includingExpired: Bool = false) throws(RootError) -> [ShareLink] {
        let now = clock.wall()
        return try current().values.filter { includingExpired || !$0.isOver(at: now) }
            .sorted { ($0.created, $0.id) > ($1.created, $1.id) }
    }

    /// Removes a link.
    /// - Throws: ``RootError/unknownToken`` when there is none.
    public func revoke(id: String) throws(RootError) {
        try file.state.usingSpareRoom { () throws(RootError) in
            try change { (links) throws(RootError) in
                guard links.removeValue(forKey: id) != nil else { throw .unknownToken }
            }
        }
    }

    /// Makes the links to a moved folder, and to everything below it, lead to where it is now.
    ///
    /// A file's link stays with its name: programs that save a file move the old one away first. If the links can't be
    /// changed, the move is still not a failure, since it has happened: the problem is reported.
    /// - Parameters:
    ///   - source: where the folder was, from the root.
    ///   - target: where it is now.
    func follow(_ source: SharePath, to target: SharePath) {
        do throws(RootError) {
            guard try current().values.contains(where: { source.contains($0.path) }) else { return }
            try file.state.usingSpareRoom { () throws(RootError) in
                try change { (links) throws(RootError) in
                    for (id, link) in links {
                        guard let rest = link.path.relative(to: source), let path = try? target.appending(rest) else {
                            continue
                        }
                        links[id]?.path = path
                    }
                }
            }
        } catch {
            file.state.incidents.report(.linksLeftBehind)
        }
    }

    /// Counts a download, provided that one is left: of several concurrent requests for the last one, only one gets it.
    /// - Throws: ``RootError/unknownToken`` when the link has expired or has no download left.
    public func countDownload(id: String) throws(RootError) {
        guard let link = try link(id: id) else { throw .unknownToken }
        if link.downloadsLeft == nil { return }
        try change { (links) throws(RootError) in
            guard var link = links[id], let left = link.downloadsLeft, left > 0 else { throw .unknownToken }
            link.downloadsLeft = left - 1
            links[id] = link
        }
    }

    /// Undoes ``countDownload(id:)`` for a request that got no content; a link that no longer exists stays so.
    public func giveBackDownload(id: String) throws(RootError) {
        try change { (links) throws(RootError) in
            guard let left = links[id]?.downloadsLeft else { return }
            links[id]?.downloadsLeft = left + 1
        }
    }

    // MARK: -

    private func current() throws(RootError) -> [String: ShareLink] {
        let identity = try file.identity()
        if let links = known.withLock({ $0.identity == identity ? $0.links : nil }) { return links }
        do throws(RootError) {
            guard let contents = try file.read() else { return [:] }
            let links = try Self.parse(contents)
            known.withLock { $0 = (contents.identity, links) }
            return links
        } catch  where error.isDamage {
            // Fail closed: a link that can't be read opens nothing.
            file.state.incidents.report(.damagedFile(name: file.name))
            return [:]
        }
    }

    private func change(_ body: (inout [String: ShareLink]) throws(RootError) -> Void) throws(RootError) {
        try file.state.exclusively { (lock) throws(RootError) in
            var contents = try file.readForChange(lock)
            var links: [String: ShareLink] = [:]
            if let old = contents {
                do throws(RootError) {
                    links = try Self.parse(old)
                } catch {
                    try file.setAside(lock)
                    contents = nil
                }
            }
            forgetExpired(in: &links)
            try body(&links)
            var payload: [UInt8] = []
            for link in links.values { link.record.write(to: &payload) }
            let identity = try file.replace(contents, with: payload, lock)
            known.withLock { $0 = (identity, links) }
        }
    }

    private func forgetExpired(in links: inout [String: ShareLink]) {
        let now = clock.wall()
        let expired = links.values.filter { $0.isOver(at: now) }
        guard expired.count > Self.mostExpired else { return }
        let order = expired.sorted { ($0.expires ?? now, $0.id) < ($1.expires ?? now, $1.id) }
        for link in order.dropLast(Self.mostExpired) { links[link.id] = nil }
    }

    private static func parse(_ contents: StateFile.Contents) throws(RootError) -> [String: ShareLink] {
        do {
            let links = try StateRecord.all(in: contents.envelope.payload).map { try ShareLink($0) }
            return Dictionary(links.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        } catch {
            throw .damaged("links")
        }
    }
}

extension DirectoryRoot {
    /// The share links of this root.
    public var links: LinkStore { state.links }
}
