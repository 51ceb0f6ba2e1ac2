package import DirectoryRoot

/// A file's modification time on the client, as sent with an upload: a number since 1970.
package struct ModificationTime: Hashable, Sendable {
    /// Within the range that every file system and date format supports.
    package let time: Timestamp

    /// Reads `X-OC-Mtime` of ownCloud's and Nextcloud's clients: seconds, with or without decimals.
    ///
    /// - Returns: nil for a time that file systems can't store: a file is worth more than its date.
    /// - Throws: ``HTTPError`` 400 for anything else.
    package static func ocMtime(_ field: String) throws(HTTPError) -> Self? {
        guard let number = Decimal(ASCII.trimmed(Array(field.utf8))) else {
            throw HTTPError(.badRequest, "The X-OC-Mtime field must hold seconds since 1970.")
        }
        return Self(number)
    }

    /// Reads seconds, with or without decimals; nil for anything else, and for times that file systems can't store.
    package init?(seconds text: some Collection<UInt8>) {
        guard let number = Decimal(text) else { return nil }
        self.init(number)
    }

    private init?(_ seconds: Decimal) {
        self.init(seconds.isNegative, seconds: seconds.whole, nanoseconds: seconds.billionths)
    }

    /// Reads milliseconds, with or without decimals; nil as for ``init(seconds:)``.
    package init?(milliseconds text: some Collection<UInt8>) {
        guard let number = Decimal(text) else { return nil }
        let (seconds, rest) = number.whole.quotientAndRemainder(dividingBy: 1_000)
        self.init(
            number.isNegative, seconds: seconds, nanoseconds: Int32(rest) * 1_000_000 + number.billionths / 1_000)
    }

    /// Seconds that ext4, the most limited file system in wide use, and every date format support.
    private static let range: ClosedRange<Int64> = -2_147_483_648...15_032_385_535

    private init?(_ isNegative: Bool, seconds: Int64, nanoseconds: Int32) {
        guard seconds <= Self.range.upperBound else { return nil }
        var (seconds, nanoseconds) = (isNegative ? -seconds : seconds, nanoseconds)
        if isNegative, nanoseconds > 0 {
            seconds -= 1
            nanoseconds = 1_000_000_000 - nanoseconds
        }
        guard Self.range.contains(seconds) else { return nil }
        time = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// A decimal number such as `-12.5`: digits after the ninth decimal are dropped.
    private struct Decimal {
        let isNegative: Bool
        let whole: Int64
        let billionths: Int32

        init?(_ text: some Collection<UInt8>) {
            isNegative = text.first == UInt8(ascii: "-")
            let parts = text.dropFirst(isNegative ? 1 : 0)
                .split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
            guard let whole = parts.first.flatMap({ ASCII.decimal($0) }) else { return nil }
            self.whole = whole
            guard parts.count == 2 else {
                billionths = 0
                return
            }
            guard !parts[1].isEmpty, parts[1].allSatisfy(ASCII.isDigit) else { return nil }
            var (sum, place): (Int32, Int32) = (0, 100_000_000)
            for digit in parts[1].prefix(9) {
                sum += Int32(digit - 0x30) * place
                place /= 10
            }
            billionths = sum
        }
    }
}
