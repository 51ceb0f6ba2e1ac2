"""Lines on standard error, whoever reads them, however slowly, or not at all."""

import fcntl
import os
import pathlib
import re
import resource
import signal
import threading

import pytest

from server import SANITIZED, free_port, wait_until
from wire import Wire

LINE = re.compile(rb"\d{4}-\d\d-\d\dT\S+Z (\S+ - GET /small\S* \d+ \d+ \d+ms|(info|warning) .*)")


def get_many(server, count, target="/small"):
    """So many answered requests, many at a time: their lines come faster than anybody could write each by itself."""
    with Wire(server) as wire:
        for begin in range(0, count, 100):
            for _ in range(begin, min(begin + 100, count)):
                wire.request("GET", target)
            for _ in range(begin, min(begin + 100, count)):
                wire.response("GET")


def full_pipe():
    """A pipe in which there is room for nothing more."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for piece in (b"x" * 4096, b"x"):
        try:
            while True:
                os.write(writer, piece)
        except BlockingIOError:
            pass
    os.set_blocking(writer, True)
    return reader, writer


@pytest.mark.parametrize("descriptor, requests", [(2, 0), (2, 3000), (1, 0)], ids=["full", "filled by itself", "addresses"])
def test_ends_though_nobody_reads(serve, descriptor, requests):
    reader, writer = full_pipe() if requests == 0 else os.pipe()
    port = free_port()
    server = serve("--shutdown-timeout", "1s", port=port, wait=False, preexec=lambda: os.dup2(writer, descriptor))
    os.close(writer)
    wait_until(lambda: obeys_signals(server.pid), "signals no longer have their usual effect")
    get_many(("127.0.0.1", port), requests)
    server.signal(signal.SIGTERM)
    assert server.process.wait(12) == 0
    os.close(reader)


def obeys_signals(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    # They are held from the start; only this one has a new effect that can be seen.
    return int(re.search(r"^SigCgt:\s+(\w+)$", status, re.MULTILINE)[1], 16) & 1 << signal.SIGHUP - 1


def test_second_signal_loses_no_lines(serve):
    for _ in range(10):
        server = serve()
        (server.root / "small").write_bytes(b"x")
        with open(server.root / "big", "wb") as big:
            big.truncate(1 << 30)
        # A transfer that does not end, so that the first signal does not end the process.
        with Wire(server, receive_buffer=4096) as slow:
            slow.request("GET", "/big")
            slow.read(1000)
            get_many(server, 300)
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGINT)
            assert server.process.wait(10) in (130, 143)
        assert server.logged().count("GET /small ") == 300


class Reader(threading.Thread):
    """Reads a pipe to its end, a little at a time."""

    def __init__(self, descriptor):
        super().__init__(daemon=True)
        self.descriptor = descriptor
        self.read = bytearray()
        self.start()

    def run(self):
        while piece := os.read(self.descriptor, 1000):
            self.read += piece

    def lines(self):
        """All that came, once nobody can write any more."""
        self.join(30)
        assert not self.is_alive()
        os.close(self.descriptor)
        assert self.read.endswith(b"\n")
        return bytes(self.read).splitlines()


def test_lines_of_two_servers_on_one_pipe(serve):
    reader, writer = os.pipe()
    # Full most of the time.
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    servers = [serve(preexec=lambda: os.dup2(writer, 2)) for _ in range(2)]
    os.close(writer)
    got = Reader(reader)
    clients = [threading.Thread(target=get_many, args=(server, 5000)) for server in servers]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        # The message about it, a line of another kind, comes from another thread.
        servers[0].signal(signal.SIGHUP)
        clients[0].join(0.005)
        clients[1].join(0.005)
    assert [server.stop() for server in servers] == [0, 0]
    lines = got.lines()
    torn = [line for line in lines if not LINE.fullmatch(line)]
    assert not torn, torn[:5]
    assert sum(b"GET /small" in line for line in lines) == 10_000


def test_a_line_longer_than_a_pipe_keeps_together(serve):
    """Within one program: those of others may come between."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    server = serve(preexec=lambda: os.dup2(writer, 2))
    os.close(writer)
    got = Reader(reader)
    client = threading.Thread(target=get_many, args=(server, 300, "/small" + "x" * 6000))
    client.start()
    while client.is_alive():
        server.signal(signal.SIGHUP)
        client.join(0.002)
    assert server.stop() == 0
    lines = got.lines()
    torn = [line[:100] for line in lines if not LINE.fullmatch(line)]
    assert not torn, torn[:5]
    assert sum(b"GET /small" in line and len(line) > 4096 for line in lines) == 300


def test_a_pipe_that_does_not_wait(serve):
    """Whoever started the program may have made it so, for themselves."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    server = serve(preexec=lambda: os.dup2(writer, 2))
    os.close(writer)
    get_many(server, 5000)
    got = Reader(reader)
    assert server.stop() == 0
    lines = got.lines()
    assert all(LINE.fullmatch(line) for line in lines)
    assert sum(b"GET /small" in line for line in lines) == 5000


@pytest.mark.skipif(SANITIZED, reason="the sanitizers write larger files of their own")
def test_a_full_disk(serve):
    """What is missing in the log is counted, and no line is glued to the half of another."""
    limit = 50_001
    unlimited = resource.RLIM_INFINITY
    server = serve(preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited)))
    get_many(server, 2000)
    wait_until(lambda: len(server.logged()) == limit, "the log is full")
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
    get_many(server, 10)
    assert server.stop() == 0
    lines = server.logged().encode().splitlines()
    notes = [int(found[1]) for line in lines if (found := re.fullmatch(rb"# (\d+) lines lost", line))]
    whole = sum(bool(LINE.fullmatch(line)) and b"GET" in line for line in lines)
    halves = [line for line in lines if not LINE.fullmatch(line) and not line.startswith(b"#")]
    assert sum(notes) + whole == 2010
    # The limit may have come at the end of a line, too.
    assert len(halves) <= 1
