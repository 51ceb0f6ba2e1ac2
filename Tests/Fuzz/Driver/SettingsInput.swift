import ArgumentParser
import DirectoryRoot
import Logging
import ServerCore

@testable import WebUploader
@testable import shareserve

/// One input as the three sources of settings: a configuration file, lines of the environment, words of the command
/// line, with a NUL between them.
struct SettingsInput {
    private let file: [UInt8]
    private let environment: [String: String]
    private let words: [String]

    init(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        file = Array(parts[0])
        let lines = parts.dropFirst().map { part in
            part.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        }
        var environment = ["SHARESERVE_CONFIG": "file"]
        for line in lines.first ?? [] {
            let pair = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            environment["SHARESERVE_" + pair[0].uppercased()] = pair.count > 1 ? String(pair[1]) : ""
        }
        self.environment = environment
        words = lines.dropFirst().first ?? []
    }

    /// Reads everything that the program reads before it listens, except for the files that settings name.
    func read() {
        guard let command = try? ServeCommand.parse(words),
            let settings = try? Settings(given: command.given, environment: environment, readFile: { _ in file }),
            let root = Self.root, let policy = try? RootPolicy(settings)
        else { return }
        precondition(policy.maxUploadSize ?? 0 >= 0 && policy.minFreeSpace >= 0, "less than nothing")
        guard
            ["auth", "auth-file", "tls-cert", "tls-key", "client-ca"].allSatisfy({
                (try? settings.list($0))?.isEmpty == true
            }),
            let logger = try? Logger(settings),
            let configuration = try? ServerConfiguration(settings, root: root, logger: logger)
        else { return }
        _ = try? UploaderConfiguration(
            settings,
            startup: Startup(configuration: configuration, root: "/", showsCode: false, unknownVariables: []))
        _ = try? settings.duration("shutdown-timeout")
    }

    private static let root = try? DirectoryRoot(path: "/", policy: RootPolicy())
}
