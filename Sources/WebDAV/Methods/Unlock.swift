internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Removes a lock: 204; 409 when there is no such lock here, 403 when it is another user's.
    ///
    /// RFC 4918 §9.11.
    func unlock() async throws -> Response {
        let token = try LockTokenHeader(header: request.fields["lock-token"]).token
        try await refuseBody(but: "lockinfo")
        return try await onDisk { share in
            try checkIf()
            do {
                try share.unlock(path, token: token)
            } catch RootError.unknownToken {
                throw DAVError(status: .conflict, condition: .lockTokenMatchesRequestURI)
            }
            return Response(.noContent)
        }
    }
}
