"""Random and extreme values in every field that the page's interface reads: the server answers, and stays."""

import random
import socket

import pytest

NUMBERS = ["0", "1", "-1", "+5", "00", "1e3", "9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 400, "", " ", "x", "0x10", "?1", "?0"]
TEXTS = ["", "*", "a" * 5000, "%", "%zz", "%00", "%2F", "..", "../..", "\xff\xfe", "\"", "'", "<script>", "a;b=c", ",,,", "=", "é", "sha-256=:x:", "final;/x", "final;", "partial", "bytes=0-9223372036854775807", "bytes=9223372036854775807-", "bytes=-9223372036854775807"]
FIELDS = ["Upload-Length", "Upload-Offset", "Upload-Defer-Length", "Upload-Metadata", "Upload-Concat", "Upload-Checksum", "Upload-Complete", "Upload-Incomplete", "Upload-Draft-Interop-Version", "Repr-Digest", "Want-Repr-Digest", "Content-Disposition", "X-OC-Mtime", "X-HTTP-Method-Override", "Range", "If-Range", "If-Match", "If-None-Match", "Accept", "Accept-Encoding", "Accept-Language", "Content-Type"]
PLACES = ["/", "/a", "/sub/", "/.shareserve/uploads", "/.shareserve/uploads/" + "0" * 32, "/.shareserve/search", "/.shareserve/trash", "/.shareserve/trash/restore", "/.shareserve/links", "/.shareserve/info", "/.shareserve/assets/x/app.js", "/.shareserve/", "/.shareserve"]
QUERIES = ["archive", "json", "html", "q", "in", "name", "id", "path", "download"]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
TYPES = ["application/json", "application/offset+octet-stream", "application/partial-upload", "multipart/form-data; boundary=x", "multipart/form-data", "application/x-www-form-urlencoded"]
BODIES = [b"", b"x", b"{}", b'{"paths":[1]}', b'{"ids":["x"],"conflict":3}', b'{"path":"/","expires":1e999}', b'{"paths":["\\u0000"]}', b'{"hrefs":["//evil","%","/%2e%2e/"]}', b"--x\r\n\r\n--x--\r\n", b"--x\r\nContent-Disposition: form-data; name=files; filename=\"\xff/../x\"\r\n\r\nx\r\n--x--", b"--x", b"\x00" * 1000]


def value(dice):
    return dice.choice(dice.choice([NUMBERS, TEXTS, TYPES]))


@pytest.mark.parametrize("seed", range(8))
def test_random_requests(server, seed):
    dice = random.Random(seed)
    (server.root / "a").write_text("a")
    (server.root / "sub").mkdir()
    statuses = set()
    for _ in range(150):
        target = dice.choice(PLACES)
        if dice.random() < 0.5:
            pairs = [f"{dice.choice(QUERIES)}={dice.choice(['zip', 'tar', 'tar.gz', 'a', '%2e%2e', '/..', '', '%00', '%ff', '%zz'])}" for _ in range(dice.randrange(1, 4))]
            target += "?" + "&".join(pairs)
        body = dice.choice(BODIES)
        lines = [f"{dice.choice(METHODS)} {target} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}"]
        if dice.random() < 0.7:
            lines.append("Tus-Resumable: 1.0.0")
        if dice.random() < 0.6:
            lines.append("Content-Type: " + dice.choice(TYPES))
        for name in dice.sample(FIELDS, dice.randrange(0, 7)):
            lines.append(f"{name}: {value(dice)}")
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
            wire.sendall("\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body)
            answer = b""
            while chunk := wire.recv(65536):
                answer += chunk
        assert server.alive(), lines
        status = int(answer.split(b" ", 2)[1])
        statuses.add(status)
        assert status != 500, (lines, body, answer[-300:])
    assert len(statuses) > 3
