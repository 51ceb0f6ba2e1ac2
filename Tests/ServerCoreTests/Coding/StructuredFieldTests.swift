import ServerCore
import Testing

@Suite("StructuredField")
struct StructuredFieldTests {
    @Test(
        "Booleans are read strictly",
        arguments: [
            ("?1", true), ("?0", false), (" ?1 ", true), ("?1;a=b", true), ("1", nil), ("?2", nil), ("true", nil),
            ("", nil),
        ] as [(String, Bool?)])
    func boolean(field: String, expected: Bool?) {
        #expect(StructuredField.boolean(field) == expected)
    }

    @Test(
        "Integers have at most 15 digits and no sign",
        arguments: [
            ("0", 0), ("123456789012345", 123_456_789_012_345), ("1234567890123456", nil), ("-1", nil), ("1.0", nil),
            ("", nil), ("7;x", 7),
        ] as [(String, Int64?)])
    func integer(field: String, expected: Int64?) {
        #expect(StructuredField.integer(field) == expected)
    }
}
