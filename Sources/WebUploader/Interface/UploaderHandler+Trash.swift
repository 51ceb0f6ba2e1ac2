import DirectoryRoot
import ServerCore

/// Deletions from the page: what it deletes is kept in the trash for a while, and can be restored.
extension UploaderHandler {
    func trash(_ request: Request, at place: ReservedPlace) -> Answer {
        if place.components.count == 2, place.components[1] == "restore" {
            return allow([.post], request) { .later { [self] in try await restore($0) } }
        }
        guard place.components.count == 1 else { return .now(Response(HTTPError(RootError.notFound))) }
        return allow([.get, .head, .post, .delete], request) {
            switch request.method {
            case .post: .later { [self] in try await discard($0) }
            case .delete: .later { [self] in try await purge($0) }
            default: .later { [self] in try await trashListing($0) }
            }
        }
    }

    /// The result for one of many places.
    private enum Outcome {
        case item(TrashItem?, SharePath)
        case failure(String, RootError)
    }

    private func discard(_ request: Request) async throws -> Response {
        let (named, slot) = try await request.document(NamedPlaces.self, in: batches)
        defer { withExtendedLifetime(slot) {} }
        let time = named.time
        var outcomes: [Outcome] = []
        for (number, place) in try named.places().enumerated() {
            if number % Self.turn == Self.turn - 1 { try await request.io.giveWay() }
            let said = place.said
            guard let path = place.path(of: request) else {
                outcomes.append(.failure(said, .invalidName))
                continue
            }
            do {
                let io = request.io(for: path)
                try io.requireAnswering()
                let item = try await io.run { try request.share.moveToTrash(path, for: time) }
                // Nobody has been asked whether it may be deleted for good.
                guard let item else { throw RootError.otherDisk }
                outcomes.append(.item(item, path))
            } catch let error as RootError {
                outcomes.append(.failure(said, error))
            } catch is HTTPError {
                // Too much work is waiting, or the disk does not respond; what was deleted already is reported all the
                // same.
                outcomes.append(.failure(said, .tooMany))
            }
        }
        return .json(document(of: outcomes, for: request))
    }

    /// How many places are processed before others have their turn.
    private static let turn = 16

    private struct Restoring: Decodable {
        var ids: [String]
        var conflict: String?
    }

    private func restore(_ request: Request) async throws -> Response {
        let (wanted, slot) = try await request.document(Restoring.self, in: batches)
        defer { withExtendedLifetime(slot) {} }
        let rules: [String: TrashConflict] = ["keep": .keepBoth, "replace": .replace, "fail": .fail]
        guard let rule = rules[TameText.text((wanted.conflict ?? "fail").utf8)], wanted.ids.count <= 100_000 else {
            throw HTTPError(.badRequest, "“conflict” is one of replace, keep and fail.")
        }
        var outcomes: [Outcome] = []
        for (number, id) in wanted.ids.enumerated() {
            if number % Self.turn == Self.turn - 1 { try await request.io.giveWay() }
            do {
                let path = try await request.io.run { try request.share.restore(id, onConflict: rule) }
                outcomes.append(.item(nil, path))
            } catch let error as RootError {
                outcomes.append(.failure(id, error))
            }
        }
        return .json(document(of: outcomes, for: request))
    }

    private func purge(_ request: Request) async throws -> Response {
        let id = request.queryValue("id")
        try await request.io.walk {
            if let id { try request.share.deleteFromTrash(id) } else { try request.share.emptyTrash() }
        }
        return Response(.noContent)
    }

    private func trashListing(_ request: Request) async throws -> Response {
        let items = try await request.io.run { try request.share.trashItems() }
        var writer = TextWriter()
        writer.raw(#"{"items":["#)
        for (index, item) in items.enumerated() {
            writer.raw(index > 0 ? ",\n" : "\n")
            writer.json(item)
        }
        writer.raw("\n]}\n")
        return .json(writer.take())
    }

    private func document(of outcomes: [Outcome], for request: Request) -> [UInt8] {
        request.log(
            failureAmong: outcomes.lazy.compactMap { if case .failure(_, let error) = $0 { error } else { nil } })
        var writer = TextWriter()
        writer.raw(#"{"items":["#)
        var count = 0
        for case .item(let item, let path) in outcomes {
            writer.raw(count > 0 ? ",\n" : "\n")
            count += 1
            if let item {
                writer.json(item)
            } else {
                writer.raw(#"{"id":null,"path":"#)
                writer.json([UInt8(ascii: "/")] + path.bytes)
                writer.raw("}")
            }
        }
        writer.raw("\n],\"failures\":[")
        count = 0
        for case .failure(let said, let error) in outcomes {
            writer.raw(count > 0 ? ",\n" : "\n")
            count += 1
            // A path when it was to be deleted, an id when it was to be restored.
            writer.raw(#"{"path":"#)
            writer.json(said)
            writer.raw(#","message":"#)
            writer.json(HTTPError(error).message)
            writer.raw("}")
        }
        writer.raw("\n]}\n")
        return writer.take()
    }
}

extension TextWriter {
    /// Writes an item in the trash.
    mutating func json(_ item: TrashItem) {
        raw(#"{"id":"#)
        json(item.id)
        raw(#","path":"#)
        json([UInt8(ascii: "/")] + item.path.bytes)
        raw(item.isDirectory ? #","type":"directory""# : #","type":"file","size":"#)
        if !item.isDirectory { integer(item.size) }
        raw(#","deleted":"#)
        integer(item.deleted.milliseconds)
        raw(#","expires":"#)
        integer(item.expires.milliseconds)
        if let user = item.user {
            raw(#","user":"#)
            json(user)
        }
        raw("}")
    }
}
