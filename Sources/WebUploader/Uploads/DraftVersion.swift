import ServerCore

/// One interoperability version of "Resumable Uploads for HTTP", as named by a client.
///
/// Version 3 is draft -01, 4 is -02, 5 is -03, 6 is -04 and -05, 7 and 8 are the later ones. The versions differ in the
/// name of one field, in the name of one limit, and in the status of an append that does not complete the upload.
struct DraftVersion: Equatable, Sendable {
    let number: Int64

    /// The supported versions.
    static let known: ClosedRange<Int64> = 3...8

    /// A version by its number.
    init(_ number: Int64) { self.number = number }

    /// The version of a request; nil when it does not name a supported one, and so must not get a 104.
    init?(_ fields: RequestFields) {
        guard let number = StructuredField.integer(fields["upload-draft-interop-version"]),
            Self.known.contains(number)
        else { return nil }
        self.number = number
    }

    /// The version for a request that names none: the latest, or the one that the field's old name implies.
    static func assumed(_ fields: RequestFields) -> DraftVersion {
        if let said = DraftVersion(fields) { return said }
        return DraftVersion(fields["upload-incomplete"] != nil ? 3 : 8)
    }

    /// Whether the request uses this protocol at all.
    static func isSpoken(in fields: RequestFields) -> Bool {
        fields.tellsCompleteness || fields["upload-draft-interop-version"] != nil
    }

    /// Whether the request's content completes the upload.
    func completes(_ fields: RequestFields) -> Bool {
        if number < 4 { return StructuredField.boolean(fields["upload-incomplete"]) != true }
        return StructuredField.boolean(fields["upload-complete"]) == true
    }

    /// Whether the request has any field that only appends and creations have.
    func hasTransferFields(_ fields: RequestFields) -> Bool {
        fields["upload-offset"] != nil || fields["upload-complete"] != nil || fields["upload-incomplete"] != nil
    }

    /// Adds whether the upload is complete, in the version's field.
    func addCompleteness(_ isComplete: Bool, to fields: inout ResponseFields) {
        if number < 4 {
            fields["Upload-Incomplete"] = isComplete ? "?0" : "?1"
        } else {
            fields["Upload-Complete"] = isComplete ? "?1" : "?0"
        }
    }

    /// Whether a refusal also reports the upload's state, and a part that does not complete it is reported as
    /// incomplete: in the drafts up to -05.
    var marksRefusals: Bool { number < 7 }

    /// The status of an append that leaves the upload incomplete.
    var appended: Status { number < 7 ? .created : .noContent }

    /// The value of `Upload-Limit`.
    /// - Parameters:
    ///   - maxSize: the most bytes of one upload; nil for no limit.
    ///   - secondsLeft: the time until the upload is dropped; nil before there is one.
    /// - Returns: a dictionary, never empty.
    func limits(maxSize: Int64?, secondsLeft: Int64?) -> String {
        var members: [String] = []
        if let maxSize { members.append("max-size=\(maxSize)") }
        if let secondsLeft { members.append((number < 7 ? "expires=" : "max-age=") + String(max(0, secondsLeft))) }
        return members.isEmpty ? "min-size=0" : members.joined(separator: ", ")
    }
}
