import CSyscalls
import DirectoryRoot
import Logging
internal import NIOSSL
import Synchronization

/// The TLS context for new connections, replaced when its files change.
///
/// Open connections keep theirs.
///
/// TLS 1.2 and 1.3 only; with 1.2, only cipher suites with forward secrecy and authenticated encryption. RFC 9325.
final class TLSContexts: Sendable {
    private struct State {
        var context: NIOSSLContext
        var own: OwnCertificate
        var stamps: [Stamp]
    }

    /// By which a changed file is recognised.
    private struct Stamp: Equatable {
        var inode: UInt64 = 0
        // These stay as they are for what is not a regular file.
        var size: UInt64 = 0
        var seconds: Int64 = .min
        var nanoseconds: UInt32 = 0
        var isRegular = false

        init(_ path: String) {
            var found = sys_attributes()
            guard unsafe sys_stat(path, &found) == 0 else { return }
            inode = found.inode
            isRegular = found.mode & 0o170000 == 0o100000
            guard isRegular else { return }
            size = found.size
            seconds = found.modified
            nanoseconds = found.modified_ns
        }
    }

    private let settings: TLSSettings
    private let root: DirectoryRoot
    private let protocols: [String]
    private let learn: @Sendable ([String]) -> Void
    private let logger: Logger
    private let state: Mutex<State>
    /// What came through a pipe at the start, by its path: it can be read only once.
    private let pipes: [String: PEMFile]

    /// Reads the files, or creates what is to be created.
    /// - Parameters:
    ///   - settings: where the identity comes from.
    ///   - root: the root whose state folder stores a self-signed one.
    ///   - protocols: for ALPN, the preferred one first.
    ///   - learn: called with the certificate's host names, now and whenever another one is in use.
    ///   - logger: told why clients may refuse it, at the same times.
    /// - Throws: ``TLSError``.
    init(
        _ settings: TLSSettings, root: DirectoryRoot, protocols: [String],
        learn: @escaping @Sendable ([String]) -> Void, logger: Logger
    ) throws(TLSError) {
        self.settings = settings
        self.root = root
        self.protocols = protocols
        self.learn = learn
        self.logger = logger
        var pipes: [String: PEMFile] = [:]
        let first = try Self.load(settings, root: root, protocols: protocols) { path throws(TLSError) in
            let file = try PEMFile(path, waits: true)
            if !file.isRegular { pipes[path] = file }
            return file
        }
        state = Mutex(first)
        self.pipes = pipes
        announce(first.own)
    }

    /// The context for the next connection.
    var current: NIOSSLContext { state.withLock { $0.context } }

    /// The SHA-256 fingerprint of the server's own certificate, as browsers show it.
    var fingerprint: String { state.withLock { $0.own.fingerprint } }

    /// Reads everything again; if that fails, the current context stays in use.
    func reload() throws(TLSError) {
        let stamps = Self.stamps(settings)
        do {
            let new = try Self.load(settings, root: root, protocols: protocols) { path throws(TLSError) in
                if let kept = pipes[path], !Stamp(path).isRegular { return kept }
                return try PEMFile(path, waits: false)
            }
            state.withLock { $0 = new }
            announce(new.own)
        } catch {
            // A renewal may be half written; the next check reads the rest. The error must not be reported again until
            // then.
            state.withLock { $0.stamps = stamps }
            throw error
        }
    }

    private func announce(_ certificate: OwnCertificate) {
        learn(certificate.names)
        for concern in certificate.concerns {
            logger.warning("clients may refuse the certificate", metadata: ["reason": "\(concern)"])
        }
    }

    /// Reloads when files have changed, and replaces a self-signed certificate when the clock says that it is not valid,
    /// until the task is cancelled or `pause`, which waits, throws.
    func watch(every interval: Duration, _ pause: @Sendable (Duration) async throws -> Void) async {
        while !Task.isCancelled {
            do { try await pause(interval) } catch { return }
            // A disk that hangs must not block a thread that others need.
            await withCheckedContinuation { continuation in
                let isStarted = OwnThread.start("certificate") { [self] in
                    reloadIfChanged()
                    continuation.resume()
                }
                if !isStarted { continuation.resume() }
            }
        }
    }

    private func reloadIfChanged() {
        let (stamps, isOfAnotherTime) = state.withLock { ($0.stamps, $0.own.isOfAnotherTime) }
        var isOver = false
        if case .selfSigned = settings.identity { isOver = isOfAnotherTime }
        guard isOver || Self.stamps(settings) != stamps else { return }
        do {
            try reload()
            guard isOver else { return logger.notice("reloaded the certificate") }
            // Also when the clock was set: it was wrong when the certificate was made, or is now.
            logger.warning(
                "made a new certificate, since the old one is not valid at this time",
                metadata: ["fingerprint": "\(fingerprint)"])
        } catch {
            logger.error("could not reload the certificate", metadata: ["reason": "\(error)"])
        }
    }

    private static func load(
        _ settings: TLSSettings, root: DirectoryRoot, protocols: [String],
        reading read: (String) throws(TLSError) -> PEMFile
    ) throws(TLSError) -> State {
        let stamps = stamps(settings)
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey
        switch settings.identity {
        case .files(let certificatePath, let keyPath):
            chain = try read(certificatePath).certificates()
            key = try read(keyPath).privateKey()
        case .selfSigned(let names):
            let made = try asking("cannot make a certificate") { try SelfSignedIdentity.kept(in: root, names: names) }
            chain = try asking("cannot use the made certificate") {
                try NIOSSLCertificate.fromPEMBytes(Array(made.certificate.utf8))
            }
            key = try asking("cannot use the made key") {
                try NIOSSLPrivateKey(bytes: Array(made.key.utf8), format: .pem)
            }
        }
        guard let own = chain.first else { throw TLSError("there is no certificate in the file") }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = [
            .TLS_AES_128_GCM_SHA256, .TLS_AES_256_GCM_SHA384, .TLS_CHACHA20_POLY1305_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        configuration.applicationProtocols = protocols
        if let path = settings.clientCA {
            configuration.trustRoots = .certificates(try read(path).certificates())
            configuration.certificateVerification = .noHostnameVerification
        }
        let context = try asking("the certificate and the key do not belong together") {
            try NIOSSLContext(configuration: configuration)
        }
        return State(context: context, own: try OwnCertificate(own), stamps: stamps)
    }

    private static func asking<Result>(_ reason: String, _ work: () throws -> Result) throws(TLSError) -> Result {
        do {
            return try work()
        } catch {
            throw TLSError(reason)
        }
    }

    private static func stamps(_ settings: TLSSettings) -> [Stamp] {
        var paths: [String] = []
        if case .files(let certificate, let key) = settings.identity { paths += [certificate, key] }
        if let clientCA = settings.clientCA { paths.append(clientCA) }
        return paths.map(Stamp.init)
    }
}
