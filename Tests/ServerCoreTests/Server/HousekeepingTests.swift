import DirectoryRoot
import Logging
import TestSupport
import Testing

@testable import ServerCore

@Suite("Housekeeping") struct HousekeepingTests {
    /// The logged messages, as a log handler receives them.
    private final class Lines: Sendable {
        private let continuation: AsyncStream<String>.Continuation
        let stream: AsyncStream<String>

        init() { (stream, continuation) = AsyncStream.makeStream(of: String.self) }

        func add(_ line: String) { continuation.yield(line) }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.add("\(event.level): \(event.message)") }
    }

    @Test("A shared directory that was removed is told", .timeLimit(.minutes(1))) func removed() async throws {
        let directory = try TemporaryDirectory()
        try directory.makeDirectory("root")
        let root = try DirectoryRoot(path: directory.path(of: "root"))
        try directory.removeTree("root")
        let lines = Lines()
        let logger = Logger(label: "test") { _ in Handler(lines: lines) }
        let keeping = Task { await Housekeeping(root: root, io: .inline, logger: logger).keep() }
        defer { keeping.cancel() }
        let told = await lines.stream.first { _ in true }
        #expect(told == "warning: the shared directory was removed: until it is there again, nothing is served")
    }
}
