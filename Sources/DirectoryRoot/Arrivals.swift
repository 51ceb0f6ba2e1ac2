import CSyscalls
import Synchronization

/// What was brought lately to where its bringer may not read, or not replace.
///
/// Programs look at what they have just uploaded, and a mounted drive makes and locks a file, looks at it, and only then
/// writes to it: told that they may not, they take the upload for failed, or leave the file empty. So who brought a file
/// may learn for a day that it is there, and how large, and fill it while it is empty; nobody else may, and it is read
/// by nobody.
final class Arrivals: Sendable {
    /// Who brings what.
    struct Key: Hashable {
        /// A user's name, or the address of somebody without one.
        let bringer: String
        let isUser: Bool
        /// From the root.
        let path: SharePath
    }

    private struct Arrival {
        /// Of no other content, and of no other file that has its number later.
        let tag: EntityTag
        let time: Duration
    }

    /// More are not remembered.
    static let limit = 4_096
    /// Longer than it takes to fill a large one.
    static let life: Duration = .seconds(86_400)

    private let known = Mutex<[Key: Arrival]>([:])
    private let clock: RootClock

    init(clock: RootClock) { self.clock = clock }

    func note(_ attributes: FileAttributes, by key: Key) {
        let now = clock.uptime()
        known.withLock { known in
            if known.count >= Self.limit, known[key] == nil {
                known = known.filter { now - $0.value.time < Self.life }
                // The older half: so that this is seldom done.
                if known.count >= Self.limit {
                    let times = known.values.map(\.time).sorted()
                    known = known.filter { $0.value.time > times[times.count / 2] }
                }
            }
            known[key] = Arrival(tag: attributes.entityTag, time: now)
        }
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
    func noteArrival(_ attributes: FileAttributes, at path: SharePath) {
        let rights = granted(at: path)
        let isOfUse = !rights.contains(.read) || attributes.size == 0 && !rights.contains(.overwrite)
        if isOfUse { root.arrivals.note(attributes, by: arrivalKey(path)) }
    }

    /// Whether this requester has just made the empty file that is at `path`, from the root, to fill it.
    func mayFill(_ status: sys_attributes, at path: SharePath) -> Bool {
        guard status.isFile, status.size == 0, let attributes = FileAttributes(status) else { return false }
        return hasBrought(attributes, to: path)
    }

    /// Whether this requester has just brought what is at `path`, from the root.
    func hasBrought(_ attributes: FileAttributes, to path: SharePath) -> Bool {
        guard attributes.kind == .file, granted(at: path).contains(.create) else { return false }
        return root.arrivals.has(attributes, by: arrivalKey(path))
    }

    private func arrivalKey(_ path: SharePath) -> Arrivals.Key {
        Arrivals.Key(bringer: user ?? peer ?? "", isUser: user != nil, path: path)
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
