import DirectoryRoot
import ServerCore

/// What an answer that refuses still tells of the upload.
extension UploaderHandler {
    /// Says the limits where one of them refuses.
    func draft(_ work: @escaping @Sendable (Request) async throws -> Response) -> Answer {
        .later { request in
            do {
                return try await work(request)
            } catch {
                guard var refusal = HTTPError(of: error), refusal.status == .contentTooLarge else { throw error }
                refusal.fields["Upload-Limit"] = DraftVersion.assumed(request.fields).limits(
                    maxSize: request.share.root.policy.maxUploadSize, secondsLeft: nil)
                throw refusal
            }
        }
    }

    /// Runs what goes on with an upload; in the drafts up to -05 a refusal, too, says where the upload stands.
    ///
    /// - Parameters:
    ///   - request: the creation or the append.
    ///   - id: the upload's.
    ///   - version: the version of the answer.
    ///   - location: the address of an upload that begins.
    ///   - work: gives the answer.
    /// - Returns: the answer of `work`.
    /// - Throws: what `work` throws, with the state told.
    func telling(
        _ request: Request, _ id: String, _ version: DraftVersion, at location: String? = nil,
        _ work: () async throws -> Response
    ) async throws -> Response {
        guard version.marksRefusals else { return try await work() }
        do {
            var response = try await work()
            if response.status.code >= 400 {
                await addState(request, id, version, at: location, to: &response.fields)
            }
            return response
        } catch {
            guard var refusal = HTTPError(of: error) else { throw error }
            await addState(request, id, version, at: location, to: &refusal.fields)
            throw refusal
        }
    }

    /// Nothing is told of an upload that is over, or was never there.
    private func addState(
        _ request: Request, _ id: String, _ version: DraftVersion, at location: String?,
        to fields: inout ResponseFields
    ) async {
        if !version.completes(request.fields) { version.addCompleteness(false, to: &fields) }
        guard let state = try? await request.io.run({ try request.share.upload(id: id) }), !state.record.isFinished
        else { return }
        fields["Location"] = location
        fields["Upload-Offset"] = String(state.offset)
    }
}
