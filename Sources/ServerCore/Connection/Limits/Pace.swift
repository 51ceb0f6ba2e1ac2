import NIOCore
import Synchronization

/// The rate limits of one connection, for both directions together: its own, and that of all connections.
struct Pace: Sendable {
    private let own: RateBucket?
    private let all: RateBucket?
    /// The connection's event loop; nil for ``unlimited``.
    private let loop: (any EventLoop)?
    /// The connection's engine; nil for ``unlimited``.
    private let engine: Engine?

    init(own: RateBucket?, all: RateBucket?, on loop: any EventLoop, of engine: Engine) {
        self.own = own
        self.all = all
        self.loop = loop
        self.engine = engine
    }

    private init() { (own, all, loop, engine) = (nil, nil, nil, nil) }

    static let unlimited = Pace()

    var isLimited: Bool { own != nil || all != nil }

    /// Whether uploads make way whose clients have sent everything and gone; see ``Engine/isCrowded``.
    var isCrowded: Bool { engine?.isCrowded == true }

    /// The most bytes to send or receive in one step.
    var piece: Int { min(own?.piece ?? .max, all?.piece ?? .max) }

    /// Records bytes that were sent or received.
    /// - Returns: how long to wait before the next ones; zero for no wait.
    func spend(_ count: Int) -> Duration {
        max(own?.spend(count) ?? .zero, all?.spend(count) ?? .zero)
    }

    /// Records bytes, and waits if they were ahead of a rate limit: for several turns if they are more than a piece.
    ///
    /// A task that was cancelled waits on unless that is vain: what a client has sent before it went takes its turns as
    /// anybody's. When the server ends, nobody waits.
    /// - Parameters:
    ///   - count: of bytes; 0 to wait for the turn of the first ones.
    ///   - isLast: whether nothing comes after them: then nothing waits for the last piece to be paid for.
    ///   - isVain: asked each second, and when the task is cancelled: true if there is nothing to wait for any more.
    func wait(after count: Int, isLast: Bool, unless isVain: () -> Bool) async {
        guard isLimited, let loop, let engine else { return }
        var left = count
        repeat {
            let step = min(left, piece)
            left -= step
            var wait = spend(step)
            if isLast, left == 0 { return }
            let end = NIODeadline.now() + TimeAmount(wait)
            while wait > .zero {
                // The event loop ends some seconds after that.
                guard !isVain(), !engine.hasAborted.load(ordering: .relaxed) else { return }
                await loop.rest(for: min(wait, .seconds(1)))
                wait = Duration(end - .now())
            }
        } while left > 0
    }
}
