import CSyscalls
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Closes, on threads of its own, what may be slow to close.
///
/// A program (FUSE) or another machine is asked when one of its files is closed, even one that was only read, and may
/// be slow or hang. The last close of a large file that was removed frees its blocks.
enum SlowClose {
    /// The descriptors of one file system that wait to be closed.
    fileprivate struct Line {
        var waiting: [Int32] = []
        /// The numbers of the workers that are closing.
        var busy: Set<Int> = []
        /// When a descriptor was last closed, or its closing began.
        var moved = ContinuousClock.now
    }

    private static let lines = Mutex<[UInt64: Line]>([:])
    /// How many descriptors of all far file systems are not closed yet.
    private static let count = Atomic(0)
    /// The most workers for one file system: one hanging file does not hold up the others at once.
    fileprivate static let workers = 4
    /// With more than this waiting on a file system, opening another file of it waits or is refused: otherwise it would
    /// use up the whole process's descriptors.
    private static let mostWaiting = 32
    /// With fewer than this waiting on it, a request that has waited long enough, or that finds enough others waiting,
    /// opens one more all the same.
    private static let mostOfAll = 256
    /// A file system that closed nothing for this long hangs; one that does close some is waited for this long.
    private static let patience: Duration = .seconds(3)
    /// The most threads that wait: half of the smallest thread pool.
    private static let mostWaiters = 4
    private static let waiters = Atomic(0)

    /// Closes a descriptor soon, without waiting.
    /// - Parameters:
    ///   - descriptor: used by nobody else.
    ///   - device: of the file system that it is on.
    ///   - isFar: whether that is served by a program or another machine.
    static func close(_ descriptor: Int32, on device: UInt64, isFar: Bool) {
        if isFar { count.wrappingAdd(1, ordering: .relaxed) }
        let worker = lines.withLock { $0[device, default: Line()].add(descriptor) }
        guard let worker else { return }
        let isStarted = OwnThread.start("close") {
            while let descriptor = next(on: device, for: worker) {
                _ = sys_close(descriptor)
                if isFar { count.wrappingSubtract(1, ordering: .relaxed) }
            }
        }
        // If no thread can be started now, the next descriptor to be closed has another try.
        if !isStarted { lines.withLock { _ = $0[device]?.busy.remove(worker) } }
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

    /// Lets pending closes of a file system proceed before more of its files are opened.
    ///
    /// Waits while it closes some, but only for a few seconds, and only on a few threads: the pool's other work may
    /// have nothing to do with this file system.
    /// - Parameter device: of the file system.
    /// - Throws: ``RootError/tooMany`` when it hangs, or far too many closes are pending.
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
    /// - Returns: the number of a worker to start; nil when enough are running.
    fileprivate mutating func add(_ descriptor: Int32) -> Int? {
        waiting.append(descriptor)
        guard let free = (0..<SlowClose.workers).first(where: { !busy.contains($0) }) else { return nil }
        busy.insert(free)
        return free
    }

    /// - Returns: the oldest descriptor; nil when none is waiting, and the worker ends.
    fileprivate mutating func take(for worker: Int) -> Int32? {
        moved = .now
        guard !waiting.isEmpty else {
            busy.remove(worker)
            return nil
        }
        return waiting.removeFirst()
    }
}
