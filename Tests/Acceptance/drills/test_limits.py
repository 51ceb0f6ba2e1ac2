"""Every bound that has an option is met by a request that exceeds it, and leaves the server as it was."""

import base64
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import resource
import select
import signal
import socket
import ssl
import subprocess
import time

import pytest
from hyperframe.frame import DataFrame

from frames import Frames
from server import wait_until
from tracing import Trace, failing, traced
from wire import ConnectionClosed, Wire, ask


def with_few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (140, 140))


@pytest.fixture
def crowd():
    """Connections that the test keeps open; closed at its end."""
    wires = []
    yield wires
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("kind", ["uploads", "downloads", "both"])
def test_files_never_take_what_accepting_needs(serve, crowd, kind):
    """With more stalled transfers than descriptors, what is done at once is done, and the rest once they are gone."""
    server = serve(preexec=with_few_files)
    (server.root / "small").write_text("x")
    for index in range(250):
        with open(server.root / f"big {index}", "wb") as file:
            file.truncate(1 << 30)
    for index in range(250):
        try:
            wire = Wire(server, receive_buffer=4096, timeout=5)
            crowd.append(wire)
            if kind == "uploads" or kind == "both" and index % 2:
                wire.request("PUT", f"/{index}", "Content-Length: 1000000")
                wire.send("x")
            else:
                wire.request("GET", f"/big%20{index}")
        except OSError:
            pass
    for _ in range(8):
        # Longer than the second after which the runtime checks its threads, for which it opens a file.
        time.sleep(0.3)
        with Wire(server, timeout=10) as wire:
            assert wire.ask("PUT", "/small", body="x").status == 204
            assert wire.ask("GET", "/small").text == "x"
            assert wire.ask("PROPFIND", "/small", "Depth: 0").status == 207
            answer = wire.ask("GET", "/big%200", "Range: bytes=0-0")
            assert answer.status == 206 or answer.status == 503 and answer["Retry-After"], answer
    assert server.open_files() < 140
    for wire in crowd:
        wire.close()
    wait_until(lambda: ask(server, "GET", "/big%200", "Range: bytes=0-0").status == 206, "the server serves all again", 10)
    assert server.cpu_seconds() < 20, "no busy loop"


def test_open_files_can_be_set(serve):
    server = serve("--max-open-files", "300")
    limits = pathlib.Path(f"/proc/{server.pid}/limits").read_text()
    assert next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3] == "300"
    assert ask(server, "PUT", "/a", body="x").status == 201


def test_broken_uploads_leave_the_limit_of_open_files_as_it_is(serve):
    server = serve("--quiet", "--max-open-files", "256")
    head = "PUT /{} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10000000\r\n\r\n"

    def begun():
        """As many slow uploads as there is room for."""
        crowd = []
        while True:
            wire = Wire(server)
            wire.send(head.format(len(crowd)))
            answer = wire.response("PUT", interim=True).status
            if answer == 503:
                wire.reset()
                return crowd
            assert answer == 100
            wire.send(bytes(100_000))
            crowd.append(wire)

    rounds = []
    for _ in range(8):
        crowd = begun()
        # Until their bytes have come, most likely.
        time.sleep(0.5)
        rounds.append((len(crowd), server.open_files()))
        for wire in crowd:
            wire.reset()
        wait_until(lambda: server.open_files() < 60, "they have ended")
    assert rounds[-1][0] <= rounds[0][0] + 10, rounds


def held(server, crowd, method, target, *fields):
    """A long answer that nobody reads: its head has come."""
    wire = Wire(server, receive_buffer=4096)
    crowd.append(wire)
    wire.request(method, target, *fields)
    wire.read(100)
    return wire


PLACES = pytest.mark.parametrize("option, method, target, fields", [
    ("--max-propfinds", "PROPFIND", "/many/", ["Depth: 1"]),
    ("--max-listings", "GET", "/many/?json", []),
    ("--max-archives", "GET", "/large/?archive=tar", []),
    ("--max-searches", "GET", "/.shareserve/search?q=name", []),
], ids=["PROPFIND", "listing", "archive", "search"])


