import Configuration

/// A variable that looks like a setting but is none, and the variable that was probably meant.
struct UnknownVariable {
    let name: String
    let meant: String?
}

/// The values of all settings: a flag takes precedence over the environment, that over the file, and that over the
/// default.
///
/// Values are text until one of the typed functions reads them, so a bad value is refused in the same words whatever
/// its source.
struct Settings {
    /// Variables that begin with `SHARESERVE_` and are not settings: most likely misspelt.
    ///
    /// Not an error, since others set such variables too: Kubernetes does for a service of that name.
    let unknownVariables: [UnknownVariable]
    private let reader: ConfigReader

    /// - Parameters:
    ///   - given: for every setting there is, its value on the command line.
    ///   - environment: the variables; those that begin with `SHARESERVE_` count, unless they are empty.
    ///   - readFile: returns the content of the configuration file at a path.
    /// - Throws: ``StartError`` when the file cannot be read or has a name that is not a setting, and for an empty
    ///   value on the command line or in the file. That is most likely a script's variable that was never set, and
    ///   `--auth "$RULES"` must not open a share; nor may an empty `SHARESERVE_AUTH`, if no other source has access
    ///   rules.
    init(
        given: [(name: String, value: SettingValue)], environment: [String: String],
        readFile: (String) throws(StartError) -> [UInt8]
    ) throws(StartError) {
        if let empty = given.first(where: \.value.isEmptyText) { throw .emptyValue(of: empty.name) }
        var sources: [any ConfigProvider] = [InMemoryProvider(name: "command line", values: Self.values(of: given))]
        // An empty variable counts as unset, and must not hide the file's value.
        let variables = environment.filter { $0.key.hasPrefix(Environment.prefix) && !$0.value.isEmpty }
        if variables.isEmpty {
            // The usual start; this source is slow, since it derives the variable's name again for each setting that is
            // read.
            unknownVariables = []
        } else {
            let known = Set(given.map { Self.variable($0.name) })
            unknownVariables = variables.keys.filter { !known.contains($0) }.sorted().map { name in
                UnknownVariable(name: name, meant: Spelling.nearest(to: name, among: known))
            }
            sources.append(EnvironmentVariablesProvider(environmentVariables: variables, arraySeparator: "|"))
        }
        let first = ConfigReader(providers: sources)
        if let path = first.string(forKey: Self.key("config")) {
            let file = try ConfigurationFile(json: readFile(path), path: path, settings: given)
            sources.append(InMemoryProvider(name: path, values: file.values))
            reader = ConfigReader(providers: sources)
        } else {
            reader = first
        }
        for name in ["auth", "auth-file"] where environment[Self.variable(name)]?.isEmpty == true {
            let values = try list(name)
            guard text(name) != nil || !values.isEmpty else {
                throw .usage("\(Self.variable(name)) is empty, and protects nothing; unset it to serve without it")
            }
        }
    }

    /// The value of a setting; nil when no source has it.
    func text(_ name: String) -> String? { reader.string(forKey: Self.key(name)) }

    /// The values of a setting that may be given several times; in a variable they are separated by `|`.
    func list(_ name: String) throws(StartError) -> [String] { try list(name) { [$0] } }

    /// Like ``list(_:)``, but each value may itself hold several, separated by commas.
    func commaSeparatedList(_ name: String) throws(StartError) -> [String] {
        try list(name) { $0.split(separator: ",").map { $0.trimming(" ") } }
    }

    /// - Throws: ``StartError`` when a source has only separators as the value, as for an empty value.
    private func list(_ name: String, parts: (String) -> [String]) throws(StartError) -> [String] {
        let given = reader.stringArray(forKey: Self.key(name), default: [])
        let values = given.flatMap(parts).filter { !$0.isEmpty }
        guard given.isEmpty || !values.isEmpty else { throw .emptyValue(of: name) }
        return values
    }

    /// Whether a flag is given; in a variable or file the value is `true` or `false`.
    func isOn(_ name: String) throws(StartError) -> Bool {
        switch text(name)?.lowercased() {
        case nil, "false", "no", "off", "0": return false
        case "true", "yes", "on", "1": return true
        case .some(let other): throw .usage("\(name): '\(other)' is neither true nor false")
        }
    }

    /// A whole number within `range`.
    func number(_ name: String, in range: ClosedRange<Int>) throws(StartError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage("\(name): '\(text)' is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A number of bytes such as `500`, `64K`, `1.5G` or `2GiB`, see ``ByteCount``.
    func bytes(_ name: String) throws(StartError) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let bytes = ByteCount(text)?.bytes else {
            throw .usage("\(name): '\(text)' is not a size such as 500M or 20G")
        }
        return bytes
    }

    /// A time such as `30` (seconds), `90s`, `15m`, `24h`, `2d`.
    func duration(_ name: String) throws(StartError) -> Duration? {
        guard let text = text(name) else { return nil }
        guard let span = TimeSpan(text)?.duration else {
            throw .usage("\(name): '\(text)' is not a time such as 30s, 15m, 24h or 2d")
        }
        return span
    }

    /// A time that a client is allowed, so never zero: with zero, everything that does not arrive at once would be cut
    /// off.
    func patience(_ name: String) throws(StartError) -> Duration? {
        let span = try duration(name)
        // In other programs it often means no limit.
        guard span != .zero else { throw .usage("\(name): 0 is no time at all, and not “no limit”; at least 1s") }
        return span
    }

    /// A number of days: `7`, or a time of whole days such as `7d` or `1w`.
    func days(_ name: String, in range: ClosedRange<Int>) throws(StartError) -> Int? {
        guard let text = text(name) else { return nil }
        let seconds = TimeSpan(text)?.duration.components.seconds
        let days = Int(text) ?? seconds.flatMap { $0 % 86_400 == 0 ? Int($0 / 86_400) : nil }
        guard let days, range.contains(days) else {
            throw .usage("\(name): '\(text)' is not a number of days from \(range.lowerBound) to \(range.upperBound)")
        }
        return days
    }

    /// The key under which every source holds a setting; `shareserve` is the first part of the variable's name.
    static func key(_ name: String) -> ConfigKey {
        ConfigKey(["shareserve", name])
    }

    /// The variable that holds a setting.
    private static func variable(_ name: String) -> String {
        Environment.prefix + name.uppercased().split(separator: "-").joined(separator: "_")
    }

    private static func values(of settings: [(name: String, value: SettingValue)]) -> [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, value) in settings {
            let key = AbsoluteConfigKey(Self.key(name))
            switch value {
            case .text(.some(let text)): values[key] = ConfigValue(.string(text), isSecret: false)
            case .list(let list) where !list.isEmpty: values[key] = ConfigValue(.stringArray(list), isSecret: true)
            case .flag(true): values[key] = ConfigValue(.string("true"), isSecret: false)
            default: break
            }
        }
        return values
    }
}

extension Substring {
    /// The text without the given character at both ends.
    fileprivate func trimming(_ character: Character) -> String {
        var rest = drop { $0 == character }
        while rest.last == character {
            rest.removeLast()
        }
        return String(rest)
    }
}
