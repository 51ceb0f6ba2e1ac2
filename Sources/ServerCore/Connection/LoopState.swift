// For `timespec`, which belongs to the first module of C that has it.
import CSyscalls
import NIOCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the connections of one event loop share, and the requests of HTTP/2 on them, so that none of it needs a lock.
///
/// Used on that loop only.
final class LoopState {
    let loop: any EventLoop
    let out = OutBuffer()
    let files = OpenFileCache()
    let secureFiles = OpenFileCache()
    /// A whole answer from the cache, while many ask for the same file.
    ///
    /// Good for one turn of the loop, that is for requests that had begun to come before the file was looked at: to
    /// them it is as fresh as one made for each.
    private(set) var composed: Composed?

    struct Composed {
        let file: OpenFileCache.File
        let isSecure: Bool
        /// Whose connections it may be given to: a loop may serve more than one.
        let engine: ObjectIdentifier
        /// The head of the request that it answers; empty for a long one.
        let question: OutBuffer
        let answer: OutBuffer
        /// The body, where it is not part of ``answer``.
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
    /// From where ``shedIdlest(for:)`` last found nobody to close, and when.
    private var foundNoneIdle: (network: NetworkAddress?, tick: UInt32)?
    /// For whom ``shedSlowest(for:)`` last found nobody to close, and when.
    private var foundNoneSlow: (isForAny: Bool, network: NetworkAddress?, tick: UInt32)?
    /// When ``shedStalled()`` last found nobody to close.
    private var foundNoneStalled: UInt32?
    /// When ``shedWaiting()`` last found nobody to end.
    private var foundNoneWaiting: UInt32?
    private var ticking: RepeatedTask?
    private var dateSecond: time_t = 0
    /// `Date: Tue, 15 Nov 1994 08:12:31 GMT` and its line end.
    private var dateLine: [UInt8] = []

    init(loop: any EventLoop) {
        self.loop = loop
    }

    /// Takes in what wants to be looked at every second.
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

    /// Connections, and requests of HTTP/2 on them.
    var memberCount: Int { members.count }

    /// Whether there are so many that each should send in small pieces over TLS, which keeps a buffer of the largest
    /// that a connection has sent: 140 KB of HTTP/1, and several hundred of HTTP/2.
    var isCrowded: Bool { members.count > 64 }

    /// Closes the connection that has been idle for longest, to make room for another.
    ///
    /// Each new one asks for it where there are as many as there may be: so it neither sorts them all nor costs others
    /// their files, which take no connection's descriptor.
    /// - Parameter newcomer: for which another connection from its network goes; nil for any.
    /// - Returns: false when none is idle.
    func shedIdlest(for newcomer: (any LoopMember)? = nil) -> Bool {
        if let newcomer, let none = foundNoneIdle, none == (newcomer.network, tick) { return false }
        var idlest: (since: UInt32, member: any LoopMember)?
        for member in members {
            guard let since = member.idleSince, since < idlest?.since ?? .max else { continue }
            if let newcomer, member === newcomer || member.network != newcomer.network { continue }
            idlest = (since, member)
        }
        // Looking through all of them for one address once a second is enough.
        if let newcomer, idlest == nil { foundNoneIdle = (newcomer.network, tick) }
        idlest?.member.abort()
        return idlest != nil
    }