@pytest.fixture
def crowded(serve):
    """Starts a server with few places, and answers that are too long for a socket."""
    def start(option, places):
        server = serve(option, str(places))
        for name in ("many", "large"):
            (server.root / name).mkdir()
        if option != "--max-archives":
            for index in range(12_000):
                (server.root / "many" / f"name-{index:0200}").touch()
        for index in range(100):
            with open(server.root / "large" / f"{index}", "wb") as file:
                file.truncate(8 << 20)
        return server
    return start


def gets_in(server, method, target, fields):
    """Whether there is a place for one more, who leaves at once."""
    with Wire(server, receive_buffer=4096) as wire:
        wire.request(method, target, *fields)
        return wire.read(12).split()[1][:1] == b"2"


@PLACES
def test_one_at_a_time(crowded, crowd, option, method, target, fields):
    """A second one is refused while the first is being sent, and taken after it."""
    server = crowded(option, 1)
    first = held(server, crowd, method, target, *fields)
    with Wire(server, receive_buffer=4096) as second:
        second.request(method, target, *fields, "Connection: close")
        assert second.read(12) == b"HTTP/1.1 503"
        assert b"\r\nRetry-After: " in second.rest()[:1000]
    assert len(json.loads(ask(server, "GET", "/large/?json&name=1&name=2").text)["entries"]) == 2
    first.close()
    wait_until(lambda: gets_in(server, method, target, fields), "the place is free again")


@PLACES
def test_who_takes_next_to_nothing_makes_way(crowded, crowd, option, method, target, fields):
    """Of two who read a byte now and then, the one who has for longer loses the place to a newcomer."""
    server = crowded(option, 2)
    slowest = held(server, crowd, method, target, *fields)
    time.sleep(0.5)
    slow = held(server, crowd, method, target, *fields)

    def works():
        slowest.read(1)
        slow.read(1)
        return gets_in(server, method, target, fields)

    wait_until(works, "one of them makes way")
    assert slow.read(3 << 20)
    with pytest.raises((ConnectionClosed, ConnectionResetError)):
        slowest.read(1 << 30)


def test_who_reads_on_slowly_keeps_the_place(crowded, crowd):
    server = crowded("--max-propfinds", 1)
    reader = held(server, crowd, "PROPFIND", "/many/", "Depth: 1", "Connection: close")
    begun = time.monotonic()
    # Longer than a client that reads nothing would be tolerated.
    while time.monotonic() < begun + 8:
        assert reader.read(64 << 10)
        assert not gets_in(server, "PROPFIND", "/many/", ["Depth: 1"])
        time.sleep(0.15)
    assert b"</D:multistatus>" in reader.rest()[-200:]


def test_who_reads_on_a_thin_line_keeps_the_place(crowded, crowd):
    """The system takes more for such a client in steps that are many seconds apart."""
    server = crowded("--max-archives", 1)
    reader = Wire(server, receive_buffer=128 << 10)
    crowd.append(reader)
    reader.request("GET", "/large/?archive=tar")
    begun = time.monotonic()
    while time.monotonic() < begun + 20:
        assert reader.read(25 << 10)
        assert not gets_in(server, "GET", "/large/?archive=tar", [])
        time.sleep(0.25)


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_uploads_that_bring_next_to_nothing_make_way(serve, crowd, tls):
    server = serve("--max-requests", "40", *(["--tls-self-signed"] if tls else []))
    # A download needs no such place: it may be slow.
    (server.root / "file").write_bytes(bytes(1 << 20))
    slow = Wire(server, tls=tls, receive_buffer=4096)
    slow.request("GET", "/file")
    for number in range(60):
        wire = Wire(server, tls=tls)
        wire.request("PUT", f"/{number}", "Content-Length: 100000")
        crowd.append(wire)

    def gets_in():
        for wire in crowd:
            try:
                wire.send(b"x")
            except OSError:
                pass
        return ask(server, "MKCOL", "/folder", tls=tls).status == 201

    assert not gets_in()
    wait_until(gets_in, "one of them makes way")
    assert len(slow.response("GET").body) == 1 << 20


