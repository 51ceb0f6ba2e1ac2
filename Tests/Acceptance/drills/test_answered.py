"""With --fsync, what was answered is on the disk by then.

On btrfs, since it writes only the names that it is told to: on others, one `fsync` of any file brings all names with it.
"""

import base64
import ctypes
import json
import os
import re
import subprocess
import time
import urllib.parse

import pytest

from server import wait_until
from tracing import traced
from wire import ConnectionClosed, ask

LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
PATCH = '<propertyupdate xmlns="DAV:"><set><prop><note xmlns="urn:t">kept</note></prop></set></propertyupdate>'
LOCKS = '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>'
NOTE = '<propfind xmlns="DAV:"><prop><note xmlns="urn:t"/></prop></propfind>'
FORM = b'--edge\r\nContent-Disposition: form-data; name="files"; filename="sent/below/%s"\r\n\r\nform\r\n--edge--\r\n'
TUS = "Tus-Resumable: 1.0.0"
PIECE = "Content-Type: application/offset+octet-stream"
JSON = "Content-Type: application/json"


@pytest.fixture
def disk(folder):
    """A btrfs that writes nothing by itself for five minutes, and the file that it is in."""
    image, place = folder / "disk.img", folder / "disk"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.btrfs", "-q", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop,commit=300", str(image), str(place)], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("btrfs can't be mounted here")
    yield image, place
    subprocess.run(["umount", "-l", str(place)], stderr=subprocess.DEVNULL)


def unmount(place):
    wait_until(lambda: subprocess.run(["umount", str(place)], stderr=subprocess.DEVNULL).returncode == 0,
               "the disk is unmounted")


def done(answer, *statuses):
    assert answer.status in statuses, answer
    return answer


def holds(target, content):
    return lambda server: ask(server, "GET", target).body == content


def is_gone(target):
    return lambda server: ask(server, "HEAD", target, TUS).status == 404


def tells(target, what, asked):
    return lambda server: what in ask(server, "PROPFIND", target, "Depth: 0", body=asked).body


def has_come(upload, count):
    return lambda server: ask(server, "HEAD", upload, TUS)["Upload-Offset"] == str(count)


def trashed(server):
    return json.loads(done(ask(server, "GET", "/.shareserve/trash"), 200).body)["items"]


def restore(server):
    """Has everything back; tells where it is now."""
    wanted = {"ids": [item["id"] for item in trashed(server)], "conflict": "keep"}
    answer = ask(server, "POST", "/.shareserve/trash/restore", JSON, body=json.dumps(wanted))
    return [urllib.parse.quote(item["path"]) for item in json.loads(done(answer, 200).body)["items"]]


def can_be_restored(content):
    return lambda server: any(ask(server, "GET", path).body == content for path in restore(server))


def changes(server):
    """Makes one change after the other; after each, its name, and how another server would show it."""
    done(ask(server, "PUT", "/new", body=b"new"), 201)
    yield "PUT", holds("/new", b"new")
    done(ask(server, "PUT", "/new", body=b"other"), 204)
    yield "PUT over a file", holds("/new", b"other")
    done(ask(server, "MKCOL", "/folder"), 201)
    yield "MKCOL", lambda server: ask(server, "PROPFIND", "/folder/", "Depth: 0").status == 207
    done(ask(server, "MOVE", "/new", "Destination: /folder/moved"), 201)
    yield "MOVE, the new name", holds("/folder/moved", b"other")
    yield "MOVE, the old name", is_gone("/new")
    done(ask(server, "COPY", "/folder", "Destination: /copy"), 201)
    yield "COPY of a folder", holds("/copy/moved", b"other")
    done(ask(server, "MOVE", "/copy", "Destination: /folder/copy"), 201)
    yield "MOVE of a folder", holds("/folder/copy/moved", b"other")
    done(ask(server, "DELETE", "/folder/moved"), 204)
    yield "DELETE", is_gone("/folder/moved")
    done(ask(server, "PROPPATCH", "/folder/copy/moved", body=PATCH), 207)
    yield "PROPPATCH", tells("/folder/copy/moved", b"kept", NOTE)
    token = done(ask(server, "LOCK", "/folder/copy/moved", body=LOCK), 200)["Lock-Token"].strip("<>")
    yield "LOCK", tells("/folder/copy/moved", token.encode(), LOCKS)
    for name in ("one", "two"):
        form = FORM % name.encode()
        done(ask(server, "POST", "/", "Content-Type: multipart/form-data; boundary=edge", body=form), 201, 303)
        yield f"a form with folders, {name}", holds(f"/sent/below/{name}", b"form")
    yield from uploads(server)


