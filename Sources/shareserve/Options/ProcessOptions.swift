import ArgumentParser

/// Options for the rights of the process on this machine.
enum ProcessOptions: SettingsSection {
    static let settings: [Setting] = [
        .text("user", as: "name", "Become this user once the server listens; needs to be started by root."),
        .flag(
            "confine",
            """
            Let the kernel (Landlock) confine the process to the share alone, and not, as it does by itself, to the \
            directory that the share lies in. A share that is then removed and made again, or mounted again, is served \
            after a restart only.
            """),
        .flag("no-confine", "Do not let the kernel confine the process."),
    ]
}
