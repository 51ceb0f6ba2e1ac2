import ArgumentParser

/// Who may do what, under which names, and whose pages.
struct AccessOptions: SettingsGroup {
    @Option(
        help: .init(
            """
            Who may do what: 'user:password@/path:rights,/path:rights', with rw, ro, w (upload only) or none; '@/path:ro' \
            is for everybody. The password may be a hash of hash-password. May be repeated.
            """, valueName: "rule"))
    var auth: [String] = []

    @Option(
        help: .init("File of such rules, one a line, in htpasswd's form; read again on SIGHUP.", valueName: "file"),
        completion: .file())
    var authFile: String?

    @Option(
        help: .init(
            """
            Name by which the share is reached, beside localhost, this machine's name and those of the certificate, as in \
            files.example.com or .example.com; without --auth, others are refused, but bare names to programs that are no \
            browsers. May be repeated.
            """, valueName: "name"))
    var allowedHost: [String] = []

    @Option(
        help: .init(
            "Site whose pages may use the share, as in https://app.example.com or app://obsidian.md; may be repeated.",
            valueName: "origin"))
    var cors: [String] = []

    @Option(
        help: .init(
            "Proxy that is believed what it says of its clients: an address, a network or unix; may be repeated.",
            valueName: "cidr"))
    var trustedProxy: [String] = []
}
