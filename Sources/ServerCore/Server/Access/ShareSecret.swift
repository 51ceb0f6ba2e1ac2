internal import Crypto
import DirectoryRoot
import Synchronization

/// The key that authenticates what this server itself has made: log-in cookies and nonces.
///
/// Stored with the share's state, so that every process that serves the share accepts what another one has made, and
/// what it has itself made before a restart. If nothing can be stored (on a read-only share), each process has a key of
/// its own.
final class ShareSecret: Sendable {
    private let root: DirectoryRoot
    private let key = Mutex<SymmetricKey?>(nil)

    /// The key of a share; read when first needed.
    init(root: DirectoryRoot) { self.root = root }

    /// Reads the key, or creates one.
    ///
    /// Waits for the disk the first time: to be called before requests are accepted.
    func prepare() { _ = bytes() }

    /// A keyed hash over `message`.
    /// - Parameters:
    ///   - purpose: keeps what was made for one use from being valid for another.
    ///   - message: what is authenticated.
    /// - Returns: 32 bytes.
    func seal(_ purpose: String, _ message: [UInt8]) -> [UInt8] {
        let text = Array(purpose.utf8) + [0] + message
        return Array(HMAC<SHA256>.authenticationCode(for: text, using: bytes()))
    }

    private func bytes() -> SymmetricKey {
        key.withLock { key in
            if let key { return key }
            let fresh = SymmetricKey(size: .bits256)
            var kept = fresh
            do {
                let bytes = try root.kept(
                    "secret", isGood: { $0.count == 32 }, orMake: { unsafe fresh.withUnsafeBytes { unsafe Array($0) } })
                kept = SymmetricKey(data: bytes)
            } catch {
                // Nothing can be written here: the key lasts as long as this process.
                kept = fresh
            }
            key = kept
            return kept
        }
    }
}
