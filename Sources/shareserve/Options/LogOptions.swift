import ArgumentParser

/// What the program says on standard error, and where its settings come from.
struct LogOptions: SettingsGroup {
    @Option(help: .init("text, json, or combined (as Apache and nginx write their access logs).", valueName: "format"))
    var logFormat: String?

    @Flag(name: .shortAndLong, help: "Log more.")
    var verbose = false

    @Flag(name: .shortAndLong, help: "Log errors only.")
    var quiet = false

    @Option(
        help: .init("A JSON file with settings: the names of the long options, and their values.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var config: String?
}
