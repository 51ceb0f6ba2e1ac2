import Synchronization

/// Buffers for copying bodies from a socket to a file: few and large, instead of one for each connection.
final class ScratchBuffers: Sendable {
    /// Up to about this size, larger writes cost less per byte.
    static let size = 512 * 1_024
    private static let kept = 8

    /// One buffer, used by one body at a time; freed with its last reference unless it was given back.
    @safe final class Scratch: @unchecked Sendable {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ScratchBuffers.size, alignment: 4_096)

        deinit { unsafe bytes.deallocate() }
    }

    private let free = Mutex<[Scratch]>([])

    func take() -> Scratch {
        free.withLock { $0.popLast() } ?? Scratch()
    }

    func giveBack(_ scratch: Scratch) {
        free.withLock { if $0.count < Self.kept { $0.append(scratch) } }
    }
}
