"""Large things in little memory. The source is sparse and the target is thrown away, so that no disk fills."""

import base64
import fcntl
import os
import pathlib
import re
import select
import shutil
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest
from hyperframe.frame import DataFrame, WindowUpdateFrame

from frames import Frames
from server import wait_until
from wire import ConnectionClosed, Wire, ask, flood

MEBIBYTE = 1 << 20
LIMIT = 64 * MEBIBYTE
# Where linux/tcp.h has tcpi_snd_wnd.
TCPI_SND_WND = 228
pytestmark = pytest.mark.memory


def gigabytes():
    """10 GiB where there is room for the upload, less on a small disk; at least 2."""
    free = shutil.disk_usage("/tmp").free >> 30
    return max(2, min(10 if os.environ.get("SHARESERVE_LARGE") else 3, free - 5))


def test_large_download(server):
    size = 10 << 30
    with open(server.root / "large", "wb") as file:
        file.truncate(size)
    shown = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", f"{server.url}/large"],
        capture_output=True, text=True, check=True)
    assert shown.stdout == f"200 {size}"
    assert server.peak_memory() < LIMIT, server.peak_memory() / MEBIBYTE


def test_large_upload(server, folder):
    size = gigabytes() << 30
    source = folder / "source"
    with open(source, "wb") as file:
        file.truncate(size)
    shown = subprocess.run(
        ["curl", "-sS", "-T", str(source), "-w", "%{http_code}", f"{server.url}/large"],
        capture_output=True, text=True, check=True)
    assert shown.stdout == "201"
    assert (server.root / "large").stat().st_size == size
    assert server.peak_memory() < LIMIT, server.peak_memory() / MEBIBYTE


def test_large_chunked_upload(server):
    chunk = b"100000\r\n" + bytes(MEBIBYTE) + b"\r\n"
    with Wire(server, timeout=120) as wire:
        wire.request("PUT", "/chunked", "Transfer-Encoding: chunked")
        for _ in range(1024):
            wire.send(chunk)
        wire.send("0\r\n\r\n")
        assert wire.response().status == 201
    assert (server.root / "chunked").stat().st_size == 1 << 30
    assert server.peak_memory() < LIMIT, server.peak_memory() / MEBIBYTE


def test_uploads_that_wait_for_their_rate_cost_no_memory(serve):
    server = serve("--limit-rate", "100K")
    wires = [Wire(server) for _ in range(120)]
    for index, wire in enumerate(wires):
        wire.request("PUT", f"/{index}", "Content-Length: 10000000")
    flood(wires, 3)
    assert ask(server, "GET", "/").status == 200
    assert server.peak_memory() < LIMIT, server.peak_memory() / MEBIBYTE
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("tls", [None, True], ids=["digest", "https"])
def test_bodies_that_wait_for_their_reader_cost_little(serve, tls):
    server = serve("-q", "--limit-rate", "100K", *(["--tls-self-signed"] if tls else []))
    before = server.peak_memory()
    wires = [Wire(server, tls=tls) for _ in range(300)]
    digest = base64.b64encode(bytes(32)).decode()
    for index, wire in enumerate(wires):
        wire.request("PUT", f"/{index}", "Content-Length: 10000000", f"Content-Digest: sha-256=:{digest}:")
    flood(wires, 3)
    assert ask(server, "GET", "/", tls=tls).status == 200
    assert server.peak_memory() - before < 56 * MEBIBYTE, (before, server.peak_memory())
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("connections, size, beside", [(2, 1_000, 16_000), (16, 10_000, 0)], ids=["small pieces", "many bodies"])
def test_bodies_of_http2_that_wait_for_their_reader_cost_little(serve, connections, size, beside):
    """What is kept of one is what it has, and not what came beside it; of many, only so much is kept."""
    server = serve("-q", "--limit-rate", "20K", "--tls-self-signed", "--max-answer-memory", "16M")
    (server.root / "a").write_bytes(b"a")
    clients = [Frames(server) for _ in range(connections)]
    before = server.peak_memory()
    streams = range(1, 199, 2)
    piece, rounds = bytes(size), 60_000 // size
    # Frames of an unknown type.
    others = beside.to_bytes(3, "big") + b"\x77\0" + bytes(4) + bytes(beside) if beside else b""
    for client in clients:
        client.send(b"".join(
            client.head(stream, method="PUT", path=f"/{stream}", flags=("END_HEADERS",)) for stream in streams))
        sent = 0
        window = 65_535
        for _ in range(rounds):
            for stream in streams:
                while window < size:
                    frame = client.next()
                    if isinstance(frame, WindowUpdateFrame) and frame.stream_id == 0:
                        window += frame.window_increment
                client.send(DataFrame(stream, piece).serialize() + others)
                window -= size
                sent += size
        assert sent > 5_000_000
    assert server.peak_memory() - before < 80 * MEBIBYTE, (before, server.peak_memory())
    assert ask(server, "GET", "/a", tls=True).status == 200
    for client in clients:
        client.socket.close()


def test_reader_that_stops_reading_costs_no_memory(server):
    with open(server.root / "large", "wb") as file:
        file.truncate(1 << 30)
    wires = [Wire(server, receive_buffer=4096) for _ in range(20)]
    for wire in wires:
        wire.request("GET", "/large")
        wire.read(1)
    assert ask(server, "GET", "/").status == 200
    assert server.peak_memory() < LIMIT
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("fields", [(), ("Accept: application/json",), ("Accept: text/html",), ("Accept-Encoding: gzip",)])
def test_listing_of_100_000_names(many, fields):
    answer = ask(many, "GET", "/many/", *fields)
    assert answer.status == 200
    if fields in ((), ("Accept: application/json",)):
        assert answer.body.count(b"file ") + answer.body.count(b"file%20") >= 100_000
    assert many.peak_memory() < LIMIT, many.peak_memory() / MEBIBYTE


def test_propfind_of_100_000_members(many):
    with Wire(many, timeout=60) as wire:
        started = time.monotonic()
        wire.request("PROPFIND", "/many/", "Depth: 1")
        wire.read(1)
        first = time.monotonic() - started
        wire.buffer = b"H" + wire.buffer
        answer = wire.response()
    assert answer.status == 207
    assert answer.body.count(b"response>") == 2 * 100_001
    # 50 ms on a quiet machine; the bound here only tells streaming from collecting.
    assert first < 1, first
    assert many.peak_memory() < LIMIT, many.peak_memory() / MEBIBYTE


def test_listing_comes_whole_to_slow_and_fast_readers(serve):
    server = serve()
    (server.root / "many").mkdir()
    for index in range(15_000):
        (server.root / "many" / f"file {index:06}.txt").touch()

    def propfind(buffer, pauses):
        with Wire(server, timeout=60, receive_buffer=buffer) as wire:
            wire.request("PROPFIND", "/many/", "Depth: 1")
            # More than the sockets hold, so that the server pauses within pieces, and continues.
            for _ in range(pauses):
                time.sleep(0.1)
                wire.buffer += wire.socket.recv(200_000)
            return wire.response().body

    fast = propfind(None, 0)
    assert fast.count(b"response>") == 2 * 15_001
    assert fast == propfind(65_536, 3) == propfind(4_096, 0) == propfind(None, 20)
    wait_until(lambda: server.logged().count(f"PROPFIND /many/ 207 {len(fast)} ") == 4, "each is in the log with its length")


def test_readers_that_leave_within_a_listing_leave_nothing_behind(many):
    before = many.open_files()
    for index in range(40):
        with Wire(many) as wire:
            wire.request("PROPFIND", "/many/", "Depth: 1")
            wire.read(1 + index * 50_000)
            if index % 2:
                wire.reset()
    wait_until(lambda: many.open_files() <= before + 2, "all is closed")
    assert ask(many, "GET", "/").status == 200


def synchronise(server, token):
    body = (f'<D:sync-collection xmlns:D="DAV:"><D:sync-token>{token}</D:sync-token><D:sync-level>1</D:sync-level>'
            "<D:prop><D:getetag/></D:prop></D:sync-collection>")
    answer = ask(server, "REPORT", "/many", body=body)
    assert answer.status == 207, answer
    hrefs = re.findall(rb"<D:href>([^<]*)</D:href>", answer.body)
    return hrefs, re.search(r"<D:sync-token>([^<]*)</D:sync-token>", answer.text).group(1)


