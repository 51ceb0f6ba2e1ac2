"""An upload whose server is killed in its last step is done, or can be gone on with: never unknown, never done twice."""

import base64
import contextlib
import ctypes
import hashlib
import json
import os
import re
import socket
import subprocess
import time

import pytest
import requests

from server import wait_until
from test_faults import as_nobody
from test_hung_disk import Disk
from test_limits import disk
from test_tus import VERSION, Tus
from tracing import EndedEarly, Trace, failing, killing, traced
from wire import ConnectionClosed, Wire, ask

__all__ = ["disk"]
CONTENT = b"content" * 1000
LOCK = b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>"


def killed_at_its_end(server, path, call, step, restarts=True, **pairs):
    """Uploads a file, and is killed; gives the upload's address, or nothing when there was no such step."""
    tus = Tus(server)
    address = tus.create(len(CONTENT), path="/" + os.path.dirname(path), filename=os.path.basename(path), **pairs)
    try:
        with killing(server, call, step):
            try:
                assert tus.patch(address, 0, CONTENT).status_code == 204
                return tus, None
            except requests.exceptions.ConnectionError:
                wait_until(lambda: not server.alive(), "the server is killed")
    except EndedEarly:
        server.start()
        # Its bytes would stay beside those of the upload that is to be killed.
        assert requests.delete(address, headers=VERSION, timeout=20).status_code == 204
        return killed_at_its_end(server, path, call, step, restarts, **pairs)
    if restarts:
        server.start()
    return Tus(server), address


@pytest.mark.root
@pytest.mark.parametrize("place", ["disk/file", "file"])
@pytest.mark.parametrize("call", ["openat", "linkat", "renameat", "unlinkat", "utimensat", "write", "renameat2"])
def test_an_upload_killed_in_its_last_step(serve, disk, call, place):
    server = serve()
    target = server.root / place
    kills = 0
    for step in range(1, 40):
        tus, address = killed_at_its_end(server, place, call, step)
        if address is None:
            break
        kills += 1
        address = requests.compat.urljoin(tus.store, address)
        head = tus.head(address)
        assert head.status_code == 200, (step, head.status_code)
        offset = int(head.headers["Upload-Offset"])
        if target.exists():
            assert target.read_bytes() == CONTENT
            assert offset == len(CONTENT)
            wait_until(lambda: not list(server.root.glob(".shareserve/uploads/*.part")), "its last word is said")
            # Another client changes the file, and the client that never got the last response continues its upload.
            assert ask(server, "PUT", f"/{place}", body=b"newer").status == 204
            assert tus.patch(address, offset, b"").status_code in (204, 404, 410)
            assert target.read_bytes() == b"newer"
        else:
            assert tus.patch(address, offset, CONTENT[offset:]).status_code == 204
            assert target.read_bytes() == CONTENT
        target.unlink()
    assert kills or (call, place) not in (("renameat", "file"), ("unlinkat", "disk/file"))
    assert not list(server.root.glob(".shareserve/uploads/*.part"))


@pytest.mark.root
def test_an_upload_in_place_of_what_nobody_may_read(serve, disk):
    """Its copy on another disk has the bits of that, and is closed to the server itself."""
    target = disk / "file"
    for place in (disk.parent, disk):
        os.chown(place, 65534, 65534)
    server = serve(preexec=as_nobody)
    kills = 0
    for step in range(1, 20):
        target.write_text("old")
        os.chown(target, 65534, 65534)
        target.chmod(0o200)
        tus, address = killed_at_its_end(server, "disk/file", "unlinkat", step, conflict="replace")
        if address is None:
            break
        kills += target.read_bytes() == CONTENT
        head = tus.head(requests.compat.urljoin(tus.store, address))
        assert head.status_code == 200, (step, head.status_code)
        wait_until(lambda: not list(server.root.glob(".shareserve/uploads/*.part")), "its last word is said")
        target.unlink()
    assert kills
    assert "could not tidy" not in server.logged()


