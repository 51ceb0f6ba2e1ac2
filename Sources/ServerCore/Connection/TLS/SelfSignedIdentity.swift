internal import Crypto
import DirectoryRoot
internal import SwiftASN1
internal import X509

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A certificate that the server made for itself, and its key, as PEM.
struct SelfSignedIdentity {
    let certificate: String
    let key: String

    /// The file of the state folder that keeps it.
    private static let name = "tls"
    /// Its validity in seconds: no longer than browsers and Apple's systems accept.
    private static let lifetime = 820.0 * 86_400
    /// The beginning of 2026.
    ///
    /// An earlier clock is not set yet: many a small machine begins in 1970, and learns the time from the network.
    static let earliestClock = Date(timeIntervalSince1970: 1_767_225_600)

    /// The stored one, if it is valid now, for another month and for these names; else a new one, which is stored if
    /// possible.
    ///
    /// Several processes that start at the same time all get the same.
    static func kept(in root: DirectoryRoot, names: [String], now: Date = Date()) throws -> SelfSignedIdentity {
        func good(_ bytes: [UInt8]) -> SelfSignedIdentity? {
            SelfSignedIdentity(String(decoding: bytes, as: UTF8.self)).flatMap { $0.isGood(for: names, now) ? $0 : nil }
        }
        if let old = root.kept(name).flatMap(good) { return old }
        let new = try make(names: names, now)
        do {
            let bytes = try root.kept(
                name, isGood: { good($0) != nil }, orMake: { Array((new.certificate + "\n" + new.key).utf8) })
            return good(bytes) ?? new
        } catch {
            // Nothing can be written here, as on a read-only share: the certificate lasts as long as the process.
            return new
        }
    }

    /// Creates a new one for these host names and numeric addresses, the first of them the subject.
    private static func make(names: [String], _ now: Date) throws -> SelfSignedIdentity {
        let now = max(now, earliestClock)
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName(names.first ?? "shareserve") }
        let alternatives = names.map { name in
            NetworkAddress(name).map { GeneralName.ipAddress(ASN1OctetString(contentBytes: $0.octets[...])) }
                ?? .dnsName(name)
        }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
            // Clocks differ.
            notValidBefore: now.addingTimeInterval(-86_400), notValidAfter: now.addingTimeInterval(lifetime),
            issuer: subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(alternatives)
            },
            issuerPrivateKey: Certificate.PrivateKey(key))
        return SelfSignedIdentity(certificate: try certificate.serializeAsPEM().pemString, key: key.pemRepresentation)
    }

    private init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    private init?(_ text: String) {
        guard let documents = try? PEMDocument.parseMultiple(pemString: text), documents.count == 2 else { return nil }
        self.init(certificate: documents[0].pemString, key: documents[1].pemString)
    }

    private func isGood(for names: [String], _ now: Date) -> Bool {
        guard let certificate = try? Certificate(pemEncoded: certificate),
            let known = try? certificate.extensions.subjectAlternativeNames
        else { return false }
        // The clock may have been wrong when it was made.
        let hasBegun = certificate.notValidBefore <= now || now < Self.earliestClock
        let isOfNow = hasBegun && now.addingTimeInterval(30 * 86_400) < certificate.notValidAfter
        // Addresses change often; the certificate that a person was told to trust stays as long as the names do.
        let hosts = known.compactMap { if case .dnsName(let name) = $0 { name } else { nil } }
        return isOfNow && names.allSatisfy { NetworkAddress($0) != nil || hosts.contains($0) }
    }
}

extension NetworkAddress {
    /// The 4 or 16 bytes of the address.
    fileprivate var octets: [UInt8] {
        let all = stride(from: 120, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> UInt128($0)) }
        return isIPv4 ? Array(all.suffix(4)) : all
    }
}
