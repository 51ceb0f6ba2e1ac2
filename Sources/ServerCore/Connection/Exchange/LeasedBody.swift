/// A body as its task decodes it, and the bytes received after its end.
struct LeasedBody {
    private(set) var incoming: IncomingBody
    private(set) var leftover: [UInt8] = []
    var isBroken = false
    private var received: Int64 = 0
    private let limit: Int64?

    init(incoming: IncomingBody, limit: Int64?) {
        self.incoming = incoming
        self.limit = limit
    }

    var isDone: Bool {
        if case .none = incoming { return true }
        return false
    }

    /// Whether the received bytes are content only, without framing.
    var isPlain: Bool {
        if case .counted = incoming { return true }
        return false
    }

    /// How many bytes may be received next: not a byte beyond a body with a known length.
    var wanted: Int64 {
        if case .counted(let remaining) = incoming { return remaining }
        return .max
    }

    /// Counts bytes of a plain body that were passed on by other means; no more than ``wanted``.
    mutating func pass(_ count: Int) {
        let remaining = wanted - Int64(count)
        incoming = remaining > 0 ? .counted(remaining) : .none
    }

    mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        switch incoming {
        case .none: unsafe leftover.append(contentsOf: bytes)
        case .counted(let remaining):
            let count = Int(min(Int64(bytes.count), remaining))
            incoming = remaining == Int64(count) ? .none : .counted(remaining - Int64(count))
            unsafe leftover.append(contentsOf: bytes[count...])
            try unsafe consume(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        case .chunked(var decoder):
            try unsafe takeChunks(bytes, &decoder, consume)
        }
    }

    /// Smaller chunks are joined: with a call for each, a client could keep the disk busy with bodies of single bytes.
    private static let smallChunk = 4_096

    private static func giveAll(
        _ joined: inout [UInt8], _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard !joined.isEmpty else { return }
        try unsafe joined.withUnsafeBytes(consume)
        joined.removeAll(keepingCapacity: true)
    }

    private mutating func takeChunks(
        _ bytes: UnsafeRawBufferPointer, _ decoder: inout HTTP1ChunkDecoder,
        _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var index = 0
        var joined: [UInt8] = []
        do {
            while let span = try unsafe decoder.next(bytes, from: &index) {
                incoming = .chunked(decoder)
                received &+= Int64(span.count)
                if let limit, received > limit { throw HTTPError.bodyTooLarge }
                if span.count < Self.smallChunk {
                    unsafe joined.append(contentsOf: bytes[span])
                    continue
                }
                try unsafe Self.giveAll(&joined, consume)
                try unsafe consume(UnsafeRawBufferPointer(rebasing: bytes[span]))
            }
            try unsafe Self.giveAll(&joined, consume)
        } catch {
            // The rest of these bytes is lost, and with it the position where the next request begins.
            isBroken = true
            throw error
        }
        incoming = decoder.isDone ? .none : .chunked(decoder)
        unsafe leftover.append(contentsOf: bytes[index...])
    }
}
