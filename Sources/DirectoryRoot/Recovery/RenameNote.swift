import CSyscalls
import Synchronization

/// What a ``RenameJournal`` keeps of two renames that belong together.
///
/// Others may have gone on since: it holds only as long as the names are as the first of the two left them.
protocol RenameNote {
    /// What the names of such notes end with.
    static var suffix: [UInt8] { get }
    /// Whether a power cut between the two must find the note.
    static var outlivesPower: Bool { get }

    var bytes: [UInt8] { get }

    /// Nil for what is not wholly a note.
    init?(_ bytes: ArraySlice<UInt8>)

    /// Does what is left to do, under the commit lock.
    /// - Throws: why that can't be done now.
    func finish(in root: DirectoryRoot) throws(RootError)
}

/// A file or folder, whatever it is called.
struct NotedThing {
    let device: UInt64
    let inode: UInt64

    init(_ status: sys_attributes) {
        device = status.device
        inode = status.inode
    }

    /// From the numbers that ``text`` gives.
    init?(_ device: ArraySlice<UInt8>, _ inode: ArraySlice<UInt8>) {
        guard let device = UInt64(String(decoding: device, as: UTF8.self)),
            let inode = UInt64(String(decoding: inode, as: UTF8.self))
        else { return nil }
        self.device = device
        self.inode = inode
    }

    /// The two numbers, each with a blank behind it.
    var text: String { "\(device) \(inode) " }

    /// Whether this may be what was found, after whatever time: a file system that is mounted again, or on another
    /// host, can have another device.
    func isLike(_ status: sys_attributes?) -> Bool { status?.inode == inode }

    /// Whether this is what was found.
    func matches(_ status: sys_attributes?) -> Bool {
        status.map { $0.device == device && $0.inode == inode } ?? false
    }
}

extension DirectoryRoot {
    /// Where a note says that something is; nil where the folders on the way have gone.
    func locateNoted(_ path: SharePath) throws(RootError) -> Location? {
        do throws(RootError) {
            return try locate(path, followsLink: false)
        } catch {
            switch error {
            case .notFound, .parentMissing, .notDirectory, .forbidden: return nil
            default: throw error
            }
        }
    }

    /// Puts what is to be removed out of everybody's sight, for ``removeDoomed()``.
    /// - Throws: ``RootError/forbidden`` when it can't be moved.
    func doom(_ place: ScratchPlace) throws(RootError) {
        guard let hidden = try hide(place) else { throw .forbidden }
        doomed.withLock { $0.append(hidden) }
    }
}
