internal import Crypto
internal import NIOSSL
internal import SwiftASN1
internal import X509

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// What the server's own certificate contains, and why clients may not accept it.
struct OwnCertificate {
    /// The SHA-256 fingerprint, as browsers show it.
    let fingerprint: String
    /// The host names in it; empty if it names only its subject, which browsers ignore.
    let names: [String]
    /// Why clients may refuse it, each in words for a person.
    let concerns: [String]
    /// When it begins and ends to be valid; nil when it can't be read.
    private let period: (begin: Date, end: Date)?

    /// Examines a certificate at the time `now`.
    /// - Throws: ``TLSError`` for one with which no handshake can succeed.
    init(_ certificate: NIOSSLCertificate, now: Date = Date()) throws(TLSError) {
        guard let bytes = try? certificate.toDERBytes() else { throw TLSError("cannot read the certificate") }
        fingerprint = SHA256.hash(data: bytes).map { Hex.text([$0]).uppercased() }.joined(separator: ":")
        let parsed = try? Certificate(derEncoded: bytes)
        let alternatives = try? parsed?.extensions.subjectAlternativeNames
        names = alternatives?.compactMap { if case .dnsName(let name) = $0 { name } else { nil } } ?? []
        var concerns: [String] = []
        if let bits = try? Self.bitsOfRSA(certificate.extractPublicKey().toSPKIBytes()), bits < 2_048 {
            let concern = "the RSA key has \(bits) bits; at least 2048 are needed"
            // Too short for the signatures that TLS requires.
            guard bits >= 1_024 else { throw TLSError(concern) }
            concerns.append(concern)
        }
        if let parsed, parsed.notValidAfter < now {
            concerns.append("the certificate expired on \(Self.day(parsed.notValidAfter))")
        } else if let parsed, parsed.notValidBefore > now {
            concerns.append("the certificate is not valid before \(Self.day(parsed.notValidBefore))")
        }
        self.concerns = concerns
        period = parsed.map { ($0.notValidBefore, $0.notValidAfter) }
    }

    /// Whether clients with this machine's clock, if it is set, refuse it because of the time.
    var isOfAnotherTime: Bool {
        let now = Date()
        guard now >= SelfSignedIdentity.earliestClock else { return false }
        return period.map { now < $0.begin || $0.end < now } ?? false
    }

    /// The length of the modulus of an RSA key; nil for other keys.
    /// - Parameter key: its SubjectPublicKeyInfo. RFC 5280 §4.1, RFC 8017 §A.1.1.
    /// - Returns: the length in bits.
    /// - Throws: the ASN.1 parser's error for anything else.
    private static func bitsOfRSA(_ key: [UInt8]) throws -> Int? {
        let rsaEncryption: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 1, 1]
        let content: ASN1BitString? = try DER.sequence(DER.parse(key), identifier: .sequence) { parts in
            guard let first = parts.next() else { return nil }
            let algorithm = try DER.sequence(first, identifier: .sequence) { algorithm in
                let name = try ASN1ObjectIdentifier(derEncoded: &algorithm)
                while algorithm.next() != nil {}
                return name
            }
            let content = try ASN1BitString(derEncoded: &parts)
            return algorithm == rsaEncryption ? content : nil
        }
        guard let content else { return nil }
        return try DER.sequence(DER.parse(content.bytes), identifier: .sequence) { parts in
            let modulus = try ArraySlice<UInt8>(derEncoded: &parts).drop { $0 == 0 }
            while parts.next() != nil {}
            return modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        }
    }

    /// As in `2020-01-31`.
    private static func day(_ date: Date) -> String {
        let date = GregorianCalendar.date(ofDay: Int64((date.timeIntervalSince1970 / 86_400).rounded(.down)))
        func digits(_ number: some BinaryInteger) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(date.year)-\(digits(date.month))-\(digits(date.day))"
    }
}
