import Dispatch
import Synchronization

/// Looks at what is on far file systems on behalf of who asks for something else, and goes on without what does not
/// come.
///
/// On threads of their own, since one that has begun can't be given up. Of a file system that hangs, those that were
/// begun in the first second stay; nobody begins another until one of them comes back.
final class FarLooks: Sendable {
    /// Those that did not answer in time, by their numbers.
    private let hung = Mutex<Set<UInt64>>([])

    /// How long one that answers may take.
    private static let patience: DispatchTimeInterval = .seconds(1)

    private enum State<Answer: Sendable>: Sendable {
        case waiting
        case given(Answer)
        /// Nobody waits for it any more.
        case left
    }

    private final class Look<Answer: Sendable>: Sendable {
        let state = Mutex(State<Answer>.waiting)
        let end = DispatchSemaphore(value: 0)
    }

    /// Asks a file system.
    /// - Parameters:
    ///   - device: its number.
    ///   - body: may wait for it for ever.
    /// - Returns: what `body` gave; nil where the file system does not answer.
    func run<Answer: Sendable>(on device: UInt64, _ body: @escaping @Sendable () -> Answer) -> Answer? {
        guard !hung.withLock({ $0.contains(device) }) else { return nil }
        let look = Look<Answer>()
        // A queue of its own has a thread of its own, which no other work waits for.
        DispatchQueue(label: "look").async { [self] in
            let answer = body()
            look.state.withLock { state in
                if case .left = state { _ = hung.withLock { $0.remove(device) } }
                state = .given(answer)
            }
            look.end.signal()
        }
        _ = look.end.wait(timeout: .now() + Self.patience)
        return look.state.withLock { state in
            if case .given(let answer) = state { return answer }
            state = .left
            _ = hung.withLock { $0.insert(device) }
            return nil
        }
    }
}
