"""Power cuts behind FUSE: a file system in a program of its own, over a disk, says that it has names which it has not."""

import contextlib
import glob
import os
import pathlib
import subprocess
import time
import urllib.parse

import pytest

from server import wait_until
from test_kill import Disk
from test_trees import in_background, no_leftovers, slowed
from tracing import failing, traced
from wire import ConnectionClosed, ask

pytestmark = pytest.mark.root

TUS = ["Tus-Resumable: 1.0.0"]


class Pool:
    """A folder of a disk, as bindfs shows it below the folder that is shared."""

    def __init__(self, folder):
        self.disk = Disk(folder, megabytes=128)
        (self.disk.place / "share").mkdir()
        self.place = folder / "share" / "pool"
        self.place.mkdir(parents=True)
        self.mount()

    def mount(self, *options):
        subprocess.run(["bindfs", *options, str(self.disk.place / "share"), str(self.place)], check=True)

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


def begun_upload(server, length):
    made = ask(server, "POST", "/.shareserve/uploads", *TUS, f"Upload-Length: {length}",
               "Upload-Metadata: filename ZmlsZQ==,path L3Bvb2w=")
    assert made.status == 201, made
    return urllib.parse.urlsplit(made["Location"]).path


def send(server, address, content):
    return ask(server, "PATCH", address, *TUS, "Upload-Offset: 0", "Content-Type: application/offset+octet-stream", body=content)


def parts(pool):
    return list(pool.place.parent.glob(".shareserve/uploads/*.part"))


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


def after_power_cut(server, pool):
    """What the uploaded file is, when the root's disk was quicker to note its part than the pool's is with names."""
    server.kill()
    subprocess.run(["sync", "-f", str(pool.place.parent)], check=True)
    pool.cut_power()
    server.start()
    return ask(server, "GET", "/pool/file").body


def test_an_upload_in_parts_is_there_or_goes_on(serve, pool):
    """Its bytes have left the root's disk, which was quicker to note that than this one is with names."""
    content = os.urandom(300_000)
    server = serve()
    assert send(server, begun_upload(server, len(content)), content).status == 204
    assert (pool.place / "file").exists()
    assert after_power_cut(server, pool) == content


def test_an_upload_in_parts_stays_where_its_other_disk_refuses_the_name(serve, pool):
    server = serve("--io-threads", "1")
    address = begun_upload(server, 5)
    # The first is for the content, the second for the folder.
    with failing(server, "fsync", when="2+"):
        assert send(server, address, b"bytes").status == 500
        assert (pool.place / "file").exists() and parts(pool)
        assert ask(server, "HEAD", address, *TUS).status == 500
        assert parts(pool)
    told = ask(server, "HEAD", address, *TUS)
    assert told.status == 200 and told["Upload-Complete"] == "?1", told
    server.stop()
    server.start()
    wait_until(lambda: not parts(pool), "the part goes")
    assert (pool.place / "file").read_bytes() == b"bytes"


def test_an_upload_in_parts_is_there_after_a_kill_and_a_power_cut(serve, pool):
    """Killed between the name and the disk's word about it, the next start asks the disk before the part goes."""
    content = os.urandom(300_000)
    server = serve()
    address = begun_upload(server, len(content))

    def unanswered():
        with contextlib.suppress(ConnectionClosed, OSError):
            return send(server, address, content).status

    with slowed(server, fsync=3_000_000):
        answer = in_background(unanswered)
        wait_until((pool.place / "file").exists, "it has its name", 30)
        server.kill()
        assert answer() is None
    assert parts(pool)
    server.start()
    wait_until(lambda: not parts(pool), "the part goes")
    assert after_power_cut(server, pool) == content


def test_nobody_waits_for_an_upload_in_parts_to_another_disk(serve, pool):
    server = serve()
    address = begun_upload(server, 5)
    with slowed(server, fsync=2_000_000):
        answer = in_background(lambda: send(server, address, b"bytes").status)
        wait_until((pool.place / "file").exists, "it has its name", 30)
        begun = time.monotonic()
        assert ask(server, "PUT", "/other", body=b"x").status == 201
        assert time.monotonic() - begun < 1
        assert answer() == 204


def test_one_error_in_a_swap_undoes_it(serve, pool):
    """What was replaced would stand out of sight, though its move was refused."""
    root = pool.place.parent
    for place, text in ((root, "new"), (pool.place, "old")):
        (place / "thing").mkdir()
        (place / "thing" / text).write_text(text)
    server = serve("--io-threads", "1")
    with failing(server, "renameat", when="3"):
        assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == 500
    assert shown(root) == {"new", "old"} and (root / "thing" / "new").exists() and (pool.place / "thing" / "old").exists()
    assert ask(server, "PUT", "/other", body=b"x").status == 201
    assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == 204
    wait_until(lambda: shown(pool.place) == {"new"}, "it was moved")


