/// How much is passed to TLS at once where it is to keep little memory.
enum TLSPortion {
    /// What one buffer of 32 KiB, the size that TLS begins with, holds once encrypted.
    static let size = 28 * 1_024
}
