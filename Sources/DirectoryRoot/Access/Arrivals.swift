import CSyscalls
import Synchronization

/// Recent uploads to places where the uploader may not read, or may not replace.
///
/// Programs look at what they have just uploaded, and a mounted drive creates and locks a file, looks at it, and only
/// then writes to it. If the server refused that, they would report the upload as failed, or leave the file empty. So
/// for a day the uploader of a file may learn that it exists and how large it is, and may fill it while it is empty.
/// Nobody else may, and nobody can read its content this way.
final class Arrivals: Sendable {
    /// Who uploaded what: two hashes, so that long names take no memory.
    ///
    /// If two keys collide, the entity tags still tell their files apart.
    struct Key: Hashable {
        fileprivate let bringer: Int
        fileprivate let path: Int

        /// - Parameters:
        ///   - bringer: a user's name, or the client's address when it gave no name.
        ///   - isUser: whether `bringer` is a user's name.
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
        /// Of this content of this file only: an inode number may be used again.
        let tag: EntityTag
        let isEmpty: Bool
        let time: Duration
    }

    /// The most uploads that are remembered.
    static let limit = 65_536
    /// How long an upload is remembered: longer than it takes to fill a large file.
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

    /// Forgets what has expired, or else half of the uploads of the requester with the most: so this runs seldom, and
    /// nobody pushes out files that others are about to fill.
    private static func makeRoom(in known: inout [Key: Arrival], _ now: Duration) {
        known = known.filter { now - $0.value.time < Self.life }
        guard known.count >= Self.limit else { return }
        let most = Dictionary(grouping: known, by: \.key.bringer).values.max { $0.count < $1.count } ?? []
        // When very many requesters have uploaded little each, half of all uploads is forgotten.
        let giving = most.count > Self.limit / 64 ? most : Array(known)
        // Files that have content are forgotten first: nobody is about to fill them.
        let inOrder = giving.sorted {
            $0.value.isEmpty == $1.value.isEmpty ? $0.value.time < $1.value.time : $1.value.isEmpty
        }
        for (key, _) in inOrder.prefix((inOrder.count + 1) / 2) { known[key] = nil }
    }

    /// Whether this very file was uploaded there by the requester of `key`.
    func has(_ attributes: FileAttributes, by key: Key) -> Bool {
        known.withLock { known in
            guard let arrival = known[key], clock.uptime() - arrival.time < Self.life else { return false }
            return arrival.tag == attributes.entityTag
        }
    }
}

extension Share {
    /// Remembers a file that its uploader may not read, or may not fill.
    /// - Parameters:
    ///   - attributes: of the file; nil, or those of anything but a file, to remember nothing. Evaluated only if
    ///     needed.
    ///   - path: where it is, from the root.
    func noteArrival(_ attributes: @autoclosure () -> FileAttributes?, at path: SharePath) {
        let rights = granted(at: path)
        guard !rights.isSuperset(of: [.read, .overwrite]), let attributes = attributes(), attributes.kind == .file,
            !rights.contains(.read) || attributes.size == 0, let key = arrivalKey(path)
        else { return }
        root.arrivals.note(attributes, by: key)
    }

    /// Whether this requester has just created the empty file at `path` (from the root), and so may fill it.
    func mayFill(_ status: sys_attributes, at path: SharePath) -> Bool {
        guard status.isFile, status.size == 0, let attributes = FileAttributes(status) else { return false }
        return hasBrought(attributes, to: path)
    }

    /// Whether this requester has just uploaded the file at `path` (from the root).
    func hasBrought(_ attributes: FileAttributes, to path: SharePath) -> Bool {
        guard attributes.kind == .file, granted(at: path).contains(.create), let key = arrivalKey(path) else {
            return false
        }
        return root.arrivals.has(attributes, by: key)
    }

    /// Whether a listing shows this requester the file at `path` (from the root) because the requester has uploaded it.
    ///
    /// Several requesters without a name may share one address: they are shown files that are still empty only.
    func listsArrival(_ attributes: FileAttributes, at path: SharePath) -> Bool {
        (user != nil || attributes.size == 0) && hasBrought(attributes, to: path)
    }

    /// Nil when nothing identifies the requester: whatever connects by a Unix-domain socket is a proxy.
    private func arrivalKey(_ path: SharePath) -> Arrivals.Key? {
        if let user { return Arrivals.Key(bringer: user, isUser: true, path: path) }
        guard let peer, peer != "unix" else { return nil }
        return Arrivals.Key(bringer: peer, isUser: false, path: path)
    }

    /// Opens what this requester has just uploaded, for its attributes only: its content can't be read from the result.
    /// - Parameter path: from ``base``.
    /// - Returns: the file.
    /// - Throws: ``RootError/forbidden`` for anything else that is there; ``RootError/notFound``.
    package func openArrival(_ path: SharePath) throws(RootError) -> Entry {
        let full = try absolute(path)
        let opened = try openVisible(full, flags: sys_o_path, waiting: true)
        // For a requester who may read, it was the disk that refused.
        guard opened.attributes.kind == .file, !granted(at: full).contains(.read) else { throw .forbidden }
        return Entry(descriptor: opened.descriptor.release(), attributes: opened.attributes)
    }
}
