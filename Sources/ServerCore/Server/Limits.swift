/// Limits on what clients can make the server hold and wait for.
///
/// With every limit reached, the defaults use about half of the usable memory; less than half above 1 GiB.
public struct Limits: Sendable {
    /// The most bytes of a request's head; 431 beyond that.
    public var headBytes = 64 * 1_024
    /// The most field lines of a request; 431 beyond that.
    public var fieldCount = 128
    /// The most bytes of a request target; 414 beyond that.
    public var targetBytes = 32 * 1_024
    /// The most bytes of a request body on the wire; 413 beyond that.
    ///
    /// nil for no limit other than the disk's.
    public var bodyBytes: Int64?
    /// The most bytes of partly received heads, XML, JSON and small files in memory, for all requests together; 503
    /// beyond that.
    ///
    /// The first 4 KiB of each are not counted. As much again is for the names of files in forms, and half as much each
    /// for what long uploads over HTTP/2 may have in transit, and for what is read at once of those over TLS.
    public var requestMemory = UsableMemory.part(32 << 20, oneIn: 32)
    /// The most bytes in memory of responses that their clients are slow to take, for all connections together.
    ///
    /// The first 16 KiB of each are not counted. Beyond the limit, connections are closed whose clients have taken
    /// nothing for longest. As much again is for what waits to be sent over TLS and HTTP/2, where each connection holds
    /// little once a quarter is in use; and as much for parts of bodies that wait to be read, of which, beyond that
    /// limit, HTTP/2 accepts only the first 16 KiB of each.
    public var answerMemory = UsableMemory.part(64 << 20, oneIn: 16)
    /// How many times larger than the received data a gzip body may become, beyond its first MiB.
    public var expansionRatio = 100
    /// The time from the first byte of a head to its last; 408 beyond that.
    public var headTime: Duration = .seconds(20)
    /// The time between two requests.
    public var idleTime: Duration = .seconds(75)
    /// The time without a byte of a body that is waited for; 408 beyond that.
    public var bodyStallTime: Duration = .seconds(30)
    /// The time without a byte taken by the reader of a response.
    public var readerStallTime: Duration = .seconds(60)
    /// The time for a client that was refused to read the reason.
    public var lingerTime: Duration = .seconds(2)
    /// The most connections; 0 chooses, at most 16,384, and 4,096 over TLS, where each takes 54 KB.
    ///
    /// Either is lowered by the limit of open files, and by less than 1 GiB of memory. Beyond it, the connection that
    /// has been idle for longest is closed.
    public var connections = 0
    /// The most connections from one address (IPv6: one /64 network); 0 chooses three quarters of all.
    ///
    /// If fewer than 1,024 are accepted in all, 0 sets no such limit: a browser and its mounts share one address too.
    /// Beyond it, the connection from there that has been idle for longest is closed.
    public var connectionsPerAddress = 0
    /// The most requests answered by tasks at once; 503 beyond that.
    public var requestsInFlight = 8_192
    /// The most streams of all HTTP/2 connections at once, some 40 KB each; refused beyond that, and from half of it on
    /// for connections that have more than a few.
    public var streams = UsableMemory.part(4_096 * streamBytes, oneIn: 6) / streamBytes
    private static let streamBytes = 40 << 10
    /// The most trees and large files copied or deleted at once; 0 is half of the threads for the disk.
    ///
    /// Others wait; 503 when 256 wait already.
    public var treeWalks = 0
    /// The most spans of a file in one response; a request for more gets the whole file.
    public var ranges = 64
    /// Bytes per second for one connection's responses and request bodies; nil for no limit.
    public var connectionRate: Int64?
    /// Bytes per second for all connections together; nil for no limit.
    public var totalRate: Int64?

    /// The defaults.
    public init() {}

    /// How many connections to accept, before considering the limit of open files.
    /// - Parameters:
    ///   - areSecure: whether they use TLS.
    ///   - memory: the usable memory in bytes: half of it is for them, even if each has sent much.
    /// - Returns: at least 64.
    func connections(areSecure: Bool, memory: Int64) -> Int {
        guard connections == 0 else { return connections }
        let (most, cost): (Int64, Int64) = areSecure ? (4_096, 128 * 1_024) : (16_384, 32 * 1_024)
        return Int(max(64, min(most, memory / 2 / cost)))
    }

    /// A time limit in whole seconds, in which connections count: at least one.
    static func ticks(_ time: Duration) -> UInt32 {
        UInt32(clamping: min(max(time.components.seconds, 1), 1_000_000))
    }
}
