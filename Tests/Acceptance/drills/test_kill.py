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
            # Locks and properties that were answered may be gone with everything else of the last seconds.
            history.locks.clear()
            history.upload = None
        server = serve(*options, root=root)
        try:
            workload.check(root, server, history, durable)
        except AssertionError as failure:
            raise AssertionError(f"round {round_number}: {failure}") from failure
        server.stop()
    disk.unmount()
    shown = subprocess.run(["e2fsck", "-fn", str(disk.image)], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout
