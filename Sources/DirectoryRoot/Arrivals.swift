import CSyscalls
import Synchronization

/// What was brought lately to where its bringer may read nothing.
///
/// Programs look at what they have just uploaded, and a mounted drive looks before it writes to the file that it has
/// made and locked: told that they may not, they take the upload for failed, or leave the file empty. So who brought a
/// file may learn for an hour that it is there, and how large; nobody else may, and it is read by nobody.
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
        let inode: UInt64
        let device: UInt64
        let time: Duration
    }

    /// More are not remembered.
    static let limit = 4_096
    static let life: Duration = .seconds(3_600)

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
            known[key] = Arrival(inode: attributes.inode, device: attributes.device, time: now)
        }
    }

    /// Whether this very file was brought there by the one who asks.
    func has(_ attributes: FileAttributes, by key: Key) -> Bool {
        known.withLock { known in
            guard let arrival = known[key], clock.uptime() - arrival.time < Self.life else { return false }
            return arrival.inode == attributes.inode && arrival.device == attributes.device
        }
    }
}

extension Share {
    /// Remembers a file whose bringer may not read it.
    func noteArrival(_ attributes: FileAttributes, at path: SharePath) {
        guard let key = arrivalKey(path), !granted(at: path).contains(.read) else { return }
        root.arrivals.note(attributes, by: key)
    }

    /// Whether this requester has just brought what is at `path`, from the root.
    func hasBrought(_ attributes: FileAttributes, to path: SharePath) -> Bool {
        guard attributes.kind == .file, let key = arrivalKey(path), granted(at: path).contains(.create) else {
            return false
        }
        return root.arrivals.has(attributes, by: key)
    }

    private func arrivalKey(_ path: SharePath) -> Arrivals.Key? {
        if let user { return Arrivals.Key(bringer: user, isUser: true, path: path) }
        return peer.map { Arrivals.Key(bringer: $0, isUser: false, path: path) }
    }

    /// What this requester has just brought, for an answer that says what it is; its content can't be read from it.
    /// - Parameter path: from ``base``.
    /// - Returns: the file.
    /// - Throws: ``RootError/forbidden`` for all else that is there; ``RootError/notFound``.
    package func openArrival(_ path: SharePath) throws(RootError) -> Entry {
        let opened = try openVisible(absolute(path), flags: sys_o_path, waiting: true)
        guard opened.attributes.kind == .file else { throw .forbidden }
        return Entry(descriptor: opened.descriptor.release(), attributes: opened.attributes)
    }
}
