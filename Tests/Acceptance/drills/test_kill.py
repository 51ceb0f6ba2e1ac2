"""SIGKILL in the middle of everything, many times; then a power cut. Nothing answered is lost, nothing is torn."""

import fcntl
import os
import random
import struct
import subprocess
import threading

import pytest

import workload
from server import SANITIZED, wait_until
from test_faults import as_nobody
from wire import Wire, ask

ROUNDS = 20 if SANITIZED else int(os.environ.get("SHARESERVE_DRILL_ROUNDS", "200"))


@pytest.mark.timeout(900)
def test_sigkill(serve):
    """Each round starts the server, lets all writers run for some random milliseconds, and kills it."""
    server = serve()
    workload.prepare(server.root)
    history = workload.History()
    chance = random.Random(7)
    for round_number in range(ROUNDS):
        writers = [kind(server.port, history) for kind in workload.WRITERS]
        for writer in writers:
            writer.start()
        # Not a wait for anything: the moment of the kill is meant to be any.
        threading.Event().wait(chance.uniform(0.01, 0.25))
        server.kill()
        for writer in writers:
            writer.join(30)
            assert not writer.is_alive()
            if writer.failure:
                raise AssertionError(f"round {round_number}, {type(writer).__name__}") from writer.failure
        # A lock whose UNLOCK was under way may be there or not.
        server.restart()
        try:
            workload.check(server.root, server, history)
        except AssertionError as failure:
            raise AssertionError(f"round {round_number}: {failure}") from failure
    assert history.answered


@pytest.mark.parametrize("options", [[], ["--fsync"]], ids=["no fsync", "fsync"])
def test_bytes_that_never_reached_the_disk_are_sent_again(serve, options):
    """After a power cut a file may be longer than what was written to it: what was not answered counts for nothing."""
    server = serve(*options)
    data = os.urandom(140_000)
    headers = ("Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream")
    made = ask(server, "POST", "/.shareserve/uploads", headers[0], f"Upload-Length: {len(data)}",
               "Upload-Metadata: filename YQ==")
    address = made["Location"].partition("://")[2]
    address = address[address.index("/"):] if address else made["Location"]
    assert ask(server, "PATCH", address, *headers, "Upload-Offset: 0", body=data[:70_000]).status == 204
    server.kill()
    part, = (server.root / ".shareserve" / "uploads").glob("*.part")
    with open(part, "ab") as file:
        file.write(bytes(2_000))
    server.restart()
    assert ask(server, "HEAD", address, headers[0])["Upload-Offset"] == "70000"
    answer = ask(server, "PATCH", address, *headers, "Upload-Offset: 70000", body=data[70_000:])
    assert answer.status == 204, answer
    assert (server.root / "a").read_bytes() == data


def large_tree(root):
    """A folder that takes a while to remove, with one member that its owner alone may."""
    for folder in range(40):
        place = root / "tree" / f"{folder}"
        place.mkdir(parents=True)
        for number in range(500):
            (place / f"{number}").touch()
    for path in (root, root / "tree", *(root / "tree").iterdir()):
        os.chown(path, 65534, 65534)
    kept = root / "tree" / "20" / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")


@pytest.mark.root
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another process"])
def test_removal_that_is_killed_goes_on(serve, others):
    """After the next start all is gone but what can't be removed, which shows again."""
    server = serve(preexec=as_nobody, wait=False)
    server.kill()
    large_tree(server.root)
    server.restart()
    with Wire(server) as wire:
        wire.request("DELETE", "/tree/")
        wait_until(lambda: not (server.root / "tree").exists(), "the name is gone")
        # A server that starts while another works on the tree leaves it alone.
        beside = [serve(preexec=as_nobody) for _ in range(others)]
        server.kill()
    for other in beside:
        other.kill()
    server.restart()
    wait_until(lambda: (server.root / "tree").exists(), "what can't be removed shows again")
    assert [path for path in server.root.rglob("*") if ".shareserve" not in path.parts] == [
        server.root / "tree", server.root / "tree" / "20", server.root / "tree" / "20" / "kept",
        server.root / "tree" / "20" / "kept" / "file"]
    assert ask(server, "GET", "/tree/20/kept/file").body == b"kept"
    wait_until(lambda: not list((server.root / ".shareserve" / "tmp").iterdir()), "nothing is left out of sight")
    (server.root / "tree" / "20" / "kept" / "file").unlink()
    (server.root / "tree" / "20" / "kept").rmdir()
    assert ask(server, "DELETE", "/tree/").status == 204
    assert not (server.root / "tree").exists()


