import NIOCore

/// The processors that this process may use, by what the system and its cgroups leave it.
enum Processors {
    /// At least one; looked up once, since each time reads files.
    static let count = System.coreCount
}
