"""A name whose content is replaced is never empty, and neither content is lost: not in between, and not through a kill
whenever it comes."""

import concurrent.futures
import contextlib
import ctypes
import functools
import json
import os
import subprocess
import time

import pytest

from server import wait_until
from tracing import failing, killing, traced
from trash import JSON, done, restore, trashed
from wire import ConnectionClosed, ask


def can_exchange(folder):
    """Whether two names can change places in one step here."""
    one, other = folder / "one name", folder / "other name"
    one.mkdir()
    other.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)
    one.rmdir()
    other.rmdir()
    return answer == 0


def killed_or_answered(server, call, step, work, name):
    """Does `work` while the server is to be killed at the `step`-th of this system call.

    Returns whether it was answered, and what the file of this name then holds: by itself, and to who asks a server.
    """
    with killing(server, call, step):
        try:
            done(work(), 200, 204)
            answered = True
        except (ConnectionClosed, ConnectionError):
            answered = False
    now = (server.root / name).read_text()
    if not answered:
        wait_until(lambda: not server.alive(), "the server is killed")
        server.start()
    assert ask(server, "GET", f"/{name}").text == now
    return answered, now


@pytest.mark.parametrize("method", ["MOVE", "COPY"])
def test_a_replaced_folder_is_never_out_of_its_place(serve, folder, method):
    """It goes to the trash, and the new one comes, in one step; or in two, where a file system can do no better, with
    nothing in between that may take long, as asking the disk does."""
    server = serve("--fsync", "--trash", "7")
    for name in ("new", "old"):
        (server.root / name).mkdir()
        (server.root / name / "file").write_text(name)
    trace = folder / "trace"
    with traced(server, "-o", str(trace), "-e", "trace=renameat,renameat2,fsync"):
        done(ask(server, method, "/new", "Destination: /old", "Overwrite: T"), 204)
    assert (server.root / "old" / "file").read_text() == "new"
    calls = [line for line in trace.read_text().splitlines() if "rename" in line or "fsync" in line]
    gone = next(index for index, line in enumerate(calls) if '"old"' in line)
    if can_exchange(folder):
        assert "RENAME_EXCHANGE" in calls[gone], calls
    else:
        assert "rename" in calls[gone + 1], calls
    assert restore(server) == ["/old%20%281%29"]
    assert (server.root / "old (1)" / "file").read_text() == "old"


@pytest.mark.parametrize("call", ["renameat", "renameat2", "linkat", "unlinkat"])
@pytest.mark.parametrize("method", ["MOVE", "COPY"])
def test_a_replaced_folder_through_a_kill_at_every_step(serve, folder, method, call):
    """Whichever change of names would be next: the name holds the old tree or the new one, and the other is kept, too."""
    if not can_exchange(folder):
        pytest.skip("names can't change places on this file system")
    # Each thread counts for itself; a request is done by one.
    for step in range(1, 10):
        server = serve("--trash", "7", root=folder / f"share {step}")
        for name in ("new", "old"):
            (server.root / name).mkdir()
            (server.root / name / "file").write_text(name)
        work = functools.partial(ask, server, method, "/new", "Destination: /old", "Overwrite: T")
        answered, now = killed_or_answered(server, call, step, work, "old/file")
        there = {path.parent.name: path.read_text() for path in server.root.glob("*/file")}
        kept = [path.read_text() for path in server.root.glob(".shareserve/trash/*.item/file")]
        if method == "COPY":
            assert there == {"old": now, "new": "new"}, step
            assert kept in ([["old"]] if now == "new" else [[], ["new"]]), step
        else:
            assert there == ({"old": "new"} if now == "new" else {"old": "old", "new": "new"}), step
            assert kept == (["old"] if now == "new" else []), step
        if answered:
            assert now == "new"
            return
    raise AssertionError("it is never answered")


