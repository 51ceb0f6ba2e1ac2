"""A disk that hangs: a file system in a program of its own that stops, as one of another machine does that is gone."""

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from server import wait_until
from test_disks import windows
from tracing import failing
from wire import Wire, ask

pytestmark = pytest.mark.root

CONTENT = os.urandom(8 << 20)


class Disk:
    """`place` as bindfs shows another folder, which answers as long as it is let."""

    def __init__(self, folder, place):
        if not os.path.exists("/dev/fuse"):
            pytest.skip("needs FUSE")
        behind = folder / "behind"
        (behind / "deep").mkdir(parents=True)
        (behind / "deep" / "small").write_text("hello")
        (behind / "large").write_bytes(CONTENT)
        place.mkdir(parents=True, exist_ok=True)
        self.place = place
        self.program = subprocess.Popen(["bindfs", "-f", str(behind), str(place)])
        while not os.path.ismount(place):
            assert self.program.poll() is None
            time.sleep(0.05)

    @contextlib.contextmanager
    def hanging(self):
        self.program.send_signal(signal.SIGSTOP)
        try:
            # A thread that has not been scheduled since still takes a request, and who waits for that one can't be
            # killed.
            wait_until(self.has_stopped, "the disk stops")
            yield
        finally:
            self.program.send_signal(signal.SIGCONT)

    def has_stopped(self):
        states = [stat.read_text().rpartition(")")[2].split()[0]
                  for stat in pathlib.Path(f"/proc/{self.program.pid}/task").glob("*/stat")]
        return set(states) == {"T"}

    def release(self):
        subprocess.run(["umount", "-l", str(self.place)], check=True)
        self.program.kill()
        self.program.wait(20)


@pytest.fixture(params=["pool/", ""], ids=["in the share", "the share itself"])
def below(request):
    """Where in the share the disk is."""
    return request.param


@pytest.fixture
def disk(folder, below):
    disk = Disk(folder, folder / "share" / below)
    yield disk
    disk.release()


def requests_of(below):
    for method, fields in [("OPTIONS", []), ("PROPFIND", ["Depth: 0"]), ("GET", []), ("HEAD", [])]:
        for name in ["", "deep/", "deep/small", "large", "deep/none"]:
            yield method, f"/{below}{name}", fields


@pytest.mark.parametrize("below", ["pool/"])
def test_a_rule_for_a_disk_that_hangs_lets_the_server_start(serve, folder, disk, below):
    with disk.hanging():
        server = serve("--auth", "@/:rw", "--auth", "@/pool:ro", root=folder / "share")
        assert ask(server, "PUT", "/new", body=b"content").status == 201


def test_others_are_answered(serve, folder, disk, below):
    server = serve("--event-loops", "1", root=folder / "share")
    for _ in range(3):
        for method, target, fields in requests_of(below):
            ask(server, method, target, *fields)
    # What was known about the disk's own folder a moment ago has to be asked anew.
    time.sleep(1.5)
    for method, target, fields in requests_of(below):
        with Wire(server) as asking, disk.hanging():
            asking.request(method, target, *fields)
            time.sleep(0.05)
            begun = time.monotonic()
            assert ask(server, "GET", "/.shareserve/health").status == 200
            assert time.monotonic() - begun < 2, (method, target)
        time.sleep(0.05)
    assert ask(server, "GET", f"/{below}deep/small").text == "hello"


@pytest.fixture(params=[[], ["--tls-self-signed"]], ids=["plain", "TLS"])
def download(request, serve, folder, disk, below):
    """A server, a connection on which a large file of the disk has begun to come, and whether it has TLS."""
    server = serve("--event-loops", "1", *request.param, root=folder / "share")
    tls = True if request.param else None
    with Wire(server, tls=tls) as wire:
        wire.request("GET", f"/{below}large")
        # The server has the file open, and the sockets are full.
        time.sleep(0.3)
        yield server, wire, tls


def test_a_download_waits_alone(download, disk):
    server, wire, tls = download
    with disk.hanging():
        # All that the sockets hold, and then it waits for the disk.
        received = bytearray(wire.socket.recv(3 << 20))
        wire.socket.settimeout(2)
        with contextlib.suppress(TimeoutError):
            while len(received) < len(CONTENT):
                received += wire.socket.recv(1 << 20)
        assert ask(server, "GET", "/.shareserve/health", tls=tls).status == 200
    wire.socket.settimeout(20)
    while len(received.partition(b"\r\n\r\n")[2]) < len(CONTENT):
        received += wire.socket.recv(1 << 20)
    body = received.partition(b"\r\n\r\n")[2]
    assert hashlib.sha256(body).digest() == hashlib.sha256(CONTENT).digest()


