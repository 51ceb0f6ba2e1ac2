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

    /// Says that what is done before the answer begins is of use to its client alone: the task is cancelled soon after
    /// that has closed its connection.
    ///
    /// Who has only sent all that it will send looks like one that has gone until something is sent to it: to an
    /// interim response, 102, one a second, the other's system answers with a reset. In HTTP/1.0, which has none, it
    /// shows when the answer begins.
    package func endWithClient() {
        storage.exchange?.endWithClient()
    }
}

extension Exchange {
    func inform(_ status: Status, _ fields: ResponseFields) {
        onLoop { $0.inform(status, fields, of: self) }
    }
}
