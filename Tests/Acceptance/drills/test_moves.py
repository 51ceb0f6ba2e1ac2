"""Moves to another file system, which copy and then take away: who may look at what, and what is left of it."""

import contextlib
import ctypes
import os
import platform
import shutil
import stat
import struct
import subprocess
import time

import pytest

from server import wait_until
from test_faults import as_nobody
from test_limits import disk
from test_trees import in_background, no_leftovers, repeated, slowed
from tracing import failing, traced
from wire import ConnectionClosed, ask

__all__ = ["disk"]
pytestmark = pytest.mark.root
NOBODY = 65534


def bits(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def add(path, text="x"):
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def nobodys(serve, disk):
    """A server of an ordinary user's, who has made all that is in the share and on the disk below it."""
    root = disk.parent
    (root / "tree" / "fixed").mkdir(parents=True)
    (root / "tree" / "fixed" / "file").write_text("content")
    (root / "tree" / "other").write_text("content")
    for path in (root, disk, *(root / "tree").rglob("*"), root / "tree"):
        os.chown(path, NOBODY, NOBODY)
    (root / "tree" / "fixed").chmod(0o555)
    return serve(preexec=as_nobody)


@pytest.mark.parametrize("mode", [0o1777, 0o755], ids=["sticky", "closed"])
def test_a_move_whose_source_must_stay_replaces_nothing(serve, disk, mode):
    root = disk.parent
    others = root / "others"
    (others / "folder").mkdir(parents=True)
    (others / "file").write_text("another's")
    (others / "folder" / "new").write_text("another's")
    (disk / "target").write_text("old")
    (disk / "folder").mkdir()
    (disk / "folder" / "old").write_text("old")
    for path in (root, disk, *disk.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    others.chmod(mode)
    server = serve(preexec=as_nobody)
    assert ask(server, "MOVE", "/others/file", "Destination: /disk/target").status == 403
    assert ask(server, "MOVE", "/others/file", "Destination: /disk/folder").status == 403
    assert ask(server, "MOVE", "/others/folder", "Destination: /disk/folder").status == 403
    assert (disk / "target").read_text() == "old" and (others / "file").read_text() == "another's"
    assert [path.name for path in (disk / "folder").iterdir()] == ["old"] and (others / "folder" / "new").exists()
    assert sorted(path.name for path in disk.iterdir() if path.name != "lost+found") == ["folder", "target"]


def test_what_can_not_be_deleted_comes_back_though_its_folder_has_moved(nobodys):
    root = nobodys.root
    (root / "parent").mkdir()
    os.chown(root / "parent", NOBODY, NOBODY)
    (root / "tree").rename(root / "parent" / "tree")
    with slowed(nobodys, unlinkat=300_000):
        answer = in_background(lambda: ask(nobodys, "DELETE", "/parent/tree"))
        wait_until(lambda: not (root / "parent" / "tree").exists(), "it is being taken apart")
        assert ask(nobodys, "MOVE", "/parent", "Destination: /moved").status == 201
        assert answer().status == 207
    assert (root / "parent" / "tree" / "fixed" / "file").read_text() == "content"
    # As private as it may have been.
    assert bits(root / "parent") == 0o700
    assert no_leftovers(root)


def test_what_is_written_while_the_copy_goes_to_the_disk_is_not_lost(serve, disk):
    server = serve()
    source = disk.parent / "file"
    source.write_text("first\n")
    target = disk / "file"
    with slowed(server, fsync=700_000):
        answer = in_background(lambda: ask(server, "MOVE", "/file", "Destination: /disk/file"))
        # The copy has its name, and the disk is still waited for.
        wait_until(target.exists, "the copy has its name")
        add(source, "second\n")
        status = answer().status
    assert status in (201, 503)
    assert (target if status == 201 else source).read_text() == "first\nsecond\n"


@pytest.mark.parametrize("name", ["log", ".shareserve-notes", ".shareserve/uploads/x.part"])
def test_what_is_written_to_a_folder_until_it_goes_is_not_lost(serve, disk, name):
    """Whatever it is called: a name may begin like ours, and a folder may be a share of its own."""
    server = serve()
    source = disk.parent / "tree"
    written = source / "below" / name
    written.parent.mkdir(parents=True)
    written.write_text("first\n")
    with slowed(server, fsync=400_000):
        answer = in_background(lambda: ask(server, "MOVE", "/tree", "Destination: /disk/tree"))
        # The copy has its name, and the disk is still waited for.
        wait_until((disk / "tree").exists, "the copy has its name")
        add(written, "second\n")
        assert answer().status == 201
    assert (disk / "tree" / "below" / name).read_text() == "first\nsecond\n" and not source.exists()
    assert no_leftovers(disk.parent) and not list(disk.glob(".shareserve*"))


@pytest.mark.parametrize("trash", [[], ["--trash", "30"]], ids=["", "trash"])
@pytest.mark.parametrize("old", [None, "file", "folder"])
def test_a_folder_that_is_written_to_for_ever_does_not_move(serve, disk, old, trash):
    server = serve(*trash)
    source = disk / "tree"
    source.mkdir()
    target = disk.parent / "target"
    if old == "file":
        target.write_text("old")
    elif old == "folder":
        target.mkdir()
        (target / "old").write_text("old")
    written = []

    def write():
        name = f"line {len(written)}"
        # The source may be missing for a moment.
        with contextlib.suppress(FileNotFoundError):
            (source / name).write_text("x")
            written.append(name)

    with repeated(write), slowed(server, fsync=30_000):
        assert ask(server, "MOVE", "/disk/tree", "Destination: /target").status == 503
    assert sorted(path.name for path in source.iterdir()) == sorted(written)
    if old == "file":
        assert target.read_text() == "old"
    elif old == "folder":
        assert [path.read_text() for path in target.iterdir()] == ["old"]
    else:
        assert not target.exists()
    assert no_leftovers(disk.parent) and not list(disk.glob(".shareserve*"))


@pytest.mark.parametrize("trash", [[], ["--trash", "30"]], ids=["", "trash"])
def test_a_file_that_is_written_to_for_ever_does_not_move(serve, disk, trash):
    server = serve(*trash)
    source, target = disk / "log", disk.parent / "target"
    source.write_text("")
    target.write_text("old")
    with repeated(lambda: add(source)), slowed(server, fsync=30_000):
        assert ask(server, "MOVE", "/disk/log", "Destination: /target").status == 503
    assert source.exists() and target.read_text() == "old"
    assert not list((disk.parent / ".shareserve").glob("t*/*"))


@pytest.mark.parametrize("call", ["getdents64", "renameat", "fsync"])
def test_a_folder_that_was_written_to_comes_back_after_a_kill(serve, disk, call):
    kills = 0
    for step in range(1, 16):
        server = serve()
        tree, target = disk / "tree", disk.parent / "target"
        (tree / "below").mkdir(parents=True)
        log = tree / "below" / "log"
        log.write_text("first\n")
        written = False
        # What a server looks for when it starts is not to be counted, nor killed.
        time.sleep(0.5)
        with slowed_and_killed(server, call, step):
            answer = in_background(lambda: answered(server, "MOVE", "/disk/tree", "Destination: /target"))
            wait_until(lambda: target.exists() or not server.alive(), "the copy has its name")
            if target.exists() and log.exists():
                add(log, "second\n")
                written = True
            status = answer()
        kills += status is None
        if status is None:
            wait_until(lambda: not server.alive(), "the server is killed")
            server.start()
        wait_until(lambda: not list(disk.parent.glob(".shareserve/tmp/*.removal")), "what was left is done")
        found = [path.read_text() for path in (log, target / "below" / "log") if path.exists()]
        assert ("first\nsecond\n" if written else "first\n") in found, (step, status, found)
        server.stop()
        shutil.rmtree(tree, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        if status is not None and kills:
            break
    assert kills


def slowed_and_killed(server, call, step):
    """Lets each `fsync` begin late, and kills the server at the `step`-th call of this name."""
    options = ["-e", f"trace=fsync,{call}", "-e", f"inject={call}:signal=KILL:when={step}"]
    if call != "fsync":
        options += ["-e", "inject=fsync:delay_enter=100000"]
    return traced(server, "-o", os.devnull, *options)


def answered(server, *request):
    """The status; nothing when the server is killed."""
    try:
        return ask(server, *request).status
    except (ConnectionClosed, ConnectionError):
        return None


def test_a_folder_that_is_made_again_on_its_way_has_its_name_back(serve, disk):
    server = serve()
    tree, target = disk / "tree", disk.parent / "target"
    tree.mkdir()
    for number in range(500):
        (tree / str(number)).write_text("x")

    def write():
        if target.exists():
            # The target may disappear again between the two steps.
            with contextlib.suppress(FileNotFoundError):
                tree.mkdir(exist_ok=True)
                add(tree / "log")

    with repeated(write, 0.0005), slowed(server, fsync=30_000):
        assert ask(server, "MOVE", "/disk/tree", "Destination: /target").status == 503
    assert len(list(tree.iterdir())) >= 500 and not target.exists()


@pytest.mark.parametrize("when", range(1, 9))
def test_a_folder_that_can_not_be_hidden_is_never_lost(serve, disk, when):
    server = serve("--fsync")
    tree = disk.parent / "tree"
    tree.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", tree], check=True)
    try:
        (tree / "below").mkdir()
        (tree / "below" / "file").write_text("content")
        with failing(server, "fsync", when=f"{when}"):
            ask(server, "MOVE", "/tree", "Destination: /target")
        found = [place for place in (tree, disk.parent / "target") if (place / "below" / "file").exists()]
        assert found and all((place / "below" / "file").read_text() == "content" for place in found)
    finally:
        subprocess.run(["umount", "-l", tree], check=True)


@pytest.mark.parametrize("trash", [[], ["--trash", "30"]], ids=["", "trash"])
def test_an_undone_move_where_names_can_not_change_places_leaves_a_whole_file(serve, disk, trash):
    server = serve(*trash)
    source, target = disk / "log", disk.parent / "target"
    source.write_text("source")
    target.write_text("old")
    options = ["-e", "trace=renameat2,fsync", "-e", "inject=renameat2:error=EINVAL", "-e", "inject=fsync:delay_enter=30000"]
    with repeated(lambda: add(source)), traced(server, "-o", os.devnull, *options):
        assert ask(server, "MOVE", "/disk/log", "Destination: /target").status in (500, 503)
    assert source.exists()
    assert target.read_text() == "old" or not trash and target.read_text().startswith("source")


def test_a_folder_that_comes_into_one_that_is_taken_apart_in_its_place_stays(serve, disk):
    root = disk.parent
    others = root / "others"
    (others / "folder" / "below").mkdir(parents=True)
    for number in range(20):
        (others / "folder" / "below" / str(number)).write_text("x")
    os.link(others / "folder" / "below" / "0", others / "folder" / "below" / "linked")
    (root / "docs").mkdir()
    (root / "docs" / "file").write_text("content")
    server = serve()
    # It can't be hidden, as a folder of an overlay's lower layer can't.
    subprocess.run(["mount", "--bind", others / "folder", others / "folder"], check=True)
    try:
        with slowed(server, unlinkat=50_000):
            answer = in_background(lambda: ask(server, "MOVE", "/others/folder", "Destination: /disk/folder"))
            wait_until(lambda: len(list((others / "folder" / "below").iterdir())) < 21, "it is being taken apart")
            status = ask(server, "MOVE", "/docs", "Destination: /others/folder/docs").status
            found = answer()
    finally:
        subprocess.run(["umount", "-l", others / "folder"], check=True)
    assert (others / "folder" / "docs" / "file").exists() or (root / "docs" / "file").exists(), (status, found)
    assert found.status == 207 and "linked" not in found.text
    assert not (others / "folder" / "below").exists()


def test_a_part_of_a_copy_replaces_nothing_that_came_meanwhile(nobodys):
    root = nobodys.root
    (root / "part").mkdir()
    for number in range(10):
        (root / "part" / str(number)).write_text("x")
    (root / "part" / "secret").write_text("x")
    (root / "part" / "secret").chmod(0o600)
    with slowed(nobodys, utimensat=100_000):
        answer = in_background(lambda: ask(nobodys, "COPY", "/part", "Destination: /copy"))
        wait_until(lambda: list(root.glob(".shareserve*/tmp/.shareserve-*/*")), "the copy is being made")
        (root / "copy").mkdir()
        (root / "copy" / "precious").write_text("precious")
        assert answer().status == 207
    assert [path.name for path in (root / "copy").iterdir()] == ["precious"]
    assert no_leftovers(root)


def test_nobody_else_looks_into_what_is_private_on_its_way(serve, disk):
    server = serve()
    private = server.root / "private"
    (private / "inner").mkdir(parents=True)
    (private / "inner" / "key").write_text("secret")
    for path, mode in ((private, 0o700), (private / "inner", 0o700), (private / "inner" / "key", 0o600)):
        path.chmod(mode)
    (server.root / "warm").write_text("x")
    assert ask(server, "MOVE", "/warm", "Destination: /disk/warm").status == 201
    with slowed(server, fchmod=500_000):
        answer = in_background(lambda: ask(server, "MOVE", "/private", "Destination: /disk/private"))
        hidden = wait_until(lambda: list(disk.glob(".shareserve-*")), "the copy is being made")[0]
        assert bits(hidden) & 0o077 == 0
        assert answer().status == 201
    assert not private.exists()
    assert [bits(disk / name) for name in ("private", "private/inner", "private/inner/key")] == [0o700, 0o700, 0o600]


def test_the_bits_of_folders_come_along(serve, disk):
    server = serve()
    tree = server.root / "tree"
    for name, mode in (("", 0o755), ("group", 0o2775), ("group/sticky", 0o1777)):
        (tree / name).mkdir()
        (tree / name).chmod(mode)
    (tree / "program").write_text("x")
    (tree / "program").chmod(0o6755)
    assert ask(server, "MOVE", "/tree", "Destination: /disk/tree").status == 201
    moved = disk / "tree"
    assert [bits(moved / name) for name in ("", "group", "group/sticky")] == [0o755, 0o2775, 0o1777]
    assert bits(moved / "program") == 0o755, "what runs as its owner is never made"


def without_set_id_bits():
    """What RestrictSUIDSGID= of systemd does: nobody sets these bits by fchmod."""
    number = {"x86_64": 91, "aarch64": 52}[platform.machine()]
    # Load the number; if it is fchmod's and the mode has such bits, EPERM.
    code = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 24), (0x45, 0, 1, 0o6000), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *one) for one in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(text))
    system = ctypes.CDLL(None, use_errno=True)
    assert system.prctl(38, 1, 0, 0, 0) == 0 and system.prctl(22, 2, program, 0, 0) == 0


