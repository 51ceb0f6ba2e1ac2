import ArgumentParser

/// How the server proves who it is.
struct TLSOptions: SettingsGroup {
    @Option(
        help: .init(
            "Certificate in PEM form, with those that lead to its root; read again when it changes.", valueName: "file"),
        completion: .file())
    var tlsCert: String?

    @Option(
        help: .init("The certificate's private key in PEM form, RSA or ECDSA.", valueName: "file"), completion: .file())
    var tlsKey: String?

    @Flag(help: "Make a certificate, keep it with the share, and print its fingerprint.")
    var tlsSelfSigned = false

    @Option(
        help: .init("Only clients with a certificate of one of these authorities come in.", valueName: "file"),
        completion: .file())
    var clientCa: String?

    @Option(help: .init("Send those who come to this port without TLS to the address with it.", valueName: "port"))
    var redirectHttp: String?

    @Option(help: .init("Tell browsers to come over TLS only, for this many seconds.", valueName: "seconds"))
    var hsts: String?
}
