extension Request {
    /// Sends an interim response, such as 104 with the address of an upload, before the final one.
    ///
    /// Does nothing if the client's protocol has none, or the final response has begun. RFC 9110 §15.2.
    /// - Parameters:
    ///   - status: 102 to 199.
    ///   - fields: the fields of the interim response.
    package func inform(_ status: Status, _ fields: ResponseFields) {
        storage.exchange?.inform(status, fields)
    }

    /// Declares that the work before the response begins is of use to its client only, and that a body that was not read
    /// is of none: the task is cancelled soon after the client has closed its connection.
    ///
    /// A client that has merely finished sending can't be distinguished from one that is gone until something is sent
    /// to it: so an interim response, 102, is sent once a second, which the system of a closed client answers with a
    /// reset. HTTP/1.0 has no interim responses: there it counts as gone after some seconds.
    /// - Parameter owingAnswer: whether the request has done already what the client wanted, and the rest only adds to
    ///   its response: a client of HTTP/1.0 that counts as gone is then sent the response without that, once the task
    ///   has noticed that it was cancelled.
    package func endWithClient(owingAnswer: Bool = false) {
        storage.exchange?.endWithClient(owingAnswer: owingAnswer)
    }

    /// Whether the client may have gone: its connection has ended, or it has closed its side after the request.
    ///
    /// Before an upload of such a client takes the place of something, which may be long after its last byte (the disk is
    /// slow, there is a rate limit, other copies come first), that must be what was there when it began: the client may
    /// have sent another content since, or deleted the file, and no answer has promised anything else. A client that
    /// waits for its answer may have closed its side as well: it loses nothing if the target is still the same.
    package var mayBeForsaken: Bool { Task.isCancelled || storage.exchange?.mayBeForsaken == true }
}

extension Exchange {
    func inform(_ status: Status, _ fields: ResponseFields) {
        onLoop { $0.inform(status, fields, of: self) }
    }
}
