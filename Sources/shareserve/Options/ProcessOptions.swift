import ArgumentParser

/// What the process may do on this machine.
struct ProcessOptions: SettingsGroup {
    @Option(help: .init("Become this user once the server listens; needs to be started by root.", valueName: "name"))
    var user: String?

    @Flag(
        help: """
            Let the kernel confine the process to the directory, its settings and its certificates (Landlock). A \
            directory that is then removed and made again, or mounted again, is served after a restart only.
            """)
    var confine = false
}