def test_the_bits_of_folders_come_along_as_far_as_they_may_be_set(serve, disk):
    server = serve(preexec=without_set_id_bits)
    tree = server.root / "tree"
    tree.mkdir()
    tree.chmod(0o3775)
    assert ask(server, "MOVE", "/tree", "Destination: /disk/tree").status == 201
    assert bits(disk / "tree") == 0o1775


def test_a_move_that_fails_leaves_nothing_on_the_disk(nobodys, disk):
    (nobodys.root / "tree" / "other").chmod(0)
    answer = ask(nobodys, "MOVE", "/tree", "Destination: /disk/tree")
    assert answer.status == 207 and "/tree/other" in answer.text, answer
    assert os.listdir(disk) == []
    assert (nobodys.root / "tree" / "fixed" / "file").read_text() == "content"


def test_what_of_the_source_can_not_go_shows_again(nobodys, disk):
    answer = ask(nobodys, "MOVE", "/tree", "Destination: /disk/tree")
    assert answer.status == 207 and "/tree/fixed/file" in answer.text, answer
    assert (disk / "tree" / "fixed" / "file").read_text() == "content" == (disk / "tree" / "other").read_text()
    assert bits(disk / "tree" / "fixed") == 0o555
    assert (nobodys.root / "tree" / "fixed" / "file").read_text() == "content"
    assert not (nobodys.root / "tree" / "other").exists()
    assert no_leftovers(nobodys.root)
