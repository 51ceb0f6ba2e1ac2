internal import ServerCore

/// Whether COPY and MOVE may replace what is at the destination.
///
/// RFC 4918 §10.6.
struct Overwrite: Hashable, Sendable {
    let isAllowed: Bool

    /// Reads `T` or `F`; a missing field means `T`.
    /// - Throws: 400 for anything else.
    init(header: String?) throws(HTTPError) {
        switch header?.trimmingBlanks {
        case nil, "T", "t": isAllowed = true
        case "F", "f": isAllowed = false
        default: throw HTTPError(.badRequest, "The Overwrite field must be T or F.")
        }
    }
}
