import DirectoryRoot

/// A format for a folder's members: what comes before them, each of them, and what comes after.
protocol ListingFormat: Sendable {
    /// The media type of the listing.
    var mediaType: String { get }

    /// Writes what comes before the first member.
    mutating func begin(_ writer: inout TextWriter)

    /// Writes one member.
    mutating func member(_ member: DirectoryMember, _ writer: inout TextWriter)

    /// Writes what comes after the last member.
    mutating func end(_ writer: inout TextWriter)
}
