import ArgumentParser

/// Options for TLS and its certificates.
enum TLSOptions: SettingsSection {
    static let settings: [Setting] = [
        .text(
            "tls-cert", as: "file", completion: .file(),
            "Certificate in PEM form, with those that lead to its root; read again when it changes."),
        .text(
            "tls-key", as: "file", completion: .file(),
            "The certificate's private key in PEM form: RSA, ECDSA or Ed25519."),
        .flag("tls-self-signed", "Make a certificate, keep it with the share, and print its fingerprint."),
        .text(
            "client-ca", as: "file", completion: .file(),
            "Only clients with a certificate of one of these authorities come in."),
        .text("redirect-http", as: "port", "Send those who come to this port without TLS to the address with it."),
        .text("hsts", as: "seconds", "Tell browsers to come over TLS only, for this many seconds."),
    ]
}