@pytest.mark.root
def test_nobody_waits_for_the_disk_of_an_upload_that_is_asked_for(serve, folder):
    """Whether it has its copy is asked by few, and by none of those who tidy."""
    pool = Disk(folder, folder / "share" / "pool")
    try:
        server = serve()
        address = None
        for step in range(1, 20):
            (pool.place / "file").unlink(missing_ok=True)
            tus, address = killed_at_its_end(server, "pool/file", "unlinkat", step, restarts=False)
            assert address is not None, "there is no such step"
            if (pool.place / "file").exists() and list(server.root.glob(".shareserve/uploads/*.part")):
                break
            server.start()
        spare = server.root / ".shareserve" / "spare" / "0"
        spare.unlink(missing_ok=True)
        with contextlib.ExitStack() as stack, pool.hanging():
            server.start()
            wait_until(spare.exists, "the share is tidied")
            target = "/.shareserve/uploads/" + address.rsplit("/", 1)[1]
            for _ in range(12):
                asking = stack.enter_context(Wire(server))
                asking.request("HEAD", target, "Tus-Resumable: 1.0.0")
            begun = time.monotonic()
            assert ask(server, "PUT", "/near", body=b"near").status == 201
            assert ask(server, "HEAD", target, "Tus-Resumable: 1.0.0").status == 503
            assert time.monotonic() - begun < 2
        wait_until(lambda: not list(server.root.glob(".shareserve/uploads/*.part")), "its last word is said")
        head = ask(server, "HEAD", target, "Tus-Resumable: 1.0.0")
        assert head.status == 200 and head["Upload-Offset"] == str(len(CONTENT))
    finally:
        pool.release()


@pytest.mark.root
def test_an_upload_that_has_its_name_is_not_done_again_when_the_disk_fails_behind_that(serve, disk):
    # Each thread's calls count for themselves.
    server = serve("--fsync", "--io-threads", "1")
    target = disk / "file"
    named = 0
    for step in range(1, 12):
        tus = Tus(server)
        address = tus.create(len(CONTENT), path="/disk", filename="file", conflict="replace")
        with failing(server, "fsync", when=str(step)):
            status = tus.patch(address, 0, CONTENT).status_code
        if target.exists():
            named += status == 500
            target.write_bytes(b"newer")
            head = tus.head(address)
            assert head.status_code == 200 and head.headers["Upload-Offset"] == str(len(CONTENT))
            tus.patch(address, len(CONTENT), b"")
            assert target.read_bytes() == b"newer", step
            target.unlink()
        elif status == 500:
            tus.head(address)
            requests.delete(address, headers=VERSION, timeout=20)
            target.unlink(missing_ok=True)
    assert named


@pytest.mark.root
def test_an_upload_that_keeps_both_is_copied_once(serve, disk, folder):
    """To another disk; and not at all where that has no room for it."""
    server = serve("--min-free-space", "8M")
    for name in ("file", *(f"file ({number})" for number in range(1, 12))):
        (disk / name).write_text("taken")
    tus = Tus(server)
    address = tus.create(len(CONTENT), path="/disk", filename="file", conflict="keep")
    with Trace(server, folder) as trace:
        assert tus.patch(address, 0, CONTENT).status_code == 204
    assert (disk / "file (12)").read_bytes() == CONTENT
    assert trace.calls["copy_file_range"] <= 2
    refused = tus.create(9 << 20, path="/disk", filename="large", status=507)
    assert refused.status_code == 507


@pytest.mark.root
@pytest.mark.parametrize("call", ["linkat", "renameat"])
def test_a_killed_server_leaves_no_lock_without_its_file(serve, call):
    """Nobody could see that lock, or end it."""
    server = serve()
    assert ask(server, "PUT", "/first", body=b"x").status == 201
    with killing(server, call, 1):
        with contextlib.suppress(OSError, ConnectionClosed):
            ask(server, "LOCK", "/new", body=LOCK)
        wait_until(lambda: not server.alive(), "the server is killed")
    server.start()
    found = ask(server, "PROPFIND", "/new", "Depth: 0")
    stored = ask(server, "PUT", "/new", body=b"content")
    assert stored.status in (201, 204) or b"locktoken" in found.body, (call, found.status, stored.status)


# The first large write takes until the disk is woken, or the fsync of a large file, or the first look at the target.
SLOW_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#define OWN(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static void nap(const char *call) {
    static atomic_int naps;
    if (strcmp(getenv("SLOW"), call) || atomic_fetch_add(&naps, 1)) return;
    fputs("sleeping\n", stderr);
    for (int waited = 0; access(getenv("WAKE"), F_OK) && waited < 1500; waited++) usleep(10000);
    fputs("awake\n", stderr);
}
static int is_large(int file) {
    struct stat info;
    return fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 1000000;
}
int statx(int folder, const char *path, int flags, unsigned mask, struct statx *info) {
    if (path && strcmp(path, "file") == 0) nap("look");
    return OWN(statx)(folder, path, flags, mask, info);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t start) {
    if (count >= 10000) nap("write");
    return OWN(pwrite64)(file, bytes, count, start);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t start) { return pwrite64(file, bytes, count, start); }
