"""GET and HEAD of files: types, validators, conditions, ranges, codings. RFC 9110."""

import base64
import contextlib
import email.utils
import gzip
import hashlib
import itertools
import os
import socket
import ssl
import threading
import time

import pytest
from hyperframe.frame import DataFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame

from frames import Frames
from server import wait_until
from tracing import traced
from wire import ConnectionClosed, Wire, ask

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def wire(server):
    (server.root / "data.bin").write_bytes(CONTENT)
    with Wire(server) as connection:
        yield connection


@pytest.mark.parametrize("name, kind", [
    ("a.html", "text/html; charset=utf-8"), ("a.txt", "text/plain; charset=utf-8"), ("a.css", "text/css; charset=utf-8"),
    ("a.js", "text/javascript; charset=utf-8"), ("a.json", "application/json"), ("a.svg", "image/svg+xml"),
    ("a.jpg", "image/jpeg"), ("a.JPG", "image/jpeg"), ("a.jpeg", "image/jpeg"), ("a.png", "image/png"),
    ("a.webp", "image/webp"), ("a.pdf", "application/pdf"), ("a.mp4", "video/mp4"), ("a.mp3", "audio/mpeg"),
    ("a.zip", "application/zip"), ("a.wasm", "application/wasm"), ("a.docx",
     "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("a", "application/octet-stream"), ("a.unheard-of", "application/octet-stream"),
    ("a.tar.gz", "application/gzip"), (".html", None), ("a.md", "text/markdown; charset=utf-8"),
])
def test_content_type(server, name, kind):
    (server.root / name).write_bytes(b"x")
    answer = ask(server, "GET", "/" + name)
    assert answer.status == 200
    if kind:
        assert answer["Content-Type"].lower() == kind


def test_whole_file(wire):
    answer = wire.ask("GET", "/data.bin")
    assert (answer.status, answer.body) == (200, CONTENT)
    assert answer["Content-Length"] == str(len(CONTENT))
    assert answer["Accept-Ranges"] == "bytes"
    assert answer["ETag"].startswith('"')
    assert email.utils.parsedate_to_datetime(answer["Last-Modified"])
    assert "Cache-Control" in answer


def test_empty_file(wire, server):
    (server.root / "empty").touch()
    answer = wire.ask("GET", "/empty")
    assert (answer.status, answer["Content-Length"], answer.body) == (200, "0", b"")
    assert wire.ask("GET", "/empty", "Range: bytes=0-").status == 200


def test_etag_changes_with_each_write(wire, server):
    seen = set()
    for index in range(50):
        (server.root / "e").write_text(f"{index:04}")
        seen.add(wire.ask("GET", "/e")["ETag"])
    assert len(seen) == 50


def test_etag_changes_with_a_file_of_the_same_size_and_time(wire, server):
    seen = set()
    for index in range(10):
        (server.root / "new").write_text(f"{index}")
        os.utime(server.root / "new", ns=(10**18, 10**18))
        os.replace(server.root / "new", server.root / "e")
        seen.add(wire.ask("GET", "/e")["ETag"])
    assert len(seen) > 5, "inode or change time belongs to the tag"


def test_change_on_disk_shows_at_once(wire, server):
    for index in range(20):
        (server.root / "c").write_text("x" * index)
        assert wire.ask("GET", "/c").text == "x" * index
        os.remove(server.root / "c")
        assert wire.ask("GET", "/c").status == 404


def spelled(answer):
    """All of it, but for the time of day."""
    return answer.status, sorted(field for field in answer.fields if field[0] != "Date"), answer.body


@pytest.mark.parametrize("name, content", [("a.bin", CONTENT), ("long.txt", b"text " * 400), ("short.txt", b"short"), ("empty", b"")])
def test_a_file_that_is_kept_open_is_answered_as_any_other(server, name, content):
    (server.root / name).write_bytes(content)
    os.utime(server.root / name, (1_700_000_000, 1_700_000_000))
    with Wire(server) as wire:
        tag = wire.ask("GET", f"/{name}")["ETag"]
        choices = [
            [None, "Range: bytes=0-", "range:bytes= 3-4", "Range: bytes=-5", "Range: bytes=99999999-", "Range: bytes=5-2", "Range: x=1"],
            [None, f"If-Range: {tag}", f"If-Range: W/{tag}", 'If-Range: "x"', "If-Range: Tue, 14 Nov 2023 22:13:20 GMT",
             "If-Range: Tue, 14 Nov 2023 22:13:21 GMT"],
            [None, f"If-None-Match: {tag}", f'If-None-Match: "x", W/{tag}', "If-None-Match: *", 'If-None-Match: "x"',
             f'If-None-Match: {tag[:-1]}-gzip"'],
            [None, "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT", "If-Modified-Since: Tue, 14 Nov 2023 22:13:19 GMT"],
            [None, "Accept-Encoding: gzip, br", "Accept-Encoding: br", "Accept-Encoding: identity;q=0, gzip",
             "Accept-Encoding: identity;q=1, *;q=0", "Accept-Encoding: identity;q=0"],
        ]
        seen = set()
        for fields in itertools.product(["GET", "HEAD"], *choices):
            method, *fields = filter(None, fields)
            if len(fields) > 3:
                continue
            answer = wire.ask(method, f"/{name}", *fields)
            # Requests with a cookie are answered from the disk.
            assert spelled(answer) == spelled(wire.ask(method, f"/{name}", *fields, "Cookie: a=b")), (method, fields)
            seen.add(answer.status)
    assert seen >= {200, 304, 406} and (206 in seen) == bool(content)


def test_change_on_disk_shows_at_once_in_what_is_selected(wire, server):
    for index in range(20):
        before = wire.ask("GET", "/data.bin")["ETag"]
        assert wire.ask("GET", "/data.bin", f"If-None-Match: {before}").status == 304
        assert wire.ask("GET", "/data.bin", "Range: bytes=0-9", f"If-Range: {before}").status == 206
        # Of another length each time: some systems' times are coarse.
        new = os.urandom(1_000 + index)
        (server.root / "data.bin").write_bytes(new)
        answer = wire.ask("GET", "/data.bin", "Range: bytes=5-9")
        assert (answer.status, answer.body) == (206, new[5:10]), index
        assert wire.ask("GET", "/data.bin", f"If-None-Match: {before}").body == new
        assert wire.ask("GET", "/data.bin", "Range: bytes=0-9", f"If-Range: {before}").body == new
        assert wire.ask("HEAD", "/data.bin")["ETag"] != before


@pytest.mark.parametrize("field, first, last", [
    ("bytes=0-0", 0, 0), ("bytes=0-99", 0, 99), ("bytes=100-", 100, None), ("bytes=-100", -100, None),
    ("bytes=10239-", 10239, None), ("bytes=0-99999999", 0, None), ("bytes=-99999999", 0, None),
    ("bytes=0-9223372036854775807", 0, None), ("bytes=0-18446744073709551616", 0, None),
    ("bytes=10-20,", 10, 20), ("Bytes=0-1", 0, 1),
])
def test_range(wire, field, first, last):
    answer = wire.ask("GET", "/data.bin", f"Range: {field}")
    if answer.status == 200 and ("99999999999" in field or "1844" in field or field[-1] == "," or field[0] == "B"):
        assert answer.body == CONTENT
        return
    start = first if first >= 0 else len(CONTENT) + first
    end = len(CONTENT) - 1 if last is None else last
    assert answer.status == 206
    assert answer.body == CONTENT[start:end + 1]
    assert answer["Content-Range"] == f"bytes {start}-{end}/{len(CONTENT)}"


@pytest.mark.parametrize("field", [
    "bytes=10240-", "bytes=99999-100000", "bytes=-0", "bytes=9223372036854775807-", "bytes=10240-10250,20000-",
])
def test_range_past_the_end(wire, field):
    answer = wire.ask("GET", "/data.bin", f"Range: {field}")
    assert answer.status == 416
    assert answer["Content-Range"] == f"bytes */{len(CONTENT)}"


@pytest.mark.parametrize("field", [
    "bytes=", "bytes=a-b", "bytes=5-1", "bytes", "bytes=--1", "lines=1-2", "bytes=1-2-3", "bytes=+1-2", "bytes=1.0-2",
    "bytes=0x1-2",
])
def test_range_that_means_nothing_is_ignored(wire, field):
    answer = wire.ask("GET", "/data.bin", f"Range: {field}")
    assert answer.status in (200, 416)
    if answer.status == 200:
        assert answer.body == CONTENT


def test_several_ranges(wire):
    answer = wire.ask("GET", "/data.bin", "Range: bytes=0-9,100-109,-10")
    assert answer.status == 206
    kind, _, boundary = answer["Content-Type"].partition("; boundary=")
    assert kind == "multipart/byteranges"
    parts = answer.body.split(b"--" + boundary.strip('"').encode())
    assert parts[-1].strip() == b"--"
    bodies = [part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n") for part in parts[1:-1]]
    assert bodies == [CONTENT[0:10], CONTENT[100:110], CONTENT[-10:]]
    assert all(b"Content-Range: bytes" in part or b"content-range: bytes" in part for part in parts[1:-1])


def test_many_overlapping_ranges_cost_no_more_than_the_file(wire):
    field = "bytes=" + ",".join(f"{index}-" for index in range(1300))
    answer = wire.ask("GET", "/data.bin", f"Range: {field}")
    assert answer.status in (200, 206, 400, 416, 431)
    assert len(answer.body) <= 2 * len(CONTENT)


def test_range_with_head_is_ignored_or_right(wire):
    assert wire.ask("HEAD", "/data.bin", "Range: bytes=0-9").status in (200, 206)


def test_if_range(wire):
    whole = wire.ask("GET", "/data.bin")
    tag, date = whole["ETag"], whole["Last-Modified"]
    assert wire.ask("GET", "/data.bin", "Range: bytes=0-9", f"If-Range: {tag}").status == 206
    assert wire.ask("GET", "/data.bin", "Range: bytes=0-9", 'If-Range: "other"').status == 200
    assert wire.ask("GET", "/data.bin", "Range: bytes=0-9", f"If-Range: W/{tag}").status == 200
    assert wire.ask("GET", "/data.bin", "Range: bytes=0-9", "If-Range: Thu, 01 Jan 1970 00:00:00 GMT").status == 200
    assert wire.ask("GET", "/data.bin", "Range: bytes=99999-", 'If-Range: "other"').status == 200
    assert date


def test_conditions(wire, server):
    os.utime(server.root / "data.bin", (1_000_000_000, 1_000_000_000))
    whole = wire.ask("GET", "/data.bin")
    tag, date = whole["ETag"], whole["Last-Modified"]
    before, after = "Sat, 01 Jan 2000 00:00:00 GMT", "Sat, 01 Jan 2022 00:00:00 GMT"

    def status(*fields):
        return wire.ask("GET", "/data.bin", *fields).status

    assert status(f"If-None-Match: {tag}") == 304
    assert status(f"If-None-Match: W/{tag}") == 304
    assert status(f'If-None-Match: "a", {tag}, "b"') == 304
    assert status('If-None-Match: "a"') == 200
    assert status("If-None-Match: *") == 304
    assert status(f"If-Match: {tag}") == 200
    assert status(f"If-Match: W/{tag}") == 412
    assert status('If-Match: "a"') == 412
    assert status("If-Match: *") == 200
    assert status(f"If-Modified-Since: {date}") == 304
    assert status(f"If-Modified-Since: {after}") == 304
    assert status(f"If-Modified-Since: {before}") == 200
    assert status("If-Modified-Since: nonsense") == 200
    assert status(f"If-Unmodified-Since: {date}") == 200
    assert status(f"If-Unmodified-Since: {before}") == 412
    # Precedence: tags before dates, If-Match before If-None-Match. RFC 9110 §13.2.2.
    assert status('If-None-Match: "a"', f"If-Modified-Since: {date}") == 200
    assert status(f"If-Match: {tag}", f"If-Unmodified-Since: {before}") == 200
    assert status('If-Match: "a"', f"If-None-Match: {tag}") == 412
    assert status(f"If-None-Match: {tag}", "Range: bytes=0-9") == 304
    # The two older forms of a date are still read.
    assert status("If-Modified-Since: Sunday, 09-Sep-01 01:46:40 GMT") == 304
    assert status("If-Modified-Since: Sun Sep  9 01:46:40 2001") == 304


def test_not_modified_repeats_the_validators_and_has_no_body(wire):
    tag = wire.ask("GET", "/data.bin")["ETag"]
    answer = wire.ask("GET", "/data.bin", f"If-None-Match: {tag}")
    assert answer["ETag"] == tag
    assert wire.ask("GET", "/data.bin").body == CONTENT, "the connection is still in step"


def test_download_disposition(server):
    names = {"plain.txt": 'filename="plain.txt"', "späß €.txt": "filename*=UTF-8''sp%C3%A4%C3%9F%20%E2%82%AC.txt",
             'qu"ote\\.txt': None, "semi;colon.txt": None, "line\r\nX-Evil: 1.txt": None}
    for name, expected in names.items():
        (server.root / name).write_text("x")
        target = "/" + "".join(f"%{byte:02x}" for byte in name.encode())
        answer = ask(server, "GET", target + "?download")
        assert answer.status == 200
        assert answer["Content-Disposition"].startswith("attachment")
        assert "X-Evil" not in answer
        if expected:
            assert expected in answer["Content-Disposition"]


def test_gzip_of_text(server):
    text = b"all work and no play makes jack a dull boy\n" * 2000
    (server.root / "a.txt").write_bytes(text)
    (server.root / "a.jpg").write_bytes(text)
    with Wire(server) as wire:
        plain = wire.ask("GET", "/a.txt")
        assert plain.body == text and "Content-Encoding" not in plain and "accept-encoding" in plain["Vary"].lower()
        coded = wire.ask("GET", "/a.txt", "Accept-Encoding: gzip")
        assert coded["Content-Encoding"] == "gzip" and gzip.decompress(coded.body) == text
        assert len(coded.body) < len(text) / 10
        assert coded["ETag"] != plain["ETag"] or coded["ETag"].startswith("W/")
        assert "Content-Encoding" not in wire.ask("GET", "/a.txt", "Accept-Encoding: gzip;q=0, identity")
        assert "Content-Encoding" not in wire.ask("GET", "/a.txt", "Accept-Encoding: br")
        assert "Content-Encoding" not in wire.ask("GET", "/a.jpg", "Accept-Encoding: gzip")
        ranged = wire.ask("GET", "/a.txt", "Accept-Encoding: gzip", "Range: bytes=0-9")
        assert ranged.status == 206 and ranged.body == text[:10] and "Content-Encoding" not in ranged
        # Ranges count the bytes of the file as stored, which these requests refuse. RFC 9110 §12.5.3
        whole = wire.ask("GET", "/a.txt", "Accept-Encoding: gzip, identity;q=0", "Range: bytes=0-9")
        assert whole.status == 200 and gzip.decompress(whole.body) == text
        assert wire.ask("GET", "/a.txt", "Accept-Encoding: identity;q=0", "Range: bytes=0-9").status == 406


@pytest.mark.parametrize("size", [65_536, 1_048_576, 1_048_577, 5_000_000], ids=str)
def test_gzip_of_what_is_compressed_in_pieces(server, size):
    contents = {"zeros.txt": bytes(size), "noise.txt": os.urandom(size), "lines.txt": (b"%d\n" % size * size)[:size]}
    for name, content in contents.items():
        (server.root / name).write_bytes(content)
        coded = ask(server, "GET", f"/{name}", "Accept-Encoding: gzip")
        assert coded["Content-Encoding"] == "gzip" and gzip.decompress(coded.body) == content


def test_gzip_of_a_file_that_is_cut_meanwhile_does_not_end_well(server):
    path = server.root / "noise.txt"
    path.write_bytes(os.urandom(16 << 20))
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        slow.settimeout(30)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(b"GET /noise.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n")
        received = slow.recv(65_536)
        assert received.startswith(b"HTTP/1.1 200 ")
        os.truncate(path, 1 << 20)
        with contextlib.suppress(ConnectionError):
            while piece := slow.recv(1 << 20):
                received += piece
    assert 1 << 16 < len(received) < 16 << 20 and not received.endswith(b"0\r\n\r\n")


def test_listing_may_be_gzip(server):
    for index in range(500):
        (server.root / f"a file with a long name {index}").touch()
    with Wire(server) as wire:
        plain = wire.ask("GET", "/")
        coded = wire.ask("GET", "/", "Accept-Encoding: gzip")
        assert coded["Content-Encoding"] == "gzip"
        assert sorted(gzip.decompress(coded.body).splitlines()) == sorted(plain.body.splitlines())


def test_gzip_request_body(server):
    answer = ask(server, "PUT", "/g.txt", "Content-Encoding: gzip", body=gzip.compress(b"hello"))
    # The stored bytes are not those received: a validator would claim that they are. RFC 9110 §9.3.4
    assert answer.status == 201 and "ETag" not in answer and "Last-Modified" not in answer, answer
    assert "ETag" in ask(server, "PUT", "/h.txt", body=b"hello")
    (server.root / "h.txt").unlink()
    assert (server.root / "g.txt").read_bytes() == b"hello"
    assert ask(server, "PUT", "/bad", "Content-Encoding: gzip", body=b"nonsense").status == 400
    assert ask(server, "PUT", "/odd", "Content-Encoding: zstd", body=b"x").status == 415
    assert sorted(name for name in os.listdir(server.root) if name != ".shareserve") == ["g.txt"]


@pytest.mark.parametrize("framing", ["Content-Length: 0", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("method, target, fields, status", [
    ("PUT", "/a", (), 400), ("PUT", "/new", (), 400), ("PUT", "/a", ("Repr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",), 400),
    ("PATCH", "/a", ("X-Update-Range: append",), 400),
    ("PUT", "/a", ("Upload-Complete: ?1",), 415),
    ("POST", "/.shareserve/uploads", ("Tus-Resumable: 1.0.0", "Upload-Length: 0", "Upload-Metadata: filename Yg=="), 415),
    ("POST", "/", ("Content-Type: multipart/form-data; boundary=x",), 400),
])
def test_nothing_is_no_gzip(server, framing, method, target, fields, status):
    """An empty file would be what a client gets that lost its body on the way."""
    (server.root / "a").write_bytes(b"old")
    with Wire(server) as wire:
        wire.request(method, target, "Content-Encoding: gzip", framing, *fields)
        if "chunked" in framing:
            wire.send("0\r\n\r\n")
        assert wire.response().status == status
    assert (server.root / "a").read_bytes() == b"old"
    assert sorted(name for name in os.listdir(server.root) if name != ".shareserve") == ["a"]


def test_nothing_as_it_is_makes_an_empty_file(server):
    for target, fields in [("/a", ("Content-Encoding: identity",)), ("/b", ())]:
        assert ask(server, "PUT", target, "Content-Length: 0", *fields).status == 201
        assert (server.root / target[1:]).read_bytes() == b""
    assert ask(server, "PUT", "/c", "Content-Encoding: gzip", body=gzip.compress(b"")).status == 201
    assert (server.root / "c").read_bytes() == b""


@pytest.mark.parametrize("field", ["Repr-Digest", "Content-Digest"])
def test_digest_of_a_gzip_body_is_that_of_its_bytes(server, field):
    """RFC 9530 §3.1: a representation includes its content coding."""
    packed = gzip.compress(b"hello " * 1000)

    def put(data):
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        return ask(server, "PUT", "/g", "Content-Encoding: gzip", f"{field}: sha-256=:{digest}:", body=packed).status

    assert put(b"hello " * 1000) == 400
    assert not (server.root / "g").exists()
    assert put(packed) == 201
    assert (server.root / "g").read_bytes() == b"hello " * 1000


def test_page_for_what_is_missing_has_the_same_head_with_head(server):
    one, other = (ask(server, method, "/none", "Accept: text/html") for method in ("GET", "HEAD"))
    assert one.status == other.status == 404
    assert one["Content-Type"] == other["Content-Type"] and one["Content-Length"] == other["Content-Length"]


def test_gzip_bomb(server):
    bomb = gzip.compress(b"\0" * (300 << 20), 9)
    started = time.monotonic()
    answer = ask(server, "PUT", "/bomb", "Content-Encoding: gzip", body=bomb)
    assert answer.status == 413
    assert not (server.root / "bomb").exists()
    assert time.monotonic() - started < 30


def test_fifo_and_socket_do_not_hang(server):
    os.mkfifo(server.root / "fifo")
    started = time.monotonic()
    for method in ("GET", "HEAD", "PROPFIND"):
        assert ask(server, method, "/fifo").status in (403, 404)
    assert time.monotonic() - started < 5
    assert ask(server, "GET", "/").status == 200


def test_file_cut_while_it_is_sent_ends_the_connection(server):
    size = 256 << 20
    with open(server.root / "big", "wb") as file:
        file.truncate(size)
    with Wire(server, receive_buffer=65536) as wire:
        wire.request("GET", "/big")
        wire.read(1 << 20)
        os.truncate(server.root / "big", 2 << 20)
        assert len(wire.rest()) < size
    assert ask(server, "GET", "/").status == 200


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_body_that_breaks_off_does_not_end_like_a_whole_one(serve, tls):
    """To HTTP/1.0 the end of the connection is the end of the body: a cut one must not look like it."""
    server = serve(*(["--tls-self-signed"] if tls else []))
    (server.root / "noise.txt").write_bytes(os.urandom(16 << 20))
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(20)
    plain.connect(("127.0.0.1", server.port))
    client = plain
    if tls:
        # Gets an error when the connection ends without close_notify, as careful clients do.
        client = ssl._create_unverified_context().wrap_socket(plain, suppress_ragged_eofs=False)
    with client:
        client.sendall(b"GET /noise.txt HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
        head = client.recv(1000)
        assert b" 200 " in head and b"Content-Length" not in head
        os.truncate(server.root / "noise.txt", 1000)
        with pytest.raises((ConnectionResetError, ssl.SSLError)):
            while client.recv(1 << 16):
                pass


def test_the_largest_file_that_there_can_be(memory, serve):
    """Lengths and offsets reach the end of what 63 bits can say; nothing that is computed of them may end the server."""
    size = 2**63 - 1
    with open(memory / "most", "wb") as file:
        file.truncate(size)
    server = serve(root=memory)
    answer = ask(server, "GET", "/most", "Range: bytes=-1")
    assert (answer.status, answer.body, answer["Content-Range"]) == (206, b"\0", f"bytes {size - 1}-{size - 1}/{size}")
    answer = ask(server, "GET", "/most", f"Range: bytes=0-9,{size - 9}-")
    assert (answer.status, answer.body.count(b"\0")) == (206, 19)
    # The ranges and their part headers are longer than any length can be: the response is the whole file.
    with Wire(server) as wire:
        wire.request("GET", "/most", "Range: bytes=0-9,11-")
        assert wire.read(12) == b"HTTP/1.1 200"
    assert ask(server, "HEAD", "/most")["Content-Length"] == str(size)
    assert f"<D:getcontentlength>{size}<".encode() in ask(server, "PROPFIND", "/", "Depth: 1").body
    assert f'"size":{size}'.encode() in ask(server, "GET", "/?json").body
    assert ask(server, "GET", "/", "Accept: text/html").status == 200
    assert ask(server, "GET", "/?archive=zip").status == 413
    assert ask(server, "PATCH", "/most", "X-Update-Range: append", body=b"x").status == 413
    assert (memory / "most").stat().st_size == size


def test_replaced_file_is_sent_as_it_was(server):
    size = 64 << 20
    (server.root / "v").write_bytes(b"a" * size)
    with Wire(server, receive_buffer=65536) as wire:
        wire.request("GET", "/v", "Connection: close")
        wire.read(1 << 20)
        assert ask(server, "PUT", "/v", body=b"b" * size).status == 204
        assert b"b" not in wire.rest()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("size", [16_384, 16_385, 65_536, 65_537])
def test_one_file_for_many_at_once(serve, tls, size):
    """Asked for faster than it is read: some of it waits for the client within an answer."""
    # Without a log, a request that equals the last one is not even parsed.
    server = serve("--quiet", *(["--tls-self-signed"] if tls else []))
    content = bytes(index * 7 % 251 for index in range(size))
    (server.root / "v").write_bytes(content)
    wires = [Wire(server, tls=tls or None, receive_buffer=32_768) for _ in range(8)]
    for round in range(2):
        for wire in wires:
            wire.send(f"GET /v HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n" * 40)
        for wire in wires:
            for _ in range(40):
                answer = wire.response()
                assert (answer.status, answer.body == content) == (200, True)
    for wire in wires:
        assert wire.ask("GET", "/v", "Range: bytes=1-2").body == content[1:3]
        wire.close()


@pytest.mark.parametrize("size", [1, 16_384, 16_385, 65_536])
def test_each_request_for_a_file_of_many_is_counted_once(serve, size):
    """Also where the client goes without its answers."""
    server = serve("--quiet")
    (server.root / "v").write_bytes(bytes(size))

    def counted():
        lines = ask(server, "GET", "/.shareserve/metrics").text.splitlines()
        return [sum(int(line.split()[1]) for line in lines if line.startswith(f"shareserve_{name}_total"))
                for name in ("requests", "responses")]

    before = counted()
    for _ in range(3):
        wires = [Wire(server) for _ in range(20)]
        for wire in wires:
            wire.send(f"GET /v HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n" * 30)
        for wire in wires:
            wire.read(200)
            wire.reset()
    wait_until(lambda: (after := counted())[0] - before[0] == after[1] - before[1], "as many answers as requests")
    assert counted()[0] > before[0] + 60


def test_who_takes_no_small_answers_has_the_time_of_a_slow_reader(serve):
    server = serve("--quiet", "--read-timeout", "2s", "--idle-timeout", "60s")
    (server.root / "v").write_bytes(b"x")
    wires = []
    for _ in range(3):
        wire = Wire(server, receive_buffer=4096)
        wire.socket.setblocking(False)
        wires.append(wire)
    request = f"GET /v HTTP/1.1\r\nHost: {wires[0].authority}\r\n\r\n".encode() * 100

    def is_ended(wire):
        try:
            while wire.socket.send(request):
                pass
        except BlockingIOError:
            return False
        except OSError:
            return True

    for wire in wires:
        wait_until(lambda: is_ended(wire), "the connection is ended", 15)


@pytest.mark.parametrize("protocol", ["http", "https", "http2"])
def test_the_time_of_a_slow_reader_begins_anew_with_each_byte_taken(serve, protocol):
    """Of what the sockets hold, room is made in steps of a megabyte: a song takes minutes for one."""
    server = serve("--quiet", "--read-timeout", "2s", *([] if protocol == "http" else ["--tls-self-signed"]))
    content = os.urandom(16 << 20)
    (server.root / "song").write_bytes(content)

    def ask():
        if protocol == "http2":
            frames = Frames(server, receive_buffer=16_384)
            wide = SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 1 << 29})
            frames.send(wide.serialize() + WindowUpdateFrame(0, window_increment=1 << 29).serialize())
            frames.send(frames.head(1, path="/song"))
            return frames
        wire = Wire(server, tls=protocol == "https" or None, receive_buffer=16_384)
        wire.request("GET", "/song")
        return wire

    def rest(asked):
        if protocol != "http2":
            return asked.rest()
        body = b""
        while (frame := asked.next()) is not None and not isinstance(frame, RstStreamFrame):
            body += frame.data if isinstance(frame, DataFrame) else b""
            if "END_STREAM" in frame.flags:
                break
        return body

    slow, stalled = ask(), ask()
    end = time.monotonic() + 7
    while time.monotonic() < end:
        slow.buffer += slow.socket.recv(4096)
        time.sleep(0.1)
    if protocol != "http2":
        slow.send(f"GET / HTTP/1.1\r\nHost: {slow.authority}\r\nConnection: close\r\n\r\n")
    is_whole = content in rest(slow)
    assert is_whole
    assert len(rest(stalled)) < len(content)


def test_slow_readers_of_small_files_leave_room_to_open_others(serve):
    server = serve("--quiet", "--max-open-files", "300")
    names = [f"f{index}" for index in range(150)]
    for name in names:
        (server.root / name).write_bytes(b"x" * 60_000)
    wires = [Wire(server, receive_buffer=4096) for _ in range(100)]
    for name, wire in zip(names, wires):
        wire.send(f"GET /{name} HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n" * 60)
    time.sleep(0.5)
    for name in names[100:]:
        assert ask(server, "GET", f"/{name}").status == 200


def test_one_file_for_many_while_it_is_cut_and_grows(serve):
    """What is announced comes, or the connection ends: an answer is never filled up with something else."""
    server = serve("--quiet")
    file = server.root / "v"
    file.write_bytes(b"a" * 65_536)
    ends = threading.Event()

    def change():
        while not ends.is_set():
            os.truncate(file, 20_000)
            file.write_bytes(b"a" * 65_536)

    changing = threading.Thread(target=change)
    changing.start()
    whole = 0
    try:
        for _ in range(40):
            with Wire(server) as wire:
                wire.send(f"GET /v HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n" * 50)
                try:
                    for _ in range(50):
                        answer = wire.response()
                        assert answer.status == 200 and len(answer.body) == int(answer["Content-Length"])
                        assert not answer.body.strip(b"a\0")
                        whole += 1
                except (OSError, ConnectionClosed):
                    pass
    finally:
        ends.set()
        changing.join()
    assert whole > 0
    assert ask(server, "GET", "/v").body == file.read_bytes()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("filling", [0, 40_000], ids=["small", "large"])
def test_get_behind_a_put_brings_what_was_put(memory, serve, tls, filling):
    """What one turn of a loop composes for many who ask at once is over where one of them replaces the file."""
    server = serve(*(["--tls-self-signed"] if tls else []), root=memory)
    (memory / "v").write_text("old")
    assert ask(server, "PUT", "/made-by-the-server", body=b"x", tls=tls or None).status == 201
    with Wire(server, tls=tls or None) as wire:
        host = f"Host: {wire.authority}\r\n"
        get = f"GET /v HTTP/1.1\r\n{host}\r\n"
        for round in range(10):
            new = f"new {round}" + "x" * filling
            wire.send(get * 20 + f"PUT /v HTTP/1.1\r\n{host}Content-Length: {len(new)}\r\n\r\n{new}" + get * 2)
            answers = [wire.response() for _ in range(23)]
            assert [answer.status for answer in answers] == [200] * 20 + [204] + [200] * 2
            assert [answer.text for answer in answers[21:]] == [new] * 2


def test_folder_with_and_without_slash(server):
    (server.root / "folder").mkdir()
    (server.root / "folder" / "a.txt").write_text("x")
    for target in ("/folder", "/folder/"):
        for method in ("GET", "HEAD"):
            assert ask(server, method, target).status == 200
    assert "a.txt" in ask(server, "GET", "/folder").text.splitlines()
    answer = ask(server, "GET", "/folder", "Accept: text/html")
    assert answer.status in (301, 302, 303, 307, 308) and answer["Location"].endswith("/folder/")
    assert not answer["Location"].startswith("//")
    page = ask(server, "GET", "/folder/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
    assert page["Content-Type"].startswith("text/html")
    listing = ask(server, "GET", "/folder/", "Accept: application/json")
    assert listing["Content-Type"].startswith("application/json")
    assert "accept" in page["Vary"].lower()


def test_redirect_to_a_folder_stays_here(server):
    (server.root / "evil.example").mkdir()
    for target in ("//evil.example", "/%2f/evil.example", "/\\evil.example"):
        answer = ask(server, "GET", target, "Accept: text/html")
        if "Location" in answer:
            assert not answer["Location"].startswith(("//", "/\\"))


def test_slash_after_a_file(server):
    (server.root / "a.txt").write_text("x")
    assert ask(server, "GET", "/a.txt/").status in (404, 409)
    assert ask(server, "GET", "/a.txt/b").status in (404, 409)


def test_nothing_changes_through_a_slash_after_a_file(server):
    """It reads as nothing."""
    (server.root / "file").write_bytes(b"content")
    (server.root / "folder").mkdir()
    to = f"Destination: {server.url}"
    assert ask(server, "DELETE", "/file/").status == 404
    assert ask(server, "PATCH", "/file/", "X-Update-Range: append", body=b"more").status == 404
    for method in ("COPY", "MOVE"):
        assert ask(server, method, "/file/", f"{to}/other").status == 404
    assert (server.root / "file").read_bytes() == b"content"
    assert sorted(path.name for path in server.root.iterdir() if not path.name.startswith(".")) == ["file", "folder"]
    assert ask(server, "MOVE", "/folder/", f"{to}/moved/").status == 201
    assert ask(server, "DELETE", "/moved/").status == 204


@pytest.mark.parametrize("method, target, status", [
    ("GET", "/no", 404), ("GET", "/no/", 404), ("BREW", "/no", 501), ("PUT", "/", 405), pytest.param("GET", "/long" * 1000, 414, id="long")])
def test_refusals_are_not_for_caches(server, method, target, status):
    """A cache may keep a 404 by itself, and answer with it when the file is there."""
    answer = ask(server, method, target)
    assert answer.status == status and answer["cache-control"] in ("no-cache", "no-store"), answer


def test_index_file(serve):
    server = serve("--index", "index.html")
    (server.root / "site").mkdir()
    (server.root / "site" / "index.html").write_text("<p>hello")
    assert ask(server, "GET", "/site/", "Accept: text/html").text == "<p>hello"


def test_path_prefix(serve):
    server = serve("--path-prefix", "/files")
    (server.root / "a.txt").write_text("x")
    assert ask(server, "GET", "/files/a.txt").text == "x"
    assert ask(server, "GET", "/files/").status == 200
    assert ask(server, "GET", "/filesystem/a.txt").status == 404
    assert ask(server, "GET", "/a.txt").status == 404
    assert ask(server, "PUT", "/files/b", body="y").status == 201
    assert (server.root / "b").read_text() == "y"
    assert ask(server, "GET", "/files/../a.txt").status in (400, 404)


@pytest.mark.parametrize("prefix, spelled", [
    ("/files", ["/files", "/%66iles", "/%66%69les"]),
    ("/my files/b", ["/my%20files/b", "/m%79%20files/%62"]),
    ("/für%20alle/", ["/f%C3%BCr%20alle", "/f%c3%bcr%20alle", "/fü%72%20alle"]),
])
def test_a_path_prefix_however_it_is_spelled(serve, prefix, spelled):
    """RFC 3986 §6.2.2.2."""
    server = serve("--path-prefix", prefix)
    assert server.urls[0].endswith(spelled[0] + "/")
    (server.root / "a.txt").write_text("x")
    for place in spelled:
        assert ask(server, "GET", place + "/a.txt").text == "x"
        assert ask(server, "GET", place + "/").text.split() == ["a.txt"]
        own = place if place.isascii() else spelled[0]
        assert f"<D:href>{own}/a.txt</D:href>" in ask(server, "PROPFIND", place + "/", "Depth: 1").text
        assert ask(server, "COPY", place + "/a.txt", f"Destination: {spelled[0]}/b.txt").status == 201
        assert ask(server, "DELETE", place + "/b.txt").status == 204
    assert ask(server, "PROPFIND", "/", "Depth: 1").text.count("href>/") == 2
    first = spelled[0].rpartition("/")[0]
    for other in [spelled[0] + "x", first + "%2F" + spelled[0].rpartition("/")[2], spelled[0] + "%2Fa.txt", "/%66ile%", "/%66"]:
        assert ask(server, "GET", other).status in (400, 404), other


def test_cors(serve):
    server = serve("--cors", "https://app.example")
    answer = ask(server, "OPTIONS", "/x", "Origin: https://app.example", "Access-Control-Request-Method: PROPFIND",
                 "Access-Control-Request-Headers: depth, authorization, content-type")
    assert answer.status in (200, 204)
    assert answer["Access-Control-Allow-Origin"] == "https://app.example"
    assert "PROPFIND" in answer["Access-Control-Allow-Methods"]
    assert "depth" in answer["Access-Control-Allow-Headers"].lower()
    (server.root / "x").write_text("x")
    answer = ask(server, "GET", "/x", "Origin: https://app.example")
    assert answer["Access-Control-Allow-Origin"] == "https://app.example"
    exposed = answer["Access-Control-Expose-Headers"].split(", ")
    # What clients of WebDAV, tus and the draft look at.
    assert {"ETag", "Preference-Applied", "Upload-Concat", "Upload-Defer-Length", "Upload-Complete"} <= set(exposed)
    assert "Access-Control-Allow-Origin" not in ask(server, "GET", "/x", "Origin: https://evil.example")
    assert ask(server, "PUT", "/x", "Origin: https://app.example", body="y").status == 204


def test_no_cors_by_default(server):
    (server.root / "x").write_text("x")
    assert "Access-Control-Allow-Origin" not in ask(server, "GET", "/x", "Origin: https://app.example")


@pytest.mark.parametrize("method, field", [("HEAD", "Accept: */*"), ("GET", "Range: bytes=0-0")])
def test_nobody_makes_digests_for_clients_that_have_gone(server, method, field):
    """They have closed their connections as any program does that ends, without a reset."""
    with open(server.root / "large", "wb") as file:
        file.truncate(1 << 40)

    def open_files():
        return len(os.listdir(f"/proc/{server.pid}/fd"))

    before = open_files()
    for _ in range(20):
        with Wire(server) as wire:
            wire.request(method, "/large", field, "Want-Repr-Digest: sha-256=10")
    wait_until(lambda: open_files() >= before + 20, "the digests are begun")
    wait_until(lambda: open_files() <= before + 2, "nobody works on any of them")


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("version, fields, rest", [
    ("HTTP/1.1", ["Content-Length: 1000000000"], b"b" * 1_000_000), ("HTTP/1.1", [], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 30_000),
    ("HTTP/1.1", ["Content-Length: 5"], b"b"), ("HTTP/1.1", ["Content-Length: 5", "Expect: 100-continue"], b""),
    ("HTTP/1.0", [], b""), ("HTTP/1.0", [], b"more" * 250_000),
], ids=["with a body", "with more requests", "with half a body", "without a body", "HTTP 1.0", "HTTP 1.0 with more"])
def test_nor_for_those_of_whom_no_more_is_read(serve, tls, version, fields, rest):
    server = serve(*(["--tls-self-signed"] if tls else []))
    with open(server.root / "large", "wb") as file:
        file.truncate(1 << 40)

    for _ in range(3):
        with Wire(server, tls=tls or None) as wire:
            wire.request("HEAD", "/large", *fields, "Want-Repr-Digest: sha-256=10", version=version)
            wire.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                wire.send(rest)
            wait_until(lambda: server.opened("/large") > 0, "one is begun")
    wait_until(lambda: server.opened("/large") == 0, "nobody works on any of them")


@pytest.mark.parametrize("version, fields, rest", [
    ("HTTP/1.1", ["Content-Length: 5"], b"later"), ("HTTP/1.1", ["Content-Length: 5"], b"later\r\n"),
    ("HTTP/1.1", ["Content-Length: 5", "Expect: 100-continue"], b""), ("HTTP/1.0", [], b""), ("HTTP/1.0", ["Content-Length: 5"], b"later"),
])
def test_who_waits_for_a_digest_gets_nothing_before_it(server, version, fields, rest):
    """Not every program expects an interim response."""
    content = os.urandom(700_000)
    (server.root / "file").write_bytes(content)
    slow = ["-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=2500000"]
    with traced(server, *slow), Wire(server) as wire:
        wire.request("HEAD", "/file", *fields, "Want-Repr-Digest: sha-256=10", version=version)
        time.sleep(0.2)
        wire.send(rest)
        answer = wire.response("HEAD", interim=True)
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert answer.status == 200 and answer["Repr-Digest"] == f"sha-256=:{digest}:"


def test_who_says_no_more_in_http_1_0_gets_all_of_it(serve):
    server = serve("--limit-rate", "100K")
    content = os.urandom(300_000)
    (server.root / "file").write_bytes(content)
    with Wire(server) as wire:
        wire.request("GET", "/file", "Want-Repr-Digest: sha-256=10", version="HTTP/1.0")
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.response().body == content


def test_who_only_says_no_more_gets_a_digest(server):
    content = os.urandom(3 << 20)
    (server.root / "file").write_bytes(content)
    slow = ["-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=1000000"]
    with traced(server, *slow), Wire(server) as wire:
        wire.request("GET", "/file", "Want-Repr-Digest: sha-256=10")
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.response(interim=True).status == 102
        answer = wire.response()
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert answer.body == content and answer["Repr-Digest"] == f"sha-256=:{digest}:"