def test_who_leaves_a_download_holds_nobody_up(download, disk, below):
    """To close a file, its disk is asked."""
    server, wire, tls = download
    with disk.hanging():
        wire.socket.close()
        # The server sees it, and closes the file.
        time.sleep(0.3)
        begun = time.monotonic()
        assert ask(server, "GET", "/.shareserve/health", tls=tls).status == 200
        assert time.monotonic() - begun < 2
    assert ask(server, "GET", f"/{below}deep/small", tls=tls).text == "hello"


LOCK = b'<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'


TUS = ("Tus-Resumable: 1.0.0", "Upload-Length: 2000000")
JSON = "Content-Type: application/json"
STREAM = "Content-Type: application/offset+octet-stream"


def name(number):
    return base64.b64encode(b"upload %d" % number).decode()


@pytest.mark.parametrize("tls", [None, True], ids=["plain", "TLS"])
def test_the_rest_of_the_share_goes_on(serve, folder, tls):
    """More ask for what is on the disk, in every way, than there are threads; nobody else hears of it."""
    disk = Disk(folder, folder / "share" / "pool")
    near = folder / "share" / "near"
    near.mkdir()
    for number in range(12):
        (near / str(number)).write_text("here")
        (near / f"going{number}").write_text("here")
    server = serve(*(["--tls-self-signed"] if tls else []), root=folder / "share")
    try:
        with contextlib.ExitStack() as stack, disk.hanging():
            for number in range(12):
                for method, target, fields, body in [
                    ("GET", "/pool/deep/small", [], None),
                    ("GET", "/pool/large", [], None),
                    ("PROPFIND", "/pool/", ["Depth: 1"], None),
                    ("PUT", f"/pool/new{number}", [], b"new"),
                    ("DELETE", f"/pool/deep/{number}", [], None),
                    ("MKCOL", f"/pool/folder{number}", [], None),
                    ("LOCK", f"/pool/locked{number}", [], LOCK),
                    ("MOVE", f"/near/{number}", [f"Destination: /pool/{number}"], None),
                    ("COPY", f"/near/{number}", [f"Destination: /pool/copy{number}"], None),
                    ("POST", "/.shareserve/uploads/", [*TUS, f"Upload-Metadata: path cG9vbA==,filename {name(number)}"], b""),
                    ("POST", "/.shareserve/trash", [JSON], b'{"hrefs":["/pool/deep/small"]}'),
                    ("POST", "/.shareserve/links", [JSON], b'{"path":"pool/large"}'),
                    ("GET", "/.shareserve/links?path=/pool/large", [], None),
                    ("GET", "/.shareserve/events?in=/pool/", ["Accept: text/event-stream"], None),
                    ("DELETE", f"/near/going{number}", ['If: </pool/large> (Not ["tag"])'], None),
                ]:
                    asking = stack.enter_context(Wire(server, tls=tls))
                    asking.request(method, target, *fields, body=body)
            # They all wait for the disk by now.
            time.sleep(0.3)
            for method, target, fields, expected in [
                ("GET", "/near/1", [], 200),
                ("PROPFIND", "/", ["Depth: 1"], 207),
                ("PROPFIND", "/near/", ["Depth: 1"], 207),
                ("GET", "/", ["Accept: text/html"], 200),
                ("GET", "/?json", [], 200),
                ("MKCOL", "/near/made", [], 201),
                ("MOVE", "/near/made", ["Destination: /near/moved"], 201),
                ("COPY", "/near/moved", ["Destination: /near/copied"], 201),
                ("DELETE", "/near/moved", [], 204),
            ]:
                begun = time.monotonic()
                assert ask(server, method, target, *fields, tls=tls).status == expected, (method, target)
                assert time.monotonic() - begun < 3, (method, target)
        assert ask(server, "GET", "/pool/large", tls=tls).body == CONTENT
    finally:
        disk.release()


@pytest.fixture
def pool(serve, folder):
    """A server, and the disk at `/pool/` of its share."""
    disk = Disk(folder, folder / "share" / "pool")
    yield serve("--shutdown-timeout", "1", root=folder / "share"), disk
    disk.release()


