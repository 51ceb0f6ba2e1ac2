import DirectoryRoot

/// The holders of locks on a folder's members, as text for people.
struct LockOwners: Sendable {
    private var owners: [[UInt8]: [UInt8]] = [:]
    /// The holder of a lock on the folder with everything in it.
    private var ofAll: [UInt8]?

    /// No locks.
    init() {}

    /// Picks the locks that a listing of `folder` has to show.
    init(_ locks: [ActiveLock], in folder: SharePath) {
        for lock in locks {
            let owner = Self.name(of: lock)
            if lock.isRecursive, lock.root.contains(folder) {
                ofAll = owner
            } else if lock.root.parent == folder, !lock.root.isRoot {
                owners[Array(lock.root.name)] = owner
            }
        }
    }

    /// The holder of a lock on a member; nil when it is not locked.
    subscript(name: [UInt8]) -> [UInt8]? { owners.isEmpty ? ofAll : owners[name] ?? ofAll }

    /// The user's name, or the text of the client's `owner` element, without markup.
    private static func name(of lock: ActiveLock) -> [UInt8] {
        if let user = lock.user { return Array(user.utf8) }
        var text: [UInt8] = []
        var isMarkup = false
        for byte in lock.owner where text.count < 200 {
            switch byte {
            case UInt8(ascii: "<"): isMarkup = true
            case UInt8(ascii: ">"): isMarkup = false
            case _ where isMarkup || byte < 0x20: break
            case 0x20 where text.isEmpty: break
            default: text.append(byte)
            }
        }
        while text.last == 0x20 { text.removeLast() }
        return text
    }
}
