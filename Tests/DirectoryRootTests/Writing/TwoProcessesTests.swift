import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("Two processes on one root") struct TwoProcessesTests {
    @Test("Of two processes that just began on one root, one waits while the other takes a name away")
    func firstWrites() throws {
        for takesAway in [
            { (share: Share, when: Replacement) in _ = try share.remove(SharePath("a"), when: when) },
            { (share: Share, when: Replacement) in
                _ = try share.move(SharePath("b"), to: SharePath("a"), replacing: when)
            },
        ] {
            let first = try Fixture()
            try first.directory.write("1", to: "a")
            try first.directory.write("2", to: "b")
            let second = try Fixture(over: first.directory)
            #expect(!first.directory.exists(".shareserve"))
            try takesAway(
                first.share,
                .when { _ in
                    #expect(throws: RootError.busy) {
                        try second.root.commitLock.withLockAtOnce(in: second.root) { (_) throws(RootError) in }
                    }
                    return true
                })
        }
    }
}
