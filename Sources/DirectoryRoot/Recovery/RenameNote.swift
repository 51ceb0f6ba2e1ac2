import CSyscalls
import Synchronization

/// The content of a ``RenameJournal`` note about two renames that belong together.
///
/// Others may have changed the names since: the note holds only while they are as the first rename left them.
protocol RenameNote {
    /// The suffix of the names of such notes.
    static var suffix: [UInt8] { get }
    /// Whether something is out of everybody's sight between the two renames, in the folder that it was in: such a note
    /// must survive a power cut.
    static var hides: Bool { get }

    var bytes: [UInt8] { get }

    /// Nil for what is not a complete note.
    init?(_ bytes: ArraySlice<UInt8>)

    /// Does what is left to do, under the commit lock.
    /// - Returns: false when what it is about can't be found, and may be on a disk that is not mounted now.
    /// - Throws: why that can't be done now.
    func finish(in root: DirectoryRoot) throws(RootError) -> Bool
}

/// The identity of a file or folder, independent of its name.
struct NotedThing {
    let device: UInt64
    let inode: UInt64

    init(_ status: sys_attributes) {
        device = status.device
        inode = status.inode
    }

    /// From the two numbers in ``text``.
    init?(_ device: ArraySlice<UInt8>, _ inode: ArraySlice<UInt8>) {
        guard let device = UInt64(String(decoding: device, as: UTF8.self)),
            let inode = UInt64(String(decoding: inode, as: UTF8.self))
        else { return nil }
        self.device = device
        self.inode = inode
    }

    /// The two numbers, each followed by a blank.
    var text: String { "\(device) \(inode) " }

    /// Whether this may be what was found, after any length of time: a file system that is mounted again, or on another
    /// host, can have another device number.
    func isLike(_ status: sys_attributes?) -> Bool { status?.inode == inode }

    /// Whether this is what was found.
    func matches(_ status: sys_attributes?) -> Bool {
        status.map { $0.device == device && $0.inode == inode } ?? false
    }
}

extension DirectoryRoot {
    /// Where a note locates something; nil when a folder on the way no longer exists.
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

    /// Hides something that is to be removed by ``removeDoomed()``.
    /// - Throws: ``RootError/forbidden`` when it can't be moved.
    func doom(_ place: ScratchPlace) throws(RootError) {
        guard let hidden = try hide(place) else { throw .forbidden }
        doomed.withLock { $0.append(hidden) }
    }
}
