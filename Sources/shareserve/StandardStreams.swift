import Glibc

/// Lines for people and scripts, each written whole and at once, so that lines of several threads never mix.
enum StandardStreams {
    /// Where the addresses go.
    static func print(_ line: String) {
        write(line + "\n", to: STDOUT_FILENO)
    }

    /// Where everything else goes.
    static func complain(_ line: String) {
        write(line + "\n", to: STDERR_FILENO)
    }

    /// Whole lines, with their ends, for standard error.
    static func complain(bytes: [UInt8]) {
        write(bytes[...], to: STDERR_FILENO)
    }

    /// A question on the terminal, to be answered on the same line.
    static func ask(_ question: String) {
        write(question, to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        write(Array(text.utf8)[...], to: descriptor)
    }

    private static func write(_ whole: ArraySlice<UInt8>, to descriptor: Int32) {
        var bytes = whole
        while !bytes.isEmpty {
            let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            // A closed or full terminal is no reason to stop serving.
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }
}
