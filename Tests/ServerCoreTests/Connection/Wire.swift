import Glibc
import NIOCore

/// A client that sends exactly the bytes that it is given, and waits for responses with a time limit.
final class Wire {
    private let socket: Int32

    struct Failure: Error {
        var call: String
        var number: Int32
    }

    init(port: Int) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(call: "socket", number: errno) }
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        let result = address.withSockAddr { connect(socket, $0, socklen_t($1)) }
        guard result == 0 else { throw Failure(call: "connect", number: errno) }
        waitAtMost(seconds: 30)
    }

    deinit { Glibc.close(socket) }

    func waitAtMost(seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                Glibc.send(socket, all.baseAddress.map { $0 + done }, all.count - done, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(call: "send", number: errno) }
            done += count
        }
    }

    func endOutput() { shutdown(socket, Int32(SHUT_WR)) }

    /// Resets the connection instead of ending it.
    func reset() {
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        shutdown(socket, Int32(SHUT_RDWR))
    }

    private var held: [UInt8] = []

    /// Some bytes; empty at the end of the stream.
    private func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failure(call: "recv", number: errno) }
        return Array(buffer.prefix(count))
    }

    /// Everything up to the end of the connection.
    func readToEnd() throws -> String {
        while true {
            let more: [UInt8]
            do { more = try receive() } catch let error as Failure where error.number == ECONNRESET { break }
            if more.isEmpty { break }
            held += more
        }
        defer { held = [] }
        return String(decoding: held, as: UTF8.self)
    }

    struct Answer {
        var status: Int
        var fields: [String: String]
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private func fill() throws {
        let more = try receive()
        guard !more.isEmpty else { throw Failure(call: "end of stream", number: 0) }
        held += more
    }

    private func line() throws -> String {
        while true {
            if let end = held.firstIndex(of: 10) {
                let line = String(decoding: held[..<end].dropLast(), as: UTF8.self)
                held.removeFirst(end + 1)
                return line
            }
            try fill()
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while held.count < count { try fill() }
        defer { held.removeFirst(count) }
        return Array(held.prefix(count))
    }

    /// One whole response.
    func answer(toHead: Bool = false) throws -> Answer {
        let status = try line().split(separator: " ")
        var answer = Answer(status: status.count > 1 ? Int(status[1]) ?? 0 : 0, fields: [:], body: [])
        while true {
            let text = try line()
            if text.isEmpty { break }
            let parts = text.split(separator: ":", maxSplits: 1)
            answer.fields[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        if toHead || answer.status < 200 || answer.status == 204 || answer.status == 304 { return answer }
        if let length = answer.fields["content-length"].flatMap({ Int($0) }) {
            answer.body = try take(length)
        } else if answer.fields["transfer-encoding"] == "chunked" {
            while true {
                let size = Int(try line(), radix: 16) ?? 0
                if size == 0 { break }
                answer.body += try take(size)
                _ = try line()
            }
            _ = try line()
        } else {
            answer.body = Array(try readToEnd().utf8)
        }
        return answer
    }

    /// Sends a request and reads its response.
    func ask(_ request: String) throws -> Answer {
        try send(request)
        return try answer(toHead: request.hasPrefix("HEAD "))
    }
}
