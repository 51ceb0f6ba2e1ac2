import Synchronization

/// The checksums of archives that were recently sent, so that a resumed download need not read the files before its
/// offset again.
///
/// Bounded: at most ``maxArchives`` and ``maxChecksums`` in all (4 bytes each).
final class ArchiveChecksums: Sendable {
    private static let maxArchives = 64
    private static let maxChecksums = 2_000_000

    private struct Kept {
        var tag: String
        var table: ChecksumTable
    }

    /// Oldest first.
    private let kept = Mutex<[Kept]>([])

    /// The known checksums of the archive with this entity tag.
    func table(for tag: String, count: Int) -> ChecksumTable {
        let known = kept.withLock { kept in kept.first { $0.tag == tag }?.table }
        guard let known, known.count == count else { return ChecksumTable(count: count) }
        return known
    }

    /// Stores what a download has found out.
    func keep(_ table: ChecksumTable, for tag: String) {
        guard table.count <= Self.maxChecksums else { return }
        kept.withLock { kept in
            var table = table
            if let place = kept.firstIndex(where: { $0.tag == tag }) { table.learn(from: kept.remove(at: place).table) }
            kept.append(Kept(tag: tag, table: table))
            var sum = kept.reduce(0) { $0 + $1.table.count }
            while kept.count > Self.maxArchives || sum > Self.maxChecksums { sum -= kept.removeFirst().table.count }
        }
    }
}
