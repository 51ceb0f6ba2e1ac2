import ArgumentParser

/// Options for what is written to standard error, and where the settings come from.
enum LogOptions: SettingsSection {
    static let settings: [Setting] = [
        .text("log-format", as: "format", "text, json, or combined (as Apache and nginx write their access logs)."),
        .flag("verbose", short: .customShort("v"), "Log more."),
        .flag("quiet", short: .customShort("q"), "Log errors only."),
        .text(
            "config", as: "file", completion: .file(extensions: ["json"]),
            "A JSON file with settings: the names of the long options, and their values."),
    ]
}
