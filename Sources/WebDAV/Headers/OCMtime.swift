internal import DirectoryRoot
internal import ServerCore

/// The modification time that ownCloud's and Nextcloud's clients send with an upload: `X-OC-Mtime`.
struct OCMtime: Hashable, Sendable {
    let time: Timestamp

    /// Reads seconds since 1970, with decimals or without.
    /// - Throws: 400 for anything else, and for what no file system keeps.
    init(header: String) throws(HTTPError) {
        guard let time = Self.parse(header.trimmingBlanks) else {
            throw HTTPError(.badRequest, "The X-OC-Mtime field must hold seconds since 1970.")
        }
        self.time = time
    }

    /// Seconds that ext4, the narrowest file system in wide use, and every date writer can bear.
    private static let range: ClosedRange<Int64> = -2_147_483_648...15_032_385_535

    private static func parse(_ text: String) -> Timestamp? {
        let isNegative = text.hasPrefix("-")
        let digits = isNegative ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, !whole.isEmpty, whole.utf8.allSatisfy(isDigit), var seconds = Int64(whole) else {
            return nil
        }
        var nanoseconds: Int32 = 0
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(isDigit) else { return nil }
            var place: Int32 = 100_000_000
            for digit in parts[1].utf8.prefix(9) {
                nanoseconds += Int32(digit - 0x30) * place
                place /= 10
            }
        }
        guard seconds <= range.upperBound else { return nil }
        if isNegative {
            seconds = -seconds
            if nanoseconds > 0 {
                seconds -= 1
                nanoseconds = 1_000_000_000 - nanoseconds
            }
        }
        guard range.contains(seconds) else { return nil }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
