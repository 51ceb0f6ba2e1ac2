"""Power cuts behind FUSE: a file system in a program of its own, over a disk, says that it has names which it has not."""

import os
import pathlib
import subprocess
import time

import pytest

from server import wait_until
from test_kill import Disk
from test_trees import no_leftovers
from wire import ask

pytestmark = pytest.mark.root


class Pool:
    """A folder of a disk, as bindfs shows it below the folder that is shared."""

    def __init__(self, folder):
        self.disk = Disk(folder, megabytes=128)
        (self.disk.place / "share").mkdir()
        self.place = folder / "share" / "pool"
        self.place.mkdir(parents=True)
        self.mount()

    def mount(self):
        subprocess.run(["bindfs", str(self.disk.place / "share"), str(self.place)], check=True)

    def release(self):
        if os.path.ismount(self.place):
            subprocess.run(["umount", "-l", str(self.place)], check=True)

    def cut_power(self):
        """The disk has what it had noted until now; all else is there as before."""
        self.disk.cut_power()
        self.release()
        self.disk.unmount()
        self.disk.mount()
        self.mount()


@pytest.fixture
def pool(folder):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs FUSE")
    pool = Pool(folder)
    yield pool
    pool.release()
    pool.disk.release()


def shown(folder):
    """What people see of a folder, by its contents."""
    found = set()
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".shareserve")]
        found |= {(pathlib.Path(place) / name).read_text() for name in files if not name.startswith(".")}
    return found


@pytest.mark.parametrize("trash", [[], ["--trash", "30"]], ids=["", "trash"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "over"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_was_moved_is_somewhere(serve, pool, kind, old, trash):
    """Its source has gone from another disk, which was quicker to note that than this one is with names."""
    root = pool.place.parent
    for place, text in ((root, "the only copy"), (pool.place, "old"))[:1 + old]:
        target = place / "thing" if kind == "file" else place / "thing" / "below" / "file"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    os.sync()
    server = serve(*trash)
    assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == (204 if old else 201)
    assert not (root / "thing").exists()
    server.kill()
    pool.cut_power()
    server.start()
    wait_until(lambda: "the only copy" in shown(pool.place), "it has a name that people see")
    assert b"/pool/thing" in ask(server, "PROPFIND", "/pool/", "Depth: 1").body


def test_the_note_of_a_move_goes(serve, pool):
    """Once the disk has had the time to note the name."""
    root = pool.place.parent
    (root / "thing").mkdir()
    (root / "thing" / "file").write_text("content")
    server = serve()
    assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == 201
    server.stop()
    server.start()
    time.sleep(1)
    [note] = root.glob(".shareserve/tmp/*")
    os.utime(note, (1_700_000_000, 1_700_000_000))
    server.stop()
    server.start()
    wait_until(lambda: no_leftovers(root), "the note is gone")
    assert shown(pool.place) == {"content"}


def test_an_upload_is_there_with_fsync(serve, pool):
    server = serve("--fsync")
    assert ask(server, "PUT", "/pool/file", body=b"new").status == 201
    server.kill()
    pool.cut_power()
    assert (pool.place / "file").read_bytes() == b"new"
