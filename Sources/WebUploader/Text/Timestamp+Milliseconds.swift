import DirectoryRoot

extension Timestamp {
    /// Milliseconds since 1970, within the range of a browser's dates: beyond it, a browser throws an exception.
    var milliseconds: Int64 {
        let farthest: Int64 = 8_640_000_000_000
        let whole = min(farthest, max(-farthest, seconds)) * 1000
        return min(farthest * 1000, whole + Int64(nanoseconds / 1_000_000))
    }
}
