"""Every system call that a change to the share makes fails once: the tree is then as it was, or as it should be, and the answer
says which."""

import hashlib
import json
import os

import pytest

from server import wait_until
from tracing import Trace, failing
from wire import ConnectionClosed, ask

FAILED = "a system call failed"
OLD, NEW = b"old" * 5_000, b"new" * 7_000
SET = '<propertyupdate xmlns="DAV:"><set><prop><{0} xmlns="urn:t">{1}</{0}></prop></set></propertyupdate>'
FORM = b'--x\r\nContent-Disposition: form-data; name="files"; filename="new"\r\n\r\n' + NEW + b"\r\n--x--\r\n"

CHANGES = {
    "create": ("PUT", "/new", ["If-None-Match: *"], NEW),
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
# What touches files. Not `close`, which the kernel does even where it reports a failure, and an injected failure keeps it from.
CALLS = {
    "copy_file_range", "fallocate", "fchmod", "fcntl", "fgetxattr", "fsetxattr", "fstatfs", "fsync", "ftruncate", "getdents64", "getxattr",
    "linkat", "lseek", "mkdirat", "openat", "openat2", "pread64", "pwrite64", "readlinkat", "renameat", "renameat2", "setxattr", "statx",
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
