import ArgumentParser
import CSyscalls
import DirectoryRoot
import Logging
import ServerCore
import WebDAV
import WebUploader

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `shareserve [PATH] …`: reads the settings, opens the directory, serves it.
///
/// Its help and errors are printed by ``SectionedServeCommand``, which takes the same words.
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

    /// Without words for help, version and completion scripts: looking for them takes longer than all the rest.
    static let configuration = CommandConfiguration(commandName: "shareserve", _superCommandName: "", helpNames: [])

    static let settings =
        ShareOptions.settings + NetworkOptions.settings + AccessOptions.settings + TLSOptions.settings
        + PageOptions.settings + LimitOptions.settings + ProcessOptions.settings + LogOptions.settings

    /// The words being parsed; nil if all options are to be known.
    @TaskLocal private static var words: OptionWords?

    static func isExpected(_ setting: Setting) -> Bool { words.map(setting.isNamed) ?? true }

    var given: [(name: String, value: SettingValue)] = []

    /// Parses words that begin no other command.
    ///
    /// ArgumentParser is given only the options that occur in them: all options take 1 ms of the 12 ms of a start.
    ///
    /// - Throws: when the words are wrong or ask for something else; the error's text may lack options.
    static func reading(_ given: [String]) throws -> ServeCommand {
        try $words.withValue(OptionWords(given)) { try parse(given) }
    }

    /// Reads the settings and confines the process, while there is only one thread.
    ///
    /// - Throws: ``StartError``.
    func prepare() throws -> (Settings, Logger) {
        sys_give_back_large_blocks()
        Signals.ignoreFatalOnes()
        let settings = try Settings(given: given, environment: Environment.settings()) {
            path throws(StartError) in try SettingFile.read(path, as: "configuration file")
        }
        let logger = try Logger(settings)
        try Surroundings.check(settings, logger: logger)
        for variable in settings.unknownVariables {
            // Logged as a warning, so that it is not missed where standard output is discarded, as for a service: the
            // variable may have been meant as an access rule.
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
    /// - Throws: ``StartError`` when there is nothing to serve or no address to serve it at.
    static func serve(_ settings: Settings, _ logger: Logger) async throws {
        let root = try openRoot(settings)
        let configuration = try ServerConfiguration(settings, root: root, logger: logger)
        let grace = try settings.duration("shutdown-timeout") ?? .seconds(30)
        let startup = Startup(
            configuration: configuration, root: settings.text("path") ?? ".", showsCode: try settings.isOn("qr"),
            unknownVariables: settings.unknownVariables.map(\.name))
        var page = try UploaderConfiguration(settings, startup: startup)
        page.hasUsers = configuration.access.hasAccounts
        // Each takes a request's place for as long as its page is open, and may never take the last one.
        let places = configuration.limits.requestsInFlight
        page.maxEventStreams = min(page.maxEventStreams, max(places / 4, places > 1 ? 1 : 0))
        let uploader: UploaderHandler
        do {
            uploader = try UploaderHandler(page)
        } catch let error as RootError {
            throw StartError(error, reading: "assets", path: page.assetsDirectory ?? "")
        }
        let server = Server(configuration: configuration)
        server.add(StatusHandler(of: server))
        server.add(WebDAVHandler(options: try WebDAVOptions(settings)))
        // Asked before the other handlers: for files and folders, and for resumable uploads.
        server.add(uploader)
        let arriving: AsyncStream<Int32>
        do {
            // Before the first request is accepted: it would otherwise be answered with root's rights.
            let addresses = try await server.start { try Confinement.becomeUser(settings) }
            arriving = Signals.trap()
            startup.announce(
                addresses, redirectPort: server.redirectPort, fingerprint: server.certificateFingerprint)
            configuration.access.tellMissingPlaces(in: root, logger)
        } catch let error as ListenError {
            throw StartError(error, configuration)
        } catch let error as TLSError {
            throw StartError.usage("TLS: \(error.reason)")
        } catch let error as AccessRuleError {
            throw StartError.usage("trusted-proxy: \(error.reason)")
        }
        let signals = Signals(
            arriving: arriving, server: server, grace: grace, logger: logger, accessLog: configuration.accessLog,
            readings: readings(of: settings, for: server))
        let obeying = Task { await signals.obey() }
        // Not run(), which would serve again if a signal had ended it by now.
        await server.untilIdle()
        obeying.cancel()
        signals.finish()
    }

    /// The files that are read again while the server runs.
    private static func readings(of settings: Settings, for server: Server) -> [Signals.Reading] {
        var readings: [Signals.Reading] = []
        if settings.text("auth-file") != nil {
            readings.append(
                Signals.Reading(done: "reloaded the rules", failed: "not reloaded") {
                    server.replaceAccess(try AccessRules(settings))
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
