/// One line for each request, in one of three forms.
///
/// Of an answer that was broken off it tells how much was sent; a request whose client went before any has status 499.
/// Whatever a client sent stands in it escaped: no line holds another line, and nothing commands a terminal.
///
/// A line `# 12 lines lost`, in each of the forms, stands for those that could not be written, or came faster.
public struct AccessLog: Sendable {
    /// How a line looks.
    public enum Format: String, Sendable, CaseIterable {
        /// For people.
        case text
        /// One JSON object a line.
        case json
        /// What Apache and nginx call combined.
        case combined
    }

    let format: Format
    let writer: LogWriter

    /// A log.
    ///
    /// - Parameters:
    ///   - format: how a line looks.
    ///   - write: takes some whole lines; may wait, and is never called by two threads at once.
    public init(format: Format, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.format = format
        writer = LogWriter(write: write)
    }

    /// Writes the lines that wait still, before the process ends; those that take longer than `limit` are given up.
    public func flush(within limit: Duration) { writer.flush(within: limit) }
}
