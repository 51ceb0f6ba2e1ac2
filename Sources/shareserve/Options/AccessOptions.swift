import ArgumentParser

/// Options for access: who may do what, under which host names, and from the pages of which other sites.
enum AccessOptions: SettingsSection {
    static let settings: [Setting] = [
        .list(
            "auth", as: "rule",
            """
            Who may do what: 'user:password@/path:rights,/path:rights', with rw, ro, w (upload only) or none; '@/path:ro' \
            is for everybody. The password may be a hash of hash-password. May be repeated.
            """),
        .text(
            "auth-file", as: "file", completion: .file(),
            "File of such rules, one a line, in htpasswd's form; read again on SIGHUP."),
        .list(
            "allowed-host", as: "name",
            """
            Name by which the share is reached, beside localhost, this machine's name and those of the certificate, as in \
            files.example.com or .example.com; without --auth, other names are refused, except names without a dot from \
            programs that are not browsers. May be repeated.
            """),
        .list(
            "cors", as: "origin",
            "Site whose pages may use the share, as in https://app.example.com or app://obsidian.md; may be repeated."),
        .list(
            "trusted-proxy", as: "cidr",
            "Proxy that is believed what it says of its clients: an address, a network or unix; may be repeated."),
    ]
}