ssize_t splice(int from, off64_t *start, int to, off64_t *offset, size_t count, unsigned flags) {
    if (offset && count >= 10000) nap("write");
    return OWN(splice)(from, start, to, offset, count, flags);
}
int fsync(int file) {
    if (is_large(file)) nap("fsync");
    return OWN(fsync)(file);
}
int fdatasync(int file) {
    if (is_large(file)) nap("fsync");
    return OWN(fdatasync)(file);
}
"""


def slow(folder, call):
    """The environment of a server whose disk is slow in this place, until `wake` is called."""
    (folder / "slow.c").write_text(SLOW_DISK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "slow.so", folder / "slow.c"], check=True)
    return {"LD_PRELOAD": str(folder / "slow.so"), "SLOW": call, "WAKE": str(folder / "wake")}


def wake(server, folder):
    """Has the slow disk go on."""
    assert "awake" not in server.logged()
    (folder / "wake").touch()


def upload(wire, kind, content):
    """Sends a whole upload to /file, in one of the four ways."""
    boundary = "Content-Type: multipart/form-data; boundary=B"
    parts = [b'name="conflict"\r\n\r\nreplace', b'name="file"; filename="file"\r\n\r\n' + content]
    form = b"".join(b"--B\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--B--\r\n"
    name, rule = (base64.b64encode(text).decode() for text in (b"file", b"replace"))
    tus = ["Tus-Resumable: 1.0.0", f"Upload-Length: {len(content)}", f"Upload-Metadata: filename {name},conflict {rule}",
           "Content-Type: application/offset+octet-stream"]
    match kind:
        case "PUT": wire.request("PUT", "/file", body=content)
        case "form": wire.request("POST", "/", boundary, body=form)
        case "tus": wire.request("POST", "/.shareserve/uploads", *tus, body=content)
        case "draft": wire.request("PUT", "/file", "Upload-Complete: ?1", body=content)


@pytest.mark.parametrize("call, tls", [("look", None), ("write", None), ("write", True), ("fsync", None)])
@pytest.mark.parametrize("kind", ["PUT", "form", "tus", "draft"])
def test_who_has_gone_from_a_slow_disk_replaces_nothing_that_came_later(serve, folder, kind, tls, call):
    """A client that gives up waiting for the disk, and sends something newer on another connection.

    With a slow write, the end of its connection waits in the socket, behind the rest of the upload.
    """
    server = serve(*(["--fsync"] if call == "fsync" else []), *(["--tls-self-signed"] if tls else []),
                   environment=slow(folder, call))
    (server.root / "file").write_bytes(b"first")
    with Wire(server, tls=tls) as wire:
        wire.socket.settimeout(10)
        upload(wire, kind, b"old!" * 300_000)
        wait_until(lambda: "sleeping" in server.logged(), "the disk is slow")
    assert ask(server, "PUT", "/file", body=b"newer", tls=tls).status == 204
    wake(server, folder)
    wait_until(lambda: re.search(r"(PUT|POST) .* (412|499) ", server.logged()), "the upload has ended")
    assert (server.root / "file").read_bytes() == b"newer"


@pytest.mark.parametrize("kind", ["COPY", "final"])
def test_what_is_put_together_for_who_has_gone_replaces_nothing_that_came_later(serve, folder, kind):
    """Of what the server has already: a copy, and an upload of parts."""
    server = serve("--fsync", environment=slow(folder, "fsync"))
    (server.root / "file").write_bytes(b"first")
    (server.root / "source").write_bytes(b"old!" * 300_000)
    with Wire(server) as wire:
        if kind == "COPY":
            wire.request("COPY", "/source", "Destination: /file")
        else:
            tus = ["Tus-Resumable: 1.0.0"]
            parts = [wire.ask("POST", "/.shareserve/uploads", *tus, "Upload-Concat: partial", "Upload-Length: 600000",
                              "Content-Type: application/offset+octet-stream", body=bytes(600_000)) for _ in range(2)]
            assert [part.status for part in parts] == [201, 201]
            addresses = " ".join(part["location"] for part in parts)
            name, rule = (base64.b64encode(text).decode() for text in (b"file", b"replace"))
            wire.request("POST", "/.shareserve/uploads", *tus, f"Upload-Concat: final;{addresses}",
                         f"Upload-Metadata: filename {name},conflict {rule}", body=b"")
        wait_until(lambda: "sleeping" in server.logged(), "the disk is slow")
    assert ask(server, "PUT", "/file", body=b"newer").status == 204
    wake(server, folder)
    wait_until(lambda: re.search(r"(COPY|POST) .* (412|499) ", server.logged()), "the other one has ended")
    assert (server.root / "file").read_bytes() == b"newer"


def restore_what_was_replaced(server, target, *fields):
    """Has the only content in the trash under its name again."""
    kept, = json.loads(ask(server, "GET", "/.shareserve/trash", *fields).body)["items"]
    assert ask(server, "DELETE", target, *fields).status == 204
    assert ask(server, "POST", "/.shareserve/trash/restore", "Content-Type: application/json", *fields,
               body=json.dumps({"ids": [kept["id"]]})).status == 200


@pytest.mark.parametrize("way", ["sent", "restored"])
@pytest.mark.parametrize("size", [5, 100_000])
def test_who_has_gone_while_its_password_is_checked_replaces_nothing_that_came_later(serve, size, way):
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    hashed = library.crypt(b"secret", b"$6$rounds=4000000$saltsalt").decode()
    server = serve("--event-loops", "1", "--trash", "7", "--auth", f"anna:{hashed}@/:rw", "--auth", "bert:secret@/:rw")

    def credentials(user):
        return "Authorization: Basic " + base64.b64encode(f"{user}:secret".encode()).decode()

    # Bert's password is known from now on.
    for content, status in (b"newer", 201), (b"first", 204):
        assert ask(server, "PUT", "/file", credentials("bert"), body=content).status == status
    with Wire(server) as wire:
        wire.request("PUT", "/file", credentials("anna"), body=b"x" * size)
        # The one loop has read the other head when it answers this.
        assert ask(server, "GET", "/.shareserve/health").status == 200
    if way == "sent":
        assert ask(server, "PUT", "/file", credentials("bert"), body=b"newer").status == 204
    else:
        restore_what_was_replaced(server, "/file", credentials("bert"))
    assert "anna" not in server.logged(), "checking takes longer"
    wait_until(lambda: re.search(r"anna PUT .* (412|499) ", server.logged()), "the other one has ended", 60)
    assert (server.root / "file").read_bytes() == b"newer"


@pytest.mark.parametrize("size", [5, 100_000])
def test_who_has_gone_behind_an_upload_replaces_nothing_that_came_later(serve, folder, size):
    """By another upload behind it on the same connection."""
    server = serve("--fsync", environment=slow(folder, "fsync"))
    (server.root / "file").write_bytes(b"first")
    with Wire(server) as wire:
        wire.request("PUT", "/other", body=b"x" * 1_200_000)
        wire.request("PUT", "/file", body=b"x" * size)
        wait_until(lambda: "sleeping" in server.logged(), "the disk is slow")
    assert ask(server, "PUT", "/file", body=b"newer").status == 204
    wake(server, folder)
    wait_until(lambda: len(re.findall(r"PUT /", server.logged())) == 3, "the others have ended")
    assert (server.root / "file").read_bytes() == b"newer"


@pytest.mark.parametrize("way", ["moved", "restored"])
def test_who_has_gone_replaces_nothing_that_came_back_later(serve, folder, way):
    """It was stored before, but was under another name, or in the trash."""
    server = serve("--fsync", "--trash", "7", environment=slow(folder, "fsync"))
    for target in ("/dir", "/new"):
        assert ask(server, "MKCOL", target).status == 201
    for target, content in ("/new/file", b"newer"), ("/dir/file", b"newer"), ("/dir/file", b"other"):
        assert ask(server, "PUT", target, body=content).status in (201, 204)
    with Wire(server) as wire:
        wire.request("PUT", "/dir/file", body=b"old!" * 300_000)
        wait_until(lambda: "sleeping" in server.logged(), "the disk is slow")
    if way == "moved":
        assert ask(server, "MOVE", "/new", "Destination: /dir").status == 204
    else:
        restore_what_was_replaced(server, "/dir/file")
    assert (server.root / "dir/file").read_bytes() == b"newer"
    wake(server, folder)
    wait_until(lambda: len(re.findall("PUT /dir/file ", server.logged())) == 3, "the other one has ended")
    assert (server.root / "dir/file").read_bytes() == b"newer"


@pytest.mark.parametrize("size", [5, 100_000])
def test_who_closes_its_side_behind_properties_has_its_file(serve, size):
    """Of a file that the server did not make: the change of its properties is the client's own."""
    server = serve()
    for number in range(60):
        (server.root / str(number)).write_bytes(b"first")
        update = b'<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:t">1</a></prop></set></propertyupdate>'
        with Wire(server) as wire:
            wire.request("PROPPATCH", f"/{number}", body=update)
            wire.request("PUT", f"/{number}", body=b"x" * size)
            wire.socket.shutdown(socket.SHUT_WR)
            assert [wire.response(method).status for method in ("PROPPATCH", "PUT")] == [207, 204]


