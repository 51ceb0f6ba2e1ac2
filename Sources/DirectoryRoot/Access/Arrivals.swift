import CSyscalls
import Synchronization

/// What was brought lately to where its bringer may not read, or not replace.
///
/// Programs look at what they have just uploaded, and a mounted drive makes and locks a file, looks at it, and only
/// then writes to it: told that they may not, they take the upload for failed, or leave the file empty. So who brought
/// a file may learn for a day that it is there, and how large, and fill it while it is empty; nobody else may, and it
/// is read by nobody.
final class Arrivals: Sendable {
    /// Who brings what: two hashes, so that long names take no room.
    ///
    /// Where two are alike by chance, the tags still tell their files apart.
    struct Key: Hashable {
        fileprivate let bringer: Int
        fileprivate let path: Int

        /// - Parameters:
        ///   - bringer: a user's name, or the address of somebody without one.
        ///   - isUser: which of the two.
        ///   - path: from the root.
        init(bringer: String, isUser: Bool, path: SharePath) {
            var hasher = Hasher()
            hasher.combine(bringer)
            hasher.combine(isUser)
            self.bringer = hasher.finalize()
            self.path = path.hashValue
        }
    }

    private struct Arrival {
        /// Of no other content, and of no other file that has its number later.
        let tag: EntityTag
        let isEmpty: Bool
        let time: Duration
    }

    /// More are not remembered.
    static let limit = 65_536
    /// Longer than it takes to fill a large one.
    static let life: Duration = .seconds(86_400)

    private let known = Mutex<[Key: Arrival]>([:])
    private let clock: RootClock

    init(clock: RootClock) { self.clock = clock }

    func note(_ attributes: FileAttributes, by key: Key) {
        let now = clock.uptime()
        known.withLock { known in
            if known.count >= Self.limit, known[key] == nil { Self.makeRoom(in: &known, now) }
            known[key] = Arrival(tag: attributes.entityTag, isEmpty: attributes.size == 0, time: now)
        }
    }

    /// Forgets what is over, or half of what the one with the most has brought; so this is seldom done, and nobody
    /// pushes out what others are about to fill.
    private static func makeRoom(in known: inout [Key: Arrival], _ now: Duration) {
        known = known.filter { now - $0.value.time < Self.life }
        guard known.count >= Self.limit else { return }
        let most = Dictionary(grouping: known, by: \.key.bringer).values.max { $0.count < $1.count } ?? []
        // Of very many who brought little, all give.
        let giving = most.count > Self.limit / 64 ? most : Array(known)
        // What is filled is not waited for by anybody.
        let inOrder = giving.sorted {
            $0.value.isEmpty == $1.value.isEmpty ? $0.value.time < $1.value.time : $1.value.isEmpty
        }
        for (key, _) in inOrder.prefix((inOrder.count + 1) / 2) { known[key] = nil }
    }

    /// Whether this very file was brought there by the one who asks.
    func has(_ attributes: FileAttributes, by key: Key) -> Bool {
        known.withLock { known in
            guard let arrival = known[key], clock.uptime() - arrival.time < Self.life else { return false }
            return arrival.tag == attributes.entityTag
        }
    }
}

extension Share {
    /// Remembers a file whose bringer may not do everything with it.
    /// - Parameters:
    ///   - attributes: of the file; nil, or of something else, for nothing to remember. Asked for where they matter.
    ///   - path: where it is, from the root.
    func noteArrival(_ attributes: @autoclosure () -> FileAttributes?, at path: SharePath) {
        let rights = granted(at: path)
        guard !rights.isSuperset(of: [.read, .overwrite]), let attributes = attributes(), attributes.kind == .file,
            !rights.contains(.read) || attributes.size == 0, let key = arrivalKey(path)
        else { return }
        root.arrivals.note(attributes, by: key)
    }

    /// Whether this requester has just made the empty file that is at `path`, from the root, to fill it.
    func mayFill(_ status: sys_attributes, at path: SharePath) -> Bool {
        guard status.isFile, status.size == 0, let attributes = FileAttributes(status) else { return false }
        return hasBrought(attributes, to: path)
    }

    /// Whether this requester has just brought what is at `path`, from the root.
    func hasBrought(_ attributes: FileAttributes, to path: SharePath) -> Bool {
        guard attributes.kind == .file, granted(at: path).contains(.create), let key = arrivalKey(path) else {
            return false
        }
        return root.arrivals.has(attributes, by: key)
    }

    /// Whether a listing shows this requester what is at `path`, from the root, for having brought it.
    ///
    /// Of those without a name several may have one address: they are shown what is yet to be filled, alone.
    func listsArrival(_ attributes: FileAttributes, at path: SharePath) -> Bool {
        (user != nil || attributes.size == 0) && hasBrought(attributes, to: path)
    }

    /// Nil for somebody of whom nothing is known: whoever comes by a Unix-domain socket is a proxy.
    private func arrivalKey(_ path: SharePath) -> Arrivals.Key? {
        if let user { return Arrivals.Key(bringer: user, isUser: true, path: path) }
        guard let peer, peer != "unix" else { return nil }
        return Arrivals.Key(bringer: peer, isUser: false, path: path)
    }

    /// What this requester has just brought, for an answer that says what it is; its content can't be read from it.
    /// - Parameter path: from ``base``.
    /// - Returns: the file.
    /// - Throws: ``RootError/forbidden`` for all else that is there; ``RootError/notFound``.
    package func openArrival(_ path: SharePath) throws(RootError) -> Entry {
        let full = try absolute(path)
        let opened = try openVisible(full, flags: sys_o_path, waiting: true)
        // Who may read is refused by the disk.
        guard opened.attributes.kind == .file, !granted(at: full).contains(.read) else { throw .forbidden }
        return Entry(descriptor: opened.descriptor.release(), attributes: opened.attributes)
    }
}