    /// Closes the connection whose client has been waited for longest, in all that it asked for, to make room for
    /// another.
    /// - Parameter newcomer: for which another connection from its address goes; nil for any.
    /// - Returns: false when none has been for long.
    @discardableResult
    func shedSlowest(for newcomer: (any LoopMember)? = nil) -> Bool {
        // Looking through all of them once a second is enough.
        if let none = foundNoneSlow, none == (newcomer == nil, newcomer?.network, tick) { return false }
        // Since when the last of a connection's requests waits; the latest of all times where one waits for nobody.
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

    /// Seconds for which a client may be waited for where others have no place.
    private static let patience: UInt32 = 5

    /// Closes the connections that have been idle for longest, and the files kept open, for want of descriptors; where
    /// none is idle, one whose client has been waited for.
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

    /// Closes connections whose clients leave lying what was made for them, those first that have for longest.
    /// - Returns: how many.
    @discardableResult
    func shedStalled() -> Int {
        // Looking through all of them once a second is enough.
        guard foundNoneStalled != tick else { return 0 }
        var stalled: [(since: UInt32, member: any LoopMember)] = []
        for member in members {
            if let since = member.stalledSince, tick &- since >= 2 { stalled.append((since, member)) }
        }
        stalled.sort { $0.since < $1.since }
        // Several, so that not each new answer looks through all connections.
        let victims = stalled.prefix(16)
        if victims.isEmpty { foundNoneStalled = tick }
        for victim in victims { victim.member.abort() }
        return victims.count
    }

    /// Ends the request of HTTP/2 whose client has been waited for longest, to make room for another.
    /// - Returns: false when none has been for long.
    func shedWaiting() -> Bool {
        guard foundNoneWaiting != tick else { return false }
        var longest: (since: UInt32, member: any LoopMember)?
        for member in members {
            guard member.carrier != nil, let since = member.waitsSince, since < longest?.since ?? .max else { continue }
            longest = (since, member)
        }
        guard let longest, tick &- longest.since >= Self.patience else {
            // Looking through all of them once a second is enough.
            foundNoneWaiting = tick
            return false
        }
        longest.member.abort()
        return true
    }

    /// Shows every connection, newest first, so that each may leave meanwhile.
    func eachMember(_ body: (any LoopMember) -> Void) {
        for index in members.indices.reversed() where index < members.count { body(members[index]) }
    }

    private func advance() {
        tick &+= 1
        files.expire(tick)
        secureFiles.expire(tick)
        eachMember { $0.secondPassed(tick) }
    }

    /// Composes an answer to `head` for the rest of this turn, with `body` to be sent behind it; nothing when `compose`
    /// says that it could not.
    func compose(
        _ file: OpenFileCache.File, before body: FileSpan?, to head: [UInt8], isSecure: Bool, of engine: Engine,
        _ compose: (OutBuffer) -> Bool
    ) {
        composed = nil
        composing.clear()
        question.clear()
        // One that does not fit is left out.
        question.append(head)
        guard compose(composing) else { return }
        if !endsTurn {
            endsTurn = true
            let bound = NIOLoopBound(self, eventLoop: loop)
            // Runs behind the events that the loop has in hand, and before it asks for others.
            loop.execute {
                bound.value.endsTurn = false
                bound.value.composed = nil
            }
        }
        composed = Composed(
            file: file, isSecure: isSecure, engine: ObjectIdentifier(engine), question: question, answer: composing,
            span: body)
    }

    /// Ends what was composed: a request that is answered in this very turn may have changed the file, and those behind
    /// it on the same connection ask for what it is then.
    func forgetComposed() { composed = nil }

    /// Writes the `Date` line of now.
    ///
    /// RFC 9110 §6.6.1.
    func writeDate(to out: OutBuffer) {
        var now = timespec()
        #if os(Linux)
            unsafe clock_gettime(CLOCK_REALTIME_COARSE, &now)
        #else
            unsafe clock_gettime(CLOCK_REALTIME, &now)
        #endif
        if now.tv_sec != dateSecond || dateLine.isEmpty {
            dateSecond = now.tv_sec
            dateLine.removeAll(keepingCapacity: true)
            dateLine += "Date: ".utf8
            HTTPDate.write(Int64(now.tv_sec), to: &dateLine)
            dateLine += "\r\n".utf8
        }
        out.append(dateLine)
    }
}

/// What a ``LoopState`` looks after: a connection, a TLS handshake, or one request of HTTP/2.
protocol LoopMember: AnyObject {
    /// Where the ``LoopState`` keeps it; -1 outside.
    var memberIndex: Int { get set }
    /// Where it comes from, as ``ConnectionsPerAddress`` counts it; nil for a Unix-domain socket.
    var network: NetworkAddress? { get }
    /// A second has passed: end what has run out of time.
    func secondPassed(_ tick: UInt32)
    /// No more requests; close when idle.
    func drain()
    /// Close at once.
    func abort()
    /// The tick since when nothing happened and nothing is owed; nil while a request is in work.
    var idleSince: UInt32? { get }
    /// The tick since when the client has taken nothing of what is kept for it in memory; nil when nothing is.
    var stalledSince: UInt32? { get }
    /// The tick since when a request has waited for its client to send or take anything; nil while it waits for nobody.
    ///
    /// A connection of HTTP/2 has many requests, which tell it each for itself.
    var waitsSince: UInt32? { get }
    /// The connection that brings a request of HTTP/2; nil for what is a connection itself.
    var carrier: (any LoopMember)? { get }
}

extension LoopMember {
    var stalledSince: UInt32? { nil }
    var waitsSince: UInt32? { nil }
    var carrier: (any LoopMember)? { nil }
}
