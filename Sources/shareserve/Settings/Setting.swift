import ArgumentParser

/// One setting, as the command line takes it.
///
/// Its name is known to all three sources: `max-upload-size` is `--max-upload-size`, `SHARESERVE_MAX_UPLOAD_SIZE` and
/// `"max-upload-size"`. Values stay text here, so that all three are parsed, and complained about, in one place.
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

    /// A value that stands alone, without an option before it.
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

    /// As ``text(_:short:as:completion:_:)``, and a negative number is a wrong value, and no option.
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

    /// An option without a value, off when it is not given.
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

    /// Whether it is one of those that `words` may mean.
    func isNamed(by words: OptionWords) -> Bool {
        kind == .argument || (short != nil && words.holdShortOnes) || words.long.contains(name)
    }

    /// What ArgumentParser would find in a property that was declared with one of its wrappers.
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

    /// What the command line said about this setting.
    func value(in parsed: KeyedDecodingContainer<Key>) throws -> SettingValue {
        let key = Key(stringValue: name)
        return switch kind {
        case .argument, .text, .number: .text(try parsed.decodeIfPresent(String.self, forKey: key))
        case .list: .list(try parsed.decode([String].self, forKey: key))
        case .flag: .flag(try parsed.decode(Bool.self, forKey: key))
        }
    }

    /// What it is without a word of the command line.
    var absent: SettingValue {
        switch kind {
        case .argument, .text, .number: .text(nil)
        case .list: .list([])
        case .flag: .flag(false)
        }
    }

    /// The name under which ArgumentParser hands the value over.
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }
}

/// What the command line says about one setting; the case is the setting's kind.
enum SettingValue {
    case text(String?)
    case list([String])
    case flag(Bool)

    /// Whether a value was given, and none is in it.
    var isEmptyText: Bool {
        switch self {
        case .text(let text): text?.isEmpty == true
        case .list(let list): list.contains("")
        case .flag: false
        }
    }
}