def test_a_note_waits_for_a_disk_that_is_not_mounted(serve, pool, folder):
    """Where the root is such a file system itself, the folder below is not that disk."""
    behind = folder / "behind"
    (behind / "pool").mkdir(parents=True)
    pool.release()
    root = folder / "root"
    root.mkdir()
    subprocess.run(["bindfs", str(behind), str(root)], check=True)
    try:
        pool.place = root / "pool"
        pool.mount()
        (root / "thing").mkdir()
        (root / "thing" / "file").write_text("the only copy")
        server = serve(root=root)
        assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == 201
        server.kill()
        [note] = (root / ".shareserve" / "tmp").glob("*.removal")
        # What a power cut does, and ten minutes without the disk.
        (pool.place / "thing").rename(pool.place / note.name.removesuffix(".removal"))
        pool.release()
        # People miss it, and put it there again.
        (root / "pool" / "thing").mkdir()
        eleven_minutes_ago = time.time() - 660
        os.utime(note, (eleven_minutes_ago, eleven_minutes_ago))
        server.start()
        time.sleep(2)
        server.stop()
        pool.mount("-o", "nonempty")
        server.start()
        wait_until(lambda: shown(pool.place) == {"the only copy"}, "it has its name again")
        server.stop()
    finally:
        pool.release()
        subprocess.run(["umount", "-l", str(root)], check=True)


def test_a_note_is_not_kept_waiting_by_others(serve, pool):
    """Notes of disks that were pulled out stay for weeks."""
    root = pool.place.parent
    (root / "thing").mkdir()
    (root / "thing" / "file").write_text("content")
    server = serve()
    assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == 201
    server.kill()
    [note] = root.glob(".shareserve/tmp/*.removal")
    kind = note.read_bytes()[:2]
    for number in range(1_500):
        (note.parent / f".shareserve-{number:013}.removal").write_bytes(kind + b"gone/%d" % number)
    (pool.place / "thing").rename(pool.place / note.name.removesuffix(".removal"))
    server.start()
    wait_until(lambda: shown(pool.place) == {"content"}, "it has its name again")


def test_a_disk_without_bits_takes_what_is_moved(serve, pool):
    pool.release()
    pool.mount("--chmod-deny")
    root = pool.place.parent
    (root / "file").write_text("file")
    (root / "file").chmod(0o600)
    (root / "folder").mkdir(mode=0o700)
    (root / "folder" / "below").write_text("below")
    server = serve()
    for name in ("file", "folder"):
        assert ask(server, "MOVE", f"/{name}", f"Destination: /pool/{name}").status == 201
    assert shown(pool.place) == {"file", "below"} and not (root / "file").exists()


def test_a_full_disk_is_relieved_by_a_move(serve, pool, folder):
    """No note can be kept of it there."""
    root = folder / "full"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(root)], check=True)
    try:
        (root / "pool").mkdir()
        (root / "thing").mkdir()
        subprocess.run(["mount", "--bind", str(pool.place), str(root / "pool")], check=True)
        server = serve(root=root)
        (root / "thing" / "file").write_text("content")
        with open(root / "thing" / "large", "wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(bytes(4096))
        assert ask(server, "MOVE", "/thing", "Destination: /pool/thing").status == 201
        assert (pool.place / "thing" / "file").read_text() == "content" and not (root / "thing").exists()
        server.stop()
    finally:
        subprocess.run(["umount", "-R", "-l", str(root)], check=True)


def test_what_was_replaced_does_not_come_back_after_a_kill(serve, pool):
    """What has its place while it is removed is not the copy."""
    root = pool.place.parent
    for place, text, number in ((root, "new", 1), (pool.place, "old", 2_000)):
        (place / "thing").mkdir()
        for name in range(number):
            (place / "thing" / f"{text}{name}").write_text(text)
    server = serve()
    with traced(server, "-o", os.devnull, "-e", "trace=unlinkat", "-e", "inject=unlinkat:delay_enter=2000"):
        answer = in_background(lambda: refused(server))
        wait_until((pool.place / "thing" / "new0").exists, "the copy has its name")
        # Not by pathlib, which fails for a folder that goes meanwhile.
        wait_until(lambda: 0 < len(glob.glob(f"{pool.place}/.shareserve-*/old*")) < 2_000, "it is being removed")
        server.kill()
        answer()
    server.start()
    time.sleep(1)
    assert [path.name for path in pool.place.iterdir() if not path.name.startswith(".")] == ["thing"]
    assert shown(pool.place) == {"new"}


def refused(server):
    try:
        return ask(server, "MOVE", "/thing", "Destination: /pool/thing").status
    except (ConnectionClosed, OSError):
        return None


def test_a_file_that_is_open_keeps_no_thread_from_others(serve, pool):
    """Removed there, it has another name until it is closed."""
    (pool.place / "folder").mkdir()
    (pool.place / "folder" / "file").write_text("content")
    server = serve()
    with open(pool.place / "folder" / "file"):
        answer = in_background(lambda: ask(server, "DELETE", "/pool/folder").status)
        began = server.cpu_seconds()
        assert answer() in (204, 207)
        assert server.cpu_seconds() - began < 2
