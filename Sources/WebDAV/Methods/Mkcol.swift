internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Creates a collection: 201; 405 for a taken name, 409 without a parent, 415 with a body.
    ///
    /// RFC 4918 §9.3.
    func mkcol() async throws -> Response {
        let body = try await body()
        return try await onDiskIfConditionsHold(needsFreeName: true) { share in
            if let target = try visibleTarget() {
                throw notAllowed("Something is at this address already.", for: target)
            }
            guard body.isEmpty else {
                throw HTTPError(.unsupportedMediaType, "MKCOL takes no body here.")
            }
            do {
                try share.createDirectory(at: path, replacing: .nothing)
            } catch RootError.exists {
                throw notAllowed("Something is at this address already.", for: try visibleTarget())
            }
            return Response(.created)
        }
    }

    /// What is at the target; nil also for a requester that may not see it: one that may only upload creates folders
    /// all the same.
    private func visibleTarget() throws(RootError) -> FileAttributes? {
        do throws(RootError) {
            return try existing(path)
        } catch .forbidden {
            return nil
        }
    }
}
