import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("Locks in other spellings of a name") struct LockSpellingTests {
    private static let lock = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)

    @Test("A lock holds in other letters")
    func locks() throws {
        var fixture = try SpellingTests.fixture(tellsApart: false)
        fixture.share.rights = .all
        let share = fixture.share
        let file = try share.lock(SharePath("Docs/OLD/y"), Self.lock).lock
        #expect(throws: RootError.locked([SharePath("Docs/OLD/y")])) { try fixture.put("/docs/old/y", "new") }
        #expect(throws: RootError.locked([SharePath("Docs/OLD/y")])) { try fixture.remove("/docs") }
        #expect(throws: RootError.locked([SharePath("Docs/OLD/y")])) { try fixture.move("/docs/old", to: "/new") }
        #expect(throws: RootError.locked([SharePath("Docs/OLD/y")])) {
            try share.lock(SharePath("docs/old/y"), Self.lock)
        }
        #expect(try share.locks(covering: SharePath("docs/old/y")).map(\.token) == [file.token])
        var holder = fixture
        holder.share.tokens = [file.token]
        #expect(try !holder.put("/docs/old/y", "new").created)
        #expect(try holder.share.refreshLocks(at: SharePath("docs/old/y"), timeout: nil).map(\.token) == [file.token])
        try share.unlock(SharePath("docs/old/y"), token: file.token)
        #expect(try !fixture.put("/docs/old/y", "newer").created)
        // A second lock below a folder that has a known one: both have the folder in one spelling.
        let first = try share.lock(SharePath("Docs/a"), Self.lock).lock
        let second = try share.lock(SharePath("docs/b"), Self.lock).lock
        #expect(second.root == SharePath("Docs/b"))
        holder.share.tokens = [first.token, second.token]
        #expect(try holder.remove("/docs") == [])
        #expect(try share.locks(within: .root) == [])
    }

    @Test("What goes elsewhere leaves the file of the locks alone")
    func locksElsewhere() throws {
        var fixture = try SpellingTests.fixture(tellsApart: false)
        fixture.share.rights = .all
        _ = try fixture.share.lock(SharePath("Docs/OLD/y"), Self.lock)
        let before = fixture.directory.contents()[".shareserve/locks"]
        #expect(before != nil)
        #expect(try fixture.remove("/open/z") == [])
        #expect(fixture.directory.contents()[".shareserve/locks"] == before)
    }

    @Test("On a disk that tells names apart, a lock holds for its own name")
    func lockOfOneName() throws {
        var fixture = try SpellingTests.fixture(tellsApart: true)
        fixture.share.rights = .all
        _ = try fixture.share.lock(SharePath("Docs/OLD/y"), Self.lock)
        #expect(try !fixture.put("/docs/old/y", "new").created)
        #expect(try fixture.share.locks(covering: SharePath("docs/old/y")) == [])
        #expect(try fixture.root.state.locks.respelledRoots() == [])
    }
}
