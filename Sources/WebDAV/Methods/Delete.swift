internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Removes a file or a whole tree: 204, or a 207 that names what could not be removed.
    ///
    /// RFC 4918 §9.6.
    func delete() async throws -> Response {
        let depth = try Depth(of: request, missing: .infinity)
        try await refuseBody()
        let work: @Sendable (Share) throws -> Response = { share in
            let target = try share.attributes(of: path)
            try requireFolderBehindSlash(target)
            guard depth == .infinity || !target.isDirectory else {
                throw HTTPError(.badRequest, "A folder is deleted with all that is in it: Depth must be infinity.")
            }
            guard !path.isRoot else { throw HTTPError(.forbidden, "The shared folder itself can't be deleted.") }
            // Checked before the removal begins: what the field names may be on a slow disk, for which all others would
            // then wait.
            try checkIf()
            do {
                let failures = try share.remove(path, when: conditions.replacement)
                guard failures.isEmpty else { return multiStatus(failures, in: share) }
                return Response(.noContent)
            } catch RootError.locked(let roots) {
                return try lockedMembers(roots, below: path, in: share)
            }
        }
        let isTree = try await onDisk { _ in try existing(path)?.isDirectory ?? false }
        return isTree ? try await onDiskInTurn(work) : try await onDisk(work)
    }

    /// Refuses a body, as one that would be ignored must be.
    ///
    /// RFC 4918 §8.4.
    /// - Parameter ignored: the root of a body that adds nothing and is accepted: old clients send a `propertybehavior`
    ///   with COPY and MOVE (RFC 2518 §12.12), and early ones of sardine-android a `lockinfo` with UNLOCK.
    /// - Throws: 415.
    func refuseBody(but ignored: String? = nil) async throws {
        let body = try await body()
        guard !body.isEmpty else { return }
        let root = try? root(of: body)
        guard let ignored, root?.isDAV(ignored) == true else {
            throw HTTPError(.unsupportedMediaType, "This method takes no body.")
        }
    }

    /// Names the locked members in a 207 if the locks are only below `path`.
    ///
    /// RFC 4918 §9.6.1.
    /// - Throws: ``RootError/locked(_:)`` when a lock is on `path` itself or above it.
    func lockedMembers(_ roots: [SharePath], below path: SharePath, in share: Share) throws -> Response {
        guard !roots.isEmpty, roots.allSatisfy({ path.isAncestor(of: $0) }) else { throw RootError.locked(roots) }
        return multiStatus(roots.map { MemberFailure(path: $0, error: .locked([$0])) }, in: share)
    }

    /// A 207 with a status for each member that failed.
    ///
    /// RFC 4918 §13.
    func multiStatus(_ failures: [MemberFailure], in share: Share) -> Response {
        request.log(failureAmong: failures.lazy.map(\.error))
        var writer = MultiStatusWriter(
            .all, isMinimal: false, prefix: request.prefix, space: nil, capacity: 256 * (failures.count + 1))
        writer.xml.append(MultiStatusWriter.begin)
        for failure in failures {
            let status = HTTPError(failure.error).status
            let isLocked = status == .locked
            let place = Place(failure.path, in: share)
            writer.append(
                place, status: status, condition: isLocked ? .lockTokenSubmitted : nil, hrefs: isLocked ? [place] : [])
        }
        writer.xml.append(MultiStatusWriter.end)
        return Response(.multiStatus, fields: ["Content-Type": xmlMediaType], body: .bytes(writer.xml.take()))
    }
}
