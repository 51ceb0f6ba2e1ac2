internal import DirectoryRoot
internal import ServerCore

extension Exchange {
    func report() async throws -> Response {
        throw DAVError(status: .forbidden, condition: .supportedReport)
    }
}
