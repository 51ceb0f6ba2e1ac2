import DirectoryRoot
import Foundation
import TestSupport
import Testing

@testable import ServerCore

@Suite("Self-signed certificates") struct SelfSignedIdentityTests {
    @Test("One made by a wrong clock is replaced", arguments: [-50, 3])
    func wrongClock(years: Double) throws {
        let directory = try TemporaryDirectory()
        let root = try DirectoryRoot(path: directory.path)
        func kept(_ now: Date = Date()) throws -> String {
            try SelfSignedIdentity.kept(in: root, names: ["localhost"], now: now).certificate
        }
        let wrong = try kept(Date(timeIntervalSinceNow: years * 365 * 86_400))
        let right = try kept()
        #expect(right != wrong)
        #expect(try kept() == right)
    }
}
