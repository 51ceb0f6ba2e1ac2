/// The folders of a tree that a walk has yet to enter: each is entered once, by its own path if that is in the tree.
///
/// Links may lead to any folder, also back up. Folders behind a link wait until all those that are reached without one
/// have been entered: otherwise, depending on the disk's order, a link could make the members of one folder appear at
/// another place.
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

    /// How many folders were entered or wait.
    package var count: Int { entered.count + ahead.count + behindLinks.count }

    /// About how much memory all of this takes, in bytes.
    package var byteCount: Int { pathBytes + count * Self.bytesOfFolder }

    /// Bytes that a folder takes besides its path: while it waits, and once it was entered.
    private static let bytesOfFolder = 64

    /// Adds a folder found in the folder that was entered last.
    package mutating func add(_ path: SharePath) {
        ahead.append(path)
        pathBytes += path.bytes.count
    }

    /// Enters the next one; waits for the disk.
    ///
    /// Folders that no longer exist, or may not be read, are skipped.
    /// - Parameter share: the view of the requester.
    /// - Returns: the folder and its members; nil when all were entered.
    /// - Throws: what the disk reports.
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
