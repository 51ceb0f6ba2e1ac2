import NIOCore
import NIOPosix

/// The ``LoopState`` of each event loop.
struct LoopStates: Sendable {
    private let states: [NIOLoopBound<LoopState>]

    init(_ group: MultiThreadedEventLoopGroup) async throws {
        var states: [NIOLoopBound<LoopState>] = []
        for loop in group.makeIterator() {
            states.append(
                try await loop.submit {
                    let state = LoopState(loop: loop)
                    state.turns.open()
                    return NIOLoopBound(state, eventLoop: loop)
                }.get())
        }
        self.states = states
    }

    var count: Int { states.count }

    /// That of the loop that this is called on.
    func state(of loop: any EventLoop) -> LoopState? { states.first { $0.eventLoop === loop }?.value }

    func inEach(_ body: @escaping @Sendable (LoopState) -> Void) async {
        for state in states {
            try? await state.eventLoop.submit { body(state.value) }.get()
        }
    }

    /// The same, without waiting for it.
    func tellEach(_ body: @escaping @Sendable (LoopState) -> Void) {
        for state in states { state.eventLoop.execute { body(state.value) } }
    }

    func memberCount() async -> Int {
        var sum = 0
        for state in states {
            sum += (try? await state.eventLoop.submit { state.value.memberCount }.get()) ?? 0
        }
        return sum
    }
}
