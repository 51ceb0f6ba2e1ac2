import Synchronization

/// The sessions that somebody ended before they expired, in one file of the state folder.
///
/// A session itself is not stored: its cookie proves it. But every process on the share must know which ones have been
/// ended; that costs one `fstatat` a second.
package final class EndedSessions: Sendable {
    private struct Ended {
        var begun: Timestamp
        /// When it would have expired.
        var until: Timestamp
    }

    private struct List {
        var sessions: [[UInt8]: Ended] = [:]
        /// Sessions begun up to then are over: records of ended sessions from that time were dropped for lack of space,
        /// or lost.
        var floor: Timestamp?

        func holds(_ id: [UInt8], _ begun: Timestamp) -> Bool {
            sessions[id] != nil || floor.map { begun <= $0 } ?? false
        }
    }

    private struct Known {
        /// What this process ended itself, whether it could be written or not.
        var own = List()
        var all = List()
        var identity: StateFile.Identity?
        /// When the file was last checked, by uptime.
        var looked: Duration?
    }

    /// How long what is known counts as fresh.
    static let freshness: Duration = .seconds(1)
    private static let limit = 10_000

    private let file: StateFile
    private let clock: RootClock
    private let known = Mutex(Known())

    init(state: StateFolder, clock: RootClock) {
        file = StateFile(state: state, name: "ended-sessions")
        self.clock = clock
    }

    /// Whether a session was ended.
    /// - Parameters:
    ///   - id: identifies the session.
    ///   - begun: when it began.
    ///   - now: the time of day.
    ///   - waiting: false to throw ``RootError/wouldBlock`` if the disk would have to be asked.
    /// - Returns: true when it was ended.
    /// - Throws: what the disk reports.
    package func contains(
        _ id: [UInt8], begun: Timestamp, now: Timestamp, waiting: Bool
    ) throws(RootError) -> Bool {
        // A share that is never written to has nothing to read either.
        let isAlone = file.state.isReadOnly
        let uptime = clock.uptime()
        let answer = known.withLock { known -> Bool? in
            if known.own.holds(id, begun) || known.all.holds(id, begun) { return true }
            let isFresh = known.looked.map { uptime - $0 < Self.freshness } ?? false
            return isFresh || isAlone ? false : nil
        }
        if let answer { return answer }
        guard waiting else { throw .wouldBlock }
        try look(uptime, now)
        return known.withLock { $0.own.holds(id, begun) || $0.all.holds(id, begun) }
    }

    /// Ends a session, in this process immediately and for every other process within a second.
    /// - Parameters:
    ///   - id: identifies the session.
    ///   - begun: when it began.
    ///   - until: when it would expire.
    ///   - now: the time of day.
    /// - Throws: what the disk reports; this process knows that it was ended all the same.
    package func end(_ id: [UInt8], begun: Timestamp, until: Timestamp, now: Timestamp) throws(RootError) {
        let ended = Ended(begun: begun, until: until)
        known.withLock { known in
            known.own.sessions[id] = ended
            Self.makeRoom(&known.own, now)
        }
        guard !file.state.isReadOnly else { return }
        try file.state.usingSpareRoom { () throws(RootError) in try change(now) }
    }

    /// Writes what this process ended and could not write at the time, as on a full disk: a restart would forget it.
    /// - Throws: what the disk still reports.
    func settle() throws(RootError) {
        guard !file.state.isReadOnly else { return }
        let now = clock.wall()
        let isWritten = known.withLock { known in
            known.own.sessions.allSatisfy { id, ended in ended.until <= now || known.all.holds(id, ended.begun) }
        }
        if !isWritten { try file.state.usingSpareRoom { () throws(RootError) in try change(now) } }
    }

    // MARK: -

    private func look(_ uptime: Duration, _ now: Timestamp) throws(RootError) {
        let identity = try file.identity()
        let isKnown = known.withLock { known in
            guard known.looked != nil, known.identity == identity else { return false }
            known.looked = uptime
            return true
        }
        if isKnown { return }
        do throws(RootError) {
            let contents = try file.read()
            let list = try contents.map { (contents) throws(RootError) in try Self.parse(contents) } ?? List()
            known.withLock { known in
                known.all = list
                known.identity = contents?.identity
                known.looked = uptime
            }
        } catch  where error.isDamage {
            // It is unknown who had logged out: everybody has to log in again.
            try change(now)
        }
    }

    /// Merges what this process ended with what others wrote, and writes the result.
    private func change(_ now: Timestamp) throws(RootError) {
        try file.state.exclusively { (lock) throws(RootError) in
            var list = List()
            var contents: StateFile.Contents?
            do throws(RootError) {
                contents = try file.read()
                if let contents { list = try Self.parse(contents) }
            } catch  where error.isDamage {
                try file.setAside(lock)
                contents = nil
                list.floor = now
            }
            list.sessions.merge(known.withLock { $0.own.sessions }) { theirs, _ in theirs }
            Self.makeRoom(&list, now)
            let identity = try file.replace(contents, with: Self.payload(list), lock)
            let changed = list
            known.withLock { known in
                known.all = changed
                known.identity = identity
                known.looked = clock.uptime()
            }
        }
    }

    /// Forgets what has expired; if that is not enough, the half that began first, and all that began no later.
    private static func makeRoom(_ list: inout List, _ now: Timestamp) {
        list.sessions = list.sessions.filter { $0.value.until > now }
        guard list.sessions.count > limit else { return }
        let oldest = list.sessions.sorted { $0.value.begun < $1.value.begun }.prefix(limit / 2)
        for (id, ended) in oldest {
            list.sessions[id] = nil
            list.floor = max(list.floor ?? ended.begun, ended.begun)
        }
    }

    private static func payload(_ list: List) -> [UInt8] {
        var payload: [UInt8] = []
        if let floor = list.floor {
            var record = StateRecord()
            record.set("floor", floor)
            record.write(to: &payload)
        }
        for (id, ended) in list.sessions {
            var record = StateRecord()
            record.set("id", id)
            record.set("begun", ended.begun)
            record.set("until", ended.until)
            record.write(to: &payload)
        }
        return payload
    }

    private static func parse(_ contents: StateFile.Contents) throws(RootError) -> List {
        do {
            var list = List()
            for record in try StateRecord.all(in: contents.envelope.payload) {
                if let floor = record.time("floor") {
                    list.floor = floor
                } else if let id = record["id"], let begun = record.time("begun"), let until = record.time("until") {
                    list.sessions[id] = Ended(begun: begun, until: until)
                } else {
                    throw DamagedState()
                }
            }
            return list
        } catch {
            throw .damaged("ended-sessions")
        }
    }
}

extension DirectoryRoot {
    /// The sessions of this root that somebody ended.
    package var endedSessions: EndedSessions { state.endedSessions }
}