def test_memory_for_plans_goes_from_who_takes_nothing(serve, crowd):
    """Archives of many names fill the memory for them before their places."""
    server = serve()
    for folder in range(20):
        (server.root / str(folder)).mkdir()
        for index in range(1_000):
            (server.root / str(folder) / f"{index:0200}").touch()
    with open(server.root / "0" / "large", "wb") as file:
        file.truncate(64 << 20)
    target = "/?archive=tar"

    def refused():
        wire = Wire(server, receive_buffer=4096)
        crowd.append(wire)
        wire.request("GET", target)
        return wire.read(12) == b"HTTP/1.1 503"

    wait_until(refused, "the memory is full")
    assert len(crowd) < 60
    wait_until(lambda: gets_in(server, "GET", target, []), "one of them makes way")


def test_a_body_that_comes_slowly_keeps_no_place(serve, crowd):
    server = serve("--max-propfinds", "1")
    for method in ("PROPFIND", "REPORT"):
        wire = Wire(server)
        crowd.append(wire)
        wire.request(method, "/", "Depth: 1", "Content-Length: 100")
        wire.send("<")
    # Long enough for their tasks to begin.
    for _ in range(20):
        assert ask(server, "PROPFIND", "/", "Depth: 1").status == 207
        time.sleep(0.01)


def test_size_and_depth_of_xml(serve):
    server = serve("--max-xml-size", "1K", "--max-xml-depth", "8")
    body = '<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'
    assert ask(server, "PROPFIND", "/", "Depth: 0", body=body).status == 207
    assert ask(server, "PROPFIND", "/", "Depth: 0", body=body + " " * 1024).status == 413
    for levels, status in [(5, 207), (7, 400)]:
        nested = "<a>" * levels + "</a>" * levels
        body = f'<propfind xmlns="DAV:"><prop>{nested}</prop></propfind>'
        assert ask(server, "PROPFIND", "/", "Depth: 0", body=body).status == status, levels


def test_memory_of_requests_that_come_slowly(serve, crowd):
    """What others hold back fills it; small requests and files need none of it."""
    server = serve("--max-request-memory", "100K")
    body = '<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'

    def told(*fields, body):
        """The answer; nothing for a refusal whose connection was gone before the request was all sent."""
        try:
            return ask(server, "PROPFIND", "/", "Depth: 0", *fields, body=body)
        except (OSError, ConnectionClosed):
            return None

    def are_refused():
        """One more holds its end back: each fills a quarter, unless a large one was quicker."""
        wire = Wire(server)
        crowd.append(wire)
        wire.request("PROPPATCH", "/", "Content-Length: 1000000")
        wire.send("x" * 30_000)
        answers = told(body=body + " " * 40_000), told("X: " + "y" * 40_000, body=body)
        return all(answer and answer.status == 503 and answer["Retry-After"] for answer in answers)

    wait_until(are_refused, "there is no room")
    assert ask(server, "PROPFIND", "/", "Depth: 0", body=body).status == 207
    assert ask(server, "PUT", "/small", body="x" * 100_000).status == 201
    for wire in crowd:
        wire.close()
    wait_until(lambda: (answer := told(body=body + " " * 40_000)) and answer.status == 207, "there is room")


def test_memory_of_gzip_bodies_that_come_slowly(serve, crowd):
    """Each takes a decoder, whatever it is for; uploads without go on."""
    server = serve("--max-request-memory", "1M")
    packed = gzip.compress(os.urandom(100_000))

    def are_refused():
        wire = Wire(server)
        crowd.append(wire)
        wire.request("PUT", f"/{len(crowd)}", "Content-Encoding: gzip", f"Content-Length: {len(packed)}")
        wire.send(packed[:20_000])
        return answered(crowd)

    wait_until(are_refused, "there is no room")
    assert len(crowd) > 20
    assert answered(crowd)[0].read(12) == b"HTTP/1.1 503"
    assert ask(server, "PUT", "/plain", body="x" * 100_000).status == 201
    for wire in crowd:
        wire.close()

    def is_taken():
        with Wire(server) as wire:
            return wire.ask("PUT", "/packed", "Content-Encoding: gzip", body=packed).status == 201

    wait_until(is_taken, "there is room")


def form(names):
    """A form with a small file for each name, without its end."""
    return "".join(
        f'--b\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n\r\nx\r\n' for name in names)


