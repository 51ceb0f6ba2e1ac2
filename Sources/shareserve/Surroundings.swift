import CSyscalls
import Logging
import ServerCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the process cannot run without, checked before it serves: without it, the process would end in the middle of
/// its work.
enum Surroundings {
    /// With fewer open files they cannot be divided among their uses; the lower bound of the setting too.
    private static let fewestFiles = 96
    /// For the runtime, which would wait for one for ever, the access log, and changes of folders.
    private static let otherThreads = 6

    /// Keeps the umask from closing to the process what it creates itself, such as the state of the share.
    ///
    /// To be called before anything is created.
    static func keepOwnRights() {
        let given = umask(0o077)
        umask(given & ~0o700)
    }

    /// Raises the limit of open files as far as the system and the settings allow, and checks that it suffices.
    ///
    /// A limit on the size of files is only told: clients get 413 beyond it. To be called while there is only one
    /// thread.
    ///
    /// - Throws: ``StartError`` that names what is missing.
    static func check(_ settings: Settings, logger: Logger) throws(StartError) {
        if let most = try settings.number("max-open-files", in: fewestFiles...1_048_576) {
            sys_lower_file_limit(Int64(most))
        }
        let (limit, inherited) = (sys_raise_file_limit(), sys_inherited_files())
        let files = max(0, limit - inherited)
        guard files >= Int64(fewestFiles) else {
            let besides = inherited > 0 ? ", besides those that were open before it began" : ""
            throw StartError(
                status: .failed,
                message:
                    "the process may have \(files) files open, and needs \(fewestFiles)\(besides): raise it (ulimit -n, LimitNOFILE=)"
            )
        }
        let largest = sys_file_size_limit()
        if largest >= 0 {
            logger.warning(
                "no file can be larger than the process's limit (ulimit -f, LimitFSIZE=)",
                metadata: ["bytes": "\(largest)"])
        }
        #if os(Linux)
            // libdispatch reads about its threads there, and ends the process when it cannot. The first thread's id is
            // the process's id.
            let place = unsafe sys_openat(AT_FDCWD, "/proc/self/task/\(getpid())/stat", O_RDONLY, 0)
            guard place >= 0 else {
                throw StartError(
                    status: .failed,
                    message: """
                        /proc is not mounted here, or belongs to another PID namespace, and the program cannot run \
                        without it
                        """)
            }
            _ = sys_close(place)
        #endif
        let wanted = try threads(settings)
        let threads = Int(sys_startable_threads(Int32(wanted)))
        guard threads == wanted else {
            throw StartError(
                status: .failed,
                message:
                    "the process may have \(threads) more threads, and needs \(wanted): raise what limits it (pids.max, TasksMax=, ulimit -u, ulimit -v)"
            )
        }
    }

    private static func threads(_ settings: Settings) throws(StartError) -> Int {
        let loops = Processors.eventLoops(try settings.number("event-loops", in: 1...1_024) ?? 0)
        return loops + Processors.ioThreads(try settings.number("io-threads", in: 1...1_024) ?? 0) + otherThreads
    }
}
