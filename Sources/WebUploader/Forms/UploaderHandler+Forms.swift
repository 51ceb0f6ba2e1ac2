import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// POST at any address.
    func post(_ request: Request) -> Answer {
        .pass
    }
}
