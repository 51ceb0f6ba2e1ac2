/// A refusal with a status and a line for a person; thrown by a handler, it becomes the answer.
public struct HTTPError: Error, Sendable {
    public var status: Status
    /// Says what to do; sent as plain text.
    public var message: String
    public var fields: ResponseFields

    public init(_ status: Status, _ message: String, fields: ResponseFields = [:]) {
        self.status = status
        self.message = message
        self.fields = fields
    }
}
