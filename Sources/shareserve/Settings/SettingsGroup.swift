import ArgumentParser

/// A group of options of the command line, each property one setting.
///
/// Its name is known to all three sources:
/// `maxUploadSize` is `--max-upload-size`, `SHARESERVE_MAX_UPLOAD_SIZE` and `"max-upload-size"`.
///
/// Only three kinds of property are settings: `String?` (one value), `[String]` (several) and `Bool` (a flag). Values stay
/// text here, so that all three sources are parsed, and complained about, in one place.
protocol SettingsGroup: ParsableArguments {}

extension SettingsGroup {
    /// What each setting of this group was given on the command line, by name.
    var settings: [(name: String, value: SettingValue)] {
        Mirror(reflecting: self).children.compactMap { child in
            guard let label = child.label, let value = SettingValue(property: child.value) else { return nil }
            return (settingName(of: label), value)
        }
    }

    /// ArgumentParser's own rule for long names: `_maxUploadSize` is `max-upload-size`.
    private func settingName(of label: String) -> String {
        var name = ""
        for character in label.drop(while: { $0 == "_" }) {
            // Names of properties here are ASCII; asking Unicode about each letter took a fiftieth of the program's start.
            if let letter = character.asciiValue, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter) {
                name += "-"
                name.unicodeScalars.append(UnicodeScalar(letter | 0x20))
            } else {
                name.append(character)
            }
        }
        return name
    }
}

/// What the command line says about one setting; the case is the setting's kind.
enum SettingValue {
    case text(String?)
    case list([String])
    case flag(Bool)

    /// Reads a property wrapper of ArgumentParser; nil for anything else.
    init?(property: Any) {
        switch property {
        case let option as Option<String?>: self = .text(option.wrappedValue)
        case let argument as Argument<String?>: self = .text(argument.wrappedValue)
        case let option as Option<[String]>: self = .list(option.wrappedValue)
        case let flag as Flag<Bool>: self = .flag(flag.wrappedValue)
        default: return nil
        }
    }

    /// Whether a value was given, and none is in it.
    var isEmptyText: Bool {
        switch self {
        case .text(let text): text?.isEmpty == true
        case .list(let list): list.contains("")
        case .flag: false
        }
    }
}
