/// A body as its task takes it apart, and what it received beyond the end.
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

    /// Whether what is received is nothing but the content.
    var isPlain: Bool {
        if case .counted = incoming { return true }
        return false
    }

    /// How much may be received at once: not a byte beyond a counted body.
    var wanted: Int64 {
        if case .counted(let remaining) = incoming { return remaining }
        return .max
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

    /// Smaller chunks are joined: a call for each would let one peer take the disk with bodies of single bytes.
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
            // Whatever else these bytes hold is lost, and with it the place where the next request begins.
            isBroken = true
            throw error
        }
        incoming = decoder.isDone ? .none : .chunked(decoder)
        unsafe leftover.append(contentsOf: bytes[index...])
    }
}
