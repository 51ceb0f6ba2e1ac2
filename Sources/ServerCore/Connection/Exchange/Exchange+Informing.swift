extension Request {
    /// Sends an interim response, such as 104 with the address of an upload, before the real one.
    ///
    /// Does nothing where the client's protocol has none, or the answer has begun. RFC 9110 §15.2.
    /// - Parameters:
    ///   - status: 102 to 199.
    ///   - fields: what to say.
    package func inform(_ status: Status, _ fields: ResponseFields) {
        storage.exchange?.inform(status, fields)
    }
}

extension Exchange {
    func inform(_ status: Status, _ fields: ResponseFields) {
        onLoop { $0.inform(status, fields, of: self) }
    }
}
