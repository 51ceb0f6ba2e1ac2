import Testing

@testable import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("Property set") struct PropertySetTests {
    private func name(_ number: Int) -> PropertyName { PropertyName(namespace: "urn:t", local: "n\(number)") }

    private func property(_ number: Int, _ content: String = "") -> DeadProperty {
        DeadProperty(name: name(number), xml: Array("<n\(number) xmlns=\"urn:t\">\(content)</n\(number)>".utf8))
    }

    @Test("Changes are applied in order, and a property that is set again after its removal is the last one")
    func order() throws {
        var set = PropertySet()
        try set.apply((0..<4).map { PropertyChange.set(property($0)) })
        try set.apply([.remove(name(1)), .set(property(2, "new")), .set(property(1, "again")), .remove(name(9))])
        #expect(set.dead == [property(0), property(2, "new"), property(3), property(1, "again")])
    }

    @Test("What is too many in the end is refused, and nothing of it is kept; on the way there may be more")
    func limit() throws {
        var set = PropertySet()
        let many = (0...PropertySet.mostProperties).map { property($0) }
        #expect(throws: RootError.tooManyProperties) { try set.apply(many.map { PropertyChange.set($0) }) }
        #expect(set.isEmpty)
        try set.apply(many.map { PropertyChange.set($0) } + [.remove(name(0))])
        #expect(set.dead == Array(many.dropFirst()))
    }

    /// Everyone who writes waits for it.
    @Test("What a change costs does not grow with the number of those before it") func manyNames() {
        func nanoseconds(for count: Int) -> Int64 {
            let changes = (0..<count).map { PropertyChange.set(property($0)) }
            var set = PropertySet()
            let began = Self.ownTime
            #expect(throws: RootError.tooManyProperties) { try set.apply(changes) }
            return Self.ownTime - began
        }
        let few = (0..<3).map { _ in nanoseconds(for: 4_000) }.min() ?? 0
        let many = (0..<3).map { _ in nanoseconds(for: 32_000) }.min() ?? 0
        // Eight times as many cost about eight times as much; comparing each with all others would cost 64 times.
        #expect(many < 24 * few)
    }

    /// The processor time of this thread, whatever else the machine does.
    private static var ownTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
