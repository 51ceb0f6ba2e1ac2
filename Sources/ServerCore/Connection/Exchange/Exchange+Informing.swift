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

    /// Declares that the work before the response begins is of use to its client only: the task is cancelled soon after
    /// the client has closed its connection.
    ///
    /// A client that has merely finished sending can't be distinguished from one that is gone until something is sent
    /// to it: so an interim response, 102, is sent once a second, which the system of a closed client answers with a
    /// reset. In HTTP/1.0, which has no interim responses, this shows only when the response begins.
    package func endWithClient() {
        storage.exchange?.endWithClient()
    }

    /// The digest of a whole file that the client would like to have, and whose making ends with the client.
    ///
    /// RFC 9530 §4. Nil in HTTP/1.0, where a client that is gone would not be noticed: a wish need not be fulfilled.
    package var wantedDigest: DigestAlgorithm? {
        guard storage.head.minorVersion == 1 else { return nil }
        return fields["want-repr-digest"].flatMap(ReprDigest.wanted)
    }
}

extension Exchange {
    func inform(_ status: Status, _ fields: ResponseFields) {
        onLoop { $0.inform(status, fields, of: self) }
    }
}
