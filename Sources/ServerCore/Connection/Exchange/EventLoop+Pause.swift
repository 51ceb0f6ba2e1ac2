import NIOCore

extension EventLoop {
    /// Waits by a timer of this event loop, which needs no thread and no open file of libdispatch's: that ends the
    /// process where it can have none.
    /// - Throws: `CancellationError` when the task was cancelled, or the event loop ends meanwhile; to be called
    ///   only before that.
    func pause(for time: Duration) async throws {
        let timer = scheduleTask(in: TimeAmount(time)) {}
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

    /// Waits likewise, for no longer than until the task is cancelled; if it was cancelled before, all the same.
    func rest(for time: Duration) async {
        guard Task.isCancelled else {
            _ = try? await pause(for: time)
            return
        }
        try? await scheduleTask(in: TimeAmount(time)) {}.futureResult.get()
    }
}
