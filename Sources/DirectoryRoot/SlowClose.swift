import CSyscalls
import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Closes, out of everybody's way, what takes its time to be closed.
///
/// A program (FUSE) or another machine is asked when one of its files is closed, also one that was only read, and may be
/// slow or hung. The last close of a large file that was removed gives its blocks back.
enum SlowClose {
    /// What waits for one file system.
    fileprivate struct Line {
        var waiting: [Int32] = []
        /// The workers that close, by their numbers.
        var busy: Set<Int> = []
        /// When one was closed last, or began to be.
        var moved = ContinuousClock.now
    }

    private static let lines = Mutex<[UInt64: Line]>([:])
    /// What waits for all far ones.
    private static let count = Atomic(0)
    /// At a time for one file system: one that hangs holds up none of the others at once.
    fileprivate static let workers = 4
    /// Who opens more of a file system than it closes waits, or is refused: else its descriptors would be everybody's.
    private static let mostWaiting = 32
    /// A file system that closed nothing for so long hangs.
    private static let patience: Duration = .seconds(3)

    /// Closes a descriptor soon; waits for nothing.
    /// - Parameters:
    ///   - descriptor: nobody else's.
    ///   - device: of the file system that it is on.
    ///   - isFar: whether that is a program's or another machine's.
    static func close(_ descriptor: Int32, on device: UInt64, isFar: Bool) {
        if isFar { count.wrappingAdd(1, ordering: .relaxed) }
        let worker = lines.withLock { $0[device, default: Line()].add(descriptor) }
        guard let worker else { return }
        // A queue of its own has a thread of its own, which no other work waits for.
        DispatchQueue(label: "close").async {
            while let descriptor = next(on: device, for: worker) {
                _ = sys_close(descriptor)
                if isFar { count.wrappingSubtract(1, ordering: .relaxed) }
            }
        }
    }

    private static func next(on device: UInt64, for worker: Int) -> Int32? {
        lines.withLock { lines in
            let descriptor = lines[device]?.take(for: worker)
            if descriptor == nil, lines[device]?.busy.isEmpty == true { lines[device] = nil }
            return descriptor
        }
    }

    /// Whether ``makeRoom(on:)`` may have to wait for some file system.
    static var isCrowded: Bool { count.load(ordering: .relaxed) > mostWaiting }

    /// Lets what was opened of a file system be closed before more of it is.
    ///
    /// Waits as long as it closes some.
    /// - Parameter device: of the file system.
    /// - Throws: ``RootError/tooMany`` when it hangs.
    static func makeRoom(on device: UInt64) throws(RootError) {
        while let moved = lines.withLock({ lines in
            lines[device].flatMap { $0.waiting.count > mostWaiting ? $0.moved : nil }
        }) {
            guard ContinuousClock.now - moved < patience else { throw .tooMany }
            usleep(5_000)
        }
    }
}

extension SlowClose.Line {
    /// - Returns: the number of a worker to begin; nil where enough are at it.
    fileprivate mutating func add(_ descriptor: Int32) -> Int? {
        waiting.append(descriptor)
        guard let free = (0..<SlowClose.workers).first(where: { !busy.contains($0) }) else { return nil }
        busy.insert(free)
        return free
    }

    /// - Returns: what came first; nil where nothing waits, and the worker ends.
    fileprivate mutating func take(for worker: Int) -> Int32? {
        moved = .now
        guard !waiting.isEmpty else {
            busy.remove(worker)
            return nil
        }
        return waiting.removeFirst()
    }
}
