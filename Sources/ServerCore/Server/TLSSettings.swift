/// A server's certificate, and which clients it accepts.
public struct TLSSettings: Sendable {
    /// Where the certificate comes from.
    public enum Identity: Sendable {
        /// PEM files: the certificate and its chain; the key, RSA, ECDSA or Ed25519. Read again when they change.
        case files(certificate: String, key: String)
        /// A certificate that the server makes for itself and stores in the share's state folder.
        case selfSigned(names: [String])
    }

    /// Where the certificate comes from.
    public var identity: Identity
    /// A PEM file of certificates; only clients with a certificate signed by one of them are accepted.
    ///
    /// nil requires none.
    public var clientCA: String?
    /// Whether HTTP/2 is offered.
    public var offersHTTP2 = true

    /// TLS with this identity, for all clients.
    public init(identity: Identity) { self.identity = identity }
}

extension TLSSettings {
    /// The names of this machine for a self-signed certificate, besides its addresses.
    public static var machineNames: [String] {
        let machine = HostNames.machineName.lowercased()
        let label = machine.prefix { $0 != "." }
        var names = ["localhost"]
        if !label.isEmpty { names += [String(label), "\(label).local"] }
        if !machine.isEmpty, !names.contains(machine) { names.append(machine) }
        return names
    }
}

/// Why TLS can't start, or can't use another certificate.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One line for a person.
    public let reason: String

    /// The reason.
    public var description: String { reason }

    init(_ reason: String) { self.reason = reason }
}
