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

/// What the process gives up, so that a mistake in it is worth less to whoever finds it.
enum Confinement {
    /// Confines this thread, and all that it starts, to the shared directory and the files that settings name.
    ///
    /// The kernel's rules hold for a directory and not for its name. So that a share is still served after it was
    /// removed and made again, or mounted again, its parent is what is allowed, unless the settings ask for the share
    /// alone. Before anything starts a thread. Where the kernel cannot do it, the process serves unconfined; who asked
    /// for it in so many words is told.
    static func enter(_ settings: Settings, logger: Logger) throws(StartError) {
        let isStrict = try settings.isOn("confine")
        if try settings.isOn("no-confine") {
            guard !isStrict else { throw .usage("confine and no-confine exclude each other") }
            return
        }
        let set = sys_confinement_begin()
        guard set >= 0 else {
            guard isStrict else { return }
            logger.warning("this kernel cannot confine the process", metadata: ["reason": "\(reason(set))"])
            return
        }
        let root = settings.text("path") ?? "."
        try allow(root, writable: true, in: set)
        // So that a share that is removed and made again is found. Where the folder above can't be allowed, as where it
        // is closed to this user, it is not.
        if !isStrict { _ = unsafe sys_confinement_allow(set, directory(of: resolved(root)), true) }
        for case .unix(let path) in try ListenAddress.all(settings, port: 0) {
            try allow(directory(of: path), writable: true, in: set)
        }
        // A certificate that is renewed is another file of that name, so its directory is what may be read.
        for name in ["auth-file", "tls-cert", "tls-key", "client-ca"] {
            guard let path = settings.text(name) else { continue }
            try allow(directory(of: path), writable: false, in: set)
            // Where the name leads by a link; what can't be allowed is not read, and whoever opens it says so.
            _ = unsafe sys_confinement_allow(set, directory(of: resolved(path)), false)
        }
        if let assets = settings.text("assets") {
            try allow(assets, writable: false, in: set)
        }
        // Names of users and hosts with what looks them up, and what tells the number of processors; some systems lack
        // some of them. All of /proc, since libdispatch ends the process when it cannot read of its own threads there,
        // and a rule on the process's own folder is lost whenever the kernel forgets that folder for a while.
        for path in [
            "/etc", "/usr/lib", "/run/systemd/resolve", "/proc", "/sys/fs/cgroup", "/dev/null", "/dev/urandom",
        ] {
            _ = unsafe sys_confinement_allow(set, path, path == "/dev/null")
        }
        let entered = sys_confinement_enter(set)
        guard entered == 0 || !isStrict else {
            throw StartError(status: .failed, message: "cannot confine the process: \(reason(entered))")
        }
    }

    /// Becomes the ordinary user whom the settings name, in all threads.
    static func becomeUser(_ settings: Settings) throws(StartError) {
        guard let user = settings.text("user") else { return }
        let became = unsafe sys_become(user)
        guard became == 0 else {
            throw StartError(status: .usage, message: "cannot become the user '\(user)': \(reason(became))")
        }
    }

    private static func allow(_ path: String, writable: Bool, in set: Int32) throws(StartError) {
        let allowed = unsafe sys_confinement_allow(set, path, writable)
        guard allowed == 0 else {
            // What cannot be reached needs no rule; whoever opens it says so, as without confinement.
            guard ![ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG].contains(-allowed) else { return }
            throw StartError(status: .failed, message: "cannot confine the process to \(path): \(reason(allowed))")
        }
    }

    /// The path without links; as given when there is nothing.
    private static func resolved(_ path: String) -> String {
        guard let real = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func reason(_ answer: Int32) -> String {
        unsafe -answer == ENOENT ? "no such file or directory" : String(cString: strerror(-answer))
    }
}
