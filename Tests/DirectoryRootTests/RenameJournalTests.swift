import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("Notes of renames") struct RenameJournalTests {
    @Test("Are found by whoever looks, also through a descriptor that was read before") func notes() throws {
        let fixture = try Fixture()
        try fixture.directory.write("torn", to: ".shareserve/tmp/.shareserve-0.removal")
        let folder = try #require(fixture.root.scratch.existingFolder())
        #expect(try !RenameJournal.hasNotes(in: folder))
        try fixture.directory.write("torn", to: ".shareserve/tmp/.shareserve-1.move")
        for _ in 0..<2 { #expect(try RenameJournal.hasNotes(in: folder)) }
    }
}
