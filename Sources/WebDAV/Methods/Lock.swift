internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Takes a lock (200, or 201 with a new empty file), or refreshes one when there is no body.
    ///
    /// RFC 4918 §9.10.
    func lock() async throws -> Response {
        let body = try await body()
        let timeout = Timeout(header: request.fields["timeout"]).duration
        guard !body.isEmpty else { return try await refresh(timeout) }
        let depth = try Depth(of: request, missing: .infinity)
        guard depth == .zero || depth == .infinity else {
            throw HTTPError(.badRequest, "The Depth of a LOCK must be 0 or infinity.")
        }
        let info = try LockInfo(root(of: body, maxDepth: LockInfo.maxDepth))
        let wish = LockRequest(
            isExclusive: info.isExclusive, isRecursive: depth == .infinity, owner: info.owner, timeout: timeout)
        return try await onDiskIfConditionsHold { share in
            do {
                let (lock, created) = try share.lock(path, wish, makesFile: !request.hasTrailingSlash)
                // The lock exists now: a client that did not get its token could not remove it. So nothing may fail
                // from here on.
                let others = ((try? share.locks(covering: path)) ?? []).filter { $0.token != lock.token }
                return answer([lock] + others, created ? .created : .ok, token: lock.token, in: share)
            } catch RootError.locked(let roots) {
                // No lock conflicts with this one, but the new name needs the token of its folder's lock. RFC 4918 §7.4
                guard try existing(path) != nil || !share.locks(covering: path).isEmpty else {
                    throw RootError.locked(roots)
                }
                return conflict(with: roots.map { Place($0, in: share) })
            } catch RootError.notDirectory where request.hasTrailingSlash {
                throw Self.fileBehindSlash
            }
        }
    }

    /// Restarts the time-outs of the locks named in `If`.
    ///
    /// RFC 4918 §9.10.2.
    private func refresh(_ timeout: Duration?) async throws -> Response {
        guard let ifHeader, !ifHeader.tokens.isEmpty else {
            throw HTTPError(
                .badRequest, "LOCK needs a body that says what lock, or an If field with the one to refresh.")
        }
        return try await onDiskIfConditionsHold { share in
            do {
                let locks = try share.refreshLocks(at: path, timeout: timeout)
                guard !locks.isEmpty else { throw RootError.preconditionFailed }
                return answer(locks, .ok, token: nil, in: share)
            } catch RootError.unknownToken {
                throw RootError.preconditionFailed
            }
        }
    }

    private func answer(_ locks: [ActiveLock], _ status: Status, token: LockToken?, in share: Share) -> Response {
        var xml = XMLWriter(capacity: 1024)
        xml.append("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\">")
        xml.appendLockDiscovery(locks.map { ShownLock($0, in: share) }, prefix: Array(request.prefix.utf8))
        xml.append("</D:prop>")
        var fields: ResponseFields = ["Content-Type": xmlMediaType]
        if let token { fields.add("Lock-Token", "<" + token.uri + ">") }
        return Response(status, fields: fields, body: .bytes(xml.take()))
    }

    /// A 423 with the conflicting lock; a 207 if only members have one.
    ///
    /// RFC 4918 §9.10.5, §9.10.9.
    private func conflict(with roots: [Place]) -> Response {
        guard !roots.isEmpty, roots.allSatisfy({ path.isAncestor(of: $0.path) }) else {
            return DAVError(
                status: .locked, condition: .noConflictingLock, hrefs: roots,
                message: HTTPError(RootError.locked([])).message
            ).response(prefix: request.prefix)
        }
        var writer = MultiStatusWriter(.all, isMinimal: false, prefix: request.prefix, space: nil, capacity: 1024)
        writer.xml.append(MultiStatusWriter.begin)
        for root in roots {
            writer.append(root, status: .locked, condition: .noConflictingLock, hrefs: [root])
        }
        writer.append(Place(path, isDirectory: true), status: .failedDependency)
        writer.xml.append(MultiStatusWriter.end)
        return Response(.multiStatus, fields: ["Content-Type": xmlMediaType], body: .bytes(writer.xml.take()))
    }
}

/// The body of a LOCK.
///
/// RFC 4918 §14.11.
struct LockInfo: Hashable, Sendable {
    let isExclusive: Bool
    /// The `owner` element as sent, as XML that stands on its own; empty without one.
    let owner: [UInt8]

    /// A response holds the owner five elements deeper than the request, and many clients' libxml2 reads no more than
    /// 256 levels.
    static let maxDepth = XMLBounds.maxDepth - 5

    /// - Throws: 400 when it is not a `lockinfo` for a write lock.
    init(_ root: XMLElement) throws(HTTPError) {
        guard root.isDAV("lockinfo"), let scope = root.child("lockscope"), let type = root.child("locktype"),
            type.child("write") != nil
        else { throw DAVBody.notUnderstood }
        isExclusive = scope.child("exclusive") != nil
        guard isExclusive != (scope.child("shared") != nil) else { throw DAVBody.notUnderstood }
        owner = root.child("owner").map { XMLFragment.bytes(of: $0) } ?? []
        guard owner.count <= LockRequest.mostOwnerBytes else {
            throw HTTPError(.contentTooLarge, "The owner of a lock takes more than 8 KiB.")
        }
    }
}
