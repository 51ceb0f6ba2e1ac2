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

/// What the process gives up, so that a flaw in it is worth less to an attacker.
enum Confinement {
    /// Confines this thread, and all that it starts, to the shared directory and the files that settings name.
    ///
    /// The kernel's rules hold for a directory, not for its name. So that the share is still served after it has been
    /// removed and created again, or mounted again, its parent is allowed, unless the settings ask for strict
    /// confinement to the share alone. To be called before anything starts a thread. If the kernel cannot confine it,
    /// the process serves unconfined; this is logged only if the settings ask for confinement explicitly.
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
        // So that a share that is removed and created again is found. Not possible if the parent can't be allowed, for
        // instance because it is closed to this user.
        if !isStrict { _ = unsafe sys_confinement_allow(set, directory(of: resolved(root)), true) }
        for case .unix(let path) in try ListenAddress.all(settings, port: 0) {
            try allow(directory(of: path), writable: true, in: set)
        }
        // A renewed certificate is another file of the same name, so its directory is allowed for reading.
        for name in ["auth-file", "tls-cert", "tls-key", "client-ca"] {
            guard let path = settings.text(name) else { continue }
            try allow(directory(of: path), writable: false, in: set)
            // The target of a symbolic link; what can't be allowed can't be read, and the code that opens it reports
            // that.
            _ = unsafe sys_confinement_allow(set, directory(of: resolved(path)), false)
        }
        if let assets = settings.text("assets") {
            try allow(assets, writable: false, in: set)
        }
        // The databases of users and hosts with the libraries that read them, and the files that tell the number of
        // processors; some systems lack some of them. All of /proc, since libdispatch ends the process when it cannot
        // read about its own threads there, and a rule on the process's own folder is lost whenever the kernel drops
        // that folder's inode.
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

    /// Becomes the unprivileged user that the settings name, in all threads.
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
            // What cannot be reached needs no rule; the code that opens it reports that, as without confinement.
            guard ![ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG].contains(-allowed) else { return }
            throw StartError(status: .failed, message: "cannot confine the process to \(path): \(reason(allowed))")
        }
    }

    /// The path without symbolic links; unchanged when nothing is there.
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
