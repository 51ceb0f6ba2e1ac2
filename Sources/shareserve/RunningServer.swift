import ArgumentParser
import DirectoryRoot
import ServerCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A shareserve process of this machine, as /proc shows it: the directory that it has open, and where it listens.
///
/// So the full address of a new link can be printed, and the shared directory found, without the server writing that
/// down anywhere.
struct RunningServer {
    /// The directory that it shares.
    let root: String
    /// Its address, without a trailing slash; nil when it listens at no port.
    let url: String?
    /// The user as which the process runs.
    let owner: FileOwner?

    /// The server that shares the directory at or above a path; of several, the one with the deepest directory.
    static func sharing(_ path: String) -> RunningServer? {
        names(in: "/proc").filter { Int($0) != nil }
            .compactMap { RunningServer(process: "/proc/\($0)", path) }
            .max { $0.root.utf8.count < $1.root.utf8.count }
    }

    private init?(process: String, _ path: String) {
        // Linux appends a word to the name of a program whose file was replaced while it runs.
        guard let program = Self.target(process + "/exe")?.split(separator: "/").last,
            program == "shareserve" || program.hasPrefix("shareserve ")
        else { return nil }
        // That command has the directory open too, and may be waiting for a password while another link is created.
        guard Self.texts(process + "/cmdline").dropFirst().first != "link" else { return nil }
        let open = Self.names(in: process + "/fd").compactMap { Self.target(process + "/fd/" + $0) }
        // Of its open directories, the shared one contains all others.
        let above = open.filter {
            $0.hasPrefix("/") && Self.isDirectory($0) && (path == $0 || path.hasPrefix($0 + "/"))
        }
        guard let root = above.min(by: { $0.utf8.count < $1.utf8.count }) else { return nil }
        self.root = root
        owner = Self.owner(of: process)
        let settings = Self.settings(of: process)
        let isSecure = settings?.text("tls-cert") != nil || (try? settings?.isOn("tls-self-signed")) == true
        let prefix = settings.flatMap { try? ServerConfiguration.pathPrefix($0) }
        let sockets = Set(open.compactMap { $0.hasPrefix("socket:[") ? String($0.dropFirst(8).dropLast()) : nil })
        let redirecting = settings?.text("redirect-http").flatMap { Int($0) }
        url = Self.listening(process, sockets, besides: redirecting).map {
            "\(isSecure ? "https" : "http")://\($0)\(prefix ?? "")"
        }
    }

    /// The settings that it was started with, from its words, its environment and its file.
    ///
    /// What may not be read counts as empty.
    private static func settings(of process: String) -> Settings? {
        let words = texts(process + "/cmdline").dropFirst()
        guard let command = try? ServeCommand.reading(Array(words)) else { return nil }
        var environment: [String: String] = [:]
        for variable in texts(process + "/environ") {
            guard let equals = variable.firstIndex(of: "=") else { continue }
            environment[String(variable[..<equals])] = String(variable[variable.index(after: equals)...])
        }
        return try? Settings(given: command.given, environment: environment) { path throws(StartError) in
            let file = content(process + (path.hasPrefix("/") ? "/root" : "/cwd/") + path)
            return file.isEmpty ? Array("{}".utf8) : file
        }
    }

    private static func owner(of process: String) -> FileOwner? {
        // `Uid:` and `Gid:`, each followed by the real, the effective and other ids.
        var numbers: [Substring: UInt32] = [:]
        for line in content(process + "/status").split(separator: UInt8(ascii: "\n")) {
            let words = String(decoding: line, as: UTF8.self).split { $0 == "\t" || $0 == ":" }
            guard words.count > 2 else { continue }
            numbers[words[0]] = UInt32(words[2])
        }
        guard let user = numbers["Uid"], let group = numbers["Gid"] else { return nil }
        return FileOwner(user: user, group: group)
    }

    /// The host and port of one listening socket, with a port other than `besides`: IPv4 before IPv6.
    private static func listening(_ process: String, _ sockets: Set<String>, besides: Int?) -> String? {
        for (table, isIPv6) in [("tcp", false), ("tcp6", true)] {
            for line in content(process + "/net/" + table).split(separator: UInt8(ascii: "\n")) {
                let words = String(decoding: line, as: UTF8.self).split(separator: " ")
                // The words: local address, remote address, state (0A listens), …, inode.
                guard words.count > 9, words[3] == "0A", sockets.contains(String(words[9])) else { continue }
                let place = words[1].split(separator: ":")
                guard place.count == 2, let port = Int(place[1], radix: 16), port != besides else { continue }
                guard !place[0].allSatisfy({ $0 == "0" }) else {
                    let all = ReachableAddresses.all()
                    let others = all.filter { !ReachableAddresses.isLoopback($0) }
                    let host = others.first { !$0.contains(":") } ?? others.first ?? "127.0.0.1"
                    return "\(ReachableAddresses.host(host)):\(port)"
                }
                guard let host = isIPv6 ? (place[0].hasSuffix("01000000") ? "[::1]" : nil) : dotted(place[0]) else {
                    continue
                }
                return "\(host):\(port)"
            }
        }
        return nil
    }

    /// Converts `0100007F` to 127.0.0.1.
    private static func dotted(_ hex: Substring) -> String? {
        guard let bits = UInt32(hex, radix: 16) else { return nil }
        return [0, 8, 16, 24].map { String(bits >> UInt32($0) & 255) }.joined(separator: ".")
    }

    private static func names(in directory: String) -> [String] {
        guard let open = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(open) }
        var names: [String] = []
        while let entry = unsafe readdir(open) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    private static func target(_ link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe readlink(link, $0, bytes.count) } ?? 0
        }
        return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }

    private static func isDirectory(_ path: String) -> Bool {
        var found = stat()
        return unsafe stat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
    }

    private static func texts(_ path: String) -> [String] {
        content(path).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func content(_ path: String) -> [UInt8] {
        // The path comes from another user's process, and root may find a pipe there to which nobody writes.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while content.count < 16 << 20 {
            let count = unsafe read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            content += buffer.prefix(count)
        }
        return content
    }
}
