internal import DirectoryRoot
internal import ServerCore

/// An `If` field with everything looked up but the target's own entity tag, which can still change before the commit.
///
/// RFC 4918 §10.4.3, §10.4.4.
struct IfState: Sendable {
    private enum Term: Sendable {
        case settled(Bool)
        /// Holds when the target's entity tag is this one.
        case targetHas(tag: String, isNegated: Bool)
    }

    private let lists: [[Term]]

    static let always = IfState(lists: [[.settled(true)]])

    private init(lists: [[Term]]) { self.lists = lists }

    /// Looks up each resource that is named, once.
    ///
    /// Waits for the disk.
    init(_ header: IfHeader, of exchange: Exchange) throws {
        var looked: [SharePath: (tag: String?, locks: [ActiveLock])] = [:]
        var lists: [[Term]] = []
        for list in header.lists {
            let path = try Self.path(of: list, exchange)
            if let path, looked[path] == nil { looked[path] = try Self.look(at: path, exchange) }
            let known = path.flatMap { looked[$0] }
            lists.append(
                list.conditions.map { condition in
                    switch condition.subject {
                    case .state(let token):
                        let holds = known?.locks.contains { $0.token == token } == true
                        return .settled(holds != condition.isNegated)
                    case .entityTag(let tag) where path == exchange.path:
                        return .targetHas(tag: tag, isNegated: condition.isNegated)
                    case .entityTag(let tag):
                        return .settled((known?.tag == tag) != condition.isNegated)
                    }
                })
        }
        self.lists = lists
    }

    /// The entity tag and the locks of a resource; none of one that this requester may not see.
    private static func look(
        at path: SharePath, _ exchange: Exchange
    ) throws(RootError) -> (tag: String?, locks: [ActiveLock]) {
        do {
            let attributes = try exchange.existing(path)
            let tag = attributes.flatMap { $0.isDirectory ? nil : $0.entityTag.text }
            return (tag, try exchange.share.locks(covering: path))
        } catch {
            switch error {
            case .notFound, .forbidden, .invalidName: return (nil, [])
            default: throw error
            }
        }
    }

    /// The resource that a list is about; nil for one that is not on this server, whose conditions are all false.
    private static func path(of list: IfHeader.List, _ exchange: Exchange) throws -> SharePath? {
        guard let resource = list.resource else { return exchange.path }
        do {
            return try exchange.request.resolve(reference: resource).path
        } catch {
            // Well-formed, but elsewhere: nothing there has our tokens or tags.
            return nil
        }
    }

    /// Whether any list holds, when the target is as said: nil when nothing is there.
    func holds(for target: FileAttributes?) -> Bool {
        let tag = target.flatMap { $0.isDirectory ? nil : $0.entityTag.text }
        return lists.contains { terms in
            terms.allSatisfy { term in
                switch term {
                case .settled(let holds): holds
                case .targetHas(let wanted, let isNegated): (tag == wanted) != isNegated
                }
            }
        }
    }
}
