import CSyscalls
import NIOCore

/// What the connections of one event loop, and their HTTP/2 requests, share, so that none of it needs a lock.
///
/// Used on that loop only.
final class LoopState {
    let loop: any EventLoop
    let turns: LoopTurns
    let out = OutBuffer()
    /// What TLS is passed, used again and again: at most 128 KiB.
    var plaintext = ByteBuffer()
    let files = OpenFileCache()
    let secureFiles = OpenFileCache()
    /// A complete response from the cache, while many request the same file.
    ///
    /// Valid for one turn of the loop, that is, for requests that had begun to arrive before the file was checked: for
    /// them it is as fresh as a response made for each.
    private(set) var composed: Composed?

    struct Composed {
        let file: OpenFileCache.File
        let isSecure: Bool
        /// The engine whose connections may use it: a loop may serve more than one engine.
        let engine: ObjectIdentifier
        /// The head of the request that it answers; empty for a long one.
        let question: OutBuffer
        let answer: OutBuffer
        /// The body, if it is not part of ``answer``.
        let span: FileSpan?
    }

    private var endsTurn = false
    private let composing = OutBuffer(capacity: 80 * 1_024)
    private let question = OutBuffer(capacity: 2 * 1_024)

    /// Seconds since this object was made; moves while there are connections.
    ///
    /// All time limits count in it.
    private(set) var tick: UInt32 = 0
    private var members: [any LoopMember] = []
    /// The network for which ``shedIdlest(for:)`` last found no connection to close, and when.
    private var foundNoneIdle: (network: NetworkAddress?, tick: UInt32)?
    /// The network for which ``shedSlowest(for:)`` last found no connection to close, and when.
    private var foundNoneSlow: (isForAny: Bool, network: NetworkAddress?, tick: UInt32)?
    /// When ``shedStalled()`` last found no connection to close.
    private var foundNoneStalled: UInt32?
    /// When ``shedWaiting()`` last found no request to end.
    private var foundNoneWaiting: UInt32?
    /// When ``shedPlaces()`` last found no request to end.
    private var foundNoPlace: UInt32?
    private var ticking: RepeatedTask?
    private var dateSecond: Int64 = 0
    /// `Date: Tue, 15 Nov 1994 08:12:31 GMT`, with CR LF.
    private var dateLine: [UInt8] = []

    init(loop: any EventLoop) {
        self.loop = loop
        turns = LoopTurns(loop: loop)
    }

