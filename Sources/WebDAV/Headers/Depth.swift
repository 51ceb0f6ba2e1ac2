internal import ServerCore

/// How far below the target a method reaches.
///
/// RFC 4918 §10.2.
struct Depth: Hashable, Sendable {
    enum Reach: Hashable, Sendable {
        case zero
        case one
        case infinity
    }

    var reach: Reach
    /// `1,noroot` of Microsoft's clients: the members without the target itself.
    var leavesOutTarget: Bool

    static let zero = Depth(reach: .zero)
    static let one = Depth(reach: .one)
    static let infinity = Depth(reach: .infinity)

    init(reach: Reach, leavesOutTarget: Bool = false) {
        self.reach = reach
        self.leavesOutTarget = leavesOutTarget
    }

    /// Reads `0`, `1` or `infinity`, the latter two perhaps with `,noroot`.
    /// - Throws: 400 for anything else.
    init(header: String) throws(HTTPError) {
        // Nearly every request has one of these; to parse it would cost more than to answer.
        switch header {
        case "0": self = .zero
        case "1": self = .one
        case "infinity": self = .infinity
        default: try self.init(parts: header)
        }
    }

    private init(parts header: String) throws(HTTPError) {
        let parts = header.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingBlanks.lowercased()
        }
        guard let first = parts.first, parts.count <= 2, parts.count == 1 || parts[1] == "noroot" else {
            throw HTTPError(.badRequest, "The Depth field must be 0, 1 or infinity.")
        }
        leavesOutTarget = parts.count == 2
        switch first {
        case "0" where !leavesOutTarget: reach = .zero
        case "1": reach = .one
        case "infinity": reach = .infinity
        default: throw HTTPError(.badRequest, "The Depth field must be 0, 1 or infinity.")
        }
    }

    /// The request's depth, or `fallback` where the field is missing.
    /// - Throws: 400 when it is malformed.
    init(of request: Request, missing fallback: Depth) throws(HTTPError) {
        guard let header = request.fields["depth"] else {
            self = fallback
            return
        }
        try self.init(header: header)
    }
}
