"""HTTP/1.x messages: framing, connections, and the refusal of whatever is ambiguous. RFC 9112."""

import os
import re
import socket
import time

import pytest

from server import wait_until
from wire import ConnectionClosed, Wire, ask


@pytest.fixture
def wire(server):
    (server.root / "a.txt").write_text("hello")
    with Wire(server) as connection:
        yield connection


def test_keep_alive(wire):
    for _ in range(3):
        assert wire.ask("GET", "/a.txt").body == b"hello"


def test_connection_close(wire):
    answer = wire.ask("GET", "/a.txt", "Connection: close")
    assert (answer.body, answer["Connection"]) == (b"hello", "close")
    assert wire.is_closed()


def test_http_1_0_closes(wire):
    answer = wire.ask("GET", "/a.txt", version="HTTP/1.0", host=False)
    assert (answer.status, answer.body) == (200, b"hello")
    assert "Transfer-Encoding" not in answer
    assert wire.is_closed()


def test_http_1_0_keep_alive(wire):
    for _ in range(2):
        answer = wire.ask("GET", "/a.txt", "Connection: keep-alive", version="HTTP/1.0")
        assert (answer.body, answer["Connection"].lower()) == (b"hello", "keep-alive")


def test_http_1_0_never_gets_chunks(wire):
    assert "Transfer-Encoding" not in wire.ask("GET", "/", version="HTTP/1.0")


def test_pipelined_requests_are_answered_in_order(server):
    for index in range(50):
        (server.root / str(index)).write_text(f"content {index}")
    with Wire(server) as wire:
        requests = "".join(f"GET /{index} HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n" for index in range(50))
        wire.send(requests)
        assert [wire.response().text for _ in range(50)] == [f"content {index}" for index in range(50)]


def test_pipelined_put_and_get(wire, server):
    host = f"Host: {wire.authority}\r\n"
    wire.send(f"PUT /p HTTP/1.1\r\n{host}Content-Length: 3\r\n\r\nabcGET /p HTTP/1.1\r\n{host}\r\n"
              f"DELETE /p HTTP/1.1\r\n{host}\r\nGET /p HTTP/1.1\r\n{host}\r\n")
    answers = [wire.response() for _ in range(4)]
    assert [answer.status for answer in answers] == [201, 200, 204, 404]
    assert answers[1].body == b"abc"


def test_what_is_pipelined_behind_a_long_chunked_upload_is_not_dropped(wire, server):
    """The end of such a body is found only when what follows has been received too."""
    host = f"Host: {wire.authority}\r\n"
    content = bytes(2_000_000)
    for number in range(10):
        wire.send(f"PUT /a{number} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n".encode()
                  + b"1e8480\r\n" + content + b"\r\n0\r\n\r\n"
                  + f"PUT /b{number} HTTP/1.1\r\n{host}Content-Length: 2000000\r\n\r\n".encode() + content)
        assert [wire.response("PUT").status for _ in range(2)] == [201, 201]
        assert [(server.root / f"{name}{number}").read_bytes() for name in "ab"] == [content, content]


def test_request_byte_by_byte(wire):
    for byte in f"GET /a.txt HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n":
        wire.send(byte)
    assert wire.response().body == b"hello"


@pytest.mark.parametrize("lines", [1, 2, 8])
def test_empty_lines_before_a_request_are_skipped(wire, lines):
    """RFC 9112 2.2."""
    for _ in range(3):
        wire.send("\r\n" * lines)
        assert wire.ask("GET", "/a.txt").body == b"hello"
    for byte in "\r\n" * lines + f"GET /a.txt HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n":
        wire.send(byte)
    assert wire.response().body == b"hello"


@pytest.mark.parametrize("lines", ["\r\n" * 9, "\n", "\r\n\n", "\n\r\n", "\r\r\n", "\r\n \r\n"])
def test_more_than_a_few_empty_lines_before_a_request_and_broken_ones_are_refused(wire, lines):
    wire.send(f"{lines}GET /a.txt HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n")
    assert wire.response().status == 400
    assert wire.is_closed()