@pytest.mark.parametrize("options", [(), ("--trash", "7")], ids=["", "trash"])
def test_another_process_first_finishes_a_move_that_was_killed(serve, folder, options):
    """Two servers on one share; one is killed when the names have changed places, before what was replaced is out of the way."""
    if not can_exchange(folder):
        pytest.skip("names can't change places on this file system")
    killed = serve(*options, root=folder / "share")
    other = serve(*options, root=folder / "share")
    for name in ("new", "old"):
        (killed.root / name).mkdir()
        (killed.root / name / "file").write_text(name)
    # Long enough for the server to rely on what it knows about the folder of locks.
    time.sleep(0.3)
    for _ in range(3):
        done(ask(other, "PUT", "/new/file", body="new"), 204)
        done(ask(other, "PUT", "/beside", body="x"), 201, 204)
    with killing(killed, "renameat", 1):
        with pytest.raises((ConnectionClosed, ConnectionError)):
            ask(killed, "MOVE", "/new", "Destination: /old", "Overwrite: T")
    wait_until(lambda: not killed.alive(), "the server is killed")
    assert (killed.root / "new" / "file").read_text() == "old"
    # Into the replaced folder, which is about to be removed; and the same request again, as a proxy would repeat it.
    done(ask(other, "PUT", "/new/later", body="lost?"), 409)
    done(ask(other, "MOVE", "/new", "Destination: /old", "Overwrite: T"), 404)
    assert (killed.root / "old" / "file").read_text() == "new" and not (killed.root / "new").exists()
    killed.start()
    assert ask(killed, "GET", "/old/file").text == "new"
    kept = [path.read_text() for path in killed.root.glob(".shareserve/trash/*.item/file")]
    assert kept == (["old"] if options else [])


@pytest.mark.parametrize("method, source", [("MOVE", "new"), ("COPY", "new"), ("COPY", "file")])
@pytest.mark.parametrize("goes_on", ["restart", "another process"])
@pytest.mark.parametrize("options", [(), ("--trash", "7")], ids=["plain", "trash"])
def test_a_kill_where_names_cannot_change_places(serve, folder, method, source, goes_on, options):
    """What is replaced stands aside for a moment, out of everybody's sight; it comes back, or goes when the new thing is there."""
    for step in range(1, 10):
        server = serve(*options, root=folder / f"share {step}")
        for name in ("new", "old"):
            (server.root / name).mkdir()
            (server.root / name / "file").write_text(name)
        (server.root / "file").write_text("new")
        other = serve(*options, root=server.root) if goes_on == "another process" else None
        answered = False
        with killing(server, "renameat", step, without=["renameat2"]):
            with contextlib.suppress(ConnectionClosed, ConnectionError):
                done(ask(server, method, f"/{source}", "Destination: /old", "Overwrite: T"), 204)
                answered = True
        if not answered:
            wait_until(lambda: not server.alive(), "the server is killed")
            if other:
                done(ask(other, "PUT", "/beside", body="x"), 201)
            server.start()
        old = server.root / "old"
        now = (old / "file").read_text() if old.is_dir() else old.read_text()
        # Nothing but the old or the new under its name, and nothing besides.
        assert now == "new" if answered else now in ("old", "new"), step
        assert (server.root / source).exists() == (method == "COPY" or now == "old"), step
        assert not [name for name in os.listdir(server.root) if name.startswith(".shareserve-")], step
        assert not [name for name in os.listdir(server.root / ".shareserve" / "tmp") if name.endswith((".aside", ".move", ".taken"))]
        if answered:
            return
    raise AssertionError("it is never answered")


def stands_aside(server, source, target):
    """Kills a server while what is replaced stands aside, since names cannot change places."""
    with killing(server, "renameat", 2, without=["renameat2"]):
        with contextlib.suppress(ConnectionClosed, ConnectionError):
            ask(server, "COPY", source, f"Destination: {target}", "Overwrite: T")
    wait_until(lambda: not server.alive(), "the server is killed")
    assert [name for name in os.listdir(server.root / ".shareserve" / "tmp") if name.endswith(".aside")]


