import NIOCore

/// The processors that this process may use, according to the system and the process's cgroups, and how many threads
/// suit them.
package enum Processors {
    /// At least one; determined once, since it requires reading files.
    static let count = System.coreCount

    /// The number of event loops.
    /// - Parameter wanted: by the settings; 0 for as many as suit the processors.
    /// - Returns: at least one.
    package static func eventLoops(_ wanted: Int) -> Int { wanted > 0 ? wanted : max(1, count / 2) }

    /// The number of threads for the disk.
    /// - Parameter wanted: by the settings; 0 for as many as suit the processors.
    /// - Returns: at least one.
    package static func ioThreads(_ wanted: Int) -> Int { wanted > 0 ? wanted : min(32, max(8, count * 4)) }
}
