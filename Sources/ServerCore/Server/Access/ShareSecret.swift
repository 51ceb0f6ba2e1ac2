internal import Crypto
import DirectoryRoot
import Synchronization

/// The key that proves what this server itself made: log-in cookies and nonces.
///
/// Kept with the share's state, so that every process that serves the share believes what another one made, and what it
/// made itself before a restart. Where nothing can be kept (a read-only share), each process has a key of its own.
final class ShareSecret: Sendable {
    private let root: DirectoryRoot
    private let key = Mutex<SymmetricKey?>(nil)

    /// The key of a share; not read before it is needed.
    init(root: DirectoryRoot) { self.root = root }

    /// Reads the key, or makes one.
    ///
    /// Waits for the disk the first time: to be called before requests come.
    func prepare() { _ = bytes() }

    /// A keyed hash over `message`.
    /// - Parameters:
    ///   - purpose: keeps what was made for one use from being good for another.
    ///   - message: what is proved.
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
                // Nothing can be written here: the key lives as long as this process.
                kept = fresh
            }
            key = kept
            return kept
        }
    }
}