def test_what_stands_aside_comes_back_though_its_note_could_not_be_read(serve, folder):
    server = serve(root=folder / "share")
    (server.root / "file").write_text("new")
    (server.root / "tree").mkdir()
    (server.root / "tree" / "a").write_text("old")
    stands_aside(server, "/file", "/tree")
    place = server.root / ".shareserve" / "tmp"
    server.wrapper = ["strace", "-f", "-qq", "-o", os.devnull, "-P", str(place), "-e", "trace=openat",
                      "-e", "inject=openat:error=EMFILE:when=1"]
    server.start()
    wait_until(lambda: (server.root / "tree" / "a").exists(), "it is back")
    assert (server.root / "tree" / "a").read_text() == "old"


@pytest.mark.root
def test_what_stands_aside_on_a_disk_that_comes_later_comes_back(serve, folder):
    image = folder / "image"
    subprocess.run(f"truncate -s 16M {image} && mkfs.ext4 -q -F {image}", shell=True, check=True)
    root = folder / "share"
    disk = root / "disk"
    disk.mkdir(parents=True)

    @contextlib.contextmanager
    def mounted():
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", disk], check=True)

    with mounted():
        server = serve(root=root)
        (root / "file").write_text("new")
        (disk / "tree").mkdir()
        (disk / "tree" / "a").write_text("old")
        stands_aside(server, "/file", "/disk/tree")
    # Three looks without the disk.
    for _ in range(3):
        server.start()
        assert ask(server, "PUT", "/beside", body="x").status in (201, 204)
        server.kill()
    with mounted():
        server.start()
        try:
            wait_until(lambda: (disk / "tree" / "a").exists(), "it is back")
            assert (disk / "tree" / "a").read_text() == "old"
        finally:
            server.kill()


@pytest.mark.parametrize("when", range(1, 7))
def test_a_file_that_a_folder_has_replaced_is_in_the_trash_whatever_fails_then(serve, folder, when):
    """The answer says that the disk may not have the move yet."""
    server = serve("--trash", "7", "--fsync", root=folder / "share")
    # With this, the trash is there.
    done(ask(server, "PUT", "/target", body="old"), 201)
    done(ask(server, "DELETE", "/target"), 204)
    done(ask(server, "PUT", "/target", body="the only copy"), 201)
    (server.root / "tree").mkdir()
    with failing(server, "fsync", when=str(when)):
        ask(server, "MOVE", "/tree", "Destination: /target", "Overwrite: T")
    restore(server)
    assert "the only copy" in [path.read_text() for path in server.root.iterdir() if path.is_file()]


@pytest.mark.parametrize("call", ["renameat", "renameat2", "linkat", "unlinkat"])
@pytest.mark.parametrize("options", [(), ("--trash", "7")], ids=["", "trash"])
def test_a_file_replaced_from_the_trash_through_a_kill_at_every_step(serve, folder, options, call):
    if not can_exchange(folder):
        pytest.skip("names can't change places on this file system")
    for step in range(1, 10):
        server = serve(*options, root=folder / f"share {step}")
        (server.root / "file").write_text("first")
        done(ask(server, "POST", "/.shareserve/trash", JSON, body=json.dumps({"paths": ["/file"]})), 200)
        (server.root / "file").write_text("second")
        wanted = {"ids": [item["id"] for item in trashed(server)], "conflict": "replace"}
        work = functools.partial(ask, server, "POST", "/.shareserve/trash/restore", JSON, body=json.dumps(wanted))
        answered, now = killed_or_answered(server, call, step, work, "file")
        kept = [path.read_text() for path in server.root.glob(".shareserve/trash/*.item")]
        assert sorted([now, *kept]) == ["first", "second"], step
        assert len(trashed(server)) == 1
        if answered:
            assert now == "first"
            return
    raise AssertionError("it is never answered")


def test_a_delete_takes_only_what_was_there(serve):
    """Also when somebody empties the trash and uploads anew before it is answered."""
    server = serve()
    place = server.root / "file"
    place.write_text("old")
    slow = ("-e", "trace=renameat", "-e", "inject=renameat:delay_exit=1000000")
    with traced(server, "-o", os.devnull, *slow), concurrent.futures.ThreadPoolExecutor() as pool:
        deleted = pool.submit(ask, server, "POST", "/.shareserve/trash", JSON, body='{"paths":["/file"]}')
        wait_until(lambda: not place.exists(), "it is in the trash")
        for path in server.root.glob(".shareserve/trash/*.item"):
            path.unlink()
        place.write_text("new")
        done(deleted.result(), 200)
    assert place.read_text() == "new"


