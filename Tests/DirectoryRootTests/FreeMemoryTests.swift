#if os(Linux)
    import CSyscalls
    import Foundation
    import Testing

    @Suite("Free memory")
    struct FreeMemoryTests {
        /// In a separate process, since the memory of other tests would be counted too.
        @Test(
            "What is free between what is in use goes back to the system",
            .disabled(
                if: ProcessInfo.processInfo.environment["SHARESERVE_SANITIZE"]?.isEmpty == false,
                "a sanitizer has an allocator of its own"))
        func goesBack() async {
            await #expect(processExitsWith: .success) {
                var blocks: [[UInt8]?] = (0..<40_000).map { _ in [UInt8](repeating: 1, count: 2_000) }
                for index in blocks.indices where index % 100 != 0 { blocks[index] = nil }
                let before = try Self.residentPages()
                sys_give_back_free_memory(1 << 20)
                let after = try Self.residentPages()
                #expect(before - after > 10_000, "\(before) pages, then \(after)")
                #expect(blocks.count { $0 != nil } == 400)
            }
        }

        private static func residentPages() throws -> Int {
            let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try #require(Int(fields[1]))
        }
    }
#endif
