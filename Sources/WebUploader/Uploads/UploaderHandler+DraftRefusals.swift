import DirectoryRoot
import ServerCore

/// What a refusal still reports about the upload.
extension UploaderHandler {
    /// Adds the limits when one of them is the reason for a refusal.
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

    /// Runs work that continues an upload; in the drafts up to -05, a refusal also reports the upload's state.
    ///
    /// - Parameters:
    ///   - request: the creation or the append.
    ///   - id: of the upload.
    ///   - version: the version of the response.
    ///   - location: the address of an upload that begins.
    ///   - work: returns the response.
    /// - Returns: the answer of `work`.
    /// - Throws: what `work` throws, with the state added.
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

    /// Nothing is added for an upload that has ended or never existed.
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
