import Testing

@testable import DirectoryRoot

@Suite("far mounts") struct FarMountsTests {
    private func mounts(_ lines: String, below place: String = "/srv/share") -> [FarMounts.Mount] {
        FarMounts.mounts(in: Array(lines.utf8), below: Array(place.utf8))
    }

    @Test("the far ones in the kernel's table are found") func table() {
        let found = mounts(
            """
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
            40 22 0:52 / /srv/share/a\\040b rw,nosuid shared:9 master:1 - fuse.sshfs me@there:/ rw
            41 22 0:53 /x /srv/share/deep/near rw - tmpfs none rw
            42 22 0:54 / /srv/shared/nas rw - nfs4 nas:/ rw
            43 22 0:55 / /srv/share rw - nfs nas:/ rw
            """)
        #expect(found.map(\.path.bytes) == [Array("a b".utf8)])
        #expect(found.map(\.device) == [52])
    }

    @Test("without a far one there is nothing to know") func near() {
        #expect(mounts("41 22 0:53 / /srv/share/near rw - tmpfs none rw").isEmpty)
    }

    @Test(
        "what is mounted over a far one hides it, what is mounted in it does not",
        arguments: [
            ("41 40 0:53 / /srv/share/nas rw - tmpfs none rw", true),
            ("41 22 0:53 / /srv/share rw - tmpfs none rw", false),
            ("41 40 0:53 / /srv/share/nas/near rw - tmpfs none rw", false),
            ("41 22 0:53 / /srv/share/na rw - tmpfs none rw", false),
        ])
    func hidden(_ line: String, isHidden: Bool) {
        #expect(mounts("40 22 0:52 / /srv/share/nas rw - cifs //nas/all rw\n" + line).isEmpty == isHidden)
    }

    @Test("one below another is hidden by what is mounted above it later, and by nothing that it is in") func nested() {
        let found = mounts(
            """
            40 22 0:52 / /srv/share/a rw - fuse one rw
            41 40 0:53 / /srv/share/a/b/c rw - fuse two rw
            39 40 0:54 / /srv/share/a/b rw - tmpfs none rw
            42 39 0:55 / /srv/share/a/b/d rw - fuse three rw
            """)
        #expect(found.map(\.device) == [52, 55])
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
