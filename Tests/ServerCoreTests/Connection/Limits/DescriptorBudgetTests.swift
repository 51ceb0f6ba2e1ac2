import Testing

@testable import ServerCore

@Suite("Descriptors shared out between files and connections")
struct DescriptorBudgetTests {
    @Test(
        "Files and connections together always leave some for the rest of the process",
        arguments: [128, 140, 256, 1_024, 4_096, 65_536, 1_048_576], [1, 50, 16_384, 1_000_000])
    func room(limit: Int, wished: Int) {
        let budget = DescriptorBudget(limit: limit, connections: wished, eventLoops: 2)
        #expect(budget.files + budget.connections <= limit - 64)
        #expect(budget.files >= 16)
        #expect(budget.connections >= 1 && budget.connections <= wished)
        #expect(budget.connections >= min(wished, 16))
    }
}
