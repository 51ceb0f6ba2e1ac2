/// The format of an archive around the bytes of its files.
///
/// Every length is known before the first byte of a file is read, so that an archive has a `Content-Length`, and any
/// part of it can be produced again.
protocol ArchiveFormat: Sendable {
    /// The media type.
    var mediaType: String { get }
    /// The suffix of its name, with the dot.
    var fileExtension: String { get }
    /// Whether the archive contains checksums of the files' contents.
    var needsChecksums: Bool { get }

    /// The length of the result of ``header(of:)``.
    func headerLength(of member: ArchiveMember) -> Int
    /// What comes before a member's bytes.
    func header(of member: ArchiveMember) -> [UInt8]

    /// The length of the result of ``trailer(of:checksum:)``.
    func trailerLength(of member: ArchiveMember) -> Int
    /// What comes after a member's bytes.
    func trailer(of member: ArchiveMember, checksum: UInt32) -> [UInt8]

    /// The length of a member's entry in the directory at the end; 0 for a format without one.
    func directoryLength(of member: ArchiveMember, offset: Int64) -> Int
    /// A member's entry in the directory at the end.
    func directoryEntry(of member: ArchiveMember, offset: Int64, checksum: UInt32) -> [UInt8]

    /// The end of the archive.
    /// - Parameters:
    ///   - count: the number of members.
    ///   - offset: where the directory begins.
    ///   - length: the directory's length.
    /// - Returns: its bytes.
    func end(count: Int, directoryOffset offset: Int64, directoryLength length: Int64) -> [UInt8]
}
