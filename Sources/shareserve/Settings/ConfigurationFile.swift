import Configuration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A configuration file: one JSON object whose names are those of the long options.
///
/// Not read with swift-configuration, whose reader links the full Foundation, 45 MB.
struct ConfigurationFile {
    /// Its values, each as a text or as a list of texts, as its setting requires.
    let values: [AbsoluteConfigKey: ConfigValue]

    /// - Parameters:
    ///   - json: the file's bytes.
    ///   - path: its path, for messages.
    ///   - settings: every setting there is; any other name is an error, most likely a misspelling.
    /// - Throws: ``StartError`` when it is not such an object or has an empty value.
    init(
        json: [UInt8], path: String, settings: [(name: String, value: SettingValue)]
    ) throws(StartError) {
        let members: [String: Member]
        do {
            members = try JSONDecoder().decode([String: Member].self, from: Data(json))
        } catch {
            throw .usage("\(path) is not a JSON object of texts, numbers, booleans and lists of them")
        }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        let kinds = Dictionary(settings.map { ($0.name, $0.value) }) { first, _ in first }
        for (name, member) in members {
            guard !member.texts.isEmpty, !member.texts.contains("") else { throw .usage("\(path): '\(name)' is empty") }
            let content: ConfigContent
            switch (kinds[name], member) {
            case (.none, _):
                throw .usage("\(path): there is no setting '\(name)'\(Self.hint(name, among: settings.map(\.name)))")
            case (.some(.list), .list(let list)):
                content = .stringArray(list)
            case (.some(.list), .text(let text)):
                content = .stringArray([text])
            case (.some, .text(let text)):
                content = .string(text)
            case (.some, .list):
                throw .usage("\(path): '\(name)' takes one value, not a list")
            }
            values[AbsoluteConfigKey(Settings.key(name))] = ConfigValue(content, isSecret: true)
        }
        self.values = values
    }

    private static func hint(_ name: String, among names: [String]) -> String {
        Spelling.nearest(to: name, among: names).map { ". Did you mean '\($0)'?" } ?? ""
    }

    /// A value of the object, as the text that would stand on a command line.
    private enum Member: Decodable {
        case text(String)
        case list([String])

        var texts: [String] {
            switch self {
            case .text(let text): [text]
            case .list(let list): list
            }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let scalar = try? container.decode(Scalar.self) {
                self = .text(scalar.text)
            } else {
                self = .list(try container.decode([Scalar].self).map(\.text))
            }
        }
    }

    private struct Scalar: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                text = flag ? "true" : "false"
            } else if let whole = try? container.decode(Int64.self) {
                text = String(whole)
            } else if let number = try? container.decode(Double.self) {
                text = String(number)
            } else {
                text = try container.decode(String.self)
            }
        }
    }
}
