import ArgumentParser

/// What the process may do on this machine.
struct ProcessOptions: SettingsGroup {
    @Option(help: .init("Become this user once the server listens; needs to be started by root.", valueName: "name"))
    var user: String?

    @Flag(
        help: """
            Let the kernel (Landlock) confine the process to the share alone, and not, as it does by itself, to the \
            directory that the share lies in. A share that is then removed and made again, or mounted again, is served \
            after a restart only.
            """)
    var confine = false

    @Flag(help: "Do not let the kernel confine the process.")
    var noConfine = false
}
