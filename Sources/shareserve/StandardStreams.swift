#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Lines for people and scripts, each written whole, so that lines of several threads never mix.
enum StandardStreams {
    private static let output = LineOutput(STDOUT_FILENO)
    private static let errors = LineOutput(STDERR_FILENO)

    /// Opens the null device for the standard streams that the parent process has closed: otherwise a file of the
    /// share, or a socket, would get the number, and lines would be written into it.
    ///
    /// To be called before anything else is opened.
    static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one. Opened for reading only: writing to it fails, as it should.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }

    /// Prints a line on standard output, such as the addresses.
    ///
    /// - Parameters:
    ///   - line: what to write, without its line end.
    ///   - patience: how long to wait for a reader; nil to wait without limit.
    static func print(_ line: String, patience: Duration? = nil) {
        output.write(Array((line + "\n").utf8), patience: patience)
    }

    /// Prints a command's result on standard output: if it is lost, the command must not seem to have succeeded.
    ///
    /// - Throws: ``StartError`` when it cannot be written.
    static func deliver(_ line: String) throws(StartError) {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let written = writeSome(bytes, to: STDOUT_FILENO)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                let reason = unsafe String(cString: strerror(written < 0 ? errno : EIO))
                throw StartError(status: .cannotWrite, message: "cannot write: \(reason)")
            }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Prints a line on standard error; dropped after a second if nobody reads.
    static func complain(_ line: String) {
        errors.write(Array((line + "\n").utf8), patience: .seconds(1))
    }

    /// Writes whole lines, with their line ends, to standard error; waits for the reader.
    static func complain(bytes: [UInt8]) {
        errors.write(bytes)
    }

    /// Asks a question on the terminal, to be answered on the same line.
    static func ask(_ question: String) {
        errors.write(Array(question.utf8))
    }

    /// Whether a thread has been in a system call that writes for some seconds, where it may stay for as long as nobody
    /// reads.
    static var isStuck: Bool { output.isStuck || errors.isStuck }
}
