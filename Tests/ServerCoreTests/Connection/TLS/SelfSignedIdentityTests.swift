import DirectoryRoot
import Foundation
import TestSupport
import Testing

@testable import ServerCore

@Suite("Self-signed certificates") struct SelfSignedIdentityTests {
    private func kept(in root: DirectoryRoot, _ now: Date = Date()) throws -> String {
        try SelfSignedIdentity.kept(in: root, names: ["localhost"], now: now).certificate
    }

    @Test("One made by a clock that was ahead is replaced")
    func clockAhead() throws {
        let directory = try TemporaryDirectory()
        let root = try DirectoryRoot(path: directory.path)
        let wrong = try kept(in: root, Date(timeIntervalSinceNow: 3 * 365 * 86_400))
        let right = try kept(in: root)
        #expect(right != wrong)
        #expect(try kept(in: root) == right)
    }

    @Test("A clock that is not set yet changes nothing")
    func clockOfOld() throws {
        let directory = try TemporaryDirectory()
        let root = try DirectoryRoot(path: directory.path)
        let first = try kept(in: root, Date(timeIntervalSince1970: 0))
        #expect(try kept(in: root, SelfSignedIdentity.earliestClock + 86_400) == first)
        #expect(try kept(in: root, Date(timeIntervalSince1970: 0)) == first)
    }
}
