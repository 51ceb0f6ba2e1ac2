package import Dispatch

extension DispatchQueue {
    /// Runs `work` on a thread of this queue, and waits for it at most for `limit`; it may continue after that.
    package func run(within limit: Duration, _ work: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        async {
            work()
            done.signal()
        }
        _ = done.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1))))
    }
}
