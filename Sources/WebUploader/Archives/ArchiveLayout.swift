import DirectoryRoot

/// The positions of the parts of an archive, and its total length.
struct ArchiveLayout: Sendable {
    /// The length of everything before the directory at the end.
    let directoryOffset: Int64
    /// The length of that directory.
    let directoryLength: Int64
    /// The length of the whole archive.
    let length: Int64

    /// - Throws: ``RootError/tooLarge`` when the length exceeds 63 bits.
    init(of plan: ArchivePlan, format: any ArchiveFormat) throws(RootError) {
        var offset: Int64 = 0
        var directory: Int64 = 0
        for index in 0..<plan.count {
            let member = plan[index]
            directory = try Self.sum(directory, Int64(format.directoryLength(of: member, offset: offset)))
            offset = try Self.sum(offset, try Self.extent(of: member, format: format))
        }
        directoryOffset = offset
        directoryLength = directory
        let end = format.end(count: plan.count, directoryOffset: offset, directoryLength: directory)
        length = try Self.sum(try Self.sum(offset, directory), Int64(end.count))
    }

    /// The length of a member with its header and trailer.
    static func extent(of member: ArchiveMember, format: any ArchiveFormat) throws(RootError) -> Int64 {
        let around = Int64(format.headerLength(of: member) + format.trailerLength(of: member))
        return try sum(around, member.size)
    }

    private static func sum(_ a: Int64, _ b: Int64) throws(RootError) -> Int64 {
        let (sum, overflow) = a.addingReportingOverflow(b)
        guard !overflow else { throw .tooLarge }
        return sum
    }
}
