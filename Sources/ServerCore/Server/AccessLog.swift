/// One line for each request, in one of three formats.
///
/// For a response that was cut off, it contains how much was sent; a request whose client disconnected before any
/// response has status 499. Whatever a client sent is escaped: no line can contain another line, and nothing controls a
/// terminal.
///
/// A line `# 12 lines lost`, in each of the formats, stands for lines that could not be written, or came too fast.
public struct AccessLog: Sendable {
    /// The format of a line.
    public enum Format: String, Sendable, CaseIterable {
        /// For people to read.
        case text
        /// One JSON object per line.
        case json
        /// The “combined” format of Apache and nginx.
        case combined
    }

    let format: Format
    let writer: LogWriter

    /// A log.
    ///
    /// - Parameters:
    ///   - format: the format of a line.
    ///   - write: gets a number of complete lines; may wait, and is never called by two threads at once.
    public init(format: Format, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.format = format
        writer = LogWriter(write: write)
    }

    /// Writes the lines that are still waiting, before the process ends; gives up after `limit`.
    public func flush(within limit: Duration) { writer.flush(within: limit) }
}
