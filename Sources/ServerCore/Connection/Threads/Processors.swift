import NIOCore

/// The processors that this process may use, according to the system and the process's cgroups.
enum Processors {
    /// At least one; determined once, since it requires reading files.
    static let count = System.coreCount
}