CLOCK_BEHIND = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int answer = ((typeof(&clock_gettime))dlsym(RTLD_NEXT, "clock_gettime"))(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec -= 3600;
    return answer;
}
"""


@pytest.mark.parametrize("size", [5, 100_000])
def test_who_closes_its_side_replaces_what_another_clock_has_dated(serve, folder, size):
    """As that of a file server whose clock is ahead, or this one's before it was set back."""
    (folder / "clock.c").write_text(CLOCK_BEHIND)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c"], check=True)
    server = serve(environment={"LD_PRELOAD": str(folder / "clock.so")})
    for name in ("new", "there"):
        if name == "there":
            (server.root / name).write_bytes(b"first")
        for status in ([201, 204] if name == "new" else [204, 204]):
            with Wire(server) as wire:
                wire.request("PUT", f"/{name}", body=b"x" * size)
                wire.socket.shutdown(socket.SHUT_WR)
                assert wire.response("PUT").status == status


@pytest.mark.parametrize("size", [1_000, 100_000, 200_000])
def test_who_closes_its_side_behind_two_uploads_has_the_second(serve, size):
    """To one name, of which the first has just come when the second begins."""
    server = serve()
    for number in range(20):
        with Wire(server) as wire:
            for letter in (b"a", b"b"):
                wire.request("PUT", f"/{number}", body=letter * size)
            wire.socket.shutdown(socket.SHUT_WR)
            assert [wire.response("PUT").status for _ in range(2)] == [201, 204]
        assert (server.root / str(number)).read_bytes() == b"b" * size


