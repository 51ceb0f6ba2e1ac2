"""With --fsync, what was answered is on the disk by then.

On btrfs, since it writes only the names that it is told to: on others, one `fsync` of any file brings all names with it.
"""

import base64
import json
import os
import re
import subprocess

import pytest

from server import wait_until
from tracing import traced
from trash import JSON, done, restore, trashed
from wire import ask

LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
PATCH = '<propertyupdate xmlns="DAV:"><set><prop><note xmlns="urn:t">kept</note></prop></set></propertyupdate>'
LOCKS = '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>'
NOTE = '<propfind xmlns="DAV:"><prop><note xmlns="urn:t"/></prop></propfind>'
FORM = b'--edge\r\nContent-Disposition: form-data; name="files"; filename="sent/below/%s"\r\n\r\nform\r\n--edge--\r\n'
TUS = "Tus-Resumable: 1.0.0"
PIECE = "Content-Type: application/offset+octet-stream"


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


def holds(target, content):
    return lambda server: ask(server, "GET", target).body == content


def is_gone(target):
    return lambda server: ask(server, "HEAD", target, TUS).status == 404


def tells(target, what, asked):
    return lambda server: what in ask(server, "PROPFIND", target, "Depth: 0", body=asked).body


def has_come(upload, count):
    return lambda server: ask(server, "HEAD", upload, TUS)["Upload-Offset"] == str(count)


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
