import DirectoryRoot
import Synchronization

/// The uploads in progress, read from the disk once for all requests within a short time.
final class UploadsBoard: Sendable {
    private struct Look {
        var root: ObjectIdentifier
        var time: ContinuousClock.Instant
        var uploads: [UploadProgress]
    }

    private static let freshness: Duration = .milliseconds(1_500)

    /// A page shows fewer, and every open one gets them with each piece that has come.
    private static let most = 50

    private let last = Mutex<Look?>(nil)

    /// The uploads in progress below a folder that the requester may read, with targets in the requester's terms; some of
    /// them when there are very many.
    func uploads(below folder: SharePath, for share: Share) throws -> [UploadProgress] {
        let top = try share.base.appending(folder)
        let shown = try all(of: share.root).lazy.compactMap { (upload) -> UploadProgress? in
            guard let target = upload.record.target, top.isAncestor(of: target),
                share.granted(at: target).contains(.read), let shown = target.relative(to: share.base)
            else { return nil }
            var upload = upload
            upload.record.target = shown
            // Visitors and users of a share link need not know who the others are.
            if share.user == nil { upload.record.user = nil }
            return upload
        }
        return Array(shown.prefix(Self.most))
    }

    private func all(of root: DirectoryRoot) throws -> [UploadProgress] {
        let now = ContinuousClock.now
        let known = last.withLock { $0 }
        if let known, known.root == ObjectIdentifier(root), now - known.time < Self.freshness { return known.uploads }
        let uploads = try Share(root: root).uploadsInProgress(below: .root)
        last.withLock { $0 = Look(root: ObjectIdentifier(root), time: now, uploads: uploads) }
        return uploads
    }
}
