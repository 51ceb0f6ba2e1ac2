import ArgumentParser

/// ``ServeCommand`` with its options in sections, for everything that is printed about them: help, errors, completions.
///
/// Never run, since each section slows down the start.
struct SectionedServeCommand: ParsableCommand {
    static let configuration = ServeCommand.documentation

    @OptionGroup(title: "Share") private var share: Options<ShareOptions>
    @OptionGroup(title: "Network") private var network: Options<NetworkOptions>
    @OptionGroup(title: "Access") private var access: Options<AccessOptions>
    @OptionGroup(title: "TLS") private var tls: Options<TLSOptions>
    @OptionGroup(title: "Page") private var page: Options<PageOptions>
    @OptionGroup(title: "Limits") private var limits: Options<LimitOptions>
    @OptionGroup(title: "Process") private var process: Options<ProcessOptions>
    @OptionGroup(title: "Log and settings") private var log: Options<LogOptions>

    struct Options<Section: SettingsSection>: SettingsReader {
        static var settings: [Setting] { Section.settings }

        var given: [(name: String, value: SettingValue)] = []
    }
}
