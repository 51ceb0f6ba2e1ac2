import CSyscalls
import NIOCore
import NIOPosix

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Lets work wait until its loop has looked at the sockets again.
///
/// SwiftNIO's loop runs what it is given by `execute` until there is none left, work given by such work included, and
/// only then looks at the sockets. Connections that always have more to send would keep all others waiting, for seconds.
/// So work waits here for a byte to come through a pipe, which the loop looks at together with the sockets.
///
/// Used on that loop only.
final class LoopTurns: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How much a connection sends in one turn, in bytes; then the others have theirs.
    ///
    /// Either takes some 0.2 ms: encrypting is slower than `sendfile`.
    static let portion = 1_024 * 1_024
    static let securePortion = 256 * 1_024

    private let loop: any EventLoop
    private var waiting: [() -> Void] = []
    private var bell = Pipe.none
    private static let ring = ByteBuffer(bytes: [0])

    private enum Pipe {
        /// Also when the system had no descriptors left.
        case none
        case opening
        /// Given to a channel, which closes it.
        case given
        case open(ChannelHandlerContext)
        /// The loop is ending.
        case closed
    }

    init(loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `work` once the loop has handled what the sockets had for it.
    func wait(_ work: @escaping () -> Void) {
        waiting.append(work)
        guard waiting.count == 1 else { return }
        // On first need: it would take a tenth of the program's start.
        if case .none = bell { open() }
        if case .open(let context) = bell {
            context.writeAndFlush(wrapOutboundOut(Self.ring), promise: nil)
        } else {
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.execute { bound.value.begin() }
        }
    }

    /// Opens the pipe, which the loop closes when it ends.
    private func open() {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (reading, writing) = (ends[0], ends[1])
        @Sendable func closeBoth() {
            close(reading)
            close(writing)
        }
        // SwiftNIO ends the process when it can't watch it.
        guard sys_can_watch(reading) != 0 else { return closeBoth() }
        bell = .opening
        let bound = NIOLoopBound(self, eventLoop: loop)
        NIOPipeBootstrap(group: loop)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 16))
            .channelInitializer { channel in
                bound.value.bell = .given
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(bound.value)
                }
            }
            .takingOwnershipOfDescriptors(input: reading, output: writing)
            .whenFailure { _ in
                if case .opening = bound.value.bell { closeBoth() }
                bound.value.bell = .none
            }
    }

    /// Begins the turn of all that wait; what they give in turn waits for the next.
    private func begin() {
        let works = waiting
        waiting = []
        for work in works { work() }
    }

    // MARK: - The channel's calls

    func channelActive(context: ChannelHandlerContext) { bell = .open(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { begin() }

    func channelInactive(context: ChannelHandlerContext) {
        bell = .closed
        begin()
    }
}
