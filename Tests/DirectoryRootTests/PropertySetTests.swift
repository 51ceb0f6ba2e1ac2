import Testing

@testable import DirectoryRoot

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
        #expect(throws: RootError.noSpace) { try set.apply(many.map { PropertyChange.set($0) }) }
        #expect(set.isEmpty)
        try set.apply(many.map { PropertyChange.set($0) } + [.remove(name(0))])
        #expect(set.dead == Array(many.dropFirst()))
    }

    /// Everybody who writes waits for it: with a look at all properties for each, this would take minutes.
    @Test("Tens of thousands of names at once are soon refused", .timeLimit(.minutes(1)))
    func manyNames() {
        var set = PropertySet()
        #expect(throws: RootError.noSpace) { try set.apply((0..<60_000).map { PropertyChange.set(property($0)) }) }
    }
}
