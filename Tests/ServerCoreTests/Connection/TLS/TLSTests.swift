import Glibc
import ServerCore
import TestSupport
import Testing

/// With curl, as an independent client.
@Suite("TLS and HTTP/2", .timeLimit(.minutes(2))) struct TLSTests {
    private func secure(_ configuration: inout ServerConfiguration) {
        configuration.tls = TLSSettings(identity: .selfSigned(names: ["127.0.0.1"]))
    }

    private func curl(_ arguments: String) throws -> String {
        guard let pipe = popen("curl -sS --max-time 20 -k \(arguments) 2>&1", "r") else {
            throw Wire.Failure(call: "popen", number: errno)
        }
        defer { pclose(pipe) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, pipe)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer.prefix(count)
        }
    }

    @Test("both versions of HTTP serve reads, streams, errors and uploads", arguments: ["--http1.1", "--http2"])
    func versions(version: String) async throws {
        try await withServer(TestHandler(), configure: secure) { server in
            let base = "https://127.0.0.1:\(server.port)"
            let code = "-o /dev/null -w '%{http_code} %{http_version} %{size_download}'"
            let shown = version == "--http2" ? "2" : "1.1"
            #expect(try curl("\(version) \(base)/hello") == "hello\n")
            #expect(try curl("\(version) \(code) \(base)/stream") == "200 \(shown) 3890")
            #expect(try curl("\(version) \(code) -I \(base)/stream") == "200 \(shown) 0")
            #expect(try curl("\(version) \(code) \(base)/nowhere").hasPrefix("404 \(shown)"))
            #expect(try curl("\(version) \(code) \(base)/failing").hasPrefix("409 \(shown)"))
            #expect(try curl("\(version) \(base)/counted") == "0123456789")
            #expect(try curl("\(version) -d abc \(base)/echo") == "abc")
            #expect(try curl("\(version) \(code) -d abc \(base)/ignore").hasPrefix("200"))
            let short = try curl("\(version) \(base)/short")
            #expect(short.contains("curl: ("))

            var data = [UInt8](repeating: 0, count: 5_000_001)
            for index in data.indices { data[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index / 251) }
            try server.directory.write(data, to: "data")
            let copy = server.directory.path(of: "copy")
            _ = try curl("\(version) -o \(copy) \(base)/file")
            #expect(server.directory.read("copy") == data)
            _ = try curl("\(version) -o \(copy) \(base)/pieces")
            #expect(server.directory.read("copy")?.count == data.count + 2)
            #expect(
                try curl("\(version) \(code) -T \(server.directory.path(of: "data")) \(base)/store").hasPrefix("204"))
            #expect(server.directory.read("stored") == data)
            // The same file several times over one connection, from the cache.
            let many = String(repeating: "\(base)/data -o /dev/null ", count: 5)
            #expect(try curl("\(version) -w '%{size_download} ' \(many)") == String(repeating: "5000001 ", count: 5))
        }
    }

    @Test("plain HTTP on the port of TLS is no reason to stop") func plainOnTLS() async throws {
        try await withServer(TestHandler(), configure: secure) { server in
            let wire = try server.wire()
            try wire.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(!(try wire.readToEnd().contains("200 OK")))
            #expect(try curl("https://127.0.0.1:\(server.port)/hello") == "hello\n")
            let fingerprint = server.server.certificateFingerprint
            #expect(fingerprint?.utf8.count == 95)
            try server.server.reloadCertificate()
            #expect(server.server.certificateFingerprint == fingerprint)
        }
    }

    @Test("versions before TLS 1.2 are refused") func oldVersions() async throws {
        try await withServer(TestHandler(), configure: secure) { server in
            let base = "https://127.0.0.1:\(server.port)"
            let old = try curl("--tls-max 1.1 \(base)/hello")
            #expect(old.contains("curl: ("))
            for choice in ["--tls-max 1.2", "--tlsv1.3"] {
                let answer = try curl("\(choice) \(base)/hello")
                #expect(answer == "hello\n")
            }
        }
    }
}
