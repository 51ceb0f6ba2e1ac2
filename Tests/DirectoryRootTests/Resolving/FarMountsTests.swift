import Testing

@testable import DirectoryRoot

@Suite("far mounts") struct FarMountsTests {
    private func mounts(_ lines: String, below place: String = "/srv/share") -> [FarMounts.Mount] {
        FarMounts.mounts(in: Array(lines.utf8), below: Array(place.utf8))
    }

    @Test("the kernel's table is read, its last line first") func table() {
        let found = mounts(
            """
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
            40 22 0:52 / /srv/share/a\\040b rw,nosuid shared:9 master:1 - fuse.sshfs me@there:/ rw
            41 22 0:53 /x /srv/share/deep/near rw - tmpfs none rw
            42 22 0:54 / /srv/shared/nas rw - nfs4 nas:/ rw
            43 22 0:55 / /srv/share rw - nfs nas:/ rw
            """)
        #expect(found.map(\.path.bytes) == ["deep/near", "a b"].map { Array($0.utf8) })
        #expect(found.map(\.isFar) == [false, true])
        #expect(found.map(\.device) == [53, 52])
    }

    @Test("without a far one there is nothing to know") func near() {
        #expect(mounts("41 22 0:53 / /srv/share/near rw - tmpfs none rw").isEmpty)
    }

    @Test("a share of everything has all mounts below it") func everything() {
        #expect(mounts("40 22 0:52 / /nas rw - cifs //nas/all rw", below: "/").map(\.path.bytes) == [Array("nas".utf8)])
    }

    @Test(
        "what is no such line is passed over",
        arguments: [
            "", "1 2", "40 22 0:52 / /srv/share/x rw -", "40 22 a:b / /srv/share/x rw - nfs a rw", "\\ \\9 - - -",
        ])
    func malformed(_ line: String) {
        #expect(mounts(line).isEmpty)
    }
}
