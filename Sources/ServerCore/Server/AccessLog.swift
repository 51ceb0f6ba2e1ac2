import CSyscalls
import Synchronization

/// One line for each request, in one of three forms.
///
/// Whatever a client sent stands in it escaped: no line holds another line, and nothing commands a terminal.
public struct AccessLog: Sendable {
    /// How a line looks.
    public enum Format: String, Sendable, CaseIterable {
        /// For people.
        case text
        /// One JSON object a line.
        case json
        /// What Apache and nginx call combined.
        case combined
    }

    let format: Format
    let writer: LogWriter

    /// A log.
    ///
    /// - Parameters:
    ///   - format: how a line looks.
    ///   - write: takes some whole lines; may wait, and is never called by two threads at once.
    public init(format: Format, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.format = format
        writer = LogWriter(write: write)
    }
}

/// What an access log says of one request.
struct AccessRecord {
    var peer: String
    var user: String?
    var method: ArraySlice<UInt8>
    var target: ArraySlice<UInt8>
    var version: String
    var status: Int
    var bytes: Int64
    /// Wall clock of the end, in milliseconds since 1970.
    var time: Int64
    var milliseconds: Int64
    var referer: ArraySlice<UInt8>?
    var agent: ArraySlice<UInt8>?

    /// The wall clock, in milliseconds since 1970.
    static var now: Int64 {
        var seconds: Int64 = 0
        var nanoseconds: Int32 = 0
        sys_now(&seconds, &nanoseconds)
        return seconds * 1_000 + Int64(nanoseconds / 1_000_000)
    }

    /// The line, with its end.
    func line(_ format: AccessLog.Format) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        switch format {
        case .text:
            line += "\(timestamp) \(peer) ".utf8
            Self.escape(user.map { Array($0.utf8)[...] }, to: &line)
            line += " ".utf8
            Self.escape(method, to: &line)
            line += " ".utf8
            Self.escape(target, to: &line)
            line += " \(status) \(bytes) \(milliseconds)ms\n".utf8
        case .combined:
            line += "\(peer) - ".utf8
            Self.escape(user.map { Array($0.utf8)[...] }, to: &line)
            line += " [\(commonDate)] \"".utf8
            Self.escape(method, to: &line)
            line += " ".utf8
            Self.escape(target, to: &line)
            line += " \(version)\" \(status) \(bytes) \"".utf8
            Self.escape(referer, to: &line)
            line += "\" \"".utf8
            Self.escape(agent, to: &line)
            line += "\"\n".utf8
        case .json:
            line += "{\"time\":\"\(timestamp)\",\"client\":\"\(peer)\",\"user\":".utf8
            Self.quote(user.map { Array($0.utf8)[...] }, to: &line)
            line += ",\"method\":".utf8
            Self.quote(method, to: &line)
            line += ",\"target\":".utf8
            Self.quote(target, to: &line)
            line +=
                ",\"version\":\"\(version)\",\"status\":\(status),\"bytes\":\(bytes),\"milliseconds\":\(milliseconds)"
                .utf8
            line += ",\"referer\":".utf8
            Self.quote(referer, to: &line)
            line += ",\"agent\":".utf8
            Self.quote(agent, to: &line)
            line += "}\n".utf8
        }
        return line
    }

    /// As in `2026-11-21T00:12:33.123Z`, always UTC.
    private var timestamp: String {
        let date = Self.civil(time / 1_000)
        let fraction = String(1_000 + time % 1_000).dropFirst()
        return "\(date.year)-\(Self.two(date.month))-\(Self.two(date.day))T\(date.clock).\(fraction)Z"
    }

    /// As in `21/Nov/2026:00:12:33 +0000`, always UTC.
    private var commonDate: String {
        let date = Self.civil(time / 1_000)
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(Self.two(date.day))/\(names[date.month - 1])/\(date.year):\(date.clock) +0000"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func civil(_ seconds: Int64) -> (year: Int, month: Int, day: Int, clock: String) {
        let days = Int(seconds / 86_400)
        let rest = Int(seconds % 86_400)
        // Howard Hinnant's civil_from_days.
        let z = days + 719_468
        let era = z / 146_097
        let doe = z - era * 146_097
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100)
        let mp = (5 * doy + 2) / 153
        let month = mp < 10 ? mp + 3 : mp - 9
        let year = yoe + era * 400 + (month <= 2 ? 1 : 0)
        let clock = "\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return (year, month, doy - (153 * mp + 2) / 5 + 1, clock)
    }

    /// Every byte that is no visible ASCII, and quotes and backslashes, as `\xHH`; `-` for nothing.
    private static func escape(_ bytes: ArraySlice<UInt8>?, to line: inout [UInt8]) {
        guard let bytes, !bytes.isEmpty else {
            line.append(UInt8(ascii: "-"))
            return
        }
        for byte in bytes.prefix(4_096) {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                line.append(byte)
            } else {
                line += "\\x".utf8
                line.append(hex(byte >> 4))
                line.append(hex(byte & 15))
            }
        }
    }

    /// A JSON string; bytes beyond ASCII as the characters of their numbers; `null` for nothing.
    private static func quote(_ bytes: ArraySlice<UInt8>?, to line: inout [UInt8]) {
        guard let bytes else {
            line += "null".utf8
            return
        }
        line.append(UInt8(ascii: "\""))
        for byte in bytes.prefix(4_096) {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                line.append(byte)
            } else {
                line += "\\u00".utf8
                line.append(hex(byte >> 4))
                line.append(hex(byte & 15))
            }
        }
        line.append(UInt8(ascii: "\""))
    }

    private static func hex(_ digit: UInt8) -> UInt8 { digit < 10 ? digit + 48 : digit + 87 }
}

/// Lines on their way to where they are kept; never waited for by who logs.
final class LogWriter: Sendable {
    /// More than this waits only when the disk stands still; further lines are dropped, and counted.
    private static let limit = 4 * 1_024 * 1_024

    private struct State {
        var lines: [UInt8] = []
        var isWriting = false
        var dropped = 0
    }

    private let state = Mutex(State())
    private let write: @Sendable ([UInt8]) -> Void

    init(write: @escaping @Sendable ([UInt8]) -> Void) {
        self.write = write
    }

    /// Adds a line, and has `pool` write it soon.
    func add(_ line: [UInt8], _ pool: PoolThreads) {
        let begins = state.withLock { state -> Bool in
            guard state.lines.count < Self.limit else {
                state.dropped += 1
                return false
            }
            state.lines += line
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { pool.submit { self.drain() } }
    }

    private func drain() {
        while true {
            let lines = state.withLock { state -> [UInt8] in
                var lines = state.lines
                state.lines = []
                if state.dropped > 0 {
                    lines += "# \(state.dropped) lines lost\n".utf8
                    state.dropped = 0
                }
                if lines.isEmpty { state.isWriting = false }
                return lines
            }
            if lines.isEmpty { return }
            write(lines)
        }
    }
}
