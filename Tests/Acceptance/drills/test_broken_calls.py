"""Every system call that a change to the share makes fails once: the tree is then as it was, or as it should be, and the answer
says which."""

import base64
import hashlib
import json
import os
import subprocess

import pytest

from server import wait_until
from tracing import Trace, failing, traced
from wire import ConnectionClosed, ask

FAILED = "a system call failed"
OLD, NEW = b"old" * 5_000, b"new" * 7_000
# Moves from the socket to the file within the kernel.
LONG = b"long" * 100_000
SET = '<propertyupdate xmlns="DAV:"><set><prop><{0} xmlns="urn:t">{1}</{0}></prop></set></propertyupdate>'
FORM = b'--x\r\nContent-Disposition: form-data; name="files"; filename="new"\r\n\r\n' + NEW + b"\r\n--x--\r\n"

CHANGES = {
    "create": ("PUT", "/new", ["If-None-Match: *"], NEW),
    "create-long": ("PUT", "/new", ["If-None-Match: *"], LONG),
    "replace": ("PUT", "/file", [], NEW),
    "replace-same": ("PUT", "/file", ["If-Match: *"], NEW),
    "form": ("POST", "/tree/", ["Content-Type: multipart/form-data; boundary=x"], FORM),
    "mkcol": ("MKCOL", "/folder", [], None),
    "copy": ("COPY", "/file", ["Destination: /other"], None),
    "copy-tree": ("COPY", "/tree", ["Destination: /other-tree"], None),
    "move": ("MOVE", "/file", ["Destination: /other"], None),
    "move-tree": ("MOVE", "/tree", ["Destination: /other-tree"], None),
    "delete": ("DELETE", "/file", [], None),
    "delete-tree": ("DELETE", "/tree", [], None),
}
# The calls on files. Not `close`, which takes effect even when the kernel reports a failure, but not when the failure is
# injected.
CALLS = {
    "copy_file_range", "fallocate", "fchmod", "fcntl", "fgetxattr", "fsetxattr", "fstatfs", "fsync", "ftruncate", "getdents64", "getxattr",
    "linkat", "lseek", "mkdirat", "openat", "openat2", "pread64", "pwrite64", "readlinkat", "renameat", "renameat2", "setxattr", "splice", "statx",
    "sync_file_range", "unlinkat", "utimensat",
}


def fill(server):
    for method, target, body in [
        ("DELETE", "/", None), ("PUT", "/file", OLD), ("PUT", "/other", b"other"), ("MKCOL", "/tree", None), ("PUT", "/tree/a", b"a"),
        ("MKCOL", "/tree/deep", None), ("PUT", "/tree/deep/b", b"b"), ("MKCOL", "/other-tree", None), ("PUT", "/other-tree/c", b"c"),
    ]:
        if method == "DELETE":
            for name in set(os.listdir(server.root)) - {".shareserve"}:
                assert ask(server, "DELETE", f"/{name}").status == 204
        else:
            assert ask(server, method, target, body=body).status == 201
    os.symlink("a", os.path.join(server.root, "tree", "link"))
    assert ask(server, "PROPPATCH", "/file", body=SET.format("kept", "value")).status == 207


def tree(server):
    """Every path with a mark of its content; hidden ones too, but for the server's own folder."""
    found = {}
    for place, folders, files in os.walk(server.root):
        if ".shareserve" in folders:
            folders.remove(".shareserve")
        for name in folders:
            found[os.path.join(place, name)] = "folder"
        for name in files:
            with open(os.path.join(place, name), "rb") as file:
                found[os.path.join(place, name)] = hashlib.sha256(file.read()).hexdigest()
    return found


@pytest.mark.parametrize("change, options", [(change, []) for change in CHANGES] + [
    ("copy-tree", ["--trash", "7"]), ("move-tree", ["--trash", "7"])])
def test_change_is_made_or_not(serve, folder, change, options):
    method, target, fields, body = CHANGES[change]
    server = serve(*options)
    fill(server)
    before = tree(server)
    with Trace(server, folder) as trace:
        assert ask(server, method, target, *fields, body=body).status in (201, 204)
    after = tree(server)
    assert after != before
    failures = 0
    for call in sorted(CALLS & set(trace.calls)):
        for number in range(1, min(trace.calls[call], 3) + 1):
            fill(server)
            logged = server.logged().count(FAILED)
            with failing(server, call, when=number):
                try:
                    status = ask(server, method, target, *fields, body=body).status
                except ConnectionClosed:
                    status = 599
            found, case = tree(server), (call, number, status)
            if status in (207, 500):
                wait_until(lambda: server.logged().count(FAILED) > logged, f"the log tells of it: {case}")
            if status in (201, 204):
                assert found == after, case
            elif status == 207:
                # Members of a tree that failed alone.
                failures += 1
                assert found.items() <= before.items() | after.items(), case
            else:
                failures += 1
                assert status >= 400, case
                assert found == before, case
            kept = next(path for path in ("/file", "/other") if (server.root / path[1:]).exists())
            if kept == "/file" or found == after and method == "MOVE":
                assert b"value" in ask(server, "PROPFIND", kept, "Depth: 0").body, case
    assert failures > 1


