import DirectoryRoot

extension Timestamp {
    /// Milliseconds since 1970, as far as the dates of a browser go: there it throws for what lies beyond.
    var milliseconds: Int64 {
        let farthest: Int64 = 8_640_000_000_000
        let whole = min(farthest, max(-farthest, seconds)) * 1000
        return min(farthest * 1000, whole + Int64(nanoseconds / 1_000_000))
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
