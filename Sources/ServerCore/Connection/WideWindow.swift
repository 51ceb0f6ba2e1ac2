/// How much more the client of a long body may send than what every stream begins with.
///
/// A client has to wait for its window once in each round trip. So far away, or by satellite, it sends no faster than a
/// window in each: a quarter of a megabyte in half a second. What is let in here may have to wait for the disk, so it is
/// counted, and a body gets as much as it has brought already.
///
/// The frame layer keeps up what every stream begins with. It never has to once this is open: for it, what waits to be
/// read is still in the window, and what was read is given back here before half of that is used up.
struct WideWindow {
    private static let most = 2 * 1_024 * 1_024
    private static let least = 256 * 1_024
    /// So much is given back at once.
    private static let step = 64 * 1_024

    /// Bytes, as counted.
    private var width = 0
    /// Of ``width``, what the client was told of.
    private var told = 0
    /// Bytes that were read and not given back.
    private var read = 0

    /// Counts what was read.
    /// - Parameters:
    ///   - count: bytes that were read now.
    ///   - received: all of the body that came so far.
    ///   - memory: for all that may be sent.
    /// - Returns: by how much the window should be opened now.
    mutating func increment(after count: Int, of received: Int64, _ memory: RequestMemory) -> Int {
        if received >= Int64(max(Self.least, width * 2)), width < Self.most {
            let wider = max(Self.least, width * 2)
            if memory.change(from: width, to: wider) { width = wider }
        }
        guard width > 0 else { return 0 }
        if told > 0 { read += count }
        let due = width - told + read
        return due >= Self.step ? due : 0
    }

    /// The client is told of what ``increment(after:of:_:)`` said.
    mutating func open() {
        told = width
        read = 0
    }

    /// Gives back what was counted.
    mutating func close(_ memory: RequestMemory) {
        _ = memory.change(from: width, to: 0)
        width = 0
    }
}
