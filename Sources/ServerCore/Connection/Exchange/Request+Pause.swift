extension Request {
    /// Waits by a timer of the connection's event loop.
    /// - Throws: `CancellationError` when the task was cancelled, or the event loop ends meanwhile.
    package func pause(for time: Duration) async throws {
        guard let loop = storage.exchange?.loop else { return try await Task.sleep(for: time) }
        try await loop.pause(for: time)
    }
}
