import DirectoryRoot

extension Timestamp {
    /// Milliseconds since 1970, bounded.
    var milliseconds: Int64 {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return product &+ Int64(nanoseconds / 1_000_000)
    }

    /// A moment from a client's milliseconds since 1970.
    init(milliseconds: Int64) {
        var seconds = milliseconds / 1000
        var rest = milliseconds % 1000
        if rest < 0 {
            rest += 1000
            seconds -= 1
        }
        self.init(seconds: seconds, nanoseconds: Int32(rest) * 1_000_000)
    }
}