@pytest.mark.parametrize("pieces", [1, 2, 7, 100])
def test_chunked_body_however_it_falls(server, pieces):
    body = b"5;name=value\r\nhello\r\n1\r\n \r\n0005\r\nworld\r\n0\r\nX-Sum: x\r\n\r\n"
    with Wire(server) as wire:
        wire.request("PUT", "/c", "Transfer-Encoding: chunked")
        size = -(-len(body) // pieces)
        for start in range(0, len(body), size):
            wire.send(body[start:start + size])
        assert wire.response().status == 201
        assert wire.ask("GET", "/c").body == b"hello world"


def in_pieces(wire, *pieces):
    for piece in pieces:
        wire.send(piece)
    assert wire.response().status in (200, 204)


def first_over_tls(server):
    with Wire(server, tls=True) as wire:
        assert wire.ask("GET", "/a.txt").status == 200


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("way", ["head", "head and body", "body", "chunks"])
def test_a_message_in_pieces_is_not_held_up(serve, way, tls):
    """A client with Nagle's algorithm sends the next piece when the last one was acknowledged: 40 ms later, by default."""
    server = serve("-q", *(["--tls-self-signed"] if tls else []))
    (server.root / "a.txt").write_bytes(b"x" * 1_000)
    host = f"Host: {server.authority}\r\n"
    sized = f"PUT /a.txt HTTP/1.1\r\n{host}Content-Length: 1000\r\n\r\n"
    pieces = {
        "head": ["GET /a.txt HTTP/1.1\r\n", host, "\r\n"],
        "head and body": [sized, b"x" * 1_000],
        "body": [sized.encode() + b"x" * 500, b"x" * 500],
        "chunks": [f"PUT /a.txt HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n", "0\r\n\r\n"],
    }[way]
    with Wire(server, tls=tls or None) as wire:
        assert wire.ask("GET", "/a.txt").status == 200
        assert shortest(lambda: in_pieces(wire, *pieces)) < 0.03


def test_the_first_request_over_tls_is_not_held_up(serve):
    server = serve("-q", "--tls-self-signed")
    (server.root / "a.txt").write_text("hello")
    assert shortest(lambda: first_over_tls(server)) < 0.03


def shortest(work):
    """The seconds that it takes when nothing else holds it up."""
    times = []
    for _ in range(10):
        began = time.monotonic()
        work()
        times.append(time.monotonic() - began)
    return min(times)


@pytest.mark.parametrize("extension", [" ;a=b", "\t ; a", ";a = b", ";a=\t\"b c\" ;d", ";a ;b =c", ' ; a="\\"" \t; b'])
def test_blanks_around_the_signs_of_a_chunk_extension(wire, extension):
    """RFC 9112 §7.1.1: a recipient takes them."""
    wire.request("PUT", "/c", "Transfer-Encoding: chunked")
    for byte in f"5{extension}\r\nhello\r\n0{extension}\r\n\r\n":
        wire.send(byte)
    assert wire.response().status == 201
    assert wire.ask("GET", "/c").body == b"hello"


def test_expect_continue(server):
    with Wire(server) as wire:
        wire.request("PUT", "/e", "Content-Length: 5", "Expect: 100-continue")
        assert wire.response(interim=True).status == 100
        wire.send("hello")
        assert wire.response().status == 201


@pytest.mark.parametrize("target, fields, status", [
    ("/missing/e", [], 409),
    ("/a.txt", ["If-None-Match: *"], 412),
    ("/", [], 405),
])
def test_expect_continue_is_not_answered_when_the_body_is_not_wanted(wire, target, fields, status):
    wire.request("PUT", target, "Content-Length: 5", "Expect: 100-continue", *fields)
    assert wire.response(interim=True).status == status


def test_empty_expectation_expects_nothing(wire):
    assert wire.ask("PUT", "/e", "Expect:", body="hello").status == 201


def test_unknown_expectation(wire):
    assert wire.ask("GET", "/a.txt", "Expect: miracles").status in (417, 200)


def test_absolute_form(wire):
    assert wire.ask("GET", f"http://{wire.authority}/a.txt").body == b"hello"


def test_options_asterisk(wire):
    assert wire.ask("OPTIONS", "*").status in (200, 204)


def test_unknown_method(wire):
    assert wire.ask("BREW", "/a.txt").status == 501


def test_method_not_allowed_names_the_allowed(wire):
    answer = wire.ask("PUT", "/")
    assert answer.status == 405
    assert "GET" in answer["Allow"]


def test_head_on_everything_that_has_get(wire, server):
    (server.root / "folder").mkdir()
    for target in ["/a.txt", "/", "/folder/", "/missing", "/a.txt?download"]:
        got, head = wire.ask("GET", target), wire.ask("HEAD", target)
        assert head.status == got.status
        assert head["Content-Type"] == got["Content-Type"]
        if "Content-Length" in got:
            assert head["Content-Length"] in (got["Content-Length"], None)


def test_upload_without_a_length_empties_no_file(server):
    """To a client of HTTP/1.0 it may end with the connection. RFC 1945 §8.3"""
    (server.root / "a.txt").write_text("hello")
    with Wire(server) as wire:
        wire.send(f"PUT /a.txt HTTP/1.0\r\nHost: {wire.authority}\r\n\r\nnew content")
        assert wire.response().status == 411
    assert (server.root / "a.txt").read_text() == "hello"
    with Wire(server) as wire:
        assert wire.ask("PUT", "/a.txt", "Content-Length: 0", version="HTTP/1.0").status == 204


# Whatever two parsers may read differently is refused, and the connection ends.
AMBIGUOUS = {
    "both framings": "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both framings, other order": "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "two equal lengths in one": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5,5\r\n\r\nhello",
    "length with a plus": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: +5\r\n\r\nhello",
    "negative length": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: -5\r\n\r\nhello",
    "hexadecimal length": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0x5\r\n\r\nhello",
    "length past 64 bits": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
    "empty length": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length:\r\n\r\nhello",
    "length with a space": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5 5\r\n\r\nhello",
    "unknown coding": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding before chunked": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice, two fields": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "identity": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
    "chunked in HTTP/1.0": "PUT /x HTTP/1.0\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "space before the colon": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length : 5\r\n\r\nhello",
    "tab before the colon": "PUT /x HTTP/1.1\r\nHost: {host}\r\nContent-Length\t: 5\r\n\r\nhello",
    "folded line": "PUT /x HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
    "folded first line": "GET /a.txt HTTP/1.1\r\n X: a\r\nHost: {host}\r\n\r\n",
    "bare line feeds": "GET /a.txt HTTP/1.1\nHost: {host}\n\n",
    "one bare line feed": "GET /a.txt HTTP/1.1\r\nHost: {host}\nX: y\r\n\r\n",
    "bare carriage return": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\nX: a\rb\r\n\r\n",
    "NUL in a value": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\nX: a\0b\r\n\r\n",
    "NUL in the target": "GET /a\0.txt HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "control character in a value": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\nX: a\x01b\r\n\r\n",
    "no Host": "GET /a.txt HTTP/1.1\r\n\r\n",
    "two Hosts": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n",
    "Host with a space": "GET /a.txt HTTP/1.1\r\nHost: a b\r\n\r\n",
    "Host with a path": "GET /a.txt HTTP/1.1\r\nHost: {host}/x\r\n\r\n",
    "Host with a user": "GET /a.txt HTTP/1.1\r\nHost: user@{host}\r\n\r\n",
    "empty field name": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\n: x\r\n\r\n",
    "field without a colon": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\nnonsense\r\n\r\n",
    "field name with a quote": "GET /a.txt HTTP/1.1\r\nHost: {host}\r\n\"X\": y\r\n\r\n",
    "two spaces": "GET  /a.txt HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "tab for a space": "GET\t/a.txt HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "space in the target": "GET /a .txt HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "space after the version": "GET /a.txt HTTP/1.1 \r\nHost: {host}\r\n\r\n",
    "no version": "GET /a.txt\r\nHost: {host}\r\n\r\n",
    "lower-case version": "GET /a.txt http/1.1\r\nHost: {host}\r\n\r\n",
    "odd version": "GET /a.txt HTTP/1.11\r\nHost: {host}\r\n\r\n",
    "target without a slash": "GET a.txt HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "method with a colon": "G:ET /a.txt HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "chunk size past 64 bits": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
    "chunk size with 0x": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
    "negative chunk size": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    "chunk size with a sign": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
    "empty chunk size": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n",
    "blank behind the chunk size": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
    "blank before the chunk size": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n",
    "blank in the chunk size": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n0\r\n\r\n",
    "blank behind an extension's name": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5;a \r\nhello\r\n0\r\n\r\n",
    "blank behind an extension": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\t\r\nhello\r\n0\r\n\r\n",
    "blank in an extension's name": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5;a b\r\nhello\r\n0\r\n\r\n",
    "blank for an extension": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5; \r\nhello\r\n0\r\n\r\n",
    "blank for an extension's value": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5;a= \r\nhello\r\n0\r\n\r\n",
    "line feed behind a blank": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5 \n;a\r\nhello\r\n0\r\n\r\n",
    "bare semicolon": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0\r\n\r\n",
    "line feed in an extension": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
    "chunk ended by a line feed": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n",
    "chunk longer than its size": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n",
    "chunk size ended by a line feed": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
    "trailer without a colon": "PUT /x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nnonsense\r\n\r\n",
}


@pytest.mark.parametrize("request_text", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguous_request_is_refused_and_nothing_after_it_runs(wire, server, request_text):
    smuggled = f"PUT /smuggled HTTP/1.1\r\nHost: {wire.authority}\r\nContent-Length: 1\r\n\r\nx"
    wire.send(request_text.format(host=wire.authority).encode("latin-1") + smuggled.encode())
    try:
        answer = wire.response()
        assert answer.status in (400, 501, 505), answer
        wire.rest()
    except ConnectionClosed:
        pass
    assert not (server.root / "smuggled").exists()
    assert not (server.root / "x").exists()
    assert ask(server, "GET", "/a.txt").body == b"hello"


@pytest.mark.parametrize("coding, status", [
    ("gzip, chunked", 501), ("deflate , x-other;a=b,\tChunked", 501),
    # The ends of these bodies are unknown.
    ("gzip", 400), ("chunked, gzip", 400), ("chunked, gzip, chunked", 400), (", chunked", 400), ("gzip, , chunked", 400),
])
def test_transfer_coding_that_is_not_known_is_told_from_a_body_without_an_end(wire, server, coding, status):
    """RFC 9112 6.1 and 6.3."""
    answer = wire.send(f"PUT /x HTTP/1.1\r\nHost: {wire.authority}\r\nTransfer-Encoding: {coding}\r\n\r\n0\r\n\r\n").response()
    assert (answer.status, answer["Connection"]) == (status, "close")
    assert wire.is_closed()
    assert not (server.root / "x").exists()


@pytest.mark.parametrize("request_text", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguous_request_behind_a_good_one_is_answered_too(wire, server, request_text):
    assert wire.ask("GET", "/a.txt").body == b"hello"
    wire.send(request_text.format(host=wire.authority).encode("latin-1"))
    answer = wire.response()
    assert answer.status in (400, 501, 505), answer
    wire.rest()
    assert not (server.root / "x").exists()


def test_later_minor_version_is_read_as_the_latest_known(wire):
    answer = wire.ask("GET", "/a.txt", version="HTTP/1.2")
    assert (answer.status, answer.version, answer.body) == (200, "HTTP/1.1", b"hello")
    assert wire.ask("GET", "/a.txt", version="HTTP/1.9").body == b"hello"
    assert wire.ask("GET", "/a.txt", version="HTTP/2.0").status == 505


@pytest.mark.parametrize("target", ["/a.txt", "/d/", "/none", "/.shareserve/info", "/.shareserve/uploads",
                                    "/.shareserve/uploads/x", "/.shareserve/health", "/.shareserve/links"])
def test_methods_of_every_address(server, target):
    (server.root / "a.txt").write_text("a")
    (server.root / "d").mkdir()
    assert ask(server, "BREW", target).status == 501
    for method in ("POST", "PATCH", "PROPFIND", "LOCK", "MKCOL", "REPORT"):
        answer = ask(server, method, target)
        if answer.status == 405:
            assert method not in re.split(r",\s*", answer["Allow"]), (method, answer["Allow"])


def test_body_of_a_refused_request_is_not_the_next_request(wire, server):
    inner = f"PUT /smuggled HTTP/1.1\r\nHost: {wire.authority}\r\nContent-Length: 1\r\n\r\nx"
    for method, target in [("PUT", "/no/parent"), ("BREW", "/a.txt"), ("GET", "/a.txt"), ("PUT", "/"), ("GET", "/a%00")]:
        with Wire(server) as other:
            other.request(method, target, body=inner)
            other.response(method)
            other.request("GET", "/a.txt")
            try:
                assert other.response().body == b"hello"
            except (ConnectionClosed, OSError):
                pass
    assert not (server.root / "smuggled").exists()


def test_head_size_is_limited(wire):
    wire.send(f"GET / HTTP/1.1\r\nHost: {wire.authority}\r\nX: " + "a" * (1 << 20))
    try:
        assert wire.response().status == 431
    except ConnectionClosed:
        pytest.fail("no answer")
    assert wire.is_closed()


def test_field_count_is_limited(wire):
    wire.send(f"GET / HTTP/1.1\r\nHost: {wire.authority}\r\n" + "a:b\r\n" * 5000 + "\r\n")
    assert wire.response().status == 431


def test_long_target_is_refused(wire):
    assert wire.ask("GET", "/" + "a" * 20_000).status in (414, 431, 400)


def test_endless_trailers_are_refused(wire):
    wire.request("PUT", "/t", "Transfer-Encoding: chunked")
    wire.send("1\r\nx\r\n0\r\n")
    try:
        for _ in range(200):
            wire.send("a: " + "b" * 10_000 + "\r\n")
        assert wire.response().status in (400, 431)
    except (OSError, ConnectionClosed):
        pass


def test_endless_chunk_extension_is_refused(wire):
    wire.request("PUT", "/t", "Transfer-Encoding: chunked")
    try:
        wire.send("1;a=")
        for _ in range(200):
            wire.send("b" * 10_000)
        assert wire.response().status in (400, 413, 431)
    except (OSError, ConnectionClosed):
        pass


@pytest.mark.parametrize("options", [(), ("--tls-self-signed",)], ids=["http", "https"])
def test_rest_of_a_refused_body_is_not_waited_for_for_ever(serve, options):
    server = serve("--body-timeout", "1s", *options)
    with Wire(server, tls=bool(options) or None) as wire:
        wire.request("PUT", "/no/such/folder", "Content-Length: 200000")
        assert wire.response().status == 409
        assert wire.is_closed(20)


@pytest.mark.parametrize("sent", ["at once", "behind the answer"])
@pytest.mark.parametrize("method, target, status", [("GET", "/file", 200), ("GET", "/none", 404), ("BREW", "/", 501)])
def test_rest_of_a_body_that_never_comes_is_not_waited_for(server, sent, method, target, status):
    """The client has its answer, and ends in the middle of a body that nobody asked for."""
    (server.root / "file").write_text("content")
    with Wire(server) as wire:
        wire.request(method, target, "Content-Length: 10").send("abc")
        if sent == "behind the answer":
            assert wire.response().status == status
        wire.socket.shutdown(socket.SHUT_WR)
        if sent == "at once":
            assert wire.response().status == status
        assert wire.is_closed(5)


def test_body_size_limit(serve):
    server = serve("--max-upload-size", "1000")
    assert ask(server, "PUT", "/x", body=b"a" * 1000).status == 201
    with Wire(server) as wire:
        wire.request("PUT", "/y", "Content-Length: 1001")
        answer = wire.response()
        assert answer.status == 413 and "1000 bytes" in answer.text
    with Wire(server) as wire:
        wire.request("PUT", "/y", "Transfer-Encoding: chunked")
        wire.send(b"3e9\r\n" + b"a" * 1001 + b"\r\n0\r\n\r\n")
        assert wire.response().status == 413
    assert not (server.root / "y").exists()


def test_client_that_goes_away_leaves_nothing(server):
    for ending in ("close", "reset"):
        wire = Wire(server)
        wire.request("PUT", "/half", "Content-Length: 1000000")
        wire.send(b"a" * 100_000)
        getattr(wire, ending)()
    (server.root / "whole").write_text("old")
    wire = Wire(server)
    wire.request("PUT", "/whole", "Transfer-Encoding: chunked")
    wire.send(b"5\r\nhello\r\n")
    wire.close()
    assert ask(server, "GET", "/whole").text == "old"
    names = wait_until(lambda: sorted(os.listdir(server.root)) in (["whole"], [".shareserve", "whole"]), "nothing stray")
    assert names
    assert "half" not in ask(server, "GET", "/").text


def test_nothing_is_done_for_who_is_gone_before_it_has_an_address(server):
    """Of a connection that was reset before it is taken, the system no longer says whose it was."""
    for number in range(50):
        wire = Wire(server)
        wire.request("MKCOL", f"/{number}")
        wire.reset()
    # The addresses of connections that still exist when they are accepted are known.
    assert ask(server, "MKCOL", "/last").status == 201
    lines = wait_until(lambda: " /last " in server.logged() and server.logged().splitlines(), "the log is written")
    made = [line for line in lines if " MKCOL " in line]
    assert made and all(" 127.0.0.1 " in line for line in made)
    assert len(made) >= len([name for name in os.listdir(server.root) if not name.startswith(".")])


def test_sigterm_lets_a_running_upload_finish(server):
    wire = Wire(server)
    wire.request("PUT", "/slow", "Content-Length: 10")
    wire.send("hello")
    wait_until(lambda: server.open_files(), "the server is there")
    other = Wire(server)
    assert other.ask("GET", "/").status == 200
    server.signal(15)
    wait_until(lambda: _refused(server), "no new connection is served")
    wire.send("world")
    assert wire.response().status == 201
    assert (server.root / "slow").read_text() == "helloworld"
    assert server.process.wait(10) == 0


def test_sigterm_within_a_head_lets_it_come(server):
    (server.root / "file").write_text("content")
    with Wire(server) as wire, Wire(server) as other:
        wire.send("GET /file HTTP/1.1\r\nHo")
        # Read after what was sent before.
        assert other.ask("GET", "/file").status == 200
        server.signal(15)
        assert other.is_closed()
        wire.send(f"st: {server.authority}\r\n\r\n")
        answer = wire.response()
        assert answer.body == b"content" and answer["Connection"] == "close"
    assert server.process.wait(20) == 0


def test_sigterm_ends_idle_connections_at_once(server):
    with Wire(server) as wire:
        assert wire.ask("GET", "/").status == 200
        started = time.monotonic()
        server.signal(15)
        assert wire.is_closed()
        assert server.process.wait(10) == 0
        assert time.monotonic() - started < 5


def _refused(server):
    try:
        with Wire(server, timeout=2) as wire:
            return wire.ask("GET", "/").status == 503
    except (OSError, ConnectionClosed):
        return True


def test_no_content_has_no_length(wire, server):
    wire.request("DELETE", "/a.txt")
    answer = wire.response("DELETE")
    assert answer.status == 204
    assert "Content-Length" not in answer and "Transfer-Encoding" not in answer


def test_date_and_nosniff_everywhere(wire):
    for target in ["/a.txt", "/", "/missing"]:
        answer = wire.ask("GET", target)
        assert answer["Date"].endswith(" GMT")
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_errors_are_text_for_people(wire):
    answer = wire.ask("GET", "/missing")
    assert answer["Content-Type"].startswith("text/plain")
    assert answer.body.strip()


def test_many_connections_leave_no_descriptors(server):
    ask(server, "GET", "/")
    before = server.open_files()
    for _ in range(200):
        ask(server, "GET", "/")
    wait_until(lambda: server.open_files() <= before + 5, "descriptors are closed")
