import NIOCore
import NIOPosix

/// The ``LoopState`` of each event loop.
struct LoopStates: Sendable {
    private let states: [NIOLoopBound<LoopState>]

    init(_ group: MultiThreadedEventLoopGroup) async throws {
        let states = group.makeIterator().map { loop in
            loop.submit { NIOLoopBound(LoopState(loop: loop), eventLoop: loop) }
        }
        self.states = try await EventLoopFuture.whenAllSucceed(states, on: group.any()).get()
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
