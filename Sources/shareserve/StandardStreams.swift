#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Lines for people and scripts, each written whole and at once, so that lines of several threads never mix.
enum StandardStreams {
    private static let output = LineOutput(STDOUT_FILENO)
    private static let errors = LineOutput(STDERR_FILENO)

    /// Opens the null device for those that whoever started the program has closed: otherwise one of the share's files,
    /// or a socket, would take the number, and lines would be written into it.
    ///
    /// To be called before anything else opens.
    static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one. To read only: what is written there fails, as it should.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }

    /// Where the addresses go.
    ///
    /// - Parameters:
    ///   - line: what to write, without its end.
    ///   - patience: how long nobody may read; nil to wait for good.
    static func print(_ line: String, patience: Duration? = nil) {
        output.write(Array((line + "\n").utf8), patience: patience)
    }

    /// What a command was asked for: lost, it must not look like done.
    ///
    /// - Throws: ``StartError`` where it cannot be written.
    static func deliver(_ line: String) throws(StartError) {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                let reason = unsafe String(cString: strerror(written < 0 ? errno : EIO))
                throw StartError(status: .cannotWrite, message: "cannot write: \(reason)")
            }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Where everything else goes; dropped when nobody reads.
    static func complain(_ line: String) {
        errors.write(Array((line + "\n").utf8), patience: .seconds(1))
    }

    /// Whole lines, with their ends, for standard error; waits for whoever reads them.
    static func complain(bytes: [UInt8]) {
        errors.write(bytes)
    }

    /// A question on the terminal, to be answered on the same line.
    static func ask(_ question: String) {
        errors.write(Array(question.utf8))
    }

    /// Whether some thread is in a call that writes, and may stay there for as long as nobody reads.
    static var isWriting: Bool { output.isWriting || errors.isWriting }
}