def test_open_pages_hold_nobody_up(pool):
    """They look at their folder every two seconds."""
    server, disk = pool
    with contextlib.ExitStack() as stack:
        for _ in range(12):
            page = stack.enter_context(Wire(server))
            page.request("GET", "/.shareserve/events?in=/pool/", "Accept: text/event-stream")
        time.sleep(0.5)
        with disk.hanging():
            time.sleep(3)
            begun = time.monotonic()
            assert ask(server, "PROPFIND", "/", "Depth: 1").status == 207
            assert ask(server, "PUT", "/here", body=b"here").status == 201
            assert time.monotonic() - begun < 3


def test_uploads_that_wait_for_their_names_hold_nobody_up(pool):
    """Whoever asks for a complete upload that has no name yet has it get its name."""
    server, disk = pool
    fields = ("Tus-Resumable: 1.0.0", "Upload-Length: 5", "Upload-Metadata: path cG9vbA==,filename bmV3")
    place = ask(server, "POST", "/.shareserve/uploads/", *fields)["Location"]
    with contextlib.ExitStack() as stack, disk.hanging():
        for method, more, body in [("PATCH", ["Upload-Offset: 0", STREAM], b"bytes"), *[("HEAD", [], None)] * 12]:
            asking = stack.enter_context(Wire(server))
            asking.request(method, place, fields[0], *more, body=body)
            time.sleep(0.1)
        begun = time.monotonic()
        assert ask(server, "PROPFIND", "/", "Depth: 1").status == 207
        assert ask(server, "PUT", "/here", body=b"here").status == 201
        assert time.monotonic() - begun < 3


@pytest.mark.parametrize("method, target, fields, body", [
    ("POST", "/.shareserve/trash", [JSON], b'{"hrefs":["/near/file"]}'),
    ("POST", "/.shareserve/trash", [JSON], b'{"hrefs":["/near/folder/small"]}'),
    ("MOVE", "/near/here", ["Destination: /near/file"], None),
    ("MOVE", "/near/folder/small", ["Destination: /near/moved"], None),
])
def test_a_change_by_way_of_a_link_holds_nobody_up(pool, method, target, fields, body):
    server, disk = pool
    near = server.root / "near"
    near.mkdir()
    (near / "here").write_text("here")
    (near / "file").symlink_to("../pool/large")
    (near / "folder").symlink_to("../pool/deep")
    time.sleep(1.5)
    with Wire(server) as asking, disk.hanging():
        asking.request(method, target, *fields, body=body)
        time.sleep(0.3)
        assert_others_are_served(server)


def test_a_server_ends_though_a_disk_hangs(pool):
    server, disk = pool
    with contextlib.ExitStack() as stack, disk.hanging():
        for _ in range(3):
            stack.enter_context(Wire(server)).request("PROPFIND", "/pool/", "Depth: 1")
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0


@contextlib.contextmanager
def crowd(server, place):
    """More that ask for what is on the disk below `place` than there are threads."""
    with contextlib.ExitStack() as stack:
        for number in range(12):
            for method, target, body in [("PROPFIND", place, None), ("PUT", f"{place}new{number}", b"new")]:
                stack.enter_context(Wire(server)).request(method, target, "Depth: 0", body=body)
        # They all wait for the disk by now.
        time.sleep(0.3)
        yield


def assert_others_are_served(server):
    for method, target, fields, expected in [
        ("PROPFIND", "/near/", ["Depth: 1"], 207),
        ("MKCOL", "/near/new", [], 201),
        ("DELETE", "/near/new", [], 204),
    ]:
        begun = time.monotonic()
        assert ask(server, method, target, *fields).status == expected, (method, target)
        assert time.monotonic() - begun < 3, (method, target)


@pytest.mark.parametrize("by", ["the server", "another program"])
def test_a_renamed_folder_takes_the_disk_with_it(serve, folder, by):
    share = folder / "share"
    disk = Disk(folder, share / "above" / "pool")
    (share / "near").mkdir()
    server = serve(root=share)
    try:
        assert ask(server, "GET", "/above/pool/deep/small").text == "hello"
        if by == "the server":
            assert ask(server, "MOVE", "/above", "Destination: /renamed").status == 201
        else:
            (share / "above").rename(share / "renamed")
            time.sleep(1.2)
        disk.place = share / "renamed" / "pool"
        assert ask(server, "GET", "/renamed/pool/deep/small").text == "hello"
        with disk.hanging(), crowd(server, "/renamed/pool/"):
            assert_others_are_served(server)
    finally:
        disk.release()


