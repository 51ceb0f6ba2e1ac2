import ArgumentParser
import CSyscalls
import DirectoryRoot
import Logging
import ServerCore
import UnixSignals
import WebDAV
import WebUploader

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `shareserve [PATH] …`: reads the settings, opens the directory, serves it.
///
/// What is printed about it comes from ``SectionedServeCommand``, which takes the same words.
struct ServeCommand: ParsableCommand, SettingsReader {
    static let documentation = CommandConfiguration(
        commandName: "shareserve",
        abstract: "Shares a directory: in the browser, by WebDAV, and by plain HTTP.",
        discussion: """
            Every option may also stand in the environment (SHARESERVE_PORT=8080; several values with | between them) \
            and in a JSON file (--config). A flag wins over the environment, and that over the file.

            Also: shareserve hash-password [USER] makes password hashes, shareserve link PATH makes share links; see \
            their --help.
            """,
        version: "0.1.0"
    )

    /// Knows no words for help, versions and completion scripts: to look for them takes longer than all the rest.
    static let configuration = CommandConfiguration(commandName: "shareserve", _superCommandName: "", helpNames: [])

    static let settings =
        ShareOptions.settings + NetworkOptions.settings + AccessOptions.settings + TLSOptions.settings
        + PageOptions.settings + LimitOptions.settings + ProcessOptions.settings + LogOptions.settings

    /// What is being parsed; nil where all options are to be known.
    @TaskLocal private static var words: OptionWords?

    static func isExpected(_ setting: Setting) -> Bool { words.map(setting.isNamed) ?? true }

    var given: [(name: String, value: SettingValue)] = []

    /// Reads words that begin no other command.
    ///
    /// ArgumentParser is told of the options that are among them only: all of them take 1 ms of the start's 12.
    ///
    /// - Throws: where the words are wrong or ask for something else; in an error's text options may be missing.
    static func reading(_ given: [String]) throws -> ServeCommand {
        try $words.withValue(OptionWords(given)) { try parse(given) }
    }

    /// Reads the settings and confines the process, while there is but one thread.
    ///
    /// - Throws: ``StartError``.
    func prepare() throws -> (Settings, Logger) {
        sys_give_back_large_blocks()
        Signals.ignoreFatalOnes()
        let settings = try Settings(given: given, environment: Environment.settings()) {
            path throws(StartError) in try SettingFile.read(path, as: "configuration file")
        }
        let logger = try Logger(settings)
        try Surroundings.check(settings)
        for variable in settings.unknownVariables {
            // Where the output goes nowhere, as for a service, this must not be missed: it may have been a rule.
            guard let meant = variable.meant else { continue }
            logger.warning(
                "unknown setting in the environment",
                metadata: ["variable": "\(variable.name)", "hint": "Did you mean \(meant)?"])
        }
        try Confinement.enter(settings, logger: logger)
        return (settings, logger)
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: ``StartError`` when there is nothing to serve or nowhere to serve it.
    static func serve(_ settings: Settings, _ logger: Logger) async throws {
        let root = try openRoot(settings)
        var configuration = try ServerConfiguration(settings, root: root, logger: logger)
        let grace = try settings.duration("shutdown-timeout") ?? .seconds(30)
        let startup = Startup(
            configuration: configuration, root: settings.text("path") ?? ".", showsCode: try settings.isOn("qr"),
            unknownVariables: settings.unknownVariables.map(\.name))
        var page = try UploaderConfiguration(settings, startup: startup)
        page.hasUsers = configuration.access.hasAccounts
        let uploader: UploaderHandler
        do {
            uploader = try UploaderHandler(page)
        } catch let error as RootError {
            throw StartError(error, reading: "assets", path: page.assetsDirectory ?? "")
        }
        configuration.access.logInPage = uploader.logInPage
        let server = Server(configuration: configuration)
        server.add(StatusHandler(of: server))
        server.add(WebDAVHandler(options: try WebDAVOptions(settings)))
        // Asked first: files and folders, and the uploads that can be resumed.
        server.add(uploader)
        let arriving: UnixSignalsSequence
        do {
            // Before the first request: a client that is there at once would be answered with root's rights.
            let addresses = try await server.start { try Confinement.becomeUser(settings) }
            arriving = await Signals.trap()
            startup.announce(
                addresses, redirectPort: server.redirectPort, fingerprint: server.certificateFingerprint)
        } catch let error as ListenError {
            throw StartError(error, configuration)
        } catch let error as TLSError {
            throw StartError.usage("TLS: \(error.reason)")
        } catch let error as AccessRuleError {
            throw StartError.usage("trusted-proxy: \(error.reason)")
        }
        let signals = Signals(
            arriving: arriving, server: server, grace: grace, logger: logger, accessLog: configuration.accessLog,
            readings: readings(of: settings, for: server, logInPage: uploader.logInPage))
        let obeying = Task { await signals.obey() }
        try await server.run()
        obeying.cancel()
        signals.finish()
    }

    /// What is read again while the server runs.
    private static func readings(
        of settings: Settings, for server: Server, logInPage: @escaping @Sendable (LogInPrompt) -> Response
    ) -> [Signals.Reading] {
        var readings: [Signals.Reading] = []
        if settings.text("auth-file") != nil {
            readings.append(
                Signals.Reading(done: "reloaded the rules", failed: "not reloaded") {
                    var rules = try AccessRules(settings)
                    rules.logInPage = logInPage
                    server.replaceAccess(rules)
                })
        }
        if server.certificateFingerprint != nil {
            readings.append(
                Signals.Reading(done: "reloaded the certificate", failed: "could not reload the certificate") {
                    try server.reloadCertificate()
                })
        }
        return readings
    }

    private static func openRoot(_ settings: Settings) throws(StartError) -> DirectoryRoot {
        let path = settings.text("path") ?? "."
        let policy = try RootPolicy(settings)
        do throws(RootError) {
            return try DirectoryRoot(path: path, policy: policy)
        } catch {
            throw StartError(error, opening: path)
        }
    }
}
