import ArgumentParser

/// A part of the command line whose options are rows of a table, not one property each.
///
/// ArgumentParser finds options by reflection; each row of the table looks like a property to it. With real properties,
/// in groups, the runtime's search for the conformances of their types took a third of the program's start.
protocol SettingsReader: ParsableArguments, CustomReflectable {
    static var settings: [Setting] { get }

    /// Whether the words being parsed may give it a value; ArgumentParser does not see the others.
    static func isExpected(_ setting: Setting) -> Bool

    /// The value of each setting on the command line, by name; empty before parsing.
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

/// A table of settings that belong together, shown as one section of `--help`.
protocol SettingsSection {
    static var settings: [Setting] { get }
}
