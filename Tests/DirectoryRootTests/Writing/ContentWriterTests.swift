import CSyscalls
import TestSupport
import Testing

@testable import DirectoryRoot

/// Pieces that are written come out as one content, with direct I/O or through the page cache.
@Suite("Content writer") struct ContentWriterTests {
    private static let size = 23 << 20
    private static let need: Comment = "needs ext4 or XFS on one disk, and Linux 6.1"
    private static let content: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<size / 8).flatMap { _ in withUnsafeBytes(of: generator.next() as UInt64) { Array($0) } }
    }()

    /// A file of a share and its writer, which uses direct I/O from the first byte on (as others do only after their
    /// first part).
    private struct Writing {
        let fixture: Fixture
        let file: TemporaryFile
        let writer: ContentWriter

        init(size: Int = ContentWriterTests.size) throws {
            fixture = try Fixture()
            let folder = try Descriptor(sys_openat(AT_FDCWD, fixture.directory.path, O_RDONLY, 0), "open")
            file = try TemporaryFile(in: fixture.root, near: folder)
            writer = ContentWriter(in: fixture.root, size: Int64(size), keeping: 0)
        }

        /// Writes bytes, or places them in the writer's buffer if it has one; returns whether it ever had one.
        func write(_ bytes: ArraySlice<UInt8>, inPlace: Bool = false) throws -> Bool {
            try bytes.withUnsafeBytes { bytes in
                var rest = bytes
                var hadRoom = false
                while !rest.isEmpty {
                    let room = writer.room()
                    if room != nil { hadRoom = true }
                    guard inPlace, let room else {
                        try writer.write(rest, to: file.descriptor)
                        break
                    }
                    let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(room.count))
                    room.copyMemory(from: piece)
                    try writer.write(
                        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room).prefix(piece.count)),
                        to: file.descriptor)
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
                }
                return hadRoom
            }
        }

        var content: [UInt8] {
            get throws {
                var bytes = [UInt8](repeating: 0, count: Int(try file.status().size) + 1)
                let count = bytes.withUnsafeMutableBytes { sys_pread(file.descriptor, $0.baseAddress, $0.count, 0) }
                return Array(bytes.prefix(max(count, 0)))
            }
        }

        var likesDirectWrites: Bool { sys_likes_direct_writes(file.descriptor) == 1 }
    }

    private final class Pipe {
        let input: Int32
        let output: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            try check(sys_pipe(1 << 20, &ends), "pipe2")
            (output, input) = (ends[0], ends[1])
        }

        deinit {
            _ = sys_close(input)
            _ = sys_close(output)
        }

        func put(_ bytes: [UInt8]) throws {
            try #require(sys_write(input, bytes, bytes.count) == bytes.count)
        }
    }

    @Test("Pieces of any size", arguments: [128 << 10, 300_001, 512 << 10, 2 << 20, 5 << 20], [false, true])
    func pieces(_ length: Int, inPlace: Bool) throws {
        let writing = try Writing()
        var hadRoom = false
        for start in stride(from: 0, to: Self.size, by: length) {
            let piece = Self.content[start..<min(start + length, Self.size)]
            if try writing.write(piece, inPlace: inPlace) { hadRoom = true }
        }
        try writing.writer.finish(writing.file.descriptor)
        #expect(writing.writer.written == Int64(Self.size))
        #expect(try writing.content == Self.content)
        #expect(hadRoom == writing.likesDirectWrites)
    }

    @Test("Less than was announced, with pauses", arguments: [1, 4_096, 4_097, (9 << 20) + 5, 14 << 20])
    func pauses(_ count: Int) throws {
        let writing = try Writing()
        for start in stride(from: 0, to: count, by: 700_000) {
            _ = try writing.write(Self.content[start..<min(start + 700_000, count)])
            if start % 4_900_000 == 0 {
                try writing.writer.pause(writing.file.descriptor)
                let written = Int(writing.writer.written)
                #expect(try writing.content.prefix(written) == Self.content.prefix(written))
            }
        }
        try writing.writer.finish(writing.file.descriptor)
        #expect(try writing.content == Array(Self.content.prefix(count)))
    }

    @Test(
        "Pieces through a pipe, also where the file can't be written to from one",
        arguments: [4_096, 100_001, 900_000], [false, true])
    func piped(_ length: Int, isRefused: Bool) throws {
        let writing = try Writing(size: 1 << 20)
        let pipe = try Pipe()
        // Linux splices to no file that is open for appending.
        let file = try Descriptor(
            sys_reopen(writing.file.descriptor, O_RDWR | (isRefused ? O_APPEND : 0)), "open")
        let content = Self.content.prefix(1 << 20)
        for start in stride(from: 0, to: content.count, by: length) {
            let piece = content[start..<min(start + length, content.count)]
            #expect(writing.writer.takesPipes == (start == 0 || !isRefused))
            try pipe.put(Array(piece))
            try writing.writer.write(piece.count, from: pipe.output, to: file.number)
        }
        try writing.writer.finish(file.number)
        #expect(writing.writer.written == Int64(content.count))
        #expect(try writing.content == Array(content))
    }

    @Test("What the disk has against bytes from a pipe is said")
    func refusedFromPipe() throws {
        let writing = try Writing()
        let pipe = try Pipe()
        let unwritable = try Descriptor(sys_reopen(writing.file.descriptor, O_RDONLY), "open")
        try pipe.put([1, 2, 3])
        #expect(throws: RootError.self) {
            try writing.writer.write(3, from: pipe.output, to: unwritable.number)
        }
        #expect(writing.writer.written == 0)
    }

    @Test("There are some for all who come, one after the other, and few at a time")
    func few() async throws {
        var busy: [Writing] = []
        for _ in 0..<12 {
            let writing = try Writing()
            _ = try writing.write(Self.content[..<(4 << 20)])
            busy.append(writing)
        }
        guard busy[0].likesDirectWrites else { try Test.cancel(Self.need) }
        #expect(busy.allSatisfy { $0.writer.room() != nil }, "each share has its own")
        let root = busy[0].fixture.root
        var taken: [DirectWriter] = []
        while let writer = root.directWriters.take() { taken.append(writer) }
        #expect(taken.count == 3)
        taken.forEach(root.directWriters.giveBack)
        // A buffer that was abandoned is used again once the disk has finished with it.
        busy[0].writer.abandon()
        taken = []
        for _ in 0..<10_000 where taken.count < 4 {
            if let writer = root.directWriters.take() {
                taken.append(writer)
            } else {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        #expect(taken.count == 4)
    }

    @Test("What the disk has against a piece is said")
    func refused() throws {
        let writing = try Writing()
        guard writing.likesDirectWrites else { try Test.cancel(Self.need) }
        let writer = try #require(DirectWriter())
        let unwritable = try Descriptor(sys_reopen(writing.file.descriptor, O_RDONLY), "open")
        #expect(writer.begin(unwritable.number, at: 0))
        #expect(throws: RootError.self) {
            for _ in 0..<4 { _ = try Self.content.withUnsafeBytes { try writer.take($0) } }
            try writer.end()
        }
        #expect(!writer.begin(writing.file.descriptor, at: 5))
    }
}