@pytest.mark.parametrize("target", ["../pool", "../pool/deep/small", "through/small"])
def test_a_folder_with_a_link_to_it_is_listed(serve, folder, target):
    """The link is there all the time; what it leads to is known when the disk answers."""
    share = folder / "share"
    disk = Disk(folder, share / "pool")
    (share / "near").mkdir()
    (share / "near" / "through").symlink_to("../pool/deep")
    (share / "near" / "by-detour").symlink_to(target)
    server = serve(root=share)

    def shown():
        entries = json.loads(ask(server, "GET", "/near/?json").body)["entries"]
        return next(entry for entry in entries if entry["name"] == "by-detour")

    def listings():
        yield ask(server, "PROPFIND", "/near/", "Depth: 1").text
        yield ask(server, "GET", "/near/?json").text
        yield ask(server, "GET", "/near/", "Accept: text/html").text

    try:
        healthy = shown()
        time.sleep(1.5)
        with disk.hanging():
            begun = time.monotonic()
            assert all("by-detour" in listing for listing in listings())
            assert time.monotonic() - begun < 3
            assert_others_are_served(server)
        wait_until(lambda: shown() == healthy, "the disk answers again")
    finally:
        disk.release()


def test_a_list_of_all_has_the_properties_of_its_folder(serve, folder):
    share = folder / "share"
    disk = Disk(folder, share / "pool")
    server = serve(root=share)
    change = b'<propertyupdate xmlns="DAV:"><set><prop><colour xmlns="urn:x">green</colour></prop></set></propertyupdate>'
    wish = b'<propfind xmlns="DAV:"><prop><colour xmlns="urn:x"/></prop></propfind>'
    try:
        assert ask(server, "PROPPATCH", "/pool/", body=change).status == 207
        assert b"green" in ask(server, "PROPFIND", "/pool/", "Depth: 0", body=wish).body
        assert b"green" in ask(server, "PROPFIND", "/", "Depth: infinity", body=wish).body
    finally:
        disk.release()


def test_it_is_known_in_other_letters(serve, windows):
    """Where those name the same folder."""
    share = windows / "share"
    (share / "near").mkdir(parents=True)
    disk = Disk(windows.parent, share / "pool")
    server = serve(root=share)
    try:
        # The kernel knows the folder by the name under which it was last looked up.
        assert ask(server, "GET", "/POOL/deep/small").text == "hello"
        time.sleep(1.5)
        assert ask(server, "PROPFIND", "/near/", "Depth: 1").status == 207
        with disk.hanging(), crowd(server, "/pool/"):
            assert_others_are_served(server)
    finally:
        disk.release()


def test_who_asks_for_a_near_disk_in_it_holds_nobody_up(serve, folder):
    """The way there leads through the one that hangs."""
    share = folder / "share"
    disk = Disk(folder, share / "pool")
    (share / "near").mkdir()
    inner = share / "pool" / "deep" / "inner"
    inner.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(inner)], check=True)
    (inner / "small").write_text("hello")
    server = serve(root=share)
    try:
        assert ask(server, "GET", "/pool/deep/inner/small").text == "hello"
        # What the kernel knows of the way there has to be asked anew.
        time.sleep(1.5)
        with disk.hanging(), crowd(server, "/pool/deep/inner/"):
            assert_others_are_served(server)
    finally:
        subprocess.run(["umount", "-l", str(inner)], check=True)
        disk.release()


def test_a_disk_that_answers_is_not_said_to_hang(serve, folder):
    """However many ask at a time."""
    disk = Disk(folder, folder / "share" / "pool")
    server = serve(root=folder / "share")
    try:
        with contextlib.ExitStack() as stack:
            wires = [stack.enter_context(Wire(server)) for _ in range(400)]
            for wire in wires:
                wire.request("PROPFIND", "/pool/", "Depth: 1")
            assert {wire.response("PROPFIND").status for wire in wires} == {207}
    finally:
        disk.release()


@pytest.mark.parametrize("below", ["pool/"], indirect=True)
def test_no_more_threads(serve, folder, disk, below):
    """The disk's own threads start with the first request for it: until they can, it is refused."""
    server = serve(root=folder / "share")
    with failing(server, "clone", "clone3", error="EAGAIN"):
        answer = ask(server, "GET", f"/{below}deep/small")
        assert answer.status == 503 and answer["Retry-After"]
    wait_until(lambda: ask(server, "GET", f"/{below}deep/small").text == "hello", "it is served")
    assert server.logged().count("the system has no more threads") == 1
