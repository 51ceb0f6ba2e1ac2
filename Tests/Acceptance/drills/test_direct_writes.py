"""Large uploads that come fast go to the disk past memory, several pieces at a time: they are whole all the same, or not there."""

import concurrent.futures
import hashlib
import os
import platform
import re
import time

import pytest

from server import wait_until
from test_kill import Disk
from test_large_files import KEPT, in_memory
from tracing import failing, traced
from wire import Wire

pytestmark = pytest.mark.root

# What stays in the page cache, and more than what is written before the writer asks for a buffer.
SIZE = KEPT + (40 << 20) + 12_345


@pytest.fixture(scope="module")
def content():
    return os.urandom(1 << 20) * (SIZE >> 20) + os.urandom(SIZE % (1 << 20))


@pytest.fixture
def disk(folder):
    # Since Linux 6.1 the kernel reports the alignment of such writes.
    if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 1):
        pytest.skip("the kernel does not tell what can be written past memory (Linux before 6.1)")
    disk = Disk(folder, megabytes=1024)
    (disk.place / "share").mkdir()
    yield disk
    disk.release()


def put(server, content, name="large", *, pauses=()):
    """Sends all that there is, but for a moment at some places."""
    with Wire(server, timeout=60) as wire:
        wire.send(f"PUT /{name} HTTP/1.1\r\nHost: {server.authority}\r\nContent-Length: {len(content)}\r\n\r\n")
        start = 0
        for end in [*pauses, len(content)]:
            wire.send(memoryview(content)[start:end])
            start = end
            if end < len(content):
                time.sleep(0.5)
        return wire.response("PUT").status


def is_whole(path, content):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(content).digest()


def used(place):
    """Bytes that files take, those without a name too."""
    found = os.statvfs(place)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def pieces(folder):
    return len(re.findall(r"io_submit\(", (folder / "trace").read_text()))


@pytest.mark.parametrize("pauses", [(), (KEPT + 5, KEPT + (21 << 20) + 7, KEPT + (33 << 20))], ids=["at once", "in between"])
def test_upload_is_whole(serve, disk, folder, content, pauses):
    server = serve(root=disk.place / "share")
    with traced(server, "-o", str(folder / "trace"), "-e", "trace=io_submit"):
        assert put(server, content, pauses=pauses) == 201
    # On a busy machine the sender pauses by itself.
    assert pieces(folder) >= 4
    assert is_whole(disk.place / "share" / "large", content)


def test_upload_stays_out_of_memory(serve, disk, content):
    server = serve(root=disk.place / "share")
    assert put(server, content) == 201
    assert in_memory(disk.place / "share" / "large") <= KEPT + (32 << 20)


@pytest.mark.parametrize("call, error, when", [
    ("io_setup", "EAGAIN", "1+"), ("io_submit", "EAGAIN", "1+"), ("io_submit", "EINVAL", "3+2"), ("fallocate", "ENOSPC", "9+")])
def test_upload_is_whole_where_that_is_refused(serve, disk, content, call, error, when):
    # Each thread counts for itself.
    server = serve("--io-threads", "1", root=disk.place / "share")
    with failing(server, call, error=error, when=when):
        assert put(server, content) == 201
    assert is_whole(disk.place / "share" / "large", content)


def test_old_content_stays_where_a_piece_fails(serve, disk, content):
    server = serve(root=disk.place / "share")
    assert put(server, b"old") == 201
    before = used(disk.place)
    with failing(server, "io_getevents"):
        assert put(server, content) == 500
    assert (disk.place / "share" / "large").read_bytes() == b"old"
    wait_until(lambda: used(disk.place) < before + (8 << 20), "nothing of it is left")
    assert put(server, content) == 204
    assert is_whole(disk.place / "share" / "large", content)


def test_many_at_once_and_some_that_break_off(serve, disk, content):
    server = serve(root=disk.place / "share")
    before = used(disk.place)

    def break_off(number):
        with Wire(server, timeout=60) as wire:
            wire.send(f"PUT /broken{number} HTTP/1.1\r\nHost: {server.authority}\r\nContent-Length: {SIZE}\r\n\r\n")
            wire.send(memoryview(content)[:KEPT + (number * 5 << 20)])
            wire.reset()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        broken = [pool.submit(break_off, number) for number in range(1, 4)]
        whole = [pool.submit(put, server, content, f"large{number}") for number in range(6)]
        assert [future.result() for future in whole] == [201] * 6
        for future in broken:
            future.result()
    assert all(is_whole(disk.place / "share" / f"large{number}", content) for number in range(6))
    wait_until(lambda: used(disk.place) < before + 6 * SIZE + (16 << 20), "nothing of the others is left")
    assert {path.name for path in (disk.place / "share").glob("[bl]*")} == {f"large{number}" for number in range(6)}


@pytest.mark.parametrize("durable", [True, False], ids=["fsync", "no fsync"])
def test_power_cut(serve, disk, content, durable):
    """What was answered is there with --fsync; without it, what is there is whole."""
    root = disk.place / "share"
    server = serve(*["--fsync"] * durable, root=root)
    os.sync()
    assert put(server, content) == 201
    disk.cut_power()
    server.kill()
    disk.unmount()
    disk.mount()
    assert (root / "large").exists() or not durable
    assert not (root / "large").exists() or is_whole(root / "large", content)
