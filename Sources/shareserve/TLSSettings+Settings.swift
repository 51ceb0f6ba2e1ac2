import ServerCore

extension TLSSettings {
    /// The TLS settings; nil without TLS.
    init?(_ settings: Settings) throws(StartError) {
        let isSelfSigned = try settings.isOn("tls-self-signed")
        let identity: Identity
        switch (settings.text("tls-cert"), settings.text("tls-key"), isSelfSigned) {
        case (nil, nil, false):
            guard settings.text("client-ca") == nil, settings.text("redirect-http") == nil else {
                throw .usage(
                    "client-ca and redirect-http need TLS: give --tls-cert and --tls-key, or --tls-self-signed")
            }
            return nil
        case (nil, nil, true): identity = .selfSigned(names: Self.machineNames + ReachableAddresses.all())
        case (let certificate?, let key?, false): identity = .files(certificate: certificate, key: key)
        // One file may hold both.
        case (let both?, nil, false): identity = .files(certificate: both, key: both)
        case (nil, _?, _): throw .usage("tls-key needs tls-cert")
        case (_?, _, true): throw .usage("tls-self-signed and tls-cert exclude each other")
        }
        self.init(identity: identity)
        clientCA = settings.text("client-ca")
    }
}