def uploads(server):
    metadata = f"Upload-Metadata: filename {base64.b64encode(b'resumed').decode()}"
    uploaded = []
    for number in range(2):
        answer = done(ask(server, "POST", "/.shareserve/uploads", TUS, "Upload-Length: 10", metadata), 201)
        upload = "/.shareserve/" + answer["Location"].split("/.shareserve/")[1]
        uploaded.append(upload)
        yield f"upload {number}", has_come(upload, 0)
    done(ask(server, "PATCH", upload, TUS, PIECE, "Upload-Offset: 0", body=b"01234"), 204)
    yield "a piece of it", has_come(upload, 5)
    done(ask(server, "PATCH", upload, TUS, PIECE, "Upload-Offset: 5", body=b"56789"), 204)
    yield "its end", holds("/resumed", b"0123456789")
    first = uploaded[0]
    done(ask(server, "DELETE", first, TUS), 204)
    yield "an upload given up", is_gone(first)


def changes_with_trash(server):
    for folder in ("/one", "/two"):
        done(ask(server, "MKCOL", folder), 201)
    for name in ("/one/a", "/one/b", "/two/c"):
        done(ask(server, "PUT", name, body=b"first " + name.encode()), 201)
    done(ask(server, "PUT", "/one/a", body=b"second"), 204)
    yield "PUT over a file", can_be_restored(b"first /one/a")
    done(ask(server, "DELETE", "/one/b"), 204)
    yield "DELETE", can_be_restored(b"first /one/b")
    done(ask(server, "DELETE", "/two"), 204)
    yield "DELETE of a folder", lambda server: "/two" in restore(server) and holds("/two/c", b"first /two/c")(server)
    done(ask(server, "POST", "/.shareserve/trash", JSON, body=json.dumps({"paths": ["/one/a"]})), 200)
    yield "the page's delete", can_be_restored(b"second")
    restore(server)
    yield "what came back", holds("/one/b", b"first /one/b")
    done(ask(server, "DELETE", "/one/b"), 204)
    done(ask(server, "DELETE", "/.shareserve/trash"), 204)
    yield "an emptied trash", lambda server: not trashed(server)


