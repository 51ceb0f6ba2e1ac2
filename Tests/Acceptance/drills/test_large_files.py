"""Large files stay out of the memory that the kernel keeps others' files in."""

import ctypes
import errno
import hashlib
import os
import time

import pytest
import requests

from test_kill import Disk
from test_trees import slowed

pytestmark = pytest.mark.root

PIECE, PIECES = 8 << 20, 24
SIZE = PIECE * PIECES
# What stays of each file in the page cache, and what may not be on the disk yet when the last byte has been received.
KEPT, BEHIND = 64 << 20, 64 << 20
CACHESTAT = 451


@pytest.fixture
def disk(folder):
    disk = Disk(folder, megabytes=3 * SIZE >> 20)
    yield disk
    disk.release()


def in_memory(path):
    """How many bytes of a file the kernel has in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    span, found = (ctypes.c_uint64 * 2)(0, 1 << 40), (ctypes.c_uint64 * 5)()
    with open(path, "rb+") as file:
        if libc.syscall(CACHESTAT, file.fileno(), span, found, 0) != 0:
            if ctypes.get_errno() == errno.ENOSYS:
                pytest.skip("the kernel does not tell what it has in memory (Linux before 6.5)")
            raise OSError(ctypes.get_errno(), "cachestat")
    return found[0] * os.sysconf("SC_PAGE_SIZE")


def paced(pieces, pause=0.15):
    """A body that does not come faster than most disks write."""
    for piece in pieces:
        yield piece
        time.sleep(pause)


def put(server, pieces):
    answer = requests.put(server.url + "/large", data=paced(pieces), timeout=60)
    assert answer.status_code == 201


def upload(server, pieces):
    fields = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}
    made = requests.post(
        server.url + "/.shareserve/uploads", timeout=20,
        headers=fields | {"Upload-Length": str(SIZE), "Upload-Metadata": "filename bGFyZ2U="})
    answer = requests.patch(
        server.url + made.headers["Location"], data=paced(pieces), headers=fields | {"Upload-Offset": "0"}, timeout=60)
    assert answer.status_code == 204


def copy(server, pieces):
    (server.root / "source").write_bytes(b"".join(pieces))
    os.sync()
    with slowed(server, copy_file_range=200_000):
        answer = requests.request(
            "COPY", server.url + "/source", headers={"Destination": server.url + "/large"}, timeout=60)
    assert answer.status_code == 201


@pytest.mark.parametrize("way", [put, upload, copy], ids=lambda way: way.__name__)
def test_large_file_stays_out_of_memory(serve, disk, way):
    root = disk.place / "share"
    root.mkdir()
    server = serve(root=root)
    pieces = [os.urandom(1 << 20) * (PIECE >> 20) for _ in range(PIECES)]
    way(server, pieces)
    held = in_memory(root / "large")
    assert KEPT <= held <= KEPT + BEHIND, f"{held >> 20} MiB of {SIZE >> 20} are in memory"
    with open(root / "large", "rb") as file:
        found = hashlib.file_digest(file, "sha256").digest()
    assert found == hashlib.sha256(b"".join(pieces)).digest()
