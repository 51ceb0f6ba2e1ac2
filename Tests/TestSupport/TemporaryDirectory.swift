#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A new empty directory for one test, removed with all that is in it when the last reference goes.
public final class TemporaryDirectory: Sendable {
    /// Its path as this process sees it.
    public let path: String

    /// - Parameter parent: the directory to create it in; nil means `TMPDIR` or `/tmp`.
    /// - Throws: when it cannot be created.
    public init(in parent: String? = nil) throws {
        let parent = parent ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/shareserve-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { text in
            text.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else { throw Failure(call: "mkdtemp", code: errno) }
        path = made
    }

    deinit {
        // The attacker's directories may lack permissions; `rm -rf` removes what it can.
        let removal = ["rm", "-rf", "--", path]
        var arguments = removal.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        if posix_spawnp(&child, "rm", nil, nil, &arguments, environ) == 0 { waitpid(child, nil, 0) }
    }

    /// The path of a member as this process sees it.
    public func path(of member: String) -> String { "\(path)/\(member)" }

    /// Writes a file behind the server's back, with the directories above it.
    public func write(_ content: String, to member: String) throws {
        try write(Array(content.utf8), to: member)
    }

    /// Writes a file behind the server's back, with the directories above it.
    public func write(_ content: [UInt8], to member: String) throws {
        if let slash = member.lastIndex(of: "/") { try makeDirectory(String(member[..<slash])) }
        let file = open(path(of: member), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Failure(call: "open", code: errno) }
        defer { close(file) }
        var done = 0
        while done < content.count {
            let count = content.withUnsafeBytes { bytes in
                writeBytes(file, UnsafeRawBufferPointer(rebasing: bytes[done...]))
            }
            guard count > 0 else { throw Failure(call: "write", code: errno) }
            done += count
        }
    }

    /// Creates a directory and those above it.
    public func makeDirectory(_ member: String) throws {
        var made = path
        for name in member.split(separator: "/") {
            made += "/\(name)"
            guard mkdir(made, 0o755) == 0 || errno == EEXIST else { throw Failure(call: "mkdir", code: errno) }
        }
    }

    /// Creates a symbolic link with this target.
    public func link(_ member: String, to target: String) throws {
        guard symlink(target, path(of: member)) == 0 else { throw Failure(call: "symlink", code: errno) }
    }

    /// Creates a hard link to a file.
    public func hardLink(_ member: String, to target: String) throws {
        guard makeHardLink(path(of: target), path(of: member)) == 0 else { throw Failure(call: "link", code: errno) }
    }

    /// Creates directories one inside the other, deeper than any path can name, with a file in the last.
    /// - Parameters:
    ///   - member: the first of them.
    ///   - levels: how many to create.
    ///   - name: the name of the others.
    /// - Throws: the error of the system.
    public func makeDeepTree(_ member: String, levels: Int, named name: String = "d") throws {
        try makeDirectory(member)
        var current = open(path(of: member), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(current) }
        for _ in 1..<levels {
            guard mkdirat(current, name, 0o755) == 0 else { throw Failure(call: "mkdirat", code: errno) }
            let next = openat(current, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard next >= 0 else { throw Failure(call: "openat", code: errno) }
            close(current)
            current = next
        }
        let file = openat(current, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Failure(call: "openat", code: errno) }
        close(file)
    }

    /// How many directories named `d` are nested, including the first.
    public func depth(of member: String) -> Int {
        var depth = 0
        var current = open(path(of: member), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        while current >= 0 {
            depth += 1
            let next = openat(current, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            close(current)
            current = next
        }
        return depth
    }

    /// A file's bytes, read behind the server's back; nil when there is no file.
    public func read(_ member: String) -> [UInt8]? {
        let file = open(path(of: member), O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = readBytes(file, &buffer)
            guard count > 0 else { return count == 0 ? content : nil }
            content += buffer[..<count]
        }
    }

    /// A file's text.
    public func text(_ member: String) -> String? { read(member).map { String(decoding: $0, as: UTF8.self) } }

    /// Whether the name exists, even as a dangling link.
    public func exists(_ member: String) -> Bool {
        var status = stat()
        return lstat(path(of: member), &status) == 0
    }

    /// The names in a directory, sorted, without `.` and `..`.
    public func names(in member: String = "") -> [String] {
        guard let directory = opendir(path(of: member)) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let record = readdir(directory) {
            let name = withUnsafePointer(to: &record.pointee.d_name) { start in
                start.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// A system call that the test itself needed failed.
    public struct Failure: Error {
        /// The name of the call.
        public var call: String
        /// Its `errno`.
        public var code: Int32
    }
}

private func makeHardLink(_ target: String, _ name: String) -> Int32 { link(target, name) }

private func writeBytes(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(file, bytes.baseAddress, bytes.count)
}

private func readBytes(_ file: Int32, _ buffer: inout [UInt8]) -> Int {
    buffer.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
}

extension TemporaryDirectory {
    /// Whether the name is a symbolic link.
    public func isLink(_ member: String) -> Bool {
        var status = stat()
        return lstat(path(of: member), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Creates a FIFO that nobody has open.
    public func makeFIFO(_ member: String) throws {
        guard mkfifo(path(of: member), 0o644) == 0 else { throw Failure(call: "mkfifo", code: errno) }
    }

    /// Creates a socket at which nobody listens.
    public func makeSocket(_ member: String) throws {
        guard mknod(path(of: member), S_IFSOCK | 0o644, 0) == 0 else { throw Failure(call: "mknod", code: errno) }
    }

    /// Sets permission bits.
    public func setMode(_ mode: UInt32, of member: String) throws {
        guard chmod(path(of: member), mode_t(mode)) == 0 else { throw Failure(call: "chmod", code: errno) }
    }

    /// The permission bits of a member.
    public func mode(of member: String) -> UInt32? {
        var status = stat()
        return lstat(path(of: member), &status) == 0 ? UInt32(status.st_mode & 0o7777) : nil
    }
}

extension TemporaryDirectory {
    /// Creates an empty file in an existing directory.
    public func touch(_ member: String) throws {
        let file = open(path(of: member), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Failure(call: "open", code: errno) }
        close(file)
    }

    /// How many times as much a sanitizer needs as the program alone; 1 without one (`make test SANITIZE=…`).
    public static let sanitizerOverhead = getenv("SHARESERVE_SANITIZE").map { $0.pointee == 0 ? 1 : 32 } ?? 1

    /// The resident memory of this process.
    public static var residentBytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, 256, file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(getpagesize())
    }
}

extension TemporaryDirectory {
    /// Every file below with its content; links are not followed.
    public func contents(below member: String = "") -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in names(in: member) {
            let path = member.isEmpty ? name : "\(member)/\(name)"
            if isLink(path) { continue }
            if mode(of: path) != nil, isDirectory(path) {
                found.merge(contents(below: path)) { first, _ in first }
            } else {
                found[path] = read(path)
            }
        }
        return found
    }

    /// Everything about a tree that is visible from outside: names, contents, times and modes.
    public func snapshot(of member: String = "") -> [String] {
        var lines: [String] = []
        var pending = [member]
        while let next = pending.popLast() {
            var status = stat()
            guard lstat(next.isEmpty ? path : path(of: next), &status) == 0 else { continue }
            let time = "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
            lines.append("\(next) \(status.st_ino) \(status.st_mode) \(status.st_size) \(time)")
            guard status.st_mode & S_IFMT == S_IFDIR else { continue }
            pending += names(in: next).map { next.isEmpty ? $0 : "\(next)/\($0)" }
        }
        return lines.sorted()
    }

    /// Whether the name is a directory, not a link to one.
    public func isDirectory(_ member: String) -> Bool {
        var status = stat()
        return lstat(path(of: member), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

extension TemporaryDirectory {
    /// Removes a member with everything in it.
    public func removeTree(_ member: String) throws {
        if isDirectory(member) {
            for name in names(in: member) { try removeTree("\(member)/\(name)") }
        }
        guard remove(path(of: member)) == 0 else { throw Failure(call: "remove", code: errno) }
    }

    /// Changes a file's length; bytes that are added take no space.
    public func resize(_ member: String, to size: Int) throws {
        guard truncate(path(of: member), off_t(size)) == 0 else { throw Failure(call: "truncate", code: errno) }
    }

    /// Changes the last byte of a file, and restores its times.
    public func changeInPlace(_ member: String) throws {
        let file = open(path(of: member), O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw Failure(call: "open", code: errno) }
        defer { close(file) }
        var status = stat()
        var last: UInt8 = 0
        guard fstat(file, &status) == 0, pread(file, &last, 1, status.st_size - 1) == 1 else {
            throw Failure(call: "pread", code: errno)
        }
        last = ~last
        let times = [status.st_atim, status.st_mtim]
        guard pwrite(file, &last, 1, status.st_size - 1) == 1, futimens(file, times) == 0 else {
            throw Failure(call: "futimens", code: errno)
        }
    }

    /// Renames a member.
    public func rename(_ member: String, to target: String) throws {
        guard renameat(AT_FDCWD, path(of: member), AT_FDCWD, path(of: target)) == 0 else {
            throw Failure(call: "rename", code: errno)
        }
    }
}
