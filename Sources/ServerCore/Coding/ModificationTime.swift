package import DirectoryRoot

/// When a file was last changed where it comes from, as clients tell it with an upload: a number since 1970.
package struct ModificationTime: Hashable, Sendable {
    /// Within what every file system and every writer of dates can bear.
    package let time: Timestamp

    /// Reads `X-OC-Mtime` of ownCloud's and Nextcloud's clients: seconds, with decimals or without.
    ///
    /// - Returns: nil for what no file system keeps: a file is worth more than its date.
    /// - Throws: ``HTTPError`` 400 for anything else.
    package static func ocMtime(_ field: String) throws(HTTPError) -> Self? {
        guard let number = Decimal(ASCII.trimmed(Array(field.utf8))) else {
            throw HTTPError(.badRequest, "The X-OC-Mtime field must hold seconds since 1970.")
        }
        return Self(number)
    }

    /// Reads seconds, with decimals or without; nil for anything else, and for what no file system keeps.
    package init?(seconds text: some Collection<UInt8>) {
        guard let number = Decimal(text) else { return nil }
        self.init(number)
    }

    private init?(_ seconds: Decimal) {
        self.init(seconds.isNegative, seconds: seconds.whole, nanoseconds: seconds.billionths)
    }

    /// Reads milliseconds, with decimals or without; nil as ``init(seconds:)``.
    package init?(milliseconds text: some Collection<UInt8>) {
        guard let number = Decimal(text) else { return nil }
        let (seconds, rest) = number.whole.quotientAndRemainder(dividingBy: 1_000)
        self.init(
            number.isNegative, seconds: seconds, nanoseconds: Int32(rest) * 1_000_000 + number.billionths / 1_000)
    }

    /// Seconds that ext4, the narrowest file system in wide use, and every date writer can bear.
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

    /// `-12.5`: digits behind the ninth decimal are left out.
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
