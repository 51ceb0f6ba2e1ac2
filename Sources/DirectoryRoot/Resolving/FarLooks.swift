import Dispatch
import Synchronization

/// Examines what is on far file systems on behalf of requests for something else, which go on without the result if it
/// does not come in time.
///
/// Runs on threads of its own, since a call that has begun can't be cancelled. If a file system hangs, the threads that
/// began in the first second stay; no other begins until one of them returns.
final class FarLooks: Sendable {
    /// The device numbers of those that did not answer in time.
    private let hung = Mutex<Set<UInt64>>([])

    /// How long an answer may take.
    private static let patience: DispatchTimeInterval = .seconds(1)

    private enum State<Answer: Sendable>: Sendable {
        case waiting
        case given(Answer)
        /// Nobody waits for the answer any more.
        case left
    }

    private final class Look<Answer: Sendable>: Sendable {
        let state = Mutex(State<Answer>.waiting)
        let end = DispatchSemaphore(value: 0)
    }

    /// Asks a file system.
    /// - Parameters:
    ///   - device: its device number.
    ///   - body: may block for ever.
    /// - Returns: the result of `body`; nil when the file system does not respond.
    func run<Answer: Sendable>(on device: UInt64, _ body: @escaping @Sendable () -> Answer) -> Answer? {
        guard !hung.withLock({ $0.contains(device) }) else { return nil }
        let look = Look<Answer>()
        let isStarted = OwnThread.start("look") { [self] in
            let answer = body()
            look.state.withLock { state in
                if case .left = state { _ = hung.withLock { $0.remove(device) } }
                state = .given(answer)
            }
            look.end.signal()
        }
        guard isStarted else { return nil }
        _ = look.end.wait(timeout: .now() + Self.patience)
        return look.state.withLock { state in
            if case .given(let answer) = state { return answer }
            state = .left
            _ = hung.withLock { $0.insert(device) }
            return nil
        }
    }
}
