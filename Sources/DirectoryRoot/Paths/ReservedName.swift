import CSyscalls

/// Names that belong to the server and are never visible to a requester.
package enum ReservedName {
    /// The folder that holds all state, in the root.
    package static let folder = ".shareserve"
    /// How the names of our unfinished and doomed files begin.
    ///
    /// Digits follow. Short enough for any file system.
    package static let prefix = ".shareserve-"

    /// Whether a name is reserved, in any spelling that some file system takes for a reserved name.
    package static func takes(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        for expected in folder.utf8 {
            guard index < name.count else { return false }
            let byte = unsafe name[index]
            if NameKey.lowered(byte) != expected {
                // No other character folds to `v`: nearly all names are ruled out here.
                return unsafe byte >= 0x80 && name.contains { $0 | 0x20 == UInt8(ascii: "v") }
                    && NameKey(name).isReserved
            }
            index += 1
        }
        guard index < name.count else { return true }
        let next = unsafe name[index]
        return unsafe next == UInt8(ascii: "-") || NameKey.isOdd(next) && NameKey(name).isReserved
    }

    /// A fresh name for a file of ours: its creation time in seconds, and a random number.
    ///
    /// The time is in the name because no timestamp shows it on every file system: on some, a rename changes none of
    /// them, and on others the change time equals the modification time.
    package static func fresh() -> String {
        let seconds = Timestamp.now.seconds
        var generator = SystemRandomNumberGenerator()
        return prefix + digits(UInt64(clamping: seconds), timeDigits) + digits(generator.next(), randomDigits)
    }

    /// When a name made by ``fresh()`` was made, in seconds; nil for every other name, which is somebody else's.
    package static func creationSeconds(of name: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard name.count == prefix.utf8.count + timeDigits + randomDigits, unsafe name.starts(with: prefix.utf8)
        else { return nil }
        let digits = unsafe Array(name.dropFirst(prefix.utf8.count))
        guard digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }) else { return nil }
        return Int64(String(decoding: digits.prefix(timeDigits), as: UTF8.self), radix: 36)
    }

    /// Whether ``fresh()`` gave this name.
    package static func isTemporary(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe creationSeconds(of: name) != nil
    }

    private static let timeDigits = 7
    private static let randomDigits = 10

    private static func digits(_ number: UInt64, _ count: Int) -> String {
        let text = String(number, radix: 36).suffix(count)
        return String(repeating: "0", count: count - text.utf8.count) + text
    }
}