def test_synchronisation_of_100_000_members(many):
    hrefs, token = synchronise(many, "")
    assert hrefs == [b"/many/file%%20%06d.txt" % index for index in range(100_000)]
    first, second, new = (many.root / "many" / name for name in ("file 000001.txt", "file 000002.txt", "new"))
    try:
        first.unlink()
        second.write_text("changed")
        new.touch()
        hrefs, token = synchronise(many, token)
        assert hrefs == [b"/many/file%20000002.txt", b"/many/new", b"/many/file%20000001.txt"]
        assert synchronise(many, token)[0] == []
    finally:
        first.touch()
        second.write_text("")
        new.unlink(missing_ok=True)
    # What the client knows and what is there now are compared in memory; a response built as a whole took 180 MiB.
    assert many.peak_memory() < 96 * MEBIBYTE, many.peak_memory() / MEBIBYTE


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_requests_of_a_client_that_reads_nothing_cost_no_memory(serve, tls):
    """They are answered as the answers are taken: each once, in order, none lost."""
    server = serve(*(["--tls-self-signed"] if tls else []))
    count, content = 2_000, os.urandom(60_000)
    (server.root / "file").write_bytes(content)
    with Wire(server, timeout=60, receive_buffer=4096, tls=tls or None) as wire:
        request = f"GET /file HTTP/1.1\r\nHost: {server.authority}\r\n\r\n"

        def send():
            wire.send(request * count)
            if not tls:
                wire.socket.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        # By now the server holds what it would ever hold.
        time.sleep(1)
        assert ask(server, "GET", "/file", tls=tls or None).body == content
        for _ in range(count):
            answer = wire.response()
            assert answer.status == 200 and answer.body == content
        sender.join()
        assert tls or wire.is_closed()
    assert server.peak_memory() < LIMIT, server.peak_memory() / MEBIBYTE


def test_last_answers_reach_a_client_that_has_ended_its_side(server):
    """Also those that wait for the socket when there is nothing more to answer, however much sockets hold."""
    content = os.urandom(60_000)
    (server.root / "file").write_bytes(content)
    wires = {}
    for count in range(6, 100, 2):
        wire = wires[count] = Wire(server, timeout=60, receive_buffer=4096)
        wire.send(f"GET /file HTTP/1.1\r\nHost: {server.authority}\r\n\r\n" * count)
        wire.socket.shutdown(socket.SHUT_WR)
    time.sleep(0.5)
    for count, wire in wires.items():
        for _ in range(count):
            assert wire.response().body == content
        assert wire.rest() == b""
        wire.close()


def filled(server, content):
    """A connection that was fast, so that the system takes megabytes for it, and then sends `content` and ends its
    side."""
    wire = Wire(server, receive_buffer=4096)
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MEBIBYTE)

    def takes_all():
        assert wire.ask("PUT", "/warm", body=bytes(32 * MEBIBYTE)).status in (201, 204)
        # Of the same upload, the system takes more for it one time and less another.
        return window(wire) > len(content) + MEBIBYTE

    wait_until(takes_all, "the system takes that much", timeout=60)
    wire.send(content)
    # Received by the other side's system, so that the end is received too.
    wait_until(lambda: unsent(wire) == 0, "all is sent")
    wire.socket.shutdown(socket.SHUT_WR)
    return wire


def window(wire):
    """How much the other side's system takes before the server reads any of it."""
    return struct.unpack_from("I", wire.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), TCPI_SND_WND)[0]


def unsent(wire):
    return struct.unpack("i", fcntl.ioctl(wire.socket, termios.TIOCOUTQ, bytes(4)))[0]