FORM = "Content-Type: multipart/form-data; boundary=b"


@pytest.mark.memory
def test_names_of_a_form(serve):
    server = serve()
    before = server.peak_memory()
    folder = "/".join(["%" * 250] * 14)
    names = [f"{folder}/{index}" for index in range(6_000)]
    with Wire(server, timeout=60) as wire:
        wire.request("POST", "/", FORM, body=form(names) + "--b--\r\n")
        answer = wire.response()
    assert answer.status == 413 and "Stored before: 0 1 2 " in answer.text, answer.text[:1000]
    assert server.peak_memory() - before < 16 << 20, server.peak_memory() - before
    # As many names as there may be, in two folders.
    names = [f"a folder/{index % 2}/photograph {index}.jpg" for index in range(20_000)]
    with Wire(server, timeout=60) as wire:
        wire.request("POST", "/", FORM, body=form(names) + "--b--\r\n")
        answer = wire.response()
    assert answer.status == 201 and len(json.loads(answer.body)["files"]) == 20_000


def test_memory_of_forms_that_come_slowly(serve, crowd):
    server = serve("--max-request-memory", "1M")
    folder = "/".join(["n" * 250] * 14)

    def are_refused():
        wire = Wire(server)
        crowd.append(wire)
        wire.request("POST", "/", FORM, "Content-Length: 1000000")
        wire.send(form(f"{folder}/{len(crowd)}-{index}" for index in range(5)))
        return answered(crowd)

    wait_until(are_refused, "there is no room")
    assert answered(crowd)[0].read(12) == b"HTTP/1.1 503"
    # All other requests have their own.
    query = b'<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>' + b" " * 900_000
    assert ask(server, "PROPFIND", "/", "Depth: 0", body=query).status == 207
    for wire in crowd:
        wire.close()
    body = form(f"{folder}/{index}" for index in range(5)) + "--b--\r\n"
    wait_until(lambda: ask(server, "POST", "/", FORM, body=body).status == 201, "there is room")


def answered(wires):
    """Those of the connections that have got something; of a few hundred."""
    assert len(wires) < 400, "none has"
    ready = select.select([wire.socket for wire in wires], [], [], 0)[0]
    return [wire for wire in wires if wire.socket in ready]


@pytest.mark.memory
def test_memory_of_answers_that_nobody_takes(serve, crowd):
    """Who takes nothing goes, and somebody who reads gets all."""
    server = serve("--max-answer-memory", "1M")
    (server.root / "many").mkdir()
    for index in range(30_000):
        (server.root / "many" / f"a name of some length {index}").touch()

    def open_sockets():
        count = 0
        for link in list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()):
            # A socket that is closed at this moment is not counted.
            with contextlib.suppress(FileNotFoundError):
                count += "socket:" in os.readlink(link)
        return count

    before = open_sockets()
    for _ in range(60):
        wire = Wire(server, receive_buffer=4096)
        crowd.append(wire)
        wire.request("GET", "/many/?json")
    # Answered when all of them have come in.
    assert ask(server, "GET", "/", "Accept: application/json").status == 200
    wait_until(lambda: open_sockets() < before + 50, "some are gone", 60)

    def reads_all():
        try:
            answer = ask(server, "GET", "/many/?json")
        except (OSError, ConnectionClosed):
            return False
        return answer.status == 200 and answer.body.count(b"a name of some length") >= 30_000

    wait_until(reads_all, "one that reads gets all", 60)


@pytest.mark.memory
def test_memory_of_whole_answers_that_nobody_takes(serve, crowd):
    """They are no requests any more, but still lie there."""
    server = serve("-q", "--max-answer-memory", "1M", "--event-loops", "1")
    (server.root / "a").write_bytes(b"a" * 16_000)

    def come(requests):
        wire = Wire(server, receive_buffer=4096)
        crowd.append(wire)
        try:
            wire.send(f"GET /a HTTP/1.1\r\nHost: {wire.authority}\r\n\r\n" * requests)
        except OSError:
            pass
        return wire

    for _ in range(60):
        come(400)
    # Longer than they may read nothing.
    time.sleep(4)
    for _ in range(3):
        reader = come(600)
        # So that the responses fill the memory for them.
        time.sleep(1)
        for _ in range(600):
            assert reader.response().body == b"a" * 16_000
        reader.close()


