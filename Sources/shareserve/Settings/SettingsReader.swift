import ArgumentParser

/// A part of the command line whose options are a table of settings, and not a property each.
///
/// ArgumentParser finds options by reflection; to it, each row of the table looks like a property. With real ones, in
/// groups, the search of Swift's runtime for what their types conform to took a third of the program's start.
protocol SettingsReader: ParsableArguments, CustomReflectable {
    static var settings: [Setting] { get }

    /// Whether the words that are parsed may give it a value; others are kept from ArgumentParser.
    static func isExpected(_ setting: Setting) -> Bool

    /// What each setting was given on the command line, by name; none before it is parsed.
    var given: [(name: String, value: SettingValue)] { get set }
}

extension SettingsReader {
    static func isExpected(_ setting: Setting) -> Bool { true }

    init(from decoder: any Decoder) throws {
        self.init()
        let parsed = try decoder.container(keyedBy: Setting.Key.self)
        given = try Self.settings.map { setting in
            (name: setting.name, value: Self.isExpected(setting) ? try setting.value(in: parsed) : setting.absent)
        }
    }

    var customMirror: Mirror {
        Mirror(self, children: Self.settings.filter(Self.isExpected).map { (label: $0.name, value: $0.property) })
    }
}

/// A table of settings that belong together, a section of `--help`.
protocol SettingsSection {
    static var settings: [Setting] { get }
}
