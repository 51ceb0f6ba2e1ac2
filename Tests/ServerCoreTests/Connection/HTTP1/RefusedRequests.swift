/// Requests that two servers might understand differently, or that are not valid at all.
///
/// RFC 9112; each must be refused and its connection closed.
enum RefusedRequests {
    static let all: [String] =
        requestLines.map { $0 + "\r\nHost: a\r\n\r\n" } + fields.map { "GET /hello HTTP/1.1\r\n" + $0 + "\r\n\r\n" }
        + bodies.map { "POST /echo HTTP/1.1\r\nHost: a\r\n" + $0 }
        + chunks.map { "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + $0 } + whole

    private static let requestLines = [
        "GET /hello", "GET", "", " GET /hello HTTP/1.1", "GET  /hello HTTP/1.1", "GET /hello  HTTP/1.1",
        "GET /hello HTTP/1.1 ", "GET\t/hello HTTP/1.1", "GET /hello HTTP/1.1x", "GET /hello http/1.1",
        "GET /hello HTTP/11", "GET /hello HTTP/1.", "GET /hello HTTP/-1.1", "GET /hello HTTP/3.0",
        "G(T /hello HTTP/1.1", "GET hello HTTP/1.1", "GET * HTTP/1.1", "CONNECT a:80 HTTP/1.1", "GET a:80 HTTP/1.1",
        "GET /a b HTTP/1.1", "GET /a\u{0}b HTTP/1.1", "GET /a\u{7F} HTTP/1.1", "GET /a#b HTTP/1.1",
        "GET ftp://a/hello HTTP/1.1", "GET http:///hello HTTP/1.1", "GET http://u@a/hello HTTP/1.1",
        "GET http://a:99999/hello HTTP/1.1", "GET http://a:x/hello HTTP/1.1", "\u{16}\u{3}\u{1}", "\u{0}",
    ].filter { !$0.isEmpty }

    private static let fields = [
        "X: y", "Host: a\r\nHost: a", "Host: a\r\nHost: b", "Host:", "Host: ", "Host: a b", "Host: a/b", "Host: a@b",
        "Host: a,b", "Host: a:b", "Host: a:80:80", "Host: [::1", "Host: []", "Host: a:99999", "Host : a", "Host\t: a",
        "Host: a\r\n X: y", "Host: a\r\n\tfolded", "Host: a\r\nX", "Host: a\r\n: y", "Host: a\r\nX Y: z",
        "Host: a\r\nX: \u{0}", "Host: a\r\nX: a\u{1}b", "Host: a\r\nX: a\u{7F}b", "Host: a\r\nX: a\u{B}b",
        "Host: a\nX: y",
        "Host: a\r\nX: a\rb", "Host: a\r\nX\u{E4}: y", "Host: a\r\n\"X\": y", "Host: a\r\nX[]: y",
    ]

    private static let bodies = [
        "Content-Length: +5\r\n\r\nabcde", "Content-Length: -5\r\n\r\nabcde", "Content-Length: 5,5\r\n\r\nabcde",
        "Content-Length: 5 5\r\n\r\nabcde", "Content-Length:\r\n\r\n", "Content-Length: 0x5\r\n\r\nabcde",
        "Content-Length: 5;\r\n\r\nabcde", "Content-Length: 5.0\r\n\r\nabcde", "Content-Length: 5e0\r\n\r\nabcde",
        "Content-Length: 18446744073709551621\r\n\r\nabcde", "Content-Length: 9223372036854775808\r\n\r\nabcde",
        "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde", "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "Transfer-Encoding: gzip\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n", "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding:\r\n\r\n",
        "Transfer-Encoding: \"chunked\"\r\n\r\n",
        "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", "Transfer-Encoding\u{B}: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n",
    ]

    private static let chunks = [
        "\r\n\r\n", "g\r\n", "-1\r\n", "+1\r\na\r\n0\r\n\r\n", "0x1\r\na\r\n0\r\n\r\n", " 1\r\na\r\n0\r\n\r\n",
        "1 \r\na\r\n0\r\n\r\n", "1\na\n0\n\n", "1\r\na\n0\r\n\r\n", "1\r\nab\r\n0\r\n\r\n", "1;\r\na\r\n0\r\n\r\n",
        "1;a \r\na\r\n0\r\n\r\n", "1;a=\r\na\r\n0\r\n\r\n", "1;a=\"b\r\na\r\n0\r\n\r\n", "1;a\nb\r\na\r\n0\r\n\r\n",
        "1;a=\"b\n\"\r\na\r\n0\r\n\r\n", "1;=b\r\na\r\n0\r\n\r\n", "1;;\r\na\r\n0\r\n\r\n", "10000000000000000\r\n",
        "ffffffffffffffff\r\n", "8000000000000000\r\n", "0000000000000000000001\r\na\r\n0\r\n\r\n",
        "1;\(String(repeating: "a", count: 5_000))\r\na\r\n0\r\n\r\n", "0\r\nX\r\n\r\n", "0\r\n X: y\r\n\r\n",
        "0\r\nX : y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\nX: \u{0}\r\n\r\n", "0\n\r\n", "1\r\na\r\n0\r\n\n",
        "0\r\nX: \(String(repeating: "a", count: 40_000))\r\n\r\n",
    ]

    private static let whole = [
        "GET /hello HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /hello HTTP/1.0\r\nHost: a b\r\n\r\n", "GET /hello\r\n",
        String(repeating: "\r\n", count: 9) + "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        "\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n", "GET /hello HTTP/1.1\nHost: a\n\n",
        "GET /hello HTTP/1.1\rHost: a\r\r",
    ]
}
