import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("Recent commits") struct RecentCommitsTests {
    private let fixture: Fixture
    private let commits: RecentCommits

    init() throws {
        fixture = try Fixture()
        commits = fixture.root.recentCommits
    }

    private func put(_ name: String, from origin: UInt64 = 0, atOnce: Bool = false) throws -> EntityTag {
        var share = fixture.share
        share.origin = origin
        let path = SharePath(name)
        if atOnce, let done = share.writeAtOnce(path, [1], replacing: .anything, modified: nil) {
            return done.attributes.entityTag
        }
        let upload = try share.beginUpload(to: path, replacing: .anything, size: 1)
        try upload.write([1])
        return try upload.commit().attributes.entityTag
    }

    @Test("What came after a moment is told from what came before, by whatever way it came")
    func order() throws {
        let first = try put("a")
        let moment = RecentCommits.Moment.now
        #expect(commits.hasCome(first, after: moment, exceptFrom: 0) == false)
        let share = fixture.share
        let second = try put("b", atOnce: true)
        #expect(commits.hasCome(second, after: moment, exceptFrom: 0) == true)
        _ = try share.move(SharePath("a"), to: SharePath("c"), replacing: .anything)
        #expect(commits.hasCome(first, after: moment, exceptFrom: 0) == true)
        _ = try share.copy(SharePath("c"), to: SharePath("d"), recursive: true, replacing: .anything)
        let copied = try share.attributes(of: SharePath("d")).entityTag
        #expect(commits.hasCome(copied, after: moment, exceptFrom: 0) == true)
        #expect(commits.hasCome(copied, after: .now, exceptFrom: 0) == false)
    }

    @Test("What one requester does, one after the other, is not between two of its requests", arguments: [false, true])
    func origin(atOnce: Bool) throws {
        let moment = RecentCommits.Moment.now
        let tag = try put("a", from: 7, atOnce: atOnce)
        #expect(commits.hasCome(tag, after: moment, exceptFrom: 7) == false)
        #expect(commits.hasCome(tag, after: moment, exceptFrom: 8) == true)
        #expect(commits.hasCome(tag, after: moment, exceptFrom: 0) == true)
    }

    @Test("What came otherwise is not known, nor what came long ago")
    func unknown() throws {
        try fixture.directory.write("1", to: "other")
        let other = try fixture.share.attributes(of: SharePath("other")).entityTag
        #expect(commits.hasCome(other, after: .now, exceptFrom: 0) == nil)
        let tag = try put("a")
        for _ in 0..<1_023 { commits.note(other, by: 0) }
        #expect(commits.hasCome(tag, after: .now, exceptFrom: 0) == false)
        for _ in 0..<1_030 { commits.note(other, by: 0) }
        #expect(commits.hasCome(tag, after: .now, exceptFrom: 0) == nil)
        #expect(commits.hasCome(other, after: .now, exceptFrom: 0) == false)
    }
}
