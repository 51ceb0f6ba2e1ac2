import NIOCore

/// What a connection waits for, and for how long.
extension HTTP1Connection {
    func setDeadline(_ time: Duration) {
        setDeadline(seconds: Limits.ticks(time))
    }

    func setDeadline(seconds: UInt32) {
        // The next tick may come immediately, so one more.
        deadline = loopState.tick &+ seconds &+ 1
    }

    /// Limits how long the peer may take nothing of what was passed to the channel.
    func timeTheReader() {
        reader.begin()
        setDeadline(engine.limits.readerStallTime)
    }

    /// Sets the limit for the next wait, now that the socket has accepted everything passed to it.
    func timeThePeer() {
        deadline = .max
        switch phase {
        case .head: setDeadline(isTimingHead ? engine.limits.headTime : engine.limits.idleTime)
        case .exchange:
            if isBodyDone || (isAnswering && !isAnswered) { return }
            let isAwaited = lease == nil ? isAnswered || pipe?.isWanted == true : hasReadPending
            if isAwaited { setDeadline(engine.limits.bodyStallTime) }
        case .lingering: setDeadline(engine.limits.lingerTime)
        case .closed: break
        }
    }

    func secondPassed(_ tick: UInt32) {
        lease?.secondPassed()
        let isRead = outstanding > 0 || phase == .lingering
        if isRead { reader.look(at: context?.channel) }
        lookAtProgress(tick)
        lookAtTaking(tick)
        lookForClient()
        // It is the server that waits.
        if pause != nil { exchange?.sink.noteTaken() }
        if isAnswering, !isAnswered, outstanding == 0,
            silence.isSilent(on: context?.channel, tick, limit: Limits.ticks(engine.limits.readerStallTime))
        {
            return abort()
        }
        guard tick >= deadline else { return }
        if isRead, reader.hasGoneOn(on: context?.channel) { return timeTheReader() }
        deadline = .max
        switch phase {
        case .head:
            guard parser.isInside || inbound.readableBytes > 0 else { return close() }
            guard canSend else { return abort() }
            refuse(HTTPError(.requestTimeout, "The head of this request came too slowly."))
            flush(more: false)
        case .exchange:
            if outstanding > 0 || isAnswered { return abort() }
            let error = HTTPError(.requestTimeout, "The body of this request came too slowly.")
            if let lease { return lease.fail(error) }
            isBodyBroken = true
            endPipe(.failure(error))
        case .lingering:
            guard !isTimingTail, ReaderWatch.isOwed(by: context?.channel) else { return abort() }
            isTimingTail = true
            timeTheReader()
        case .closed: break
        }
    }

    /// Checks whether the client makes progress while something waits for it, and tells the response's sink.
    ///
    /// The socket accepts data in large steps only, which are far apart on a slow line.
    private func lookAtProgress(_ tick: UInt32) {
        guard isAwaited else { return progress.rest(tick) }
        if outstanding == 0 {
            _ = progress.look(receivedBody &+ (lease?.received ?? 0), tick)
        } else if let confirmed = ReaderWatch.confirmed(on: context?.channel) {
            if progress.look(confirmed, tick) { exchange?.sink.noteTaken() }
        } else {
            progress.rest(tick)
        }
    }

    /// For so many seconds, the work for a client of HTTP/1.0 that has closed its side goes on.
    private static let patienceWithSilence: UInt32 = 5

    /// Sends an interim response while the work for the response would be wasted if the client is gone: a vanished
    /// client answers with a reset, which ends the exchange.
    ///
    /// Only to a client that has closed its side, or has sent further requests already, so that this would not be
    /// noticed. In HTTP/1.0, which has no interim responses, one that has closed its side counts as gone after a while.
    private func lookForClient() {
        guard !isAnswering, outstanding == 0, lease == nil, let exchange, exchange.endsWithClient else { return }
        if !isInputClosed, !hasReadPending {
            dropInput()
            readIfUseful()
        }
        guard isInputClosed || !hasReadPending else { return }
        guard head.minorVersion == 1 else {
            guard loopState.tick &- lastActivity >= Self.patienceWithSilence else { return }
            return exchange.owesAnswer ? exchange.cutShort() : abort()
        }
        inform(.processing, ResponseFields(), of: exchange)
    }

    /// Checks whether the client takes what waits for it, including complete responses whose exchange has ended.
    private func lookAtTaking(_ tick: UInt32) {
        guard kept > 0 || outstanding > 0 else { return taking.rest(tick) }
        // If the system can't tell what was acknowledged, only what the socket accepts counts.
        if let confirmed = ReaderWatch.confirmed(on: context?.channel) { _ = taking.look(confirmed, tick) }
    }

    var idleSince: UInt32? {
        switch phase {
        // A client that still takes a response is not idle.
        case .head: outstanding == 0 ? lastActivity : nil
        case .lingering: lastActivity
        // The response was taken; the client sends the rest of an unwanted body, or does not.
        case .exchange: isAnswered && outstanding == 0 ? lastActivity : nil
        case .closed: nil
        }
    }

    var waitsSince: UInt32? { isAwaited ? progress.since : nil }

    var holdsPlace: Bool { exchange?.holdsPlace == true }

    /// Whether something waits for the client: for the rest of its body, or for it to take a response.
    private var isAwaited: Bool { deadline != .max && (phase == .exchange || phase == .head && outstanding > 0) }

    var stalledSince: UInt32? {
        kept > 0 || isSecure && outstanding > SoftByteBudget.uncounted ? max(lastActivity, taking.since) : nil
    }
}
