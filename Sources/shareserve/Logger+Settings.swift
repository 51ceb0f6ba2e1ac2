import Logging

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