def test_an_item_deleted_for_good_while_it_is_put_back_takes_nothing_else_with_it(serve, folder):
    if not can_exchange(folder):
        pytest.skip("names can't change places on this file system")
    server = serve("--trash", "3")
    (server.root / "file").write_text("first")
    done(ask(server, "DELETE", "/file"), 204)
    (server.root / "file").write_text("second")
    item, = trashed(server)
    wanted = json.dumps({"ids": [item["id"]], "conflict": "replace"})
    # The deletion happens between the two steps of the other request if it can: the file to keep has its name by then.
    slow = ("-e", "trace=renameat,renameat2", "-e", "inject=renameat:delay_enter=400000", "-e", "inject=renameat2:delay_exit=1500000")
    with traced(server, "-o", os.devnull, *slow), concurrent.futures.ThreadPoolExecutor() as pool:
        deleted = pool.submit(ask, server, "DELETE", f"/.shareserve/trash?id={item['id']}")
        # Long enough for the request to be accepted, and shorter than its delayed call; nothing outside shows it.
        time.sleep(0.15)
        done(ask(server, "POST", "/.shareserve/trash/restore", JSON, body=wanted), 200)
        deleted.result()
    found = [(server.root / "file").read_text(), *(path.read_text() for path in server.root.glob(".shareserve/trash/*.item"))]
    assert "second" in found and len(set(found)) == len(found) and set(found) <= {"first", "second"}


@pytest.mark.parametrize("options", [(), ("--fsync",)], ids=["", "fsync"])
def test_what_is_replaced_by_a_folder_is_in_the_trash_whatever_fails(serve, folder, options):
    """Also when the two have changed places, and can't be changed back."""
    if not can_exchange(folder):
        pytest.skip("names can't change places on this file system")
    server = serve("--trash", "3", *options)
    (server.root / "folder").mkdir()
    (server.root / "file").write_text("only copy")
    ask(server, "PUT", "/other", body=b"")
    broken = ("-e", "trace=renameat,renameat2", "-e", "inject=renameat:error=EIO", "-e", "inject=renameat2:error=EIO:when=2+")
    with traced(server, "-o", os.devnull, *broken):
        done(ask(server, "MOVE", "/folder", "Destination: /file"), 500)
    # What is noted of it is done before the next write.
    done(ask(server, "PUT", "/next", body=b""), 201)
    assert [path.read_text() for path in server.root.glob(".shareserve/trash/*.item")] == ["only copy"]
    assert [item["path"] for item in trashed(server)] == ["/file"]


@pytest.mark.root
@pytest.mark.parametrize("method", ["PUT", "COPY", "MOVE"])
@pytest.mark.parametrize("call", ["linkat", "renameat", "renameat2"])
def test_a_strangers_file_through_a_kill_at_every_step(serve, folder, method, call):
    """Linux gives no second name to a file of somebody else: it can't stand in the trash before it is replaced."""
    if not can_exchange(folder):
        pytest.skip("names can't change places on this file system")
    folder.chmod(0o755)
    for step in range(1, 10):
        root = folder / f"share {step}"
        root.mkdir()
        root.chmod(0o777)
        server = serve("--trash", "7", "--user", "nobody", root=root)
        done(ask(server, "PUT", "/new", body="new"), 201)
        (server.root / "file").write_text("old")
        if method == "PUT":
            work = functools.partial(ask, server, "PUT", "/file", body="new")
        else:
            work = functools.partial(ask, server, method, "/new", "Destination: /file")
        answered, now = killed_or_answered(server, call, step, work, "file")
        if answered:
            assert now == "new"
            assert [path.read_text() for path in server.root.glob(".shareserve/trash/*.item")] == ["old"]
            return
        server.stop()
    raise AssertionError("it is never answered")
