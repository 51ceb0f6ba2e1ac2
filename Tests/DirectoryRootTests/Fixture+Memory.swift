import CSyscalls
import DirectoryRoot
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Shares in memory, and small uploads into them without waiting.
extension Fixture {
    /// Cancels the test if there is no file system in memory.
    static func memory(_ policy: RootPolicy = RootPolicy(), clock: RootClock = .system) throws -> Fixture {
        guard let fixture = try? Fixture(policy: policy, in: "/dev/shm", clock: clock), fixture.root.isInMemory else {
            try Test.cancel("needs a file system in memory at /dev/shm")
        }
        return fixture
    }

    /// Removes a file behind the server's back.
    func removeBehindItsBack(_ file: String) {
        #expect(sys_unlinkat(AT_FDCWD, directory.path(of: file), 0) == 0)
    }

    /// Waits for the next tick of the kernel's clock: with a test clock far ahead every change counts as long ago, but
    /// two changes still need different times.
    static func passTick() throws {
        let probe = try TemporaryDirectory(in: "/dev/shm")
        func changed() throws -> [Int64] {
            try probe.write("x", to: "probe")
            var found = sys_attributes()
            #expect(sys_statat(AT_FDCWD, probe.path(of: "probe"), &found) == 0)
            return [found.changed, Int64(found.changed_ns)]
        }
        let before = try changed()
        while try changed() == before {}
    }

    /// Uploads at once, trying several times: once a second the result is nil for any file, the next one is about this
    /// file.
    /// - Returns: as ``Share/writeAtOnce(_:_:replacing:modified:)``, of this share or of `share`.
    func putAtOnce(
        _ path: String, _ content: String = "new", in share: Share? = nil, replacing: Replacement = .anything
    ) throws -> (attributes: FileAttributes, created: Bool)? {
        let share = share ?? self.share
        for _ in 0..<5 {
            // The usual way checks whether the root still exists.
            _ = try? share.attributes(of: .root)
            let written = share.writeAtOnce(
                try SharePath(text: path), Array(content.utf8), replacing: replacing, modified: nil)
            if let written { return written }
        }
        return nil
    }
}
