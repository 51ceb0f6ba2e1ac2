/// Who writes the bytes of an upload, and where they are before the disk has them.
struct UploadWriter: Equatable, Sendable {
    /// Tells the process from every other and from those before it.
    let process: String
    /// Names the memory of the system that holds what the process wrote, also once it was killed; nil where that can't be
    /// told.
    let memory: String?

    /// Whether all that was written is there for `reader`, on the disk or not.
    func isSeen(by reader: UploadWriter) -> Bool {
        process == reader.process || memory != nil && memory == reader.memory
    }
}