def test_an_upload_that_has_its_name_is_left_alone(serve):
    """Whatever fails after that: what is under the name is somebody's file, and no part of an upload any more."""
    server = serve("--fsync")
    refused = 0
    for number in range(1, 10):
        (server.root / f"file {number}").write_bytes(OLD)
        words = {"filename": f"file {number}", "conflict": "replace"}
        metadata = ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in words.items())
        place = ask(server, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", f"Upload-Length: {len(NEW)}",
                    f"Upload-Metadata: {metadata}")["location"]
        with failing(server, "fsync", when=f"{number}+"):
            status = ask(server, "PATCH", place, "Tus-Resumable: 1.0.0", "Upload-Offset: 0",
                         "Content-Type: application/offset+octet-stream", body=NEW).status
        found = (server.root / f"file {number}").read_bytes()
        assert found == NEW or found == OLD and status != 204, (number, status, len(found))
        refused += status != 204
    assert refused


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
def test_what_is_replaced_through_the_trash_keeps_its_name(serve, method):
    """What keeps two names from changing places keeps the second of two steps from being done, too."""
    server = serve("--trash", "7")
    fill(server)
    before = tree(server)
    with failing(server, "renameat2"):
        assert ask(server, method, "/tree", "Destination: /other-tree", "Overwrite: T").status == 500
    assert tree(server) == before


@pytest.mark.root
@pytest.mark.parametrize("name", ["file", "tree"])
def test_a_file_that_seems_to_end_early_is_not_moved_away(serve, name):
    server = serve()
    (server.root / "tree").mkdir()
    for path in ("file", "tree/file"):
        (server.root / path).write_bytes(os.urandom(600_000))
    place = server.root / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8M", "tmpfs", str(place)], check=True)
    try:
        before = (server.root / name / "file" if name == "tree" else server.root / name).read_bytes()
        with traced(server, "-o", os.devnull, "-e", "trace=pread64", "-e", "inject=pread64:retval=0:when=2"):
            assert ask(server, "MOVE", f"/{name}", f"Destination: /disk/{name}").status >= 207
        assert (server.root / name / "file" if name == "tree" else server.root / name).read_bytes() == before
        assert ask(server, "MOVE", f"/{name}", f"Destination: /disk/{name}").status == 201
        assert (place / name / "file" if name == "tree" else place / name).read_bytes() == before
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_time_is_on_the_disk_before_it_is_told(serve, folder):
    server = serve("--fsync")
    (server.root / "file").write_bytes(OLD)
    body = ('<propertyupdate xmlns="DAV:"><set><prop><getlastmodified>Wed, 01 Jan 2020 00:00:00 GMT</getlastmodified></prop>'
            "</set></propertyupdate>")
    with Trace(server, folder) as trace:
        assert b"200 OK" in ask(server, "PROPPATCH", "/file", body=body).body
    assert os.stat(server.root / "file").st_mtime == 1577836800
    stamped = trace.place.read_text().partition("utimensat(")[2]
    assert 0 < stamped.find(" fsync(") < stamped.find(" sendto(")


def test_refused_lock_does_not_stand(serve, folder):
    """Nobody would know its token."""
    server = serve()
    (server.root / "file").write_bytes(OLD)
    body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
    # The state folder and the table are there from now on.
    with Trace(server, folder) as trace:
        token = ask(server, "LOCK", "/file", body=body)["lock-token"]
    assert ask(server, "UNLOCK", "/file", f"Lock-Token: {token}").status == 204
    failures = 0
    for call in sorted({"openat2", "statx", "fcntl", "renameat", "openat"} & set(trace.calls)):
        for number in range(1, min(trace.calls[call], 6) + 1):
            with failing(server, call, when=number):
                answer = ask(server, "LOCK", "/file", body=body)
            if answer.status == 200:
                assert ask(server, "UNLOCK", "/file", f"Lock-Token: {answer['lock-token']}").status == 204
            else:
                failures += 1
                assert answer.status >= 500, answer
                assert ask(server, "PUT", "/file", body=OLD).status == 204, (call, number)
    assert failures > 1


def test_folders_are_copied_where_only_files_can_be_synced(serve):
    server = serve("--fsync")
    for folder in "/tree", "/tree/deep":
        assert ask(server, "MKCOL", folder).status == 201
    # As a VirtualBox host's folders answer.
    with failing(server, "fsync", error="EINVAL"):
        assert ask(server, "COPY", "/tree", "Destination: /copy").status == 201
    assert os.listdir(os.path.join(server.root, "copy")) == ["deep"]


def test_folder_is_not_listed_where_its_index_cannot_be_opened(serve):
    server = serve("--index", "index.html")
    (server.root / "folder").mkdir()
    (server.root / "folder" / "index.html").write_text("index")
    assert ask(server, "GET", "/folder/").body == b"index"
    # The folder itself is opened before it.
    with failing(server, "openat2", when="2", error="EIO"):
        answer = ask(server, "GET", "/folder/")
    assert answer.status == 500 and b"index.html" not in answer.body, answer.text


def test_link_that_cannot_be_looked_up_is_told_of(serve, folder):
    server = serve()
    (server.root / "file").write_bytes(OLD)
    wish = '{"path":"/file","maxDownloads":2}'
    place = json.loads(ask(server, "POST", "/.shareserve/links", "Content-Type: application/json", body=wish).text)["address"]
    with failing(server, "openat2", "openat", "statx", "fcntl"):
        assert ask(server, "GET", place).status == 500
    wait_until(lambda: FAILED in server.logged(), "the log tells of it")
    assert ask(server, "GET", place).body == OLD
