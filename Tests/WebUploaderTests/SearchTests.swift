import DirectoryRoot
import ServerCore
import TestSupport
import Testing

@testable import WebUploader

@Suite("Search") struct SearchTests {
    private let directory: TemporaryDirectory
    private let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        for folder in ["a", "a/b", "c"] {
            try directory.makeDirectory(folder)
            try directory.write("x", to: "\(folder)/hit.txt")
        }
        try directory.link("a/up", to: "..")
        share = Share(root: try DirectoryRoot(path: directory.path))
    }

    private func find(_ text: String, maxFolders: Int, memory: TreeMemory = TreeMemory()) throws -> String {
        let producer = try SearchProducer(
            for: try #require(NamePattern(text)), below: .root, in: share, address: [UInt8(ascii: "/")],
            memory: memory.portion(), maxFolders: maxFolders)
        var bytes: [UInt8] = []
        while let more = try producer.next() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func hits(_ answer: String) -> Int { answer.split(separator: "\n").count { $0.contains("hit.txt") } }

    @Test("every folder is looked into once, also where a link leads back up")
    func all() throws {
        let answer = try find("hit", maxFolders: 100)
        #expect(hits(answer) == 3, "\(answer)")
        #expect(!answer.contains("\"more\""))
    }

    @Test("an answer that leaves folders out says so", arguments: [1, 2, 3])
    func cut(maxFolders: Int) throws {
        let answer = try find("hit", maxFolders: maxFolders)
        #expect(answer.hasSuffix("],\"more\":true}\n"), "\(answer)")
        #expect(hits(answer) < 3)
    }

    @Test("all searches together remember a bounded number of folders, but for few of each and for one that is alone")
    func memory() throws {
        for index in 0..<5_000 { try directory.makeDirectory("a/\(index)") }
        let memory = TreeMemory(1_000)
        var other: TreeMemory.Portion? = memory.portion()
        try other?.hold(TreeMemory.free + 1_000)
        #expect(try find("4999", maxFolders: 10_000, memory: memory).hasSuffix("],\"more\":true}\n"))
        other = nil
        #expect(try find("4999", maxFolders: 10_000, memory: memory).hasSuffix("]}\n"))
    }
}
