/// Bounds on what peers can make the server hold and wait for.
///
/// The defaults take about half of the memory that may be used when all are reached, and less than that of more than
/// 1 GiB.
public struct Limits: Sendable {
    /// Bytes of a request's head; 431 beyond it.
    public var headBytes = 64 * 1_024
    /// Field lines of a request; 431 beyond it.
    public var fieldCount = 128
    /// Bytes of a request target; 414 beyond it.
    public var targetBytes = 32 * 1_024
    /// Bytes of a request body on the wire; 413 beyond it.
    ///
    /// nil for no limit but the disk's.
    public var bodyBytes: Int64?
    /// Bytes of heads, XML, JSON and small files in memory that have come in part, of all requests together; 503 beyond
    /// it.
    ///
    /// The first 4 KiB of each are not counted. As much again is for the names of files in forms, and half of it for
    /// what long uploads over HTTP/2 may have on their way.
    public var requestMemory = UsableMemory.part(32 << 20, oneIn: 32)
    /// Bytes in memory of answers that their clients are slow to take, of all connections together.
    ///
    /// The first 16 KiB of each are not counted. Beyond it, those go who have taken nothing for longest. As much again
    /// is for what waits to be sent over TLS and HTTP/2, where each connection holds little once a quarter is taken;
    /// and for what of bodies waits to be read, of which over HTTP/2 only the first 16 KiB of each are taken beyond it.
    public var answerMemory = UsableMemory.part(64 << 20, oneIn: 16)
    /// How many times larger than what came a gzip body may become, beyond its first MiB.
    public var expansionRatio = 100
    /// From the first byte of a head to its last; 408 beyond it.
    public var headTime: Duration = .seconds(20)
    /// Between two requests.
    public var idleTime: Duration = .seconds(75)
    /// Without a byte of a body that is waited for; 408 beyond it.
    public var bodyStallTime: Duration = .seconds(30)
    /// Without a byte taken by the reader of an answer.
    public var readerStallTime: Duration = .seconds(60)
    /// For a client that was refused to read why.
    public var lingerTime: Duration = .seconds(2)
    /// Connections in all; 0 chooses, at most 16,384, and 4,096 over TLS, where each takes 54 KB.
    ///
    /// The limit of open files lowers either, and less memory than 1 GiB. Beyond it, the longest idle one goes.
    public var connections = 0
    /// Connections from one address (IPv6: one /64 network); 0 chooses three quarters of all.
    ///
    /// Where fewer than 1,024 are taken in all, 0 sets no such bound: a browser and its mounts are one address too.
    /// Beyond it, the longest idle one from there goes.
    public var connectionsPerAddress = 0
    /// Requests being answered by tasks at once; 503 beyond it.
    public var requestsInFlight = 8_192
    /// Streams of all HTTP/2 connections at once, some 40 KB each; refused beyond it, and from the half of it on for
    /// connections that have more than a few.
    public var streams = UsableMemory.part(4_096 * streamBytes, oneIn: 6) / streamBytes
    private static let streamBytes = 40 << 10
    /// Trees and large files being copied or deleted at once; 0 is half of the threads for the disk.
    ///
    /// Others wait; 503 when 256 wait already.
    public var treeWalks = 0
    /// Spans of a file that one answer holds; a request for more gets the whole file.
    public var ranges = 64
    /// Bytes a second of one connection's answers and bodies; nil for no limit.
    public var connectionRate: Int64?
    /// Bytes a second of all connections together; nil for no limit.
    public var totalRate: Int64?

    /// The defaults.
    public init() {}

    /// How many connections to take, before the limit of open files is looked at.
    /// - Parameters:
    ///   - areSecure: whether they speak TLS.
    ///   - memory: what the process may use, in bytes: half of it is for them, should each have sent much.
    /// - Returns: at least 64.
    func connections(areSecure: Bool, memory: Int64) -> Int {
        guard connections == 0 else { return connections }
        let (most, cost): (Int64, Int64) = areSecure ? (4_096, 128 * 1_024) : (16_384, 32 * 1_024)
        return Int(max(64, min(most, memory / 2 / cost)))
    }

    /// A time limit in the whole seconds that connections count: at least one.
    static func ticks(_ time: Duration) -> UInt32 {
        UInt32(clamping: min(max(time.components.seconds, 1), 1_000_000))
    }
}
