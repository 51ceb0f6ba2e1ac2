import DirectoryRoot
import Synchronization
import TestSupport

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A clock that a test sets.
final class TestClock: Sendable {
    private let now = Mutex((wall: Timestamp(seconds: 1_800_000_000), uptime: Duration.seconds(1_000)))

    var clock: RootClock {
        RootClock(wall: { self.now.withLock(\.wall) }, uptime: { self.now.withLock(\.uptime) })
    }

    /// Lets time pass.
    func pass(_ seconds: Int64) {
        now.withLock {
            $0.wall.seconds += seconds
            $0.uptime += .seconds(seconds)
        }
    }

    /// Sets the time of day only.
    func turn(by seconds: Int64) { now.withLock { $0.wall.seconds += seconds } }
}

extension SharePath {
    /// A path from text, for tests.
    init(_ text: String) { self.init(unchecked: Array(text.utf8)) }
}

extension TemporaryDirectory {
    func mode(of member: String) -> UInt32 {
        var status = stat()
        return lstat(path(of: member), &status) == 0 ? UInt32(status.st_mode) & 0o7777 : 0
    }

    /// Removes a file or tree behind the server's back.
    func removeAll(_ member: String) { _ = Child.run("/bin/rm", "-rf", "--", path(of: member)) }
}

/// A process that a test starts.
struct Child {
    let id: pid_t

    struct Failure: Error {
        var program: String
        var code: Int32
    }

    /// Starts a program.
    init(_ program: String, _ arguments: [String]) throws {
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let status = posix_spawn(&id, program, nil, nil, &words, environ)
        guard status == 0 else { throw Failure(program: program, code: status) }
        self.id = id
    }

    /// The drill program beside the test bundle.
    static func drill(_ arguments: String...) throws -> Child {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let bundle = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return try Child(folder + "/StateDrill", arguments)
    }

    static func run(_ program: String, _ arguments: String...) -> Int32 {
        (try? Child(program, arguments).wait()) ?? -1
    }

    /// Waits for the end; returns the exit status, or minus the signal.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    func kill() { _ = sendSignal(id, SIGKILL) }
}

private func sendSignal(_ id: pid_t, _ signal: Int32) -> Int32 { kill(id, signal) }
