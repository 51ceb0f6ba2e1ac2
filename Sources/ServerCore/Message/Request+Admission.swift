import DirectoryRoot

extension Request {
    /// Whether the session or the share link that admitted this request is still valid; waits for the disk.
    ///
    /// For responses without an end of their own, while they are being sent.
    /// - Returns: false when nothing more may be sent.
    public func isStillAdmitted() -> Bool {
        guard let access = storage.exchange?.engine.access else { return true }
        do throws(HTTPError) {
            let head = RequestHeadView(
                head: storage.head, method: method, target: try RequestTarget(storage.head.target),
                authority: authority, scheme: scheme, peer: storage.peer)
            return access.stillAdmits(head, of: share.user)
        } catch {
            return false
        }
    }
}
