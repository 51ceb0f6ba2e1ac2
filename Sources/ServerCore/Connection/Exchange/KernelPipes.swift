import CSyscalls
import Synchronization

/// A pipe through which a body moves from a socket to a file without being copied into this program's memory.
///
/// Used by one body at a time, and empty between two uses.
final class KernelPipe: Sendable {
    /// The room of a pipe in bytes, in full pages: a piece of ``ScratchBuffers/size`` fits, though not all pages are full.
    static let size = 2 * ScratchBuffers.size

    /// Where bytes are put in and taken out.
    let input: Int32
    let output: Int32

    /// - Returns: nil if the system has no such pipes, or no more of them.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard sys_may_keep_open(), unsafe sys_pipe(Self.size, &ends) == 0 else { return nil }
        (output, input) = (ends[0], ends[1])
    }

    deinit {
        _ = sys_close(input)
        _ = sys_close(output)
    }
}

/// Pipes for bodies that are received: few, and opened when first needed.
final class KernelPipes: Sendable {
    private static let kept = 8

    private struct State {
        var free: [KernelPipe] = []
        var isRefused = false
    }

    private let state = Mutex(State())

    /// A pipe, empty; nil where bodies can't move through one.
    func take() -> KernelPipe? {
        let (kept, isRefused) = state.withLock { ($0.free.popLast(), $0.isRefused) }
        return isRefused ? nil : kept ?? KernelPipe()
    }

    /// Keeps a pipe for the next body, if it is empty: one that is not, is closed by being released.
    func giveBack(_ pipe: KernelPipe) {
        state.withLock { if !$0.isRefused, $0.free.count < Self.kept { $0.free.append(pipe) } }
    }

    /// Takes note that sockets of this system can't be read this way.
    func refuse() {
        state.withLock { $0 = State(isRefused: true) }
    }
}
