import Testing

@testable import ServerCore

@Suite("Window of a long body") struct WideWindowTests {
    private let piece = 16 * 1_024

    /// Reads so many bytes in pieces.
    /// - Returns: by how much the window was opened in all.
    private func read(
        _ bytes: Int, after before: Int = 0, _ window: inout WideWindow, _ memory: RequestMemory
    ) -> Int {
        var opened = 0
        for end in stride(from: before + piece, through: before + bytes, by: piece) {
            let increment = window.increment(after: piece, of: Int64(end), memory)
            guard increment > 0 else { continue }
            opened += increment
            window.open()
        }
        return opened
    }

    @Test("Stays shut for a short body") func short() {
        var window = WideWindow()
        let memory = RequestMemory(8 << 20)
        #expect(read(240 * 1_024, &window, memory) == 0)
        #expect(memory.room == 8 << 20)
    }

    @Test("Opens as the body grows, up to a bound, and gives back what was read") func long() {
        var window = WideWindow()
        let memory = RequestMemory(8 << 20)
        let first = read(32 << 20, &window, memory)
        // What was read while it was open, but for less than a step, and two megabytes.
        #expect(first > 33 << 20 && first < 34 << 20)
        #expect(read(8 << 20, after: 32 << 20, &window, memory) == 8 << 20)
        window.close(memory)
        #expect(memory.room == 8 << 20)
    }

    @Test("Opens no wider than there is memory for, and when some comes back") func crowded() {
        var (first, second) = (WideWindow(), WideWindow())
        let memory = RequestMemory(512 * 1_024)
        #expect(read(4 << 20, &first, memory) > 4 << 20)
        #expect(read(4 << 20, &second, memory) == 0)
        first.close(memory)
        #expect(read(1 << 20, after: 4 << 20, &second, memory) > 1 << 20)
        second.close(memory)
        #expect(memory.room == 512 * 1_024)
    }
}
