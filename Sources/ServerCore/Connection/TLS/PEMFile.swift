import CSyscalls
internal import NIOSSL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that should contain certificates or a private key.
struct PEMFile {
    private let path: String
    private let bytes: [UInt8]
    /// Whether it can be read again: false for a pipe, and whatever else is not a regular file.
    let isRegular: Bool

    /// Far more than any certificate chain has.
    private static let mostBytes = 16 << 20

    /// Reads the file.
    /// - Parameters:
    ///   - path: as given in the settings.
    ///   - waits: whether it may be a pipe, whose writer is waited for.
    /// - Throws: ``TLSError`` with the reason why it can't be read.
    init(_ path: String, waits: Bool) throws(TLSError) {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
        guard file >= 0 else { throw Self.unreadable(path) }
        defer { close(file) }
        var found = sys_attributes()
        isRegular = unsafe sys_fstat(file, &found) == 0 && found.mode & 0o170000 == 0o100000
        guard isRegular || waits else { throw TLSError("cannot read \(path): it is not a regular file") }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < Self.mostBytes {
            let count = unsafe read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.unreadable(path) }
            if count == 0 { break }
            bytes += buffer.prefix(count)
        }
        guard bytes.count < Self.mostBytes else { throw TLSError("\(path) is too large to be a certificate or a key") }
        self.path = path
        // Some editors write a byte order mark before the first line; of joined files, each may have its own.
        self.bytes = bytes.replacing([0xEF, 0xBB, 0xBF], with: [])
    }

    /// All certificates in the file.
    /// - Returns: at least one.
    /// - Throws: ``TLSError`` when there is none, or one is damaged.
    func certificates() throws(TLSError) -> [NIOSSLCertificate] {
        if let found = try? NIOSSLCertificate.fromPEMBytes(bytes), !found.isEmpty { return found }
        let hint = holds("-----BEGIN ") ? "" : "; convert a DER file with “openssl x509 -in \(path) -out cert.pem”"
        throw TLSError("there is no certificate in PEM form (-----BEGIN CERTIFICATE-----) in \(path)\(hint)")
    }

    /// The private key in the file.
    /// - Returns: the first one.
    /// - Throws: ``TLSError`` when there is none that can be used.
    func privateKey() throws(TLSError) -> NIOSSLPrivateKey {
        do {
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem)
        } catch {
            // openssl encrypts the keys that it creates, unless told not to.
            if holds("ENCRYPTED") {
                throw TLSError("the private key in \(path) is encrypted; “openssl pkey” writes it without its password")
            }
            if holds("PRIVATE KEY-----") {
                throw TLSError(
                    """
                    the private key in \(path) is damaged, or of a kind that browsers do not take; RSA, ECDSA P-256 to \
                    P-521 or Ed25519
                    """)
            }
            let hint = holds("-----BEGIN ") ? "" : "; convert a DER file with “openssl pkey -in \(path) -out key.pem”"
            throw TLSError("there is no private key in PEM form (-----BEGIN PRIVATE KEY-----) in \(path)\(hint)")
        }
    }

    private func holds(_ text: String) -> Bool { bytes.firstRange(of: Array(text.utf8)) != nil }

    private static func unreadable(_ path: String) -> TLSError {
        unsafe TLSError("cannot read \(path): \(String(cString: strerror(errno)))")
    }
}
