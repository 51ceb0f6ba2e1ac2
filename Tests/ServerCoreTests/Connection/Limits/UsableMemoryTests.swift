import Testing

@testable import ServerCore

@Suite("The memory that cgroups leave a process")
struct UsableMemoryTests {
    private func limit(_ groups: String, _ files: [String: String]) -> Int64 {
        UsableMemory.limit(of: groups) { files[$0] }
    }

    @Test("a group of version 2 and those around it")
    func second() {
        let groups = "0::/system.slice/shareserve.service\n"
        let own = "/sys/fs/cgroup/system.slice/shareserve.service/memory.max"
        let outer = "/sys/fs/cgroup/system.slice/memory.max"
        #expect(limit(groups, [own: "max\n", outer: "max\n"]) == .max)
        #expect(limit(groups, [own: "268435456\n", outer: "max\n"]) == 256 << 20)
        #expect(limit(groups, [own: "max\n", outer: "536870912\n"]) == 512 << 20)
        #expect(limit(groups, [own: "536870912\n", outer: "268435456\n"]) == 256 << 20)
    }

    @Test("a group of version 1")
    func first() {
        let groups = """
            4:cpu,cpuacct:/docker/4f
            3:memory:/docker/4f
            0::/docker/4f

            """
        let mount = "/sys/fs/cgroup/memory"
        let none = "9223372036854771712\n"
        #expect(
            limit(
                groups,
                [
                    "\(mount)/docker/4f/memory.limit_in_bytes": "134217728\n",
                    "\(mount)/memory.limit_in_bytes": none,
                ]) == 128 << 20)
        // As seen within the container.
        #expect(limit(groups, ["\(mount)/memory.limit_in_bytes": "134217728\n"]) == 128 << 20)
    }

    @Test("what can't be read is no limit", arguments: ["", "\n", "::", "0::", "1:memory", "0::/a\n0::/b", "x"])
    func unreadable(groups: String) {
        #expect(limit(groups, [:]) == .max)
        #expect(limit(groups, ["/sys/fs/cgroup/memory.max": "-1"]) == .max)
        #expect(limit(groups, ["/sys/fs/cgroup/memory.max": "99999999999999999999"]) == .max)
    }

    @Test("so many things at once as memory is for, and never none")
    func places() {
        #expect(UsableMemory.places(256, each: 1) == 256)
        #expect(UsableMemory.places(256, each: 1 << 50) == 4)
        #expect(UsableMemory.places(2, each: 1 << 50) == 2)
    }

    @Test("this process may use some")
    func own() { #expect(UsableMemory.bytes > 64 << 20) }

    @Test(
        "less than 1 GiB lowers the default for connections",
        arguments: [
            (64 << 20, 256, 1_024), (256 << 20, 1_024, 4_096), (1 << 30, 4_096, 16_384), (Int64.max, 4_096, 16_384),
            (1 << 20, 64, 64),
        ])
    func connections(memory: Int64, secure: Int, plain: Int) {
        var limits = Limits()
        #expect(limits.connections(areSecure: true, memory: memory) == secure)
        #expect(limits.connections(areSecure: false, memory: memory) == plain)
        limits.connections = 20_000
        #expect(limits.connections(areSecure: true, memory: memory) == 20_000)
    }
}
