import NIOCore

extension Request {
    /// Waits by a timer of the connection's event loop, as ``Runtime/pause(for:)`` does.
    /// - Throws: `CancellationError` when the task was cancelled, or the event loop has ended.
    package func pause(for time: Duration) async throws {
        guard let loop = storage.exchange?.loop else { return try await Task.sleep(for: time) }
        let timer = loop.scheduleTask(in: TimeAmount(time)) {}
        do {
            try await withTaskCancellationHandler {
                try await timer.futureResult.get()
            } onCancel: {
                timer.cancel()
            }
        } catch {
            throw CancellationError()
        }
    }
}