@pytest.mark.parametrize("gives", [False, True], ids=["", "beside"])
@pytest.mark.parametrize("replacing", [False, True], ids=["new", "replacing"])
def test_copy_that_is_killed_takes_no_room(serve, replacing, gives):
    """What there is of it goes at the next start, not a day later, and what is under the name is whole."""
    server = serve()
    if gives:
        # The copy is built in the folder that gives it rights.
        server.root.chmod(0o2775)
    (server.root / "tree").mkdir()
    for index in range(3_000):
        (server.root / "tree" / str(index)).write_text(str(index))
    if replacing:
        (server.root / "copy").mkdir()
        (server.root / "copy" / "old").touch()
    hidden, place = server.root / ".shareserve" / "tmp", server.root if gives else server.root / ".shareserve" / "tmp"
    with Wire(server) as wire:
        wire.request("COPY", "/tree/", "Destination: /copy/")
        wait_until(lambda: list(place.glob(".shareserve-*/*")), "the copy has begun")
        # Another server leaves it alone.
        beside = serve(root=server.root)
        assert list(place.glob(".shareserve-*/*")) or wire.response().status in (201, 204)
        server.kill()
    beside.kill()
    server.restart()
    wait_until(
        lambda: not list(hidden.iterdir()) and not list(place.glob(".shareserve-*")), "nothing is left out of sight")
    names = [path.name for path in (server.root / "copy").iterdir()] if (server.root / "copy").exists() else None
    assert names == (["old"] if replacing else None) or len(names) == 3_000


# What xfstests use for power cuts: from this moment on, the file system writes nothing any more, not even its journal.
# What the device holds is copied at once, since the unmounting that follows may still write out what was only in memory.
EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2


class Disk:
    """An ext4 file system in a file, that can lose its power."""

    def __init__(self, folder, megabytes=512, features=(), options=()):
        self.copies = 0
        self.image = folder / "disk-0.img"
        self.place = folder / "disk"
        self.place.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", *features, str(self.image)], check=True)
        # Not every kernel has every option.
        self.mount(*options, check=not options)

    def mount(self, *options, check=True):
        subprocess.run(["mount", "-o", ",".join(("loop", *options)), str(self.image), str(self.place)], check=check)

    def release(self):
        """For the end of a test, whatever state the disk is in."""
        if os.path.ismount(self.place):
            subprocess.run(["umount", "-l", str(self.place)])

    def cut_power(self):
        descriptor = os.open(self.place, os.O_RDONLY)
        fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(descriptor)
        self.copies += 1
        self.image = self.image.with_name(f"disk-{self.copies}.img")
        before = self.image.with_name(f"disk-{self.copies - 1}.img")
        subprocess.run(["cp", "--sparse=always", str(before), str(self.image)], check=True)

    def unmount(self):
        if os.path.ismount(self.place):
            wait_until(lambda: subprocess.run(["umount", str(self.place)], stderr=subprocess.DEVNULL).returncode == 0,
                       "the disk is unmounted")


@pytest.fixture
def disk(folder):
    disk = Disk(folder)
    yield disk
    if os.path.ismount(disk.place):
        subprocess.run(["umount", "-l", str(disk.place)])


@pytest.mark.root
@pytest.mark.timeout(900)
@pytest.mark.parametrize("durable", [True, False], ids=["fsync", "no fsync"])
def test_power_cut(serve, disk, durable):
    """With --fsync all that was answered is there after the cut; without it, what is there is whole."""
    root = disk.place / "share"
    root.mkdir()
    workload.prepare(root)
    os.sync()
    history = workload.History()
    chance = random.Random(11)
    options = ["--fsync"] if durable else []
    for round_number in range(4 if SANITIZED else 15):
        server = serve(*options, root=root)
        writers = [kind(server.port, history) for kind in workload.WRITERS]
        for writer in writers:
            writer.start()
        threading.Event().wait(chance.uniform(0.2, 1.5))
        # What is answered before the cut counts; answers after it can't come, since no write succeeds any more.
        disk.cut_power()
        server.kill()
        for writer in writers:
            writer.join(30)
        disk.unmount()
        disk.mount()
        disk.image.with_name(f"disk-{disk.copies - 1}.img").unlink()
        if not durable:
            # Locks and uploads that were answered may be gone with everything else of the last seconds; what is left of an
            # upload is gone on with.
            history.locks.clear()
            if history.upload:
                history.upload.answered = 0
                history.upload.may_be_done = True
        server = serve(*options, root=root)
        try:
            workload.check(root, server, history, durable)
        except AssertionError as failure:
            raise AssertionError(f"round {round_number}: {failure}") from failure
        server.stop()
    disk.unmount()
    shown = subprocess.run(["e2fsck", "-fn", str(disk.image)], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout


@pytest.mark.root
@pytest.mark.parametrize("kind", ["file", "tree"])
def test_power_cut_after_a_move_to_another_disk(serve, disk, folder, kind):
    """The source of such a move is gone when it is answered: its copy is on the other disk by then, --fsync or not."""
    root = folder / "moves"
    root.mkdir()
    (root / "disk").mkdir()
    subprocess.run(["mount", "--bind", str(disk.place), str(root / "disk")], check=True)
    try:
        server = serve(root=root)
        content = os.urandom(300_000)
        if kind == "file":
            (root / "x").write_bytes(content)
        else:
            (root / "x" / "below").mkdir(parents=True)
            (root / "x" / "one").write_bytes(content)
            (root / "x" / "below" / "two").write_bytes(content)
        assert ask(server, "MOVE", "/x", "Destination: /disk/x").status == 201
        assert not (root / "x").exists()
        disk.cut_power()
        server.kill()
    finally:
        subprocess.run(["umount", "-l", str(root / "disk")])
    disk.unmount()
    disk.mount()
    place = disk.place / "x"
    found = [place] if kind == "file" else [place / "one", place / "below" / "two"]
    assert [file.read_bytes() == content for file in found] == [True] * len(found)