def test_parts_of_a_form(serve):
    server = serve("--max-form-parts", "3")

    def send(count):
        part = '--x\r\nContent-Disposition: form-data; name="files"; filename="f%d"\r\n\r\nx\r\n'
        body = "".join(part % index for index in range(count)) + "--x--\r\n"
        return ask(server, "POST", "/", "Content-Type: multipart/form-data; boundary=x", body=body).status

    assert send(3) in (201, 303)
    assert send(4) == 413


def test_ranges(serve):
    server = serve("--max-ranges", "2")
    (server.root / "a").write_bytes(b"x" * 1000)
    assert ask(server, "GET", "/a", "Range: bytes=0-1,10-11").status == 206
    assert ask(server, "GET", "/a", "Range: bytes=0-1,10-11,20-21").status == 200


def test_a_mounted_drive_holds_a_lock_for_each_file_that_it_has_yet_to_send(serve):
    """davfs2 sends what is copied to it after ten seconds."""
    lock = ('<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>')
    server = serve("-q", "--auth", "a:1@/:rw")
    with Wire(server) as wire:
        for number in range(1_500):
            assert wire.ask("LOCK", f"/{number}", "Authorization: Basic YTox", body=lock).status == 201


def test_locks(serve):
    lock = ('<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>')
    server = serve("--max-locks", "3", "--max-locks-per-user", "2", "--auth", "a:1@/:rw", "--auth", "b:2@/:rw")
    as_a, as_b = "Authorization: Basic YTox", "Authorization: Basic Yjoy"

    def take(name, who):
        return ask(server, "LOCK", f"/{name}", who, body=lock).status

    assert [take("1", as_a), take("2", as_a)] == [201, 201]
    refused = ask(server, "LOCK", "/3", as_a, body=lock)
    assert refused.status == 503 and "--max-locks-per-user" in refused.text
    assert take("4", as_b) == 201
    assert take("5", as_b) in (503, 507)


def test_copies_wait_for_their_turn(serve):
    """With one tree at a time, more of them wait, and all are done; meanwhile files are served."""
    server = serve("--max-tree-walks", "1")
    tree = server.root / "tree"
    for index in range(20):
        (tree / str(index)).mkdir(parents=True)
        for name in range(30):
            (tree / str(index) / str(name)).write_text("x")
    wires = [Wire(server, timeout=60) for _ in range(12)]
    for index, wire in enumerate(wires):
        wire.request("COPY", "/tree", f"Destination: /copy-{index}")
    assert ask(server, "GET", "/tree/0/0").text == "x"
    assert [wire.response().status for wire in wires] == [201] * len(wires)
    for wire in wires:
        wire.close()


@pytest.fixture
def disk(folder):
    """Another file system below the folder that is shared; the mark `root` is for who asks for it."""
    place = folder / "share" / "disk"
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def append(server):
    return Wire(server).request(
        "PATCH", "/big", "X-Update-Range: append", "Content-Type: application/x-sabredav-partialupdate", body=b"x")


def replace_first(server):
    return Wire(server).request(
        "PATCH", "/big", "X-Update-Range: bytes=0-0", "Content-Type: application/x-sabredav-partialupdate", body=b"x")


def join(server):
    piece = ask(
        server, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 1", "Upload-Concat: partial",
        "Content-Type: application/offset+octet-stream", body=b"x")["Location"]
    return Wire(server).request(
        "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", f"Upload-Concat: final;{piece}",
        "Upload-Metadata: filename " + base64.b64encode(b"joined").decode())


def empty_trash(server):
    assert ask(server, "POST", "/.shareserve/trash", "Content-Type: application/json", body=b'{"paths":["/small"]}').status == 200
    return Wire(server).request("DELETE", "/.shareserve/trash")


def delete_for_good(server):
    (server.root / "disk" / "tree").mkdir()
    return Wire(server).request("DELETE", "/disk/tree")


LONG = [append, replace_first, join, empty_trash, pytest.param(delete_for_good, marks=pytest.mark.root)]


