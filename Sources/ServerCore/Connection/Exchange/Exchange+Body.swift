import CSyscalls
import DirectoryRoot
import NIOCore

extension Exchange {
    /// Receives the rest of the body directly from the socket, if the connection allows it.
    ///
    /// The pieces are valid only within `consume`.
    /// - Returns: false when the connection can't lend its socket; nothing was read then.
    func receiveDirectly(
        draining pipe: BodyPipe, at place: (any ReceivingPlace)?, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> Bool {
        guard let (lease, incoming) = await borrowSocket() else { return false }
        var reader = LeasedBody(incoming: incoming, limit: engine.limits.bodyBytes)
        do {
            // What was received before the socket was lent.
            while let bytes = try pipe.takeReady() {
                try unsafe bytes.withUnsafeBytes(consume)
                try await pipe.pay(for: bytes.count)
            }
            try unsafe await receive(lease, &reader, at: place, consume)
            // All of it may have waited in the socket, with the end behind it, which the loop has not seen.
            if lease.hasHungUp { noteInputEnd() }
        } catch {
            giveBack(lease, reader)
            throw error
        }
        giveBack(lease, reader)
        return true
    }

    private func receive(
        _ lease: SocketLease, _ reader: inout LeasedBody, at place: (any ReceivingPlace)?,
        _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        var burst = 0
        var turn = sys_coarse_milliseconds()
        var scratch: ScratchBuffers.Scratch?
        defer { giveBack(&scratch) }
        while !reader.isDone {
            switch try unsafe receiveOnce(lease, &reader, at: place, &scratch, consume) {
            case .bytes(let count):
                burst += count
                let isLong = burst > 8 * 1_024 * 1_024
                guard isLong || pace.isLimited else { continue }
                // A waiting body holds no memory: there may be thousands.
                giveBack(&scratch)
                try await pay(for: count, lease, &reader)
                // After a share of the thread's time, it is the others' turn.
                if isLong {
                    await Task.yield()
                    // It was fast, and goes on as such.
                    (burst, turn) = (Self.leastBurst, sys_coarse_milliseconds())
                }
            case .mail(let bytes):
                try unsafe bytes.withUnsafeBytes { try unsafe reader.take($0, consume) }
                try await pay(for: bytes.count, lease, &reader)
            case .nothing:
                if Self.isFast(burst, in: sys_coarse_milliseconds() - turn), lease.waitBriefly() { continue }
                giveBack(&scratch)
                try place?.pause()
                try await lease.wait(for: reader.wanted) { self.bodyWanted() }
                (burst, turn) = (0, sys_coarse_milliseconds())
            case .end:
                reader.isBroken = true
                throw HTTPError.bodyBrokenOff
            }
        }
    }

    /// Receives what is available, and passes it on unless the loop had read it.
    private func receiveOnce(
        _ lease: SocketLease, _ reader: inout LeasedBody, at place: (any ReceivingPlace)?,
        _ scratch: inout ScratchBuffers.Scratch?, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> SocketLease.Look {
        let isFree = reader.isPlain && !pace.isLimited
        let buffer: UnsafeMutableRawBufferPointer
        if isFree, let room = unsafe place?.room() {
            // At most as much at once as for any other body: the loop may have to wait for the lease.
            unsafe buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: room.prefix(ScratchBuffers.size))
        } else if isFree, let place, place.takesPipes, let pipe = engine.pipes.take() {
            return try move(lease, &reader, through: pipe, to: place)
        } else {
            let taken = scratch ?? engine.scratch.take()
            scratch = taken
            unsafe buffer = unsafe taken.bytes
        }
        let most = reader.isPlain ? buffer.count : min(buffer.count, Self.mostFramed)
        // What is received at once has to be paid for before anybody else has a turn.
        let count = Int(min(Int64(most), reader.wanted, Int64(pace.piece)))
        let look = try lease.look { socket in unsafe sys_recv(socket, buffer.baseAddress, count) }
        if case .bytes(let count) = look {
            engine.counters.received(count)
            try unsafe reader.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), consume)
        }
        return look
    }

    /// The same within the kernel: nothing is copied into this program.
    private func move(
        _ lease: SocketLease, _ reader: inout LeasedBody, through pipe: KernelPipe, to place: any ReceivingPlace
    ) throws -> SocketLease.Look {
        let count = Int(min(Int64(ScratchBuffers.size), reader.wanted))
        // One that the disk left bytes in is released instead.
        var isEmpty = true
        defer { if isEmpty { engine.pipes.giveBack(pipe) } }
        let look = try lease.look { socket in
            let moved = sys_fill_pipe(socket, pipe.input, count)
            guard sys_means_no_pipe(moved) else { return moved }
            engine.pipes.refuse()
            return -Int(sys_again)
        }
        if case .bytes(let count) = look {
            engine.counters.received(count)
            reader.pass(count)
            isEmpty = false
            try place.write(count, from: pipe.output)
            isEmpty = true
        }
        return look
    }

    /// Waits until received bytes are paid for, within the connection's rate limits.
    /// - Throws: ``HTTPError/bodyBrokenOff`` as soon as it is known that the body will never be complete;
    ///   `CancellationError` when the task was cancelled before it was.
    private func pay(for count: Int, _ lease: SocketLease, _ reader: inout LeasedBody) async throws {
        guard pace.isLimited else { return }
        let (wanted, isLast) = (reader.wanted, reader.isDone)
        await pace.wait(after: count, isLast: isLast) {
            let mayEnd = lease.hasFailed || Task.isCancelled || lease.isBrokenOff(wanting: wanted)
            return mayEnd && !isLast && !lease.isWhole(wanting: wanted)
        }
        if isLast { return }
        if lease.isBrokenOff(wanting: wanted) {
            reader.isBroken = true
            throw HTTPError.bodyBrokenOff
        }
        if !lease.isWhole(wanting: wanted) { try Task.checkCancellation() }
    }

    /// The most bytes received at once of a body whose end only its framing tells: what comes behind it has to fit into
    /// what a connection holds of the next requests, with what the loop has read.
    private static let mostFramed = HTTP1Connection.readAhead - 4 * LeasedReceiveAllocator.size

    private static let leastBurst = 64 << 10

    /// Whether a sender is worth a thread that waits for it: one that brings ``leastBurst`` bytes, and 32 MiB a second.
    ///
    /// A few slower ones would have all threads wait, and everybody else wait for a thread.
    /// - Parameters:
    ///   - burst: bytes since it was this body's turn.
    ///   - milliseconds: since then; counted in steps of some milliseconds.
    /// - Returns: whether it is.
    private static func isFast(_ burst: Int, in milliseconds: Int64) -> Bool {
        let (slowest, isOver) = milliseconds.multipliedReportingOverflow(by: 32 << 10)
        return burst >= leastBurst && !isOver && Int64(burst) >= slowest
    }

    private func giveBack(_ scratch: inout ScratchBuffers.Scratch?) {
        if let taken = scratch.take() { engine.scratch.giveBack(taken) }
    }

    private func borrowSocket() async -> (SocketLease, IncomingBody)? {
        await withCheckedContinuation { continuation in
            loop.execute {
                continuation.resume(returning: self.isDetached ? nil : self.carrier?.lendSocket(to: self))
            }
        }
    }

    private func giveBack(_ lease: SocketLease, _ reader: LeasedBody) {
        onLoop { $0.takeBack(lease, from: self, reader) }
    }
}
