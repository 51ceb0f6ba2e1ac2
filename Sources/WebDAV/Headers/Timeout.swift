/// The time for which a lock is requested.
///
/// RFC 4918 §10.7.
///
/// Only a wish: the first alternative that can be read is taken, and the rest is ignored, whatever it is.
struct Timeout: Hashable, Sendable {
    /// Nil means the server's default.
    let duration: Duration?

    /// Above this, a number of seconds means the same as `Infinite`: the server's maximum is far below.
    static let longest: Int64 = 0xFFFF_FFFF

    init(header: String?) {
        duration = header.flatMap(Self.first)
    }

    private static func first(in header: String) -> Duration? {
        for part in header.split(separator: ",") {
            let wish = part.trimmingBlanks.lowercased()
            if wish == "infinite" { return .seconds(longest) }
            guard wish.hasPrefix("second-") else { continue }
            let digits = wish.utf8.dropFirst(7)
            guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { continue }
            return .seconds(min(Int64(String(decoding: digits, as: UTF8.self)) ?? longest, longest))
        }
        return nil
    }
}
