import ServerCore

/// The draft's problem types, as JSON.
///
/// RFC 9457.
enum UploadProblem {
    /// The request's offset is not that of the upload.
    case mismatchingOffset(expected: Int64, provided: Int64)
    /// The upload is already complete.
    case completed
    /// The announced lengths contradict each other.
    case inconsistentLength

    /// The response.
    func response() -> Response {
        var writer = TextWriter()
        writer.raw(#"{"type":"https://iana.org/assignments/http-problem-types#"#)
        var status = Status.badRequest
        switch self {
        case .mismatchingOffset(let expected, let provided):
            status = .conflict
            writer.raw(#"mismatching-upload-offset","title":"offset from request does not match offset of resource""#)
            writer.raw(#","expected-offset":"#)
            writer.integer(expected)
            writer.raw(#","provided-offset":"#)
            writer.integer(provided)
        case .completed:
            writer.raw(#"completed-upload","title":"upload is already completed""#)
        case .inconsistentLength:
            writer.raw(#"inconsistent-upload-length","title":"inconsistent length values for upload""#)
        }
        writer.raw("}\n")
        return Response(
            status, fields: ["Content-Type": "application/problem+json", "Cache-Control": "no-store"],
            body: .bytes(writer.take()))
    }
}