@pytest.mark.parametrize("long", LONG, ids=lambda work: work.__name__)
def test_what_takes_as_long_as_a_copy_waits_for_its_turn(serve, long, request):
    if long is delete_for_good:
        request.getfixturevalue("disk")
    server = serve("--max-tree-walks", "1", "--trash", "3")
    (server.root / "big").write_bytes(bytes(9 << 20))
    (server.root / "small").write_text("x")
    for index in range(40):
        (server.root / "tree" / f"inner {index}").mkdir(parents=True)
    with traced(server, "-o", os.devnull, "-e", "trace=mkdirat", "-e", "inject=mkdirat:delay_enter=100000"), \
            Wire(server, timeout=60) as copying:
        copying.request("COPY", "/tree", "Destination: /copy")
        wait_until(lambda: any((server.root / ".shareserve").rglob("inner *")), "the copy is under way")
        with long(server) as wire:
            assert wire.is_silent(timeout=1)
            assert ask(server, "GET", "/small" if long is not empty_trash else "/big", "Range: bytes=0-0").status == 206
            assert copying.is_silent(timeout=0.1)
            assert copying.response().status == 201
            assert wire.response().status in (200, 201, 204)


def test_others_get_their_turn_while_an_upload_is_verified(serve):
    server = serve("--io-threads", "1")
    content = bytes(64 << 20)
    metadata = {"filename": b"big", "sha256": hashlib.sha256(content).hexdigest().encode()}
    address = ask(
        server, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", f"Upload-Length: {len(content)}",
        "Upload-Metadata: " + ",".join(f"{key} {base64.b64encode(value).decode()}" for key, value in metadata.items()),
    )["Location"]
    with traced(server, "-o", os.devnull, "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=20000"), \
            Wire(server, timeout=60) as wire:
        wire.request(
            "PATCH", address, "Tus-Resumable: 1.0.0", "Upload-Offset: 0",
            "Content-Type: application/offset+octet-stream", body=content)
        part, = (server.root / ".shareserve").rglob("*.part")
        wait_until(lambda: part.stat().st_size == len(content), "all has come")
        for _ in range(3):
            assert ask(server, "PROPFIND", "/", "Depth: 0").status == 207
        assert wire.is_silent(timeout=0.1)
        assert wire.response().status == 204
    assert (server.root / "big").stat().st_size == len(content)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_digests_that_are_wished_for_keep_nobody_out(serve, crowd, method):
    """Whoever wishes for one while many are being made gets the file without it."""
    server = serve("--max-requests", "8")
    (server.root / "large").write_bytes(bytes(64 << 20))
    with traced(server, "-o", os.devnull, "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=50000"):
        for _ in range(8):
            wire = Wire(server)
            wire.request(method, "/large", "Want-Repr-Digest: sha-512=9", "Range: bytes=0-9")
            crowd.append(wire)
        answers = [wire.response(method) for wire in crowd if not wire.is_silent(timeout=1)]
        assert len(answers) == 6
        assert all(answer.status == (206 if method == "GET" else 200) for answer in answers)
        assert not any("Repr-Digest" in answer for answer in answers)
        assert ask(server, "PUT", "/file", body=b"content").status == 201


def test_places_are_given_up_on_every_event_loop(serve, crowd):
    server = serve("--max-requests", "8", "--event-loops", "2")

    def gets_in():
        for wire in crowd:
            with contextlib.suppress(OSError):
                wire.send(b"x")
        return other.ask("MKCOL", "/folder").status == 201

    with Wire(server) as other:
        # They come to one loop after the other; more than there are places, so that it shows when all are taken.
        for number in range(24):
            wire = Wire(server)
            if number % 2 == 0:
                crowd.append(wire)
                wire.request("PUT", f"/{number}", "Content-Length: 100000")
            else:
                wire.close()
        wait_until(lambda: len(select.select([wire.socket for wire in crowd], [], [], 0)[0]) == 4, "they have all places")
        assert other.ask("PUT", "/file", body=b"x").status == 503
        wait_until(gets_in, "one of them makes way")


