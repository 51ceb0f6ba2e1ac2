import DirectoryRoot
import TestSupport
import Testing

@testable import ServerCore

@Suite("Snapshots of collections") struct CollectionSnapshotTests {
    private func number(_ value: Int) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

    /// A snapshot of the root with these members, in the form in which snapshots are stored.
    private func kept(_ names: [[UInt8]]) -> [UInt8] {
        let head = number(0) + number(0)
        return names.reduce(into: head) { bytes, name in
            bytes += number(name.count) + name
            for value in 0..<7 { bytes += number(value == 0 ? 0 : value) }
        }
    }

    @Test("what is kept is read back as it was")
    func roundTrip() throws {
        let directory = try TemporaryDirectory()
        for name in ["b", "a", "ü"] { try directory.write(name, to: name) }
        let snapshot = try CollectionSnapshot(
            of: .root, in: Share(root: try DirectoryRoot(path: directory.path)), isRecursive: true)
        let again = try #require(CollectionSnapshot(snapshot.bytes))
        #expect(again.count == 3)
        #expect(again.bytes == snapshot.bytes)
        #expect(CollectionSnapshot(kept([[97], [98]]))?.count == 2)
    }

    @Test("what nobody wrote is not read: cut, out of order, too much")
    func foreign() {
        #expect(CollectionSnapshot(Array(kept([[97]]).dropLast())) == nil)
        #expect(CollectionSnapshot(kept([[98], [97]])) == nil)
        let large = 16 << 20
        #expect(CollectionSnapshot(kept([[UInt8](repeating: 97, count: large)]))?.count == 1)
        let name = [UInt8](repeating: 97, count: large)
        #expect(CollectionSnapshot(kept([name, name + [97], [98]])) == nil)
    }
}