def test_who_closes_its_side_behind_more_uploads_than_wait_repeats_the_last(serve):
    """What can't wait here gets no answer at all, rather than one that says that the client has broken off."""
    server = serve()
    for round in range(10):
        statuses = []
        with Wire(server) as wire:
            for number in range(5):
                wire.request("PUT", f"/{round}-{number}", body=b"x" * 300_000)
            wire.socket.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionClosed):
                while len(statuses) < 5:
                    statuses.append(wire.response("PUT").status)
        assert statuses and set(statuses) == {201}
        stored = sorted(path.name for path in server.root.glob(f"{round}-*"))
        assert stored == [f"{round}-{number}" for number in range(len(statuses))]


def test_who_closes_its_side_replaces_its_own_files(serve):
    """In a form that is checked as a whole, and has a name twice."""
    server = serve()
    (server.root / "file").write_bytes(b"first")
    parts = [b'name="conflict"\r\n\r\nreplace', b'name="file"; filename="file"\r\n\r\none',
             b'name="file"; filename="file"\r\n\r\ntwo']
    form = b"".join(b"--B\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--B--\r\n"
    digest = base64.b64encode(hashlib.sha256(form).digest()).decode()
    with Wire(server) as wire:
        wire.request("POST", "/", "Content-Type: multipart/form-data; boundary=B", f"Content-Digest: sha-256=:{digest}:",
                     body=form)
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.response().status in (200, 201)
    assert (server.root / "file").read_bytes() == b"two"


def test_whose_upload_is_verified_for_long_replaces_nothing_that_came_later(serve):
    server = serve()
    (server.root / "file").write_bytes(b"first")
    old = bytes(8 << 20)
    pairs = {"filename": b"file", "conflict": b"replace", "sha256": hashlib.sha256(old).hexdigest().encode()}
    metadata = ",".join(f"{key} {base64.b64encode(value).decode()}" for key, value in pairs.items())
    with traced(server, "-o", os.devnull, "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=60000"):
        with Wire(server) as wire:
            wire.request(
                "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", f"Upload-Length: {len(old)}",
                f"Upload-Metadata: {metadata}", "Content-Type: application/offset+octet-stream", body=old)
            part = wait_until(lambda: list((server.root / ".shareserve").rglob("*.part")), "it has begun")[0]
            wait_until(lambda: part.stat().st_size == len(old), "all has come")
        assert ask(server, "PUT", "/file", body=b"newer").status == 204
        wait_until(lambda: re.search(r"POST .* (412|499) ", server.logged()), "the upload has ended")
    assert (server.root / "file").read_bytes() == b"newer"
