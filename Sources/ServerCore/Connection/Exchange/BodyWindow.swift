internal import NIOCore

/// The flow-control window of a request body: how much more its client may send.
///
/// Received data is taken from the frame layer immediately, and waits in the body's pipe, where it is counted. The
/// frame layer would itself reopen windows for whatever it has handed over, so it is configured not to do so for
/// streams: windows are opened here, for what was read.
///
/// A client sends at most one window per round trip: 256 KiB in each 0.5 s by satellite. What is let in may have to
/// wait for the disk, so anything wider than the initial window is counted in a ``BudgetShare``; a body's window grows
/// to what it has already sent.
struct BodyWindow {
    /// The initial window of every stream.
    ///
    /// RFC 9113 §6.9.2. If a server sets a smaller one, its clients have to handle negative windows: they may have sent
    /// as much before they receive the setting.
    static let least = 65_535
    /// The window of a stream while many bytes wait for readers already: a client may wait until a whole frame of 16
    /// KiB fits, and smaller increments are not announced.
    private static let scarce = 32 * 1_024
    private static let wide = 256 * 1_024
    /// Beyond this a window only widens for a client that is ``far``, and while as much is left for others.
    ///
    /// What a near one sends ahead is only out of the processor's cache by the time it is read.
    private static let ample = 2 * 1_024 * 1_024
    /// 80 MB/s at a round trip of 0.1 s.
    private static let most = 8 * 1_024 * 1_024
    /// A client is far if it needs this long for a window of which little waits here: 70 MB/s with an ``ample`` one.
    private static let far = TimeAmount.milliseconds(30)
    /// The smallest increment that is announced, unless the window is narrower.
    private static let step = 64 * 1_024

    /// Bytes that the client may still send, as announced.
    private var open = Self.least
    /// The sum of the bytes that it may send and those that wait here; counted beyond ``least``.
    private var width = Self.least
    private var brought: Int64 = 0
    /// When the client's time for a window was last measured, and what it had sent by then.
    private var measured: (time: NIODeadline?, brought: Int64) = (nil, 0)
    private var isPadded = false
    /// More than a client needs that pads only the last frame and the one before it.
    private static let slack = 512

    /// Records received bytes.
    /// - Parameters:
    ///   - count: bytes of the body.
    ///   - padding: bytes of padding in the frame, which also count against the window. RFC 9113 §6.9.1.
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
    ///   - budget: the connection's, for all that may be sent.
    ///   - now: the time, which is looked at once per window of a long body.
    /// - Returns: by how much it should be opened now, which counts as told.
    mutating func increment(
        waiting: Int, rest: Int64?, isCrowded: Bool, _ budget: BudgetShare,
        now: @autoclosure () -> NIODeadline = .now()
    ) -> Int {
        // The amount of padding to come is unknown. An announced length may be any number; more than ``most`` makes no
        // difference.
        let most = Int64(Self.most)
        let ahead = isPadded ? Self.most : Int(min(max(rest ?? most, 0), most)) + Self.slack
        let needed = ahead - open
        guard needed > 0 else { return 0 }
        if !isCrowded { widen(budget, waiting: waiting, now) }
        let width = isCrowded ? Self.scarce : width
        let free = width - open - waiting
        guard free >= min(Self.step, width / 2) else { return 0 }
        let increment = min(free, needed)
        open += increment
        return increment
    }

    private mutating func widen(_ budget: BudgetShare, waiting: Int, _ now: () -> NIODeadline) {
        guard brought >= Int64(width), width < Self.most else { return }
        let wider = max(Self.wide, width * 2)
        // With the initial window alone, 20 MB take half a minute at a round trip of 0.1 s.
        if wider > Self.wide, !budget.leavesReserve(after: wider - width) { return }
        if wider > Self.ample {
            guard isFar(waiting: waiting, now), budget.remaining >= wider else { return }
        }
        if budget.change(from: counted, to: wider - Self.least) { width = wider }
    }

    private mutating func isFar(waiting: Int, _ now: () -> NIODeadline) -> Bool {
        guard brought - measured.brought >= Int64(width) else { return false }
        let last = measured.time
        let time = now()
        measured = (time, brought)
        guard let last else { return false }
        // Of a burst that has just come, some may still wait.
        return waiting < width / 2 && time - last >= Self.far
    }

    private var counted: Int { width - Self.least }

    /// Releases what was counted.
    mutating func close(_ budget: BudgetShare) {
        _ = budget.change(from: counted, to: 0)
        width = Self.least
    }
}
