import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("Reserved names", .serialized) struct ReservedNameTests {
    @Test("A move to another file system takes the state of a share inside along")
    func nestedState() throws {
        let fixture = try Fixture()
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        try fixture.directory.write("deleted", to: "t/.shareserve/trash/1.item")
        try fixture.directory.write("somebody's", to: "t/.shareserve-backup")
        try fixture.directory.write("unfinished", to: "t/\(ReservedName.fresh())")
        #expect(try fixture.move("/t", to: "/disk/t").failures == [])
        #expect(fixture.directory.names(in: "disk/t").sorted() == [".shareserve", ".shareserve-backup"])
        #expect(fixture.directory.text("disk/t/.shareserve/trash/1.item") == "deleted")
    }

    @Test("Names of unfinished files are known from others that begin like them")
    func names() {
        func seconds(_ name: String) -> Int64? {
            var name = name
            return name.withUTF8 { ReservedName.creationSeconds(of: $0) }
        }
        let now = RootClock.system.wall().seconds
        let fresh = seconds(ReservedName.fresh())
        #expect(fresh.map { abs($0 - now) < 60 } == true)
        for name in [".shareserve", ".shareserve-", ".shareserve-backup", ".shareserve-2026-01-01_000", "x"] {
            #expect(seconds(name) == nil)
        }
    }

    @Test("Where the folder for unfinished files was moved away, another is made")
    func scratchMovedAway() throws {
        let fixture = try Fixture()
        try fixture.directory.write("1", to: "t/file")
        #expect(try fixture.copy("/t", to: "/u").created)
        try fixture.directory.rename(".shareserve", to: "aside")
        #expect(try fixture.copy("/t", to: "/v").created)
        #expect(fixture.directory.exists(".shareserve/tmp"))
    }
}
