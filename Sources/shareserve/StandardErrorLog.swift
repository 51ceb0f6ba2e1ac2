import Logging

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Diagnostics on standard error, one line per event; as text for people or as JSON for programs.
struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    let isJSON: Bool

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }.sorted { $0.key < $1.key }
        var line: String
        if isJSON {
            line =
                "{\"time\":\"\(Self.now())\",\"level\":\"\(event.level)\",\"message\":\(Self.quoted("\(event.message)"))"
            for (key, value) in all {
                line += ",\(Self.quoted(key)):\(Self.quoted("\(value)"))"
            }
            line += "}"
        } else {
            line = "\(Self.now()) \(event.level) \("\(event.message)".harmless)"
            for (key, value) in all {
                line += " \(key)=\("\(value)".harmless)"
            }
        }
        StandardStreams.complain(line)
    }

    /// The current time in UTC, to the second, in the form of RFC 3339.
    private static func now() -> String {
        var seconds = time(nil)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let length = unsafe strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case let scalar where scalar.isHarmful:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