def test_newcomers_beyond_the_last_connection_leave_the_files_that_are_kept_open(serve, crowd, folder):
    server = serve("--max-connections", "24", "--event-loops", "1")
    (server.root / "a").write_text("x")

    def come():
        crowd.append(Wire(server))
        assert crowd[-1].ask("GET", "/a").status == 200

    for _ in range(24):
        come()
    with Trace(server, folder) as trace:
        for _ in range(20):
            come()
    assert trace.calls["openat2"] < 10


def test_idle_connections_make_way_for_others_from_their_address(serve, crowd):
    """Those that have something to do stay, and nobody else is let in beside them."""
    server = serve("--max-connections-per-address", "4", "--event-loops", "1")
    for index in range(2):
        crowd.append(Wire(server))
        crowd[-1].request("PUT", f"/{index}", "Content-Length: 10", "Expect: 100-continue")
        assert crowd[-1].response(interim=True).status == 100
    for _ in range(20):
        crowd.append(Wire(server))
        assert crowd[-1].ask("GET", "/").status == 200
    busy = crowd[:2] + [wire for wire in crowd[2:] if not wire.is_closed(timeout=0.5)]
    assert len(busy) == 4
    for index, wire in enumerate(busy[2:]):
        wire.request("PUT", f"/{index + 2}", "Content-Length: 10", "Expect: 100-continue")
        assert wire.response(interim=True).status == 100
    with Wire(server) as other:
        assert other.read(12) == b"HTTP/1.1 503"
    for wire in busy:
        wire.send("x" * 10)
        assert wire.response().status == 201


def test_who_has_an_answer_and_owes_a_body_makes_way(serve, crowd):
    server = serve("--max-connections", "24")
    (server.root / "a").write_text("x")
    for _ in range(60):
        crowd.append(Wire(server))
        crowd[-1].request("GET", "/a", "Content-Length: 10").send("abc")
        assert crowd[-1].response().status == 200


def test_who_has_too_many_connections_costs_nobody_else_theirs(serve, crowd):
    server = serve("--max-connections", "24", "--max-connections-per-address", "12", "--event-loops", "1")
    slow = [begun_upload(Wire(server, source="127.0.0.2"), 10) for _ in range(12)]
    crowd += slow
    for _ in range(12):
        # Event streams do not keep anyone waiting.
        crowd.append(Wire(server))
        crowd[-1].request("GET", "/.shareserve/events").read(12)
    # Longer than a client may pause while others have no place.
    time.sleep(6)
    for _ in range(5):
        with Wire(server) as other:
            assert other.read(12) == b"HTTP/1.1 503"
    for wire in slow:
        wire.send("x" * 10)
        assert wire.response().status in (201, 204)


def stalled(server, kind):
    """A request whose client has stopped in its middle."""
    if kind == "http/2":
        frames = Frames(server, receive_buffer=4096)
        frames.send(frames.head(1, path="/large") + frames.head(3, method="PUT", path="/b", flags=("END_HEADERS",)))
        while not isinstance(frames.next(), DataFrame):
            pass
        return frames.socket
    wire = Wire(server, tls="tls" in kind or None, receive_buffer=4096)
    if "reader" in kind:
        wire.request("GET", "/large").read(12)
    else:
        begun_upload(wire, 1 << 30 if "long" in kind else 10).send("abc")
    return wire


def begun_upload(wire, length):
    """Has an upload begin, and waits until it has."""
    wire.request("PUT", "/b", f"Content-Length: {length}", "Expect: 100-continue")
    assert wire.response(interim=True).status == 100
    return wire


@pytest.mark.parametrize("option", ["--max-connections", "--max-connections-per-address"])
@pytest.mark.parametrize("kind", ["body", "long body", "reader", "body over tls", "reader over tls", "http/2"])
def test_who_stops_within_a_request_makes_way(serve, crowd, kind, option):
    """Where there are as many as there may be; who goes on stays."""
    secure = kind == "http/2" or "tls" in kind
    server = serve(option, "24", "--event-loops", "1", *(["--tls-self-signed"] if secure else []))
    with open(server.root / "large", "wb") as file:
        file.truncate(64 << 20)
    busy = Wire(server, tls=secure or None)
    crowd.append(busy)
    begun_upload(busy, 1 << 30)
    began = time.monotonic()
    crowd += [stalled(server, kind) for _ in range(23)]

    def lets_in():
        busy.send(bytes(32 << 10))
        try:
            crowd.append(Wire(server, tls=secure or None))
            return crowd[-1].ask("GET", "/", "Connection: close").status == 200
        except (ConnectionClosed, ConnectionError, ssl.SSLError):
            return False

    wait_until(lets_in, "one of them makes way")
    # Not at once: a client that paused for a moment may continue.
    assert time.monotonic() - began > 3
    for _ in range(10):
        # They stopped one after the other, and their time runs out in the same way.
        wait_until(lets_in, "another one makes way")
    assert busy.is_silent()


