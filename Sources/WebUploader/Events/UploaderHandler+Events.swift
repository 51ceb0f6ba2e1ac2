import DirectoryRoot
import ServerCore

extension UploaderHandler {
    private static let keepAliveInterval: Duration = .seconds(15)
    private static let uploadsInterval: Duration = .seconds(2)
    /// After this time the client has to ask again, so that nothing is kept open for one that vanished long ago.
    private static let longest: Duration = .seconds(15 * 60)
    /// The most events that may wait for a slow client; more are merged into one that tells it to read the folder
    /// again.
    private static let waitingEvents = 32

    /// `?in=/a/`: server-sent events about changes in a folder, and about the uploads in progress below it.
    ///
    /// `&since=` is the version in the folder's page: if it is another one by now, the first event tells the client to
    /// read the folder again, so that nothing is missed between reading and listening.
    ///
    /// The events end with the session or the share link that they began with: nothing is sent after that. They also
    /// end when another folder is at the address, or none.
    func events(_ request: Request) async throws -> Response {
        let folder = try folder(in: request)
        let share = request.share
        let io = request.io(for: folder)
        try io.requireAnswering()
        let queue = EventQueue(most: Self.waitingEvents)
        let continuation = queue.continuation
        guard eventStreams.add(continuation, from: request.network) else { throw RootError.tooMany }
        let changes: AsyncStream<FolderChange>
        let told: WatchedFolder
        do {
            (changes, told) = try await io.run {
                (try share.changes(in: folder), try WatchedFolder(path: folder, share: share))
            }
        } catch {
            continuation.finish()
            throw error
        }
        let fields: ResponseFields = [
            "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
        ]
        if request.method == .head {
            continuation.finish()
            // Without a length, as for the stream itself.
            return Response(.ok, fields: fields, body: .stream(length: nil) { _ in })
        }
        if let version = request.queryValue("since"), !version.isEmpty, version != told.version {
            queue.tell(.all)
        }
        return Response(
            .ok, fields: fields,
            body: .stream(length: nil) { [uploadsBoard] writer in
                defer { continuation.finish() }
                try await writer.write(Array("retry: 3000\n\n".utf8))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for await change in changes { queue.tell(change) } }
                    group.addTask {
                        try await Self.watchUploads(below: told, for: request, io: io, uploadsBoard, queue)
                    }
                    group.addTask { try await Self.send(queue, about: told, for: request, io: io, to: writer) }
                    group.addTask { try await request.pause(for: Self.longest) }
                    defer { group.cancelAll() }
                    // The first to end is the writer whose client has disconnected, the folder's changes, or the timer.
                    try await group.next()
                }
            })
    }

    /// Sends each event, as long as the folder exists and the requester may know about it.
    private static func send(
        _ queue: EventQueue, about folder: WatchedFolder, for request: Request, io: IOPool, to writer: BodyWriter
    ) async throws {
        for await event in queue.events {
            let (isAdmitted, isThere) = try await io.run { (request.isStillAdmitted(), folder.isThere) }
            guard isAdmitted else { return }
            var text = TextWriter()
            text.event(isThere ? event : .changed(.all))
            if queue.takeMissed() { text.event(.changed(.all)) }
            try await writer.write(text.take())
            guard isThere else { return }
        }
    }

    private static func watchUploads(
        below folder: WatchedFolder, for request: Request, io: IOPool, _ board: UploadsBoard, _ queue: EventQueue
    ) async throws {
        var last = Array("[]".utf8)
        var quiet = Duration.zero
        while !Task.isCancelled {
            let found = try await io.run { () -> (list: [UInt8], isThere: Bool)? in
                guard request.isStillAdmitted() else { return nil }
                var text = TextWriter()
                text.json(try board.uploads(below: folder.path, for: request.share))
                return (text.take(), folder.isThere)
            }
            guard let (list, isThere) = found else { return }
            if !isThere {
                // Whoever writes that also finds out, and ends.
                queue.add(.keepAlive)
            } else if list != last {
                // What does not fit now is sent next time, if it is still true.
                if queue.add(.uploads(list)) { last = list }
                quiet = .zero
            } else if quiet >= keepAliveInterval {
                queue.add(.keepAlive)
                quiet = .zero
            }
            try await request.pause(for: uploadsInterval)
            quiet += uploadsInterval
        }
    }
}

/// The folder that a stream reports on, as long as it is at its address: with a folder above it, it may be moved to
/// where its names are not for this requester.
private struct WatchedFolder: Sendable {
    let path: SharePath
    /// Its version at the time when listening to its changes began.
    let version: String
    private let share: Share
    private let identity: DirectoryIdentity

    init(path: SharePath, share: Share) throws(RootError) {
        self.path = path
        self.share = share
        let attributes = try share.attributes(of: path)
        identity = DirectoryIdentity(attributes)
        version = attributes.folderVersion
    }

    /// Whether it is still there, as far as can be determined now.
    var isThere: Bool {
        do throws(RootError) {
            return try share.existing(path).map(DirectoryIdentity.init) == identity
        } catch {
            return error != .forbidden
        }
    }
}
