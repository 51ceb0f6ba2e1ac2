"""What a request took is given back, whatever became of it: of a server that runs for years, each byte that is not counts.
Not its memory is looked at, which the allocator keeps for later, but the number of allocations that are still in use."""

import base64
import itertools
import os
from urllib.parse import urlsplit

import pytest

from allocations import settled, with_counts
from frames import Frames
from server import SANITIZED
from wire import Wire

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer brings its own allocator, and finds leaks itself")

MANY = 100
LOCK = ('<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>'
        '<D:owner>me</D:owner></D:lockinfo>')
FORM = b'--b\r\nContent-Disposition: form-data; name="files"; filename="%b"\r\n\r\ncontent\r\n--b--\r\n'
FORM_TYPE = "Content-Type: multipart/form-data; boundary=b"
TUS = "Tus-Resumable: 1.0.0"
PIECE = (TUS, "Content-Type: application/offset+octet-stream")


class Visitor:
    """A client with one connection that lasts, and others that do not; each name that it asks for is new."""

    def __init__(self, server, tls):
        self.server, self.tls = server, tls
        self.numbers = itertools.count()
        self.wire = self.connect()

    def connect(self):
        return Wire(self.server, tls=self.tls or None)

    def name(self):
        return f"/new{next(self.numbers)}"

    def ask(self, status, method, target, *fields, **options):
        answer = self.wire.ask(method, target, *fields, **options)
        assert answer.status == status, (answer.status, answer.text[:300])
        return answer

    def break_off(self, method, target, *fields, body=b"", read=0):
        """Sends a request, or the beginning of one, reads the beginning of its answer, and goes."""
        wire = self.connect()
        wire.request(method, target, *fields).send(body)
        if read:
            wire.socket.recv(read)
        wire.reset()


def put_and_delete(one):
    name = one.name()
    one.ask(201, "PUT", name, body=b"x" * 20_000)
    one.ask(204, "DELETE", name)


def move_and_copy(one):
    name = one.name()
    one.ask(201, "COPY", "/folder/", f"Destination: {name}/")
    one.ask(201, "MOVE", f"{name}/", f"Destination: {name}x/")
    one.ask(204, "DELETE", f"{name}x/")


def lock(one):
    name = one.name()
    token = one.ask(201, "LOCK", name, "Timeout: Second-60", body=LOCK)["Lock-Token"]
    one.ask(423, "PUT", name, body=b"x")
    one.ask(204, "PUT", name, f"If: ({token})", body=b"x")
    one.ask(204, "UNLOCK", name, f"Lock-Token: {token}")
    one.ask(204, "DELETE", name)


def properties(one):
    name = one.name()[1:]
    for verb in ("set", "remove"):
        one.ask(207, "PROPPATCH", "/file", body=(
            f'<propertyupdate xmlns="DAV:"><{verb}><prop><{name} xmlns="x"/></prop></{verb}></propertyupdate>'))


def form(one):
    name = one.name()
    one.ask(201, "POST", "/", FORM_TYPE, body=FORM.replace(b"%b", name[1:].encode()))
    one.ask(204, "DELETE", name)


def resumable(one):
    name = one.name()
    place = urlsplit(one.ask(
        201, "POST", "/.shareserve/uploads", TUS, "Upload-Length: 10",
        f"Upload-Metadata: filename {base64.b64encode(name[1:].encode()).decode()}", body=b"")["Location"]).path
    one.ask(204, "PATCH", place, *PIECE, "Upload-Offset: 0", body=b"hello")
    one.ask(204, "PATCH", place, *PIECE, "Upload-Offset: 5", body=b"world")
    one.ask(204, "DELETE", name)


def connections(one):
    with one.connect() as wire:
        assert wire.ask("GET", "/file").status == 200
    with one.connect() as wire:
        wire.send(os.urandom(40).replace(b"\n", b"x") + b"\r\n\r\n")
        wire.socket.recv(1_000)
    one.connect().reset()


def http2(one):
    frames = Frames(one.server)
    frames.send(frames.head(1, path="/file") + frames.head(3, path="/large"))
    while (frame := frames.next()).stream_id != 1 or "END_STREAM" not in frame.flags:
        pass
    frames.socket.close()


WAYS = {
    "reads": lambda one: [
        one.ask(200, "GET", "/file"), one.ask(206, "GET", "/file", "Range: bytes=1-5,10-20"),
        one.ask(416, "GET", "/file", "Range: bytes=5000-"), one.ask(304, "GET", "/file", "If-None-Match: *"),
        one.ask(404, "GET", one.name()), one.ask(200, "GET", "/text.txt", "Accept-Encoding: gzip"), one.ask(200, "OPTIONS", "/")],
    "listings": lambda one: [
        one.ask(200, "GET", "/folder/", "Accept: text/html"), one.ask(200, "GET", "/folder/", "Accept: application/json"),
        one.ask(207, "PROPFIND", "/folder/", "Depth: 1"), one.ask(200, "GET", "/.shareserve/search?q=f&in=/"),
        one.ask(200, "GET", "/folder/?archive=zip"), one.ask(200, "GET", "/folder/?archive=tar.gz")],
    "refused": lambda one: [
        one.ask(400, "PROPFIND", "/folder/", body="<propfind xmlns='DAV:'><prop>"), one.ask(409, "PUT", "/none/x", body=b"x"),
        one.ask(412, "PUT", "/file", "If-None-Match: *", body=b"x"), one.ask(400, "POST", "/", FORM_TYPE, body=b"nothing")],
    "downloads broken off": lambda one: [
        one.break_off("GET", "/large", read=1_000), one.break_off("GET", "/?archive=zip", read=100),
        one.break_off("GET", "/.shareserve/events?in=/", read=100), one.break_off("GET", "/folder/", "Accept: application/json")],
    "uploads broken off": lambda one: [
        *(one.break_off("PUT", "/broken", "Content-Length: 500000", body=b"x" * size) for size in (100, 100_000)),
        one.break_off("POST", "/", "Content-Length: 500000", FORM_TYPE, body=FORM)],
    "put": put_and_delete, "trees": move_and_copy, "locks": lock, "properties": properties, "forms": form,
    "resumable uploads": resumable, "connections": connections,
}


@pytest.mark.parametrize("way, tls", [
    *((way, False) for way in WAYS), *((way, True) for way in ("reads", "downloads broken off", "uploads broken off", "connections")),
    ("http2", True)])
def test_all_that_was_taken_is_given_back(serve, folder, way, tls):
    server = with_counts(serve, folder, *(["--tls-self-signed"] if tls else []))
    (server.root / "folder").mkdir()
    for name in ("file", "folder/1", "folder/2"):
        (server.root / name).write_bytes(bytes(1_000))
    (server.root / "text.txt").write_text("hello\n" * 10_000)
    (server.root / "large").write_bytes(bytes(8 << 20))
    one, work = Visitor(server, tls), WAYS.get(way, http2)

    def in_use(times):
        for _ in range(times):
            work(one)
        return settled(lambda: (server.allocations().in_use, server.open_files()))

    warm, first, second = in_use(MANY), in_use(MANY), in_use(MANY)
    # Something may come and go beside them, such as a line of the log.
    assert min(first[0] - warm[0], second[0] - first[0]) < MANY / 10, (warm, first, second)
    assert second[1] <= max(warm[1], first[1]) + 2, (warm, first, second)
