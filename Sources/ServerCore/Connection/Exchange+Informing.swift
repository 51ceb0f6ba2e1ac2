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

extension HTTP1Connection {
    func inform(_ status: Status, _ fields: ResponseFields, of exchange: Exchange) {
        guard exchange === self.exchange, phase == .exchange, !isAnswering, head.minorVersion == 1 else { return }
        let out = room.out
        if out.room < 8 * 1_024 { flush(more: true) }
        out.append("HTTP/1.1 ")
        out.append(decimal: Int64(status.code))
        out.append(byte: 0x20)
        out.append(status.reason)
        out.append("\r\n")
        for line in fields.lines where line.name.utf8.count + line.value.utf8.count + 1_024 < out.room {
            out.append(line.name)
            out.append(": ")
            out.append(line.value)
            out.append("\r\n")
        }
        out.append("\r\n")
        flush(more: false)
    }
}
