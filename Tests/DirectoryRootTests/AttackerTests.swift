import CSyscalls
import DirectoryRoot
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An attacker with access to the disk swaps a directory for a link out of the root, as fast as the kernel allows.
@Suite("The swapping attacker", .serialized) struct AttackerTests {
    /// Swaps `door` and `link` until it is stopped.
    final class Attacker: Sendable {
        private let isStopped = Atomic(false)
        private let thread: Thread
        private let swaps = Mutex(0)

        init(_ directory: TemporaryDirectory) {
            thread = Thread()
            let path = directory.path
            thread.start { [self] in
                let top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                defer { close(top) }
                var count = 0
                while !isStopped.load(ordering: .relaxed) {
                    if sys_renameat2(top, "door", top, "link", sys_rename_exchange) == 0 { count += 1 }
                }
                swaps.withLock { $0 = count }
            }
        }

        /// Stops the attacker and returns how often it swapped.
        func stop() -> Int {
            isStopped.store(true, ordering: .relaxed)
            thread.join()
            return swaps.withLock { $0 }
        }
    }

    @Test("Nothing outside is read or written by any operation", arguments: [Resolver.Method.openat2, .componentWalk])
    func swapping(_ method: Resolver.Method) throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let outside = try TemporaryDirectory(in: "/dev/shm")
        let share = Share(root: try DirectoryRoot(path: directory.path, resolving: method))
        try outside.write("secret", to: "file")
        try outside.write("secret", to: "sub/file")
        try outside.write("secret", to: "old")
        try directory.write("inside", to: "door/file")
        try directory.write("inside", to: "door/sub/file")
        try directory.write("mine", to: "mine")
        let name = outside.path.split(separator: "/").last.map(String.init) ?? ""
        try directory.link("link", to: method == .openat2 ? "../\(name)" : outside.path)
        let expected = outside.snapshot()
        let attacker = Attacker(directory)
        var reached = 0
        for round in 0..<4_000 {
            if try readsInside(share, round) { reached += 1 }
            writesInside(share, round)
            #expect(round % 500 != 0 || outside.snapshot() == expected)
        }
        let swaps = attacker.stop()
        #expect(outside.snapshot() == expected)
        // The race has really happened, and some operations have got through.
        #expect(swaps > 100 && reached > 0)
        #expect(!directory.contents().contains { $0.value == Array("secret".utf8) })
    }

    private func readsInside(_ share: Share, _ round: Int) throws -> Bool {
        let path = try SharePath(text: round % 2 == 0 ? "/door/file" : "/door/sub/file")
        guard let entry = try? share.open(path) else { return false }
        var bytes = [UInt8](repeating: 0, count: 6)
        _ = try bytes.withUnsafeMutableBytes { try entry.read(into: $0, at: 0) }
        #expect(bytes != Array("secret".utf8))
        if let members = try? share.list(SharePath(text: "/door")).next() {
            #expect(!members.contains { $0.name == Array("old".utf8) })
        }
        if let attributes = try? share.attributes(of: path) { #expect(attributes.inode != 0) }
        return true
    }

    private func writesInside(_ share: Share, _ round: Int) {
        let target = "/door/new-\(round % 5)"
        // Each may fail as the directory comes and goes; what counts is that nothing happens outside.
        do {
            let path = try SharePath(text: target)
            switch round % 8 {
            case 0, 1:
                let upload = try share.beginUpload(to: path, replacing: .anything)
                try upload.write(Array("written".utf8))
                _ = try upload.commit()
            case 2: try share.createDirectory(at: path)
            case 3: _ = try share.copy(SharePath(text: "/mine"), to: path, replacing: .anything)
            case 4:
                // Not `door` itself: moved into the `door` below, copies of it would double with every round.
                _ = try share.copy(
                    SharePath(text: "/door/sub"), to: SharePath(text: "/copied"), replacing: .anything)
            case 5: _ = try share.remove(path)
            case 6: _ = try share.remove(SharePath(text: "/door/old"))
            default: _ = try share.move(SharePath(text: "/copied"), to: path, replacing: .anything)
            }
        } catch {
            return
        }
    }
}

/// A plain thread: the attacker must not share those of the test.
final class Thread: @unchecked Sendable {
    private var handle = pthread_t()

    func start(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Box(body))
        let failed = pthread_create(
            &handle, nil,
            { raw in
                guard let raw = raw as UnsafeMutableRawPointer? else { return nil }
                Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        if failed != 0 { box.release() }
    }

    func join() { pthread_join(handle, nil) }

    private final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
