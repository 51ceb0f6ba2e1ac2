import Foundation
import ServerCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One connection to a server on this machine; one task at a time uses it.
final class Client: @unchecked Sendable {
    private let socket: Int32
    private var held: [UInt8] = []

    struct Failure: Error {
        var call: String
        var code: Int32
    }

    /// `Authorization` of the user of the example.
    static let anna = "Authorization: Basic " + Data("anna:secret".utf8).base64EncodedString()

    init(_ address: ListenAddress) throws {
        let isConnected: Bool
        switch address {
        case .internet(_, let port):
            socket = Self.stream(AF_INET)
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = in_port_t(UInt16(port).bigEndian)
            place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            isConnected = Self.connect(socket, &place)
        case .unix(let path):
            socket = Self.stream(AF_UNIX)
            var place = sockaddr_un()
            place.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
            isConnected = Self.connect(socket, &place)
        }
        guard isConnected else { throw Failure(call: "connect", code: errno) }
        var time = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func stream(_ family: Int32) -> Int32 {
        #if os(Linux)
            Glibc.socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            Darwin.socket(family, SOCK_STREAM, 0)
        #endif
    }

    private static func connect<Place>(_ socket: Int32, _ place: inout Place) -> Bool {
        withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connectSocket(socket, $0, socklen_t(MemoryLayout<Place>.size)) == 0
            }
        }
    }

    deinit { close(socket) }

    /// Sends a request, after which the server closes the connection.
    func send(_ method: String, _ target: String, _ lines: [String] = [], body: String = "") throws {
        var head = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + lines
        if !body.isEmpty { head.append("Content-Length: \(body.utf8.count)") }
        let bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        guard write(socket, bytes, bytes.count) == bytes.count else { throw Failure(call: "write", code: errno) }
    }

    /// What has come until this text came, or to the end.
    ///
    /// Waits on a thread of its own: the server may need those of the tasks to begin or end.
    func read(to text: String? = nil) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try self.receive(to: text) }) }
        }
    }

    private func receive(to text: String?) throws -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let found = String(decoding: held, as: UTF8.self)
            if let text, found.contains(text) { return found }
            let count = recv(socket, &buffer, buffer.count, 0)
            // What the server cuts off may end with a reset.
            guard count >= 0 || errno == ECONNRESET else { throw Failure(call: "recv", code: errno) }
            if count <= 0 { return found }
            held += buffer.prefix(count)
        }
    }

    /// The whole response to one request.
    static func ask(
        _ address: ListenAddress, _ method: String, _ target: String, _ lines: [String] = [], body: String = ""
    ) async throws -> String {
        let client = try Client(address)
        try client.send(method, target, lines, body: body)
        return try await client.read()
    }

    /// Whether nobody listens at an address.
    static func isClosed(_ address: ListenAddress) -> Bool {
        do {
            _ = try Client(address)
            return false
        } catch {
            return true
        }
    }
}

private func connectSocket(_ socket: Int32, _ place: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    connect(socket, place, size)
}
