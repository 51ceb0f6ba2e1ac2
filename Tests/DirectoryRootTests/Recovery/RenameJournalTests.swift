import CSyscalls
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

    @Test("What stood aside has its name again, also where the file system was mounted anew since", arguments: [0, 1])
    func aside(otherDevice: UInt64) throws {
        let fixture = try Fixture()
        try fixture.directory.write("old", to: "folder/file")
        var status = sys_attributes()
        try #require(sys_statat(fixture.root.descriptor, "folder", &status) == 0)
        let name = ReservedName.fresh()
        try fixture.directory.rename("folder", to: name)
        let thing = "\(status.device + otherDevice) \(status.inode) "
        let none = "\(status.device + otherDevice) \(status.inode + 1) "
        try fixture.directory.write(thing + none + name + " folder", to: ".shareserve/tmp/.shareserve-1.aside")
        try fixture.root.sweep()
        #expect(fixture.directory.text("folder/file") == "old")
        #expect(!fixture.directory.exists(name) && !fixture.directory.exists(".shareserve/tmp/.shareserve-1.aside"))
    }
}
