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
/// A program (FUSE) or another machine is asked when one of its files is closed, also one that was only read, and may
/// be slow or hung. The last close of a large file that was removed gives its blocks back.
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
    /// Who waits long enough, or finds enough others waiting, opens one more all the same, up to so many.
    private static let mostOfAll = 256
    /// A file system that closed nothing for so long hangs; one that closes some is waited for as long.
    private static let patience: Duration = .seconds(3)
    /// Half of the threads that there are at least.
    private static let mostWaiters = 4
    private static let waiters = Atomic(0)

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
    /// Waits while it closes some, but only a few seconds, and on a few threads: what else these are for may have
    /// nothing to do with it.
    /// - Parameter device: of the file system.
    /// - Throws: ``RootError/tooMany`` when it hangs, or far too much is to be closed.
    static func makeRoom(on device: UInt64) throws(RootError) {
        let end = ContinuousClock.now + patience
        let mayWait = waiters.wrappingAdd(1, ordering: .relaxed).newValue <= mostWaiters
        defer { waiters.wrappingSubtract(1, ordering: .relaxed) }
        while let (count, moved) = lines.withLock({ lines in lines[device].map { ($0.waiting.count, $0.moved) } }),
            count > mostWaiting
        {
            let now = ContinuousClock.now
            guard now - moved < patience else { throw .tooMany }
            if !mayWait || now >= end {
                guard count < mostOfAll, sys_may_keep_open() else { throw .tooMany }
                return
            }
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