@pytest.mark.root
@pytest.mark.parametrize("is_settled", [False, True], ids=["new", "settled"])
@pytest.mark.parametrize("options, change", [([], changes), (["--trash", "7"], changes_with_trash)], ids=["", "trash"])
def test_all_that_was_answered_is_on_the_disk(serve, disk, options, change, is_settled):
    """Both what has just been made on the disk and what has been there for long: they are written in different ways."""
    image, place = disk
    (place / "share").mkdir()
    os.sync()
    server = serve("--fsync", *options, root=place / "share")
    made = []
    for name, look in change(server):
        copy = image.with_name(f"copy-{len(made)}.img")
        subprocess.run(["cp", "--sparse=always", str(image), str(copy)], check=True)
        made.append((name, look, copy))
        if is_settled:
            subprocess.run(["sync", "-f", str(place)], check=True)
    server.stop()
    unmount(place)
    lost = []
    for name, look, copy in made:
        subprocess.run(["mount", "-o", "loop", str(copy), str(place)], check=True)
        server = serve("--fsync", *options, root=place / "share")
        if not look(server):
            lost.append(name)
        server.stop()
        unmount(place)
        copy.unlink()
    assert lost == []


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
        with traced(server, "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={step}"):
            try:
                answered = ask(server, method, "/new", "Destination: /old", "Overwrite: T").status == 204
            except (ConnectionClosed, ConnectionError):
                answered = False
        now = (server.root / "old" / "file").read_text()
        if not answered:
            wait_until(lambda: not server.alive(), "the server is killed")
            server.start()
        # What a client would do, and people at the disk.
        assert ask(server, "GET", "/old/file").text == now
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
    # So long that it goes by what it knows of the folder of locks.
    time.sleep(0.3)
    for _ in range(3):
        done(ask(other, "PUT", "/new/file", body="new"), 204)
        done(ask(other, "PUT", "/beside", body="x"), 201, 204)
    with traced(killed, "-o", os.devnull, "-e", "trace=renameat", "-e", "inject=renameat:signal=KILL:when=1"):
        with pytest.raises((ConnectionClosed, ConnectionError)):
            ask(killed, "MOVE", "/new", "Destination: /old", "Overwrite: T")
    wait_until(lambda: not killed.alive(), "the server is killed")
    assert (killed.root / "new" / "file").read_text() == "old"
    # Into what was replaced, and is about to go; and the same once more, as a proxy would send it.
    done(ask(other, "PUT", "/new/later", body="lost?"), 409)
    done(ask(other, "MOVE", "/new", "Destination: /old", "Overwrite: T"), 404)
    assert (killed.root / "old" / "file").read_text() == "new" and not (killed.root / "new").exists()
    killed.start()
    assert ask(killed, "GET", "/old/file").text == "new"
    kept = [path.read_text() for path in killed.root.glob(".shareserve/trash/*.item/file")]
    assert kept == (["old"] if options else [])


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
        with traced(server, "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={step}"):
            try:
                answered = ask(server, "POST", "/.shareserve/trash/restore", JSON, body=json.dumps(wanted)).status == 200
            except (ConnectionClosed, ConnectionError):
                answered = False
        now = (server.root / "file").read_text()
        if not answered:
            wait_until(lambda: not server.alive(), "the server is killed")
            server.start()
        assert ask(server, "GET", "/file").text == now
        kept = [path.read_text() for path in server.root.glob(".shareserve/trash/*.item")]
        assert sorted([now, *kept]) == ["first", "second"], step
        assert len(trashed(server)) == 1
        if answered:
            assert now == "first"
            return
    raise AssertionError("it is never answered")


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
        with traced(server, "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={step}"):
            try:
                answer = ask(server, "PUT", "/file", body="new") if method == "PUT" else ask(server, method, "/new", "Destination: /file")
                answered = answer.status == 204
            except (ConnectionClosed, ConnectionError):
                answered = False
        now = (server.root / "file").read_text()
        if not answered:
            wait_until(lambda: not server.alive(), "the server is killed")
            server.start()
        assert ask(server, "GET", "/file").text == now
        if answered:
            assert now == "new"
            assert [path.read_text() for path in server.root.glob(".shareserve/trash/*.item")] == ["old"]
            return
        server.stop()
    raise AssertionError("it is never answered")


def test_the_first_lock_of_a_share(serve, folder):
    """The folder that it is kept in is new, and its name has to be on the disk, too."""
    server = serve("--fsync")
    (server.root / "file").write_text("x")
    trace = folder / "trace"
    with traced(server, "-y", "-o", str(trace), "-e", "trace=mkdirat,renameat,fsync"):
        done(ask(server, "LOCK", "/file", body=LOCK), 200)
    calls = trace.read_text().splitlines()
    made = next(index for index, line in enumerate(calls) if "mkdirat" in line and '".shareserve"' in line)
    root = re.escape(os.path.realpath(server.root))
    assert any(re.search(rf"fsync\(\d+<{root}>", line) for line in calls[made:]), calls