    /// Adds a member, to be notified every second.
    func enter(_ member: any LoopMember) {
        member.memberIndex = members.count
        members.append(member)
        if ticking == nil {
            let bound = NIOLoopBound(self, eventLoop: loop)
            ticking = loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
                bound.value.advance()
            }
        }
    }

    func leave(_ member: any LoopMember) {
        let index = member.memberIndex
        guard index >= 0, index < members.count, members[index] === member else { return }
        let last = members.removeLast()
        if last !== member {
            members[index] = last
            last.memberIndex = index
        }
        member.memberIndex = -1
        if members.isEmpty {
            files.clear()
            secureFiles.clear()
            ticking?.cancel()
            ticking = nil
        }
    }

    /// The number of connections and of HTTP/2 requests on them.
    var memberCount: Int { members.count }

    /// Whether there are so many that each should send in small pieces over TLS, which keeps a buffer of the most that
    /// a connection has sent at once: 140 KB with HTTP/1, and several hundred with HTTP/2.
    var isCrowded: Bool { members.count > 64 }

    /// Closes the connection that has been idle for longest, to accept another.
    ///
    /// Called for each new connection while the maximum is reached: so it does not sort all of them, and leaves the
    /// cached files open, since those do not take the connections' descriptors.
    /// - Parameter newcomer: only a connection from its network may be closed; nil for any.
    /// - Returns: false when none is idle.
    func shedIdlest(for newcomer: (any LoopMember)? = nil) -> Bool {
        if let newcomer, let none = foundNoneIdle, none == (newcomer.network, tick) { return false }
        var idlest: (since: UInt32, member: any LoopMember)?
        for member in members {
            guard let since = member.idleSince, since < idlest?.since ?? .max else { continue }
            if let newcomer, member === newcomer || member.network != newcomer.network { continue }
            idlest = (since, member)
        }
        // Searching all of them for one network once a second is enough.
        if let newcomer, idlest == nil { foundNoneIdle = (newcomer.network, tick) }
        idlest?.member.abort()
        return idlest != nil
    }

    /// Closes the connection that has waited longest for its client, in all its requests, to accept another.
    /// - Parameter newcomer: only a connection from its network may be closed; nil for any.
    /// - Returns: false when none has waited long enough.
    @discardableResult
    func shedSlowest(for newcomer: (any LoopMember)? = nil) -> Bool {
        // Searching all of them once a second is enough.
        if let none = foundNoneSlow, none == (newcomer == nil, newcomer?.network, tick) { return false }
        // For each connection: since when the last of its requests waits; the maximum if one of them does not wait for
        // the client.
        var carriers: [ObjectIdentifier: UInt32] = [:]
        for member in members {
            guard let carrier = member.carrier else { continue }
            carriers[ObjectIdentifier(carrier), default: 0] = max(
                carriers[ObjectIdentifier(carrier)] ?? 0, member.waitsSince ?? .max)
        }
        var slowest: (since: UInt32, member: any LoopMember)?
        for member in members where member.carrier == nil && member !== newcomer {
            guard let since = carriers[ObjectIdentifier(member)] ?? member.waitsSince, since < slowest?.since ?? .max
            else { continue }
            if let newcomer, member.network != newcomer.network { continue }
            slowest = (since, member)
        }
        guard let slowest, tick &- slowest.since >= Self.patience else {
            foundNoneSlow = (newcomer == nil, newcomer?.network, tick)
            return false
        }
        slowest.member.abort()
        return true
    }

    /// How many seconds a client may be waited for when others find no place.
    private static let patience: UInt32 = 5

    /// Closes the connections that have been idle for longest, and the cached files, when descriptors run out; if none
    /// is idle, closes one that waits for its client.
    func freeDescriptors(_ count: Int) {
        files.clear()
        secureFiles.clear()
        var idle: [(since: UInt32, member: any LoopMember)] = []
        for member in members {
            if let since = member.idleSince { idle.append((since, member)) }
        }
        if idle.isEmpty { shedSlowest() }
        idle.sort { $0.since < $1.since }
        for victim in idle.prefix(count) { victim.member.abort() }
    }

    /// Closes connections whose clients do not take what is kept for them, those first that have not for longest.
    /// - Returns: the number closed.
    @discardableResult
    func shedStalled() -> Int {
        // Searching all of them once a second is enough.
        guard foundNoneStalled != tick else { return 0 }
        var stalled: [(since: UInt32, member: any LoopMember)] = []
        for member in members {
            if let since = member.stalledSince, tick &- since >= 2 { stalled.append((since, member)) }
        }
        stalled.sort { $0.since < $1.since }
        // Several, so that not every new response has to search all connections.
        let victims = stalled.prefix(16)
        if victims.isEmpty { foundNoneStalled = tick }
        for victim in victims { victim.member.abort() }
        return victims.count
    }

    /// Ends the HTTP/2 request that has waited longest for its client, to accept another.
    /// - Returns: false when none has waited long enough.
    func shedWaiting() -> Bool {
        guard foundNoneWaiting != tick else { return false }
        var longest: (since: UInt32, member: any LoopMember)?
        for member in members {
            guard member.carrier != nil, let since = member.waitsSince, since < longest?.since ?? .max else { continue }
            longest = (since, member)
        }
        guard let longest, tick &- longest.since >= Self.patience else {
            // Searching all of them once a second is enough.
            foundNoneWaiting = tick
            return false
        }
        longest.member.abort()
        return true
    }

    /// Ends requests that have waited longest for their clients, of those that hold a place which others need.
    /// - Returns: false when it has just been found that there are none here.
    @discardableResult
    func shedPlaces() -> Bool {
        guard foundNoPlace != tick else { return true }
        var waiting: [(since: UInt32, member: any LoopMember)] = []
        for member in members where member.holdsPlace {
            if let since = member.waitsSince, tick &- since >= Self.patience { waiting.append((since, member)) }
        }
        // Searching all of them once a second is enough.
        if waiting.isEmpty { foundNoPlace = tick }
        waiting.sort { $0.since < $1.since }
        // A few, so that not every refused request has to search all of them.
        for victim in waiting.prefix(4) { victim.member.abort() }
        return !waiting.isEmpty
    }

    /// Calls `body` for every member, newest first, so that each may leave meanwhile.
    func eachMember(_ body: (any LoopMember) -> Void) {
        for index in members.indices.reversed() where index < members.count { body(members[index]) }
    }

    private func advance() {
        tick &+= 1
        files.expire(tick)
        secureFiles.expire(tick)
        eachMember { $0.secondPassed(tick) }
    }

    /// Composes a response to `head` for the rest of this turn, to be followed by `body`; does nothing if `compose`
    /// returns false.
    func compose(
        _ file: OpenFileCache.File, before body: FileSpan?, to head: [UInt8], isSecure: Bool, of engine: Engine,
        _ compose: (OutBuffer) -> Bool
    ) {
        composed = nil
        composing.clear()
        question.clear()
        // A head that does not fit is left out.
        question.append(head)
        guard compose(composing) else { return }
        if !endsTurn {
            endsTurn = true
            let bound = NIOLoopBound(self, eventLoop: loop)
            // Runs after the events that the loop has already received, and before it polls for others.
            loop.execute {
                bound.value.endsTurn = false
                bound.value.composed = nil
            }
        }
        composed = Composed(
            file: file, isSecure: isSecure, engine: ObjectIdentifier(engine), question: question, answer: composing,
            span: body)
    }

    /// Drops the composed response: a request that is answered in this very turn may have changed the file, and later
    /// ones on the same connection must see the change.
    func forgetComposed() { composed = nil }

    /// Writes the `Date` line for the current time.
    ///
    /// RFC 9110 §6.6.1.
    func writeDate(to out: OutBuffer) {
        let now = sys_coarse_seconds()
        if now != dateSecond || dateLine.isEmpty {
            dateSecond = now
            dateLine.removeAll(keepingCapacity: true)
            dateLine += "Date: ".utf8
            HTTPDate.write(now, to: &dateLine)
            dateLine += "\r\n".utf8
        }
        out.append(dateLine)
    }
}

