import ArgumentParser

/// One setting, as an option of the command line.
///
/// All three sources derive its name from one: `max-upload-size` is `--max-upload-size`, `SHARESERVE_MAX_UPLOAD_SIZE`
/// and `"max-upload-size"`. Values stay text here, so that those of all three are parsed, and refused, in one place.
struct Setting {
    let name: String
    private let kind: Kind
    private let short: NameSpecification.Element?
    private let placeholder: String?
    private let help: String
    private let completion: CompletionKind?

    private enum Kind {
        case argument, text, number, list, flag
    }

    /// A positional argument, without an option before it.
    static func argument(_ name: String, completion: CompletionKind? = nil, _ help: String) -> Setting {
        Setting(.argument, name, nil, nil, completion, help)
    }

    /// An option with one value, which `--help` calls `placeholder`.
    static func text(
        _ name: String, short: NameSpecification.Element? = nil, as placeholder: String,
        completion: CompletionKind? = nil, _ help: String
    ) -> Setting {
        Setting(.text, name, short, placeholder, completion, help)
    }

    /// Like ``text(_:short:as:completion:_:)``, but a negative number is read as a (wrong) value, not as an option.
    static func number(
        _ name: String, short: NameSpecification.Element? = nil, as placeholder: String, _ help: String
    ) -> Setting {
        Setting(.number, name, short, placeholder, nil, help)
    }

    /// An option that may be given several times.
    static func list(
        _ name: String, short: NameSpecification.Element? = nil, as placeholder: String,
        completion: CompletionKind? = nil, _ help: String
    ) -> Setting {
        Setting(.list, name, short, placeholder, completion, help)
    }

    /// An option without a value, off unless it is given.
    static func flag(_ name: String, short: NameSpecification.Element? = nil, _ help: String) -> Setting {
        Setting(.flag, name, short, nil, nil, help)
    }

    private init(
        _ kind: Kind, _ name: String, _ short: NameSpecification.Element?, _ placeholder: String?,
        _ completion: CompletionKind?, _ help: String
    ) {
        self.name = name
        self.kind = kind
        self.short = short
        self.placeholder = placeholder
        self.completion = completion
        self.help = help
    }

    /// Whether `words` may name it.
    func isNamed(by words: OptionWords) -> Bool {
        kind == .argument || (short != nil && words.holdShortOnes) || words.long.contains(name)
    }

    /// The value that ArgumentParser would find in a property declared with one of its wrappers.
    var property: Any {
        let help = ArgumentHelp(.init(stringLiteral: help), valueName: placeholder)
        let names = NameSpecification([short, .customLong(name)].compactMap { $0 })
        return switch kind {
        case .argument: Argument<String?>(help: help, completion: completion)
        case .text: Option<String?>(name: names, help: help, completion: completion)
        case .number: Option<String?>(name: names, parsing: .unconditional, help: help, completion: completion)
        case .list: Option<[String]>(wrappedValue: [], name: names, help: help, completion: completion)
        case .flag: Flag<Bool>(wrappedValue: false, name: names, help: help)
        }
    }

    /// The value of this setting on the command line.
    func value(in parsed: KeyedDecodingContainer<Key>) throws -> SettingValue {
        let key = Key(stringValue: name)
        return switch kind {
        case .argument, .text, .number: .text(try parsed.decodeIfPresent(String.self, forKey: key))
        case .list: .list(try parsed.decode([String].self, forKey: key))
        case .flag: .flag(try parsed.decode(Bool.self, forKey: key))
        }
    }

    /// The value when it is not on the command line.
    var absent: SettingValue {
        switch kind {
        case .argument, .text, .number: .text(nil)
        case .list: .list([])
        case .flag: .flag(false)
        }
    }

    /// The name under which ArgumentParser returns the value.
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }
}

/// The value of one setting on the command line; the case is the setting's kind.
enum SettingValue {
    case text(String?)
    case list([String])
    case flag(Bool)

    /// Whether a value was given, and is empty.
    var isEmptyText: Bool {
        switch self {
        case .text(let text): text?.isEmpty == true
        case .list(let list): list.contains("")
        case .flag: false
        }
    }
}
