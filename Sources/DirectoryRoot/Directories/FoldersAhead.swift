/// The folders of a tree that a walk has yet to enter: each is entered once, and by its own path where that is in the
/// tree.
///
/// Links may lead to any folder, also back up. What is behind one waits for all that is reached without: else a link
/// would take the members of another folder to a place that is not theirs, now and then, as the disk's order has it.
package struct FoldersAhead {
    /// The path that the walk began with, and where that is from the root.
    private let top: (path: SharePath, real: SharePath)
    private var ahead: [SharePath] = []
    private var behindLinks: [SharePath] = []
    private var entered: Set<DirectoryIdentity>
    /// Of the paths that wait.
    private var pathBytes = 0

    /// - Parameters:
    ///   - top: the folder that the walk begins with.
    ///   - cursor: of that folder.
    package init(below top: SharePath, entered cursor: DirectoryCursor) {
        self.top = (top, cursor.realPath)
        entered = [DirectoryIdentity(cursor.attributes)]
    }

    /// How many were entered or wait.
    package var count: Int { entered.count + ahead.count + behindLinks.count }

    /// What all that takes of the memory, in bytes, about.
    package var byteCount: Int { pathBytes + count * Self.bytesOfFolder }

    /// What a folder takes beside its path: when it waits, and when it was entered.
    private static let bytesOfFolder = 64

    /// Adds one that was found in the folder that was entered last.
    package mutating func add(_ path: SharePath) {
        ahead.append(path)
        pathBytes += path.bytes.count
    }

    /// Enters the next one; waits for the disk.
    ///
    /// Those that have gone, or may not be read, are passed over.
    /// - Parameter share: the view of whoever walks.
    /// - Returns: the folder and its members; nil when all were entered.
    /// - Throws: what the disk says.
    package mutating func next(in share: Share) throws(RootError) -> (path: SharePath, cursor: DirectoryCursor)? {
        while let path = ahead.popLast() ?? behindLinks.popLast() {
            pathBytes -= path.bytes.count
            let cursor: DirectoryCursor
            do throws(RootError) {
                cursor = try share.list(path)
            } catch {
                guard error.meansAbsent else { throw error }
                continue
            }
            if !ahead.isEmpty, isBehindLink(path, cursor) {
                behindLinks.append(path)
                pathBytes += path.bytes.count
            } else if entered.insert(DirectoryIdentity(cursor.attributes)).inserted {
                return (path, cursor)
            }
        }
        return nil
    }

    private func isBehindLink(_ path: SharePath, _ cursor: DirectoryCursor) -> Bool {
        guard let below = path.relative(to: top.path), let own = try? top.real.appending(below) else { return true }
        return cursor.realPath != own
    }
}
