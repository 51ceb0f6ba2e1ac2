/// How an archive is laid out around the bytes of its files.
///
/// Every length is known before the first byte of a file is read, so that an archive has a `Content-Length`, and any
/// part of it can be made again.
protocol ArchiveFormat: Sendable {
    /// The media type.
    var mediaType: String { get }
    /// What its name ends in, with the dot.
    var fileExtension: String { get }
    /// Whether the checksums of the files' contents stand in the archive.
    var needsChecksums: Bool { get }

    /// The length of what ``header(of:)`` answers.
    func headerLength(of member: ArchiveMember) -> Int
    /// What comes before a member's bytes.
    func header(of member: ArchiveMember) -> [UInt8]

    /// The length of what ``trailer(of:checksum:)`` answers.
    func trailerLength(of member: ArchiveMember) -> Int
    /// What comes after a member's bytes.
    func trailer(of member: ArchiveMember, checksum: UInt32) -> [UInt8]

    /// The length of a member's line in the directory at the end; 0 where a format has none.
    func directoryLength(of member: ArchiveMember, offset: Int64) -> Int
    /// A member's line in the directory at the end.
    func directoryEntry(of member: ArchiveMember, offset: Int64, checksum: UInt32) -> [UInt8]

    /// What ends the archive.
    /// - Parameters:
    ///   - count: the number of members.
    ///   - offset: where the directory begins.
    ///   - length: the directory's length.
    /// - Returns: its bytes.
    func end(count: Int, directoryOffset offset: Int64, directoryLength length: Int64) -> [UInt8]
}
