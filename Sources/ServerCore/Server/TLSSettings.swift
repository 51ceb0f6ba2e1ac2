/// How a server proves who it is, and to whom it listens.
public struct TLSSettings: Sendable {
    /// Where the certificate comes from.
    public enum Identity: Sendable {
        /// PEM files: the certificate and those that lead to its root; the key, RSA, ECDSA or Ed25519. Read again when
        /// they change.
        case files(certificate: String, key: String)
        /// One that the server makes for itself and keeps in the share's state folder.
        case selfSigned(names: [String])
    }

    /// Where the certificate comes from.
    public var identity: Identity
    /// A PEM file of certificates; only clients whose own certificate one of them signed come in.
    ///
    /// nil asks for none.
    public var clientCA: String?
    /// Whether HTTP/2 is offered.
    public var offersHTTP2 = true

    /// TLS with this identity, for everybody.
    public init(identity: Identity) { self.identity = identity }
}

extension TLSSettings {
    /// The names of this machine that a self-signed certificate should hold, beside its addresses.
    public static var machineNames: [String] {
        let machine = HostNames.machineName.lowercased()
        let label = machine.prefix { $0 != "." }
        var names = ["localhost"]
        if !label.isEmpty { names += [String(label), "\(label).local"] }
        if !machine.isEmpty, !names.contains(machine) { names.append(machine) }
        return names
    }
}

/// Why TLS cannot begin, or go on with another certificate.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One line for a person.
    public let reason: String

    /// The reason.
    public var description: String { reason }

    init(_ reason: String) { self.reason = reason }
}