def test_requests_before_an_end_cost_little(server):
    """Those that come with the end are read at once, whoever can use them."""
    with open(server.root / "large", "wb") as file:
        file.truncate(1 << 30)
    request = f"GET /large HTTP/1.1\r\nHost: {server.authority}\r\n\r\n".encode()
    filled(server, request).close()
    before = server.peak_memory()
    wires = [filled(server, request * (1_500_000 // len(request))) for _ in range(16)]
    # By now the server holds what it would ever hold.
    time.sleep(1)
    assert server.peak_memory() - before < 10 * MEBIBYTE, (before, server.peak_memory())
    for wire in wires:
        wire.close()


def test_small_upload_before_an_end_comes_whole(server):
    content = os.urandom(1_500_000)
    head = f"PUT /small HTTP/1.1\r\nHost: {server.authority}\r\nContent-Length: {len(content)}\r\n\r\n"
    with filled(server, head.encode() + content) as wire:
        assert wire.response().status == 201
    assert (server.root / "small").read_bytes() == content


def test_listing_is_not_held_for_a_reader_that_stops(many):
    wires = [Wire(many, receive_buffer=4096) for _ in range(4)]
    for wire in wires:
        wire.request("GET", "/many/", "Accept: application/json")
        wire.read(1)
    assert ask(many, "GET", "/").status == 200
    assert many.peak_memory() < LIMIT
    for wire in wires:
        wire.close()


def test_memory_does_not_grow_with_requests(server):
    (server.root / "a").write_bytes(b"x" * 100_000)

    def round_of_requests():
        with Wire(server) as wire:
            for index in range(1000):
                assert wire.ask("GET", "/a").status == 200
                assert wire.ask("PUT", f"/b{index % 10}", body=b"y" * 1000).status in (201, 204)
                wire.ask("PROPFIND", "/", "Depth: 1")
        return server.status_field("VmRSS")

    round_of_requests()
    before = round_of_requests()
    for _ in range(3):
        after = round_of_requests()
    assert after < before + 8 * MEBIBYTE, (before, after)


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_writes_that_end_within_the_next_head_cost_no_memory(serve, tls):
    server = serve("-q", *(["--tls-self-signed"] if tls else []))
    head = f"GET /none HTTP/1.1\r\nHost: {server.authority}\r\nX: {'x' * 30_000}\r\n\r\n"
    with Wire(server, tls=tls) as wire:
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.send(head[:40])
        before = server.peak_memory()
        for _ in range(1_200):
            wire.send(head[40:] + head[:40])
            assert wire.response().status == 404
        assert server.peak_memory() - before < 20 * MEBIBYTE, (before, server.peak_memory())


@pytest.mark.parametrize("says_so", [False, True])
def test_tls_connections_that_have_ended_cost_nothing(serve, says_so):
    """Whether their clients say that they end or not."""
    server = serve("-q", "--tls-self-signed")
    (server.root / "file").write_bytes(bytes(300_000))

    def take(times):
        for _ in range(times):
            with Wire(server, tls=True) as wire:
                wire.request("GET", "/file")
                left = 300_000
                while left > 0:
                    left -= len(wire.socket.recv(65_536))
                if says_so:
                    wire.socket.unwrap()

    take(5)
    before = server.peak_memory()
    take(200)
    assert server.peak_memory() - before < 10 * MEBIBYTE, (before, server.peak_memory())


def test_idle_tls_connections_keep_little_of_what_they_sent(serve):
    server = serve("-q", "--tls-self-signed")
    (server.root / "file").write_bytes(bytes(1_000_000))
    before = server.peak_memory()
    wires = [Wire(server, tls=True) for _ in range(300)]
    for wire in wires:
        assert wire.ask("GET", "/file").status == 200
    assert server.peak_memory() - before < 32 * MEBIBYTE, (before, server.peak_memory())
    for wire in wires:
        wire.close()


def test_idle_tls_connections_keep_little_of_the_listings_that_they_sent(serve):
    """Which are sent whole, and by the first connections, of which each may hold more, too."""
    server = serve("-q", "--tls-self-signed")
    for index in range(900):
        (server.root / f"{index:03}{'€' * 80}").touch()
    wires = [Wire(server, tls=True) for _ in range(100)]

    def take(count):
        for wire in wires[:count]:
            assert len(wire.ask("GET", "/", "Accept: application/json").body) > 300_000

    take(5)
    before = server.status_field("VmRSS")
    take(100)
    grown = server.status_field("VmRSS") - before
    assert grown < 15 * MEBIBYTE, grown / MEBIBYTE
    for wire in wires:
        wire.close()


def test_idle_http2_connections_keep_little_of_what_they_sent(serve):
    """Also where many streams of one have sent at once."""
    server = serve("-q", "--tls-self-signed")
    size, streams = 20_000, range(1, 199, 2)
    (server.root / "file").write_bytes(bytes(size))
    connections = []

    def download(times):
        for _ in range(times):
            frames = Frames(server)
            connections.append(frames)
            requests = b"".join(frames.head(stream, path="/file") for stream in streams)
            frames.send(WindowUpdateFrame(0, window_increment=10_000_000).serialize() + requests)
            left = len(streams) * size
            while left > 0:
                frame = frames.next()
                left -= len(frame.data) if isinstance(frame, DataFrame) else 0

    # The first may send in larger pieces.
    download(70)
    before = server.status_field("VmRSS")
    download(100)
    grown = server.status_field("VmRSS") - before
    assert grown < 25 * MEBIBYTE, grown
    for frames in connections:
        frames.socket.close()


def test_ends_of_connections_free_their_buffers(server):
    wires = [Wire(server) for _ in range(200)]
    for index, wire in enumerate(wires):
        wire.request("PUT", f"/u{index}", "Content-Length: 1000000")
        wire.send(b"a" * 200_000)
    for wire in wires:
        wire.reset()
    wait_until(lambda: server.open_files() < 50, "all is closed")
    assert server.peak_memory() < 2 * LIMIT
    assert [path for path in pathlib.Path(server.root).iterdir() if path.name != ".shareserve"] == []


@pytest.mark.parametrize("head, part", [
    ("PROPPATCH / HTTP/1.1\r\nContent-Length: 1000000\r\n", b"<propertyupdate>" + b"y" * 900_000),
    ("POST /.shareserve/links HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n", b"y" * 900_000),
])
def test_bodies_that_never_become_whole_cost_little(server, head, part):
    wires = [Wire(server) for _ in range(400)]
    for wire in wires:
        try:
            wire.send(f"{head}Host: localhost\r\n\r\n".encode() + part)
        except OSError:
            # Refused before all of it was received.
            pass
    small = '<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'
    assert ask(server, "PROPFIND", "/", "Depth: 0", body=small).status == 207
    assert ask(server, "PUT", "/file", body=b"x" * 100_000).status == 201
    assert server.peak_memory() < 3 * LIMIT, server.peak_memory() / MEBIBYTE
    for wire in wires:
        wire.close()
    wait_until(lambda: answers(server, 400, "PROPPATCH", "/file", body=b"<x>" + b"y" * 900_000 + b"</x>"), "there is room")


def test_heads_that_never_become_whole_cost_little(server):
    lines = "".join(f"X-{index}: {'y' * 500}\r\n" for index in range(110))
    wires = [Wire(server) for _ in range(700)]
    for wire in wires:
        try:
            wire.send(f"GET / HTTP/1.1\r\nHost: localhost\r\n{lines}")
        except OSError:
            # Refused before all of it was received.
            pass
    for fields in ((), ("X-Long: " + "z" * 3_000,)):
        assert ask(server, "GET", "/", *fields).status == 200
    wait_until(lambda: refused(wires) > 0, "some are refused")
    for wire in wires:
        wire.close()
    wait_until(lambda: answers(server, 200, "GET", "/", "X-Long: " + "z" * 20_000), "there is room")



def answers(server, status, *request, **options):
    """Whether a request is answered so; one that is refused may find its connection gone before it is all sent."""
    try:
        return ask(server, *request, **options).status == status
    except (OSError, ConnectionClosed):
        return False


def refused(wires):
    """How many of the connections have been answered."""
    poll = select.poll()
    for wire in wires:
        poll.register(wire.socket, select.POLLIN)
    return len(poll.poll(0))


def test_downloads_over_tls_that_nobody_takes(serve):
    """Each holds little where many do; one that reads gets all."""
    server = serve("--tls-self-signed", "--max-answer-memory", "1M")
    with open(server.root / "large", "wb") as file:
        file.truncate(1 << 30)
    with open(server.root / "whole", "wb") as file:
        file.truncate(20 * MEBIBYTE)
    before = server.status_field("VmRSS")
    wires = []
    try:
        for _ in range(200):
            wires.append(Wire(server, tls=True, receive_buffer=4096))
            wires[-1].request("GET", "/large")
        assert len(ask(server, "GET", "/whole", tls=True).body) == 20 * MEBIBYTE
        grown = server.peak_memory() - before
        assert grown < 26 * MEBIBYTE, grown / MEBIBYTE
    finally:
        for wire in wires:
            wire.close()
