import CSyscalls
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reports changes in a folder to its subscribers, whether made through the server or directly on the disk.
///
/// One thread serves all subscribers, and runs while there are any: it waits for the kernel's events, gathers those
/// that come shortly after each other, and itself polls the folders that can't be watched.
package final class ChangeFeed: Sendable {
    /// Changes within this time are reported as one.
    private static let gathers: Duration = .milliseconds(150)

    private struct Subscriber {
        var watch: Int32?
        var poll: FolderPoll?
        var isShown: @Sendable ([UInt8]) -> Bool
        var isThere: @Sendable ([UInt8]) -> Bool
        var continuation: Listener
        var pending: FolderChange?
        var since: ContinuousClock.Instant = .now
        /// Its folder was moved or deleted: this subscriber must not learn any more of what happens in it.
        var isOver = false
    }

    private typealias Listener = AsyncStream<FolderChange>.Continuation
    /// A subscriber that is to be asked about a name.
    private typealias Asked = (id: Int, subscriber: Subscriber)
    private typealias Due = (id: Int, change: FolderChange, listener: Listener)

    private struct State {
        var subscribers: [Int: Subscriber] = [:]
        var subscribersOf: [Int32: Set<Int>] = [:]
        var nextID = 0
        var inotify: Inotify?
        var isRunning = false
    }

    private let state = Mutex(State())
    private let mostWatches: Int
    private let usesWatches: Bool

    init(mostWatches: Int, usesWatches: Bool = true) {
        self.mostWatches = mostWatches
        self.usesWatches = usesWatches
    }

    /// Begins to report changes in an open directory, until the stream's consumer stops.
    /// - Parameters:
    ///   - directory: open for reading.
    ///   - isShown: which names may be reported.
    ///   - isThere: whether a name that may stand for a file without one is really a member's.
    /// - Returns: the changes, gathered; the stream ends when the folder is moved or deleted.
    func subscribe(
        to directory: SharedDescriptor, isShown: @escaping @Sendable ([UInt8]) -> Bool,
        isThere: @escaping @Sendable ([UInt8]) -> Bool
    ) -> AsyncStream<FolderChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FolderChange.self, bufferingPolicy: .bufferingNewest(8))
        let (id, needsPoll) = state.withLock { state -> (Int, Bool) in
            if state.inotify == nil, usesWatches { state.inotify = Inotify() }
            var watch: Int32?
            if let inotify = state.inotify, let number = inotify.watch(directory.number) {
                if state.subscribersOf[number] != nil || state.subscribersOf.count < mostWatches {
                    watch = number
                } else {
                    inotify.unwatch(number)
                }
            }
            let id = state.nextID
            state.nextID += 1
            state.subscribers[id] = Subscriber(
                watch: watch, poll: nil, isShown: isShown, isThere: isThere, continuation: continuation)
            if let watch { state.subscribersOf[watch, default: []].insert(id) }
            // If no thread can be started now, the next subscriber tries again.
            if !state.isRunning { state.isRunning = OwnThread.start("changes") { [self] in run() } }
            return (id, watch == nil || sys_is_shared(directory.number) != 0)
        }
        // Reading a folder may take a while: do it without the lock, so that nobody else waits for it.
        if needsPoll {
            let poll = FolderPoll(directory)
            state.withLock { $0.subscribers[id]?.poll = poll }
        }
        continuation.onTermination = { [self] _ in unsubscribe(id) }
        return stream
    }

    /// The number of directories watched, for a test.
    var watchCount: Int { state.withLock { $0.subscribersOf.count } }
    /// Whether the thread is running, for a test.
    var isRunning: Bool { state.withLock(\.isRunning) }

    private func unsubscribe(_ id: Int) {
        state.withLock { state in
            guard let watch = state.subscribers.removeValue(forKey: id)?.watch else { return }
            state.subscribersOf[watch]?.remove(id)
            if state.subscribersOf[watch]?.isEmpty == true {
                state.subscribersOf[watch] = nil
                state.inotify?.unwatch(watch)
            }
        }
    }

    // MARK: The thread

    private func run() {
        while true {
            let (inotify, hasPending) = state.withLock { state -> (Inotify?, Bool) in
                (state.inotify, state.subscribers.values.contains { $0.pending != nil })
            }
            let wait: Int32 = hasPending ? 20 : 250
            var events: [Inotify.Event] = []
            if let inotify { events = inotify.events(within: wait) } else { usleep(UInt32(wait) * 1_000) }
            let listeners = state.withLock { self.listeners(of: events, in: &$0) }
            let found = Self.changes(of: events, for: listeners) + lookAround()
            let (goesOn, due, ended) = state.withLock { state -> (Bool, [Due], [Listener]) in
                for (id, change) in found { add(change, to: id, in: &state) }
                let (due, ended) = takeDue(from: &state)
                if !state.subscribers.isEmpty { return (true, due, ended) }
                state.inotify = nil
                state.subscribersOf = [:]
                state.isRunning = false
                return (false, due, ended)
            }
            tell(due)
            // Each one unsubscribes when it is finished.
            for continuation in ended { continuation.finish() }
            guard goesOn else { return }
        }
    }

    /// Ends the watches that events end, and notes the changes that are lost with them.
    /// - Returns: by watch, the subscribers to be asked about the names in the events. They are not asked here: asking
    ///   opens files, and everybody who subscribes or unsubscribes waits for the lock.
    private func listeners(of events: [Inotify.Event], in state: inout State) -> [Int32: [Asked]] {
        for event in events {
            if event.isOverflow {
                for id in state.subscribers.keys { add(.all, to: id, in: &state) }
            } else if event.isOfDirectory || event.endsWatch {
                let ended = state.subscribersOf.removeValue(forKey: event.watch) ?? []
                if !event.endsWatch, !ended.isEmpty { state.inotify?.unwatch(event.watch) }
                for id in ended {
                    state.subscribers[id]?.watch = nil
                    state.subscribers[id]?.poll = nil
                    state.subscribers[id]?.isOver = true
                    add(.all, to: id, in: &state)
                }
            }
        }
        var listeners: [Int32: [Asked]] = [:]
        for event in events where listeners[event.watch] == nil {
            listeners[event.watch] = state.subscribersOf[event.watch]?.compactMap { id in
                state.subscribers[id].map { (id, $0) }
            }
        }
        return listeners
    }

    /// The changes that the events mean for each subscriber.
    private static func changes(
        of events: [Inotify.Event], for listeners: [Int32: [Asked]]
    ) -> [(id: Int, change: FolderChange)] {
        // Each name once, with whether it certainly belongs to a member.
        var names: [Int32: [[UInt8]: Bool]] = [:]
        for event in events where !event.name.isEmpty && listeners[event.watch] != nil {
            let isMember = !event.mayBeOfUnnamedFile
            if isMember || names[event.watch]?[event.name] == nil {
                names[event.watch, default: [:]][event.name] = isMember
            }
        }
        return names.flatMap { watch, names in
            (listeners[watch] ?? []).compactMap { id, subscriber in
                change(of: names, for: subscriber).map { (id, $0) }
            }
        }
    }

    private static func change(of names: [[UInt8]: Bool], for subscriber: Subscriber) -> FolderChange? {
        var told: Set<[UInt8]> = []
        var doubts = 0
        for (name, isMember) in names where subscriber.isShown(name) {
            if !isMember { doubts += 1 }
            // More lookups would keep all other subscribers waiting.
            if told.count == FolderChange.mostNames || doubts > FolderChange.mostNames { return .all }
            if isMember || subscriber.isThere(name) { told.insert(name) }
        }
        return told.isEmpty ? nil : .names(told)
    }

    private func add(_ change: FolderChange, to id: Int, in state: inout State) {
        guard var subscriber = state.subscribers[id] else { return }
        if let pending = subscriber.pending {
            subscriber.pending = pending.merged(with: change)
        } else {
            subscriber.pending = change
            subscriber.since = .now
        }
        state.subscribers[id] = subscriber
    }

    /// Polls the folders that need it.
    private func lookAround() -> [(id: Int, change: FolderChange)] {
        let polls = state.withLock { state in
            state.subscribers.compactMap { id, subscriber in subscriber.poll.map { (id, $0, subscriber.isShown) } }
        }
        return polls.compactMap { id, poll, isShown in
            var poll = poll
            let change = poll.changes(at: .now)
            state.withLock { $0.subscribers[id]?.poll = poll }
            return change.flatMap { Self.visible($0, isShown) }.map { (id, $0) }
        }
    }

    /// Takes the changes that were gathered long enough.
    /// - Returns: the changes to be reported, and the streams to be ended, which have been told about the end before.
    private func takeDue(from state: inout State) -> ([Due], [Listener]) {
        let now = ContinuousClock.now
        var due: [Due] = []
        var ended: [Listener] = []
        for (id, subscriber) in state.subscribers {
            guard let change = subscriber.pending else {
                if subscriber.isOver { ended.append(subscriber.continuation) }
                continue
            }
            guard now - subscriber.since >= Self.gathers else { continue }
            state.subscribers[id]?.pending = nil
            due.append((id, change, subscriber.continuation))
        }
        return (due, ended)
    }

    /// Reports what is due, without the lock.
    ///
    /// Yielding resumes consumers' tasks, and takes each task's own lock. A task that cancels another holds that lock
    /// while it unsubscribes, which takes ours.
    private func tell(_ due: [Due]) {
        for (id, change, listener) in due {
            guard case .dropped = listener.yield(change) else { continue }
            // A consumer that does not keep up reads the whole folder again once it does.
            state.withLock { add(.all, to: id, in: &$0) }
        }
    }

    private static func visible(_ change: FolderChange, _ isShown: ([UInt8]) -> Bool) -> FolderChange? {
        guard case .names(let names) = change else { return change }
        let shown = names.filter(isShown)
        return shown.isEmpty ? nil : .names(shown)
    }
}
