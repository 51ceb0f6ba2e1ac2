/// How much more of a request's body its client may send.
///
/// What comes is taken from the frame layer at once, and waits in the body's pipe, where it is counted. So the frame
/// layer, which keeps windows as wide for what it has handed over, is told to open none for streams: they are opened
/// here, for what was read.
///
/// A client has to wait for its window once in each round trip. So far away, or by satellite, it sends no faster than a
/// window in each: a quarter of a megabyte in half a second. What is let in may have to wait for the disk, so what is
/// more than every stream begins with is counted, and a body gets as much as it has brought already.
struct BodyWindow {
    /// What every stream begins with.
    ///
    /// RFC 9113 §6.9.2. Where a server says less, its clients have to live with windows of less than nothing: they may
    /// have sent as much before they hear of it.
    static let least = 65_535
    /// What a stream gets on with where much waits for readers already: a client may wait until a whole frame of 16 KiB
    /// fits, and is told of no less.
    private static let scarce = 32 * 1_024
    private static let wide = 256 * 1_024
    private static let most = 2 * 1_024 * 1_024
    /// So much is opened at once, where the window is no narrower.
    private static let step = 64 * 1_024

    /// Bytes that the client may send, as it was told.
    private var open = Self.least
    /// Bytes that it may send or that wait here, together; beyond ``least``, as counted.
    private var width = Self.least
    private var brought: Int64 = 0
    private var isPadded = false
    /// More than a client needs that pads the last frame alone, and the one before it.
    private static let slack = 512

    /// Bytes have come.
    /// - Parameters:
    ///   - count: of the body.
    ///   - padding: of the frame, which has to fit in too. RFC 9113 §6.9.1.
    mutating func take(_ count: Int, padding: Int) {
        open -= count + padding
        brought &+= Int64(count)
        if padding > 0 { isPadded = true }
    }

    /// Opens the window for what was read.
    /// - Parameters:
    ///   - waiting: bytes that have come and were not read.
    ///   - rest: bytes that are to come; nil where that was not announced.
    ///   - isCrowded: much waits for readers.
    ///   - budget: for all that may be sent.
    /// - Returns: by how much it should be opened now, which counts as told.
    mutating func increment(waiting: Int, rest: Int64?, isCrowded: Bool, _ budget: ByteBudget) -> Int {
        // How much padding there will be, nobody knows. What is announced may be any number; more than ``most`` is as
        // good.
        let most = Int64(Self.most)
        let ahead = isPadded ? Self.most : Int(min(max(rest ?? most, 0), most)) + Self.slack
        let needed = ahead - open
        guard needed > 0 else { return 0 }
        if !isCrowded { widen(budget) }
        let width = isCrowded ? Self.scarce : width
        let free = width - open - waiting
        guard free >= min(Self.step, width / 2) else { return 0 }
        let increment = min(free, needed)
        open += increment
        return increment
    }

    private mutating func widen(_ budget: ByteBudget) {
        guard brought >= Int64(width), width < Self.most else { return }
        let wider = max(Self.wide, width * 2)
        if budget.change(from: counted, to: wider - Self.least) { width = wider }
    }

    private var counted: Int { width - Self.least }

    /// Gives back what was counted.
    mutating func close(_ budget: ByteBudget) {
        _ = budget.change(from: counted, to: 0)
        width = Self.least
    }
}
