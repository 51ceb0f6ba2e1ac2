import Logging
import ServerCore

extension Logger {
    /// The program's logger, in the format and at the level of the settings.
    init(_ settings: Settings) throws(StartError) {
        let format = settings.text("log-format") ?? "text"
        guard ["text", "json", "combined"].contains(format) else {
            throw .usage("log-format: '\(format)' is none of text, json and combined")
        }
        let isQuiet = try settings.isOn("quiet")
        let isVerbose = try settings.isOn("verbose")
        let level: Logger.Level = isQuiet ? .error : isVerbose ? .debug : .info
        let handler = StandardErrorLog(logLevel: level, isJSON: format == "json")
        self = Logger(label: "shareserve") { _ in handler }
    }
}

extension AccessLog {
    /// The log of requests on standard error; nil when the settings ask for quiet.
    static func standardError(_ settings: Settings) throws(StartError) -> AccessLog? {
        guard try !settings.isOn("quiet") else { return nil }
        let format = settings.text("log-format").flatMap(Format.init(rawValue:)) ?? .text
        return AccessLog(format: format) { StandardStreams.complain(bytes: $0) }
    }
}
