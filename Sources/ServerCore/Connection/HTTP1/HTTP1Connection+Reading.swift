import NIOCore

/// How much the channel reads at once.
extension HTTP1Connection {
    /// Small while a connection is idle: each connection keeps the buffer of its last read.
    static let receiveAllocator = AdaptiveRecvByteBufferAllocator(minimum: 1_024, initial: 2_048, maximum: 16_384)

    /// What is read at once of a long body over TLS, in bytes; with it, TLS keeps a buffer of 128 KiB.
    static let wideRead = 96 * 1_024

    /// Reads more at once while a long body comes over TLS.
    ///
    /// The task that stores it can't read from the socket itself there, and each read takes a turn of the loop and a
    /// wake-up of that task: with the usual size, they were a third of an upload's cost.
    func widenReads() {
        if heldWide == 0 {
            let cost = Self.wideRead + 128 * 1_024
            guard engine.memory.wideReads.change(from: 0, to: cost) else { return }
            heldWide = cost
        }
        readsWide = true
        read(by: FixedSizeRecvByteBufferAllocator(capacity: Self.wideRead))
    }

    /// Reads as usual again.
    ///
    /// The memory stays counted until the connection ends: TLS keeps its buffer.
    func narrowReads() {
        guard readsWide else { return }
        readsWide = false
        read(by: Self.receiveAllocator)
    }

    /// Gives back the memory at the end of the connection.
    func releaseWide() {
        _ = engine.memory.wideReads.change(from: heldWide, to: 0)
        heldWide = 0
    }

    /// Has the channel read by another allocator.
    func read(by allocator: any RecvByteBufferAllocator) {
        // Fails only on a closed channel, which is noticed anyway.
        try? context?.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
    }
}