def test_looks_at_whole_trees_leave_threads_to_others(serve):
    server = serve("--io-threads", "2")
    for index in range(60):
        (server.root / "tree" / str(index)).mkdir(parents=True)
    (server.root / "empty").mkdir()
    token = b'<propfind xmlns="DAV:"><prop><sync-token/></prop></propfind>'
    with contextlib.ExitStack() as stack:
        stack.enter_context(traced(
            server, "-o", os.devnull, "-e", "trace=getdents64", "-e", "inject=getdents64:delay_enter=20000"))
        wires = [stack.enter_context(Wire(server, timeout=60)) for _ in range(3)]
        # A PROPFIND with a body that is already known takes a shorter way, which must be closed to this one.
        assert wires[0].ask("PROPFIND", "/empty/", "Depth: 0", body=token).status == 207
        for wire in wires:
            wire.request("PROPFIND", "/tree/", "Depth: 0", body=token)
        assert ask(server, "PROPFIND", "/empty/", "Depth: 1").status == 207
        assert all(wire.is_silent(timeout=0.1) for wire in wires)
        assert all(wire.response().status == 207 for wire in wires)


def threads_of(server):
    return sorted(path.read_text().strip() for path in pathlib.Path(f"/proc/{server.pid}/task").glob("*/comm"))


def test_no_more_threads(serve):
    """The runtime's own threads end when there is nothing to do, and it waits for as long as it gets no other."""
    server = serve()
    assert ask(server, "PUT", "/a", body="x").status == 201
    wait_until(lambda: [name for name in threads_of(server) if "qos" in name] == ["-qos.overcommit"], "only its manager is left", 60)
    with failing(server, "clone", "clone3", error="EAGAIN"):
        assert ask(server, "GET", "/.shareserve/health").status == 200
        assert ask(server, "GET", "/a").text == "x"
        assert ask(server, "PUT", "/b", body="x").status == 201
        wait_until(lambda: " PUT /b 201 " in server.logged(), "the access log is written")
        # The first signal to end waits for a thread, too; the next one does not.
        wait_until(lambda: server.alive() is False or server.signal(signal.SIGTERM), "the process ends", 10)
    assert server.process.wait() == 143


@pytest.mark.parametrize("bind", ["127.0.0.1", "socket"])
def test_a_connection_that_cannot_be_accepted(serve, folder, bind):
    """Linux returns errors of the new connection, which say nothing about those after it."""
    place = str(folder / "socket") if bind == "socket" else bind
    server = serve(bind=("127.0.0.1", place) if bind == "socket" else (place,))

    def status():
        if bind != "socket":
            return ask(server, "GET", "/.shareserve/health").status
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(place)
            client.sendall(b"GET /.shareserve/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return int(client.recv(100).split()[1])

    for error in ["EPROTO", "EPERM", "EINVAL"]:
        with failing(server, "accept4", error=error, when="1"):
            assert status() == status() == 200
    assert server.logged().count("connections wait") == 1
    assert server.stop() == 0


@pytest.mark.parametrize("error", ["EMFILE", "ENOBUFS", "EPROTO"])
def test_no_connection_can_be_accepted_for_a_while(serve, error):
    server = serve()
    with failing(server, "accept4", error=error), socket.create_connection(("127.0.0.1", server.port)):
        before = server.cpu_seconds()
        time.sleep(1)
        assert server.cpu_seconds() - before < 0.5, "no busy loop"
    assert ask(server, "GET", "/.shareserve/health").status == 200
    assert server.logged().count("connections wait") == 1