/// What a ``LoopState`` looks after: a connection, a TLS handshake, or one request of HTTP/2.
protocol LoopMember: AnyObject {
    /// Where the ``LoopState`` keeps it; -1 outside.
    var memberIndex: Int { get set }
    /// The network of its client, by which ``ConnectionsPerAddress`` counts; nil for a Unix-domain socket.
    var network: NetworkAddress? { get }
    /// Called every second: ends what has exceeded its time limit.
    func secondPassed(_ tick: UInt32)
    /// Accept no more requests; close when idle.
    func drain()
    /// Close immediately.
    func abort()
    /// The tick since when nothing happened and nothing is owed; nil while a request is being processed.
    var idleSince: UInt32? { get }
    /// The tick since when the client has taken nothing of what is kept for it in memory; nil when nothing is kept.
    var stalledSince: UInt32? { get }
    /// The tick since when a request has waited for its client to send or take anything; nil while it does not wait for
    /// the client.
    ///
    /// An HTTP/2 connection has many requests, each of which reports this itself.
    var waitsSince: UInt32? { get }
    /// The connection of an HTTP/2 request; nil for a connection itself.
    var carrier: (any LoopMember)? { get }
    /// Whether its request has one of the places for those that are answered off the loop.
    var holdsPlace: Bool { get }
}

extension LoopMember {
    var stalledSince: UInt32? { nil }
    var waitsSince: UInt32? { nil }
    var carrier: (any LoopMember)? { nil }
    var holdsPlace: Bool { false }
}
