"""Disks that fail: bad sectors under an open share, no way to write, a user's quota; and one that ignores case."""

import contextlib
import ctypes
import json
import os
import shutil
import struct
import subprocess
import time
import urllib.parse

import pytest
import requests

from test_faults import as_nobody
from test_kill import Disk
from test_trees import in_background, slowed
from server import rclone_program, wait_until
from tracing import Trace, failing, traced
from wire import ConnectionClosed, Wire, ask

pytestmark = pytest.mark.root


@pytest.fixture
def disk(folder):
    disk = Disk(folder, megabytes=64)
    yield disk
    disk.release()


def forget(path):
    """Has the next reader of a file ask the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_file_that_cannot_be_read(serve, disk):
    """The blocks of one file are gone: its download is no whole answer, everything else goes on."""
    root = disk.place / "share"
    root.mkdir()
    server = serve(root=root)
    (root / "good").write_bytes(b"good" * 1000)
    # The last blocks of the disk are this file's, which is what fills it.
    with open(root / "bad", "wb", buffering=0) as file:
        while os.fstatvfs(file.fileno()).f_bavail > 512:
            file.write(os.urandom(1 << 18))
    size = (root / "bad").stat().st_size
    forget(root / "bad")
    os.truncate(disk.image, 30 << 20)
    forget(root / "bad")
    with Wire(server) as wire:
        wire.request("GET", "/bad")
        try:
            answer = wire.response()
            assert answer.status >= 500, answer
        except ConnectionClosed:
            # What came was cut off, and not filled up.
            assert len(wire.buffer) < size
    assert server.alive()
    assert ask(server, "GET", "/good").body == b"good" * 1000
    assert ask(server, "PROPFIND", "/", "Depth: 0").status == 207


def test_disk_that_cannot_be_written(serve, folder):
    """Writes fail below the file system: with --fsync nothing is answered as done that is not, and old content stays."""
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16M", "tmpfs", str(small)], check=True)
    try:
        # Sparse: there is room for a quarter of what the disk claims to have.
        disk = Disk(small, megabytes=64)
        try:
            root = disk.place / "share"
            root.mkdir()
            server = serve("--fsync", root=root)
            assert ask(server, "PUT", "/old", body=b"old" * 1000).status == 201
            os.sync()
            answered = {}
            for index in range(12):
                body = os.urandom(4 << 20)
                status = ask(server, "PUT", f"/{index}" if index % 2 else "/old", body=body).status
                assert status in (201, 204) or status >= 400, status
                if status in (201, 204):
                    answered[f"{index}" if index % 2 else "old"] = body
            assert len(answered) < 12, "no write failed"
            assert server.alive()
            for name, body in answered.items():
                assert ask(server, "GET", f"/{name}").body == body, name
            assert ask(server, "GET", "/old").body == answered.get("old", b"old" * 1000)
            server.stop()
        finally:
            disk.release()
    finally:
        subprocess.run(["umount", "-l", str(small)])


@pytest.mark.parametrize("length, call", [(2_000_000, "settles"), (1_000_000, "finishes")], ids=["settles", "finishes"])
@pytest.mark.parametrize("dropping", [(), ("-e", "inject=ftruncate:error=EIO:when=1")], ids=["dropped", "not even dropped"])
def test_bytes_that_the_disk_did_not_take_come_again(serve, length, call, dropping):
    """A disk says only once that it could not keep something: an upload goes on before that, and not behind a hole."""
    server = serve()
    fields = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}
    place = server.url + requests.post(
        server.url + "/.shareserve/uploads", timeout=20,
        headers=fields | {"Upload-Length": str(length), "Upload-Metadata": "filename YQ=="}).headers["Location"]
    kept, lost = os.urandom(300_000), os.urandom(700_000)
    assert requests.patch(place, data=kept, headers=fields | {"Upload-Offset": "0"}, timeout=20).status_code == 204
    part, = (server.root / ".shareserve" / "uploads").glob("*.part")
    calls = ("-e", "trace=sync_file_range,ftruncate", "-e", "inject=sync_file_range:error=EIO:when=1")
    with traced(server, "-o", os.devnull, "-P", str(part), *calls, *dropping):
        answer = requests.patch(place, data=lost, headers=fields | {"Upload-Offset": "300000"}, timeout=20)
    assert answer.status_code >= 500
    assert requests.head(place, headers=fields, timeout=20).headers["Upload-Offset"] == "300000"
    assert not (server.root / "a").exists()
    assert requests.patch(place, data=lost, headers=fields | {"Upload-Offset": "300000"}, timeout=20).status_code == 204
    assert (server.root / "a").exists() == (call == "finishes")


Q_SETQUOTA, LIMITS = 0x800008, 5
QUOTA = 4 << 20


def ext4_for_nobody(folder):
    """A disk on which one user may have so many bytes; None where the kernel has no quotas on ext4."""
    disk = Disk(folder, megabytes=64, features=("-O", "quota", "-E", "quotatype=usrquota"), options=("usrquota",))
    if not os.path.ismount(disk.place):
        return None
    device = subprocess.run(
        ["findmnt", "-no", "SOURCE", str(disk.place)], check=True, capture_output=True, text=True).stdout.strip()
    # Blocks of 1 KiB: hard and soft limit, what is used; the same for inodes; two times; which of them count.
    limits = struct.pack("8QI4x", QUOTA >> 10, QUOTA >> 10, 0, 1000, 1000, 0, 0, 0, LIMITS)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.quotactl(Q_SETQUOTA << 8, device.encode(), 65534, limits) == 0, os.strerror(ctypes.get_errno())
    (disk.place / "share").mkdir()
    return disk.place


def tmpfs_for_everybody(folder):
    """The same for every user, in memory; None before Linux 6.6, and where the kernel has none of this either."""
    place = folder / "memory"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"usrquota,usrquota_block_hardlimit={QUOTA}", "tmpfs", str(place)],
        stderr=subprocess.DEVNULL)
    if mounted.returncode != 0:
        return None
    (place / "share").mkdir()
    return place


def btrfs_subvolume(folder):
    """A limit on a subvolume; None where the kernel has no btrfs."""
    image, place = folder / "btrfs.img", folder / "btrfs"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.btrfs", "-q", "--mixed", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(place)], stderr=subprocess.DEVNULL).returncode != 0:
        return None
    share = str(place / "share")
    for words in (["quota", "enable", str(place)], ["subvolume", "create", share], ["qgroup", "limit", str(QUOTA), share]):
        subprocess.run(["btrfs", *words], check=True, capture_output=True)
    return place


def test_quota(serve, folder):
    """Who is at the limit gets 507, the old file stays, and room that is freed can be used."""
    place = ext4_for_nobody(folder) or tmpfs_for_everybody(folder) or btrfs_subvolume(folder)
    if place is None:
        pytest.skip("this kernel has no quota of any kind")
    try:
        root = place / "share"
        os.chown(root, 65534, 65534)
        server = serve(root=root, preexec=as_nobody)
        old = b"old" * 100_000
        assert ask(server, "PUT", "/a", body=old).status == 201
        body = os.urandom(6 << 20)
        assert ask(server, "PUT", "/a", body=body).status == 507
        assert ask(server, "GET", "/a").body == old
        with Wire(server) as wire:
            wire.request("PUT", "/b", "Transfer-Encoding: chunked")
            wire.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
            assert wire.response().status == 507
        assert ask(server, "COPY", "/a", "Destination: /c").status == 201
        assert ask(server, "DELETE", "/a").status == 204
        os.sync()
        assert ask(server, "PUT", "/a", body=b"x" * 1_000_000).status == 201
        server.stop()
    finally:
        subprocess.run(["umount", "-l", str(place)])


def test_move_with_properties_on_a_full_disk(serve, disk):
    """Properties that are too large for the disk's attributes are found by what they are of: the move needs no room."""
    root = disk.place / "share"
    root.mkdir()
    server = serve(root=root)
    assert ask(server, "PUT", "/a", body=b"content").status == 201
    answer = ask(server, "PROPPATCH", "/a", body=(
        b"<propertyupdate xmlns='DAV:'><set><prop><p xmlns='urn:x'>%b</p></prop></set></propertyupdate>" % (b"v" * 20_000)))
    assert answer.status == 207 and " 200 " in answer.text
    with open(disk.place / "filler", "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 10):
            with contextlib.suppress(OSError):
                while file.write(os.urandom(size)):
                    pass
            os.sync()
    assert ask(server, "PUT", "/b", body=b"x" * 100_000).status == 507
    assert ask(server, "MOVE", "/a", "Destination: /b").status == 201
    assert sorted(set(os.listdir(root)) - {".shareserve"}) == ["b"]
    assert "v" * 20_000 in ask(server, "PROPFIND", "/b", "Depth: 0").text
    server.stop()


@contextlib.contextmanager
def mounted(folder, name, *options):
    """What is in `folder / "below"`, which others change, as a file system over a network has it."""
    program = rclone_program()
    if program is None or not os.path.exists("/dev/fuse"):
        pytest.skip("needs rclone and FUSE")
    below, place = folder / "below", folder / name
    (below / "share").mkdir(parents=True, exist_ok=True)
    place.mkdir(exist_ok=True)
    mount = subprocess.Popen(
        [program, "mount", str(below), str(place), "--vfs-cache-mode", "full", "--cache-dir", str(folder / "cache"),
         "--config", str(folder / "rclone.conf"), *options], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: os.path.ismount(place) or mount.poll() is not None, "the file system is mounted")
        if not os.path.ismount(place):
            pytest.skip("rclone can't mount here")
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], stderr=subprocess.DEVNULL)
        mount.terminate()
        mount.wait(30)


@pytest.fixture
def caseless(folder):
    """A file system that does not tell names apart by case, with one file: whichever the letters, it is this one."""
    (folder / "below" / "share").mkdir(parents=True)
    (folder / "below" / "share" / "Notes.txt").write_bytes(b"the only copy")
    with mounted(folder, "caseless", "--vfs-case-insensitive") as place:
        yield place


def test_what_another_host_changes_is_told(serve, folder):
    """No watch of this kernel's hears of it, so a folder on a network is looked at again and again."""
    with mounted(folder, "remote", "--dir-cache-time", "0s", "--attr-timeout", "0s") as place:
        server = serve(root=place / "share")
        answer = requests.get(server.url + "/.shareserve/events", params={"in": "/"}, stream=True, timeout=60)
        lines = answer.iter_lines(chunk_size=1, decode_unicode=True)
        assert next(lines).startswith("retry")
        (folder / "below" / "share" / "from elsewhere").write_text("x")
        assert next(line for line in lines if "from elsewhere" in line or '"all"' in line)
        answer.close()
        server.stop()


def test_share_whose_file_system_lost_its_server(serve, folder):
    """Nothing is said to be missing, and all is there again when it is mounted again."""
    def asked():
        return {
            ask(server, method, target, *fields, body=body).status
            for method, target, fields, body in [
                ("GET", "/file", [], b""), ("GET", "/none", [], b""), ("HEAD", "/", [], b""),
                ("GET", "/", ["Accept: application/json"], b""), ("PROPFIND", "/", ["Depth: 1"], b""),
                ("PROPFIND", "/file", ["Depth: 0"], b""), ("PUT", "/new", [], b"new")]}

    with mounted(folder, "remote") as place:
        (folder / "below" / "file").write_text("the only copy")
        server = serve(root=place)
        assert ask(server, "GET", "/file").body == b"the only copy"
        subprocess.run(["pkill", "-9", "-f", f"rclone.* mount .*{place} "], check=True)
        wait_until(lambda: asked() == {503}, "nothing is said of what can't be seen")
    assert asked() == {503}
    with mounted(folder, "remote"):
        wait_until(lambda: ask(server, "GET", "/file").body == b"the only copy", "the share is back")
        assert ask(server, "PUT", "/new", body=b"new").status == 201
        assert (place / "new").read_bytes() == b"new"
        server.stop()


@pytest.mark.parametrize("options", [(), ("--trash", "7")], ids=["", "trash"])
def test_name_in_other_letters(serve, caseless, options):
    """A file that is given its own name in other letters has it, and its content."""
    root = caseless / "share"
    server = serve(*options, root=root)
    assert ask(server, "GET", "/NOTES.TXT").body == b"the only copy"
    assert ask(server, "MOVE", "/Notes.txt", "Destination: /notes.txt").status in (201, 204)
    names = [name for name in os.listdir(root) if not name.startswith(".")]
    assert names == ["notes.txt"]
    assert ask(server, "GET", "/notes.txt").body == b"the only copy"
    server.stop()


def test_failure_at_the_close_leaves_the_old_content(serve, caseless):
    """File systems over a network may say only when a file is closed that they could not keep it."""
    server = serve(root=caseless / "share")
    content, failures = b"the only copy", 0
    for number in range(1, 12):
        new = b"content %d" % number
        with failing(server, "close", when=number):
            status = ask(server, "PUT", "/Notes.txt", body=new).status
        if status >= 500:
            failures += 1
        else:
            assert status == 204
            content = new
        assert ask(server, "GET", "/Notes.txt").body == content
    assert failures > 0


@pytest.fixture
def windows(folder):
    """A disk of Windows that ignores case; names are also found by the short ones that they are given."""
    image, place = folder / "ntfs.img", folder / "windows"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    tools = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    if shutil.which("mkntfs", path=tools) is None or not os.path.exists("/dev/fuse"):
        pytest.skip("needs ntfs-3g and FUSE")
    subprocess.run([shutil.which("mkntfs", path=tools), "-F", "-Q", "-q", str(image)], check=True, capture_output=True)
    mounted = subprocess.run(
        [shutil.which("lowntfs-3g", path=tools), "-o", "ignore_case", str(image), str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"ntfs-3g can't mount here: {mounted.stderr!r}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], stderr=subprocess.DEVNULL)


EXCLUSIVE = (
    b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>")
ALICE = "alice:secret@/:rw"
SPELLINGS = ("/PRIVATE", "/Private", "/pRIVATE/inner", "/%50rivate")


def refused(server, method, target, *fields, **options):
    """Whether nobody in particular gets nothing but a refusal."""
    answer = ask(server, method, target, *fields, **options)
    assert answer.status in (401, 403, 404, 409, 412, 424), (method, target, answer)
    assert b"hush" not in answer.body, (method, target)


def fill(root):
    (root / "private" / "inner").mkdir(parents=True)
    (root / "private" / "inner" / "hush.txt").write_text("hush, hush")
    (root / "private" / "hush.txt").write_text("hush, hush")
    (root / "open").mkdir()
    (root / "open" / "file").write_text("for everybody")
    (root / "secret.txt").write_text("hush, hush")


@pytest.fixture(params=["caseless", "windows"])
def ignoring(request):
    """Either disk that ignores case, with a folder and a name that are not for everybody."""
    root = request.getfixturevalue(request.param) / "share"
    root.mkdir(exist_ok=True)
    fill(root)
    return root


def test_rule_in_other_letters(serve, ignoring):
    """A rule for a folder holds, whatever the letters in which it is asked for, through every method."""
    server = serve("--auth", ALICE, "--auth", "@/:rw,/private:none", root=ignoring)
    for folder in SPELLINGS:
        inside = folder + "/hush.txt"
        refused(server, "GET", inside)
        refused(server, "HEAD", inside)
        refused(server, "GET", folder + "/", "Accept: application/json")
        refused(server, "GET", folder + "/?archive=zip")
        refused(server, "PROPFIND", folder, "Depth: 1")
        refused(server, "PUT", inside, body=b"new")
        refused(server, "MKCOL", folder + "/new")
        refused(server, "DELETE", inside)
        refused(server, "DELETE", folder)
        refused(server, "MOVE", inside, "Destination: /taken")
        refused(server, "COPY", inside, "Destination: /taken")
        refused(server, "COPY", folder, "Destination: /taken")
        refused(server, "MOVE", "/open/file", f"Destination: {inside}")
        refused(server, "COPY", "/open/file", f"Destination: {inside}")
        refused(server, "LOCK", inside, body=EXCLUSIVE)
        refused(
            server, "PROPPATCH", inside, body=b"<propertyupdate xmlns='DAV:'><set><prop><x xmlns='y'>z</x></prop></set>"
            b"</propertyupdate>")
    search = ask(server, "GET", "/.shareserve/search?q=hush")
    assert search.status == 200 and b"inner" not in search.body
    assert ask(server, "GET", "/open/file").body == b"for everybody"
    # The folder exists for alice, in every spelling of its name.
    alice = "Authorization: Basic YWxpY2U6c2VjcmV0"
    for folder in SPELLINGS:
        assert ask(server, "GET", folder + "/hush.txt", alice).body == b"hush, hush", folder
    assert (ignoring / "private" / "hush.txt").read_text() == "hush, hush"
    assert not (ignoring / "taken").exists()


def test_new_name_in_other_letters(serve, ignoring):
    """What a rule is about cannot be made in other letters either."""
    server = serve("--auth", ALICE, "--auth", "@/:rw,/coming:none,/open/later:ro", root=ignoring)
    for target in ("/Coming", "/open/LATER"):
        refused(server, "MKCOL", target)
        refused(server, "PUT", target, body=b"x")
        refused(server, "MOVE", "/open/file", f"Destination: {target}")
    assert ask(server, "PUT", "/Other", body=b"x").status == 201


def test_link_in_other_letters(serve, ignoring):
    """A share link opens no more than its maker may do, in whatever letters it was asked for."""
    (ignoring / "open" / "closed").mkdir()
    (ignoring / "open" / "closed" / "hush.txt").write_text("hush, hush")
    server = serve("--auth", ALICE, "--auth", "@/:rw,/private:none,/open/closed:none", root=ignoring)
    kind = "Content-Type: application/json"
    for folder in ("/PRIVATE", "/Open/CLOSED"):
        refused(server, "POST", "/.shareserve/links", kind, body=json.dumps({"path": folder}))
    for folder in ("/open", "/OPEN"):
        made = ask(server, "POST", "/.shareserve/links", kind, body=json.dumps({"path": folder}))
        link = json.loads(made.body)["address"]
        assert ask(server, "GET", link + "file").body == b"for everybody", folder
        assert ask(server, "GET", link + "FILE").body == b"for everybody", folder
        for inside in ("closed", "Closed", "CLOSED"):
            refused(server, "GET", f"{link}{inside}/hush.txt")
            refused(server, "GET", f"{link}{inside}/?archive=zip")


def test_hidden_name_in_other_letters(serve, ignoring):
    """Hidden names and the server's own folder do not exist in any letters."""
    server = serve("--hidden", "SECRET*", "--hidden", "priv*", root=ignoring)
    assert ask(server, "PUT", "/new", body=b"x").status == 201
    for target in ("/secret.txt", "/Secret.txt", "/SECRET.TXT", *SPELLINGS, "/.SHARESERVE", "/.ShareServe/tmp"):
        refused(server, "GET", target)
        refused(server, "PROPFIND", target, "Depth: 1")
        refused(server, "DELETE", target)
        refused(server, "MOVE", target, "Destination: /taken")
    listing = ask(server, "GET", "/", "Accept: application/json").body.lower()
    assert b"open" in listing and b"secret" not in listing and b"priv" not in listing


def test_lock_in_other_letters(serve, ignoring):
    """A lock is one on the file, whatever the letters in which it is written to."""
    server = serve(root=ignoring)
    lock = ask(server, "LOCK", "/open/file", body=EXCLUSIVE)
    assert lock.status == 200, lock
    for method, target in (("PUT", "/open/FILE"), ("PUT", "/OPEN/file"), ("DELETE", "/Open"), ("DELETE", "/open/File")):
        assert ask(server, method, target, body=b"new" if method == "PUT" else None).status == 423, (method, target)
    assert ask(server, "UNLOCK", "/OPEN/FILE", f"Lock-Token: {lock['lock-token']}").status == 204
    assert ask(server, "PUT", "/open/file", body=b"new").status == 204
    token = ask(server, "LOCK", "/open/file", body=EXCLUSIVE)["lock-token"]
    assert ask(server, "DELETE", "/Open/FILE", f"If: ({token})").status == 204
    # The kernel may still know the file by its other name for a while.
    assert ask(server, "PUT", "/open/file", body=b"newer").status in (201, 204)
    assert (ignoring / "open" / "file").read_text() == "newer"


@pytest.fixture
def overlay(folder):
    """Two folders, one over the other, as in a container."""
    layers = [folder / name for name in ("lower", "upper", "work")]
    place = folder / "overlay"
    for path in (*layers, place):
        path.mkdir()
    options = "lowerdir={},upperdir={},workdir={}".format(*layers)
    mounted = subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"this kernel has no overlay here: {mounted.stderr!r}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def xfs(folder):
    image, place = folder / "xfs.img", folder / "xfs"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(320 << 20)
    program = shutil.which("mkfs.xfs", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]))
    if program is None:
        pytest.skip("needs xfsprogs")
    subprocess.run([program, "-q", str(image)], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", str(image), str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"this kernel has no XFS: {mounted.stderr!r}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_an_upload_in_parts_to_a_folder_that_shows_nothing(serve, folder):
    """On another disk, in a folder where this server may add names and see none."""
    root = folder / "share"
    other = root / "other"
    other.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", other], check=True)
    try:
        box = other / "box"
        box.mkdir()
        for place in (root, box):
            os.chown(place, 65534, 65534)
        box.chmod(0o333)
        server = serve("--user", "nobody", root=root)
        made = ask(server, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 5",
                   "Upload-Metadata: filename ZmlsZQ==,path L290aGVyL2JveA==")
        assert made.status == 201, made
        sent = ask(server, "PATCH", urllib.parse.urlsplit(made["Location"]).path, "Tus-Resumable: 1.0.0", "Upload-Offset: 0",
                   "Content-Type: application/offset+octet-stream", body=b"bytes")
        assert sent.status == 204 and (box / "file").read_bytes() == b"bytes"
    finally:
        subprocess.run(["umount", "-l", other], check=True)


def test_names_in_a_folder_that_shows_nothing_are_waited_for(serve, disk):
    root = disk.place / "share"
    box = root / "box"
    box.mkdir(parents=True)
    for place in (root, box):
        os.chown(place, 65534, 65534)
    box.chmod(0o333)
    server = serve("--user", "nobody", "--fsync", root=root)
    assert ask(server, "PUT", "/box/file", body=b"bytes").status == 201
    assert ask(server, "MKCOL", "/box/folder").status == 201
    assert ask(server, "MOVE", "/box/file", "Destination: /box/moved").status == 201
    assert ask(server, "DELETE", "/box/moved").status == 204
    assert os.listdir(box) == ["folder"]


def changes_in(server, folder):
    """Makes every change there is in a folder; gives how each was answered."""
    lock = ask(server, "LOCK", f"{folder}/locked", body=EXCLUSIVE)
    return {
        "LOCK": lock.status,
        "PUT": ask(server, "PUT", f"{folder}/file", body=b"bytes").status,
        "MKCOL": ask(server, "MKCOL", f"{folder}/folder").status,
        "COPY": ask(server, "COPY", "/source", f"Destination: {folder}/copied").status,
        "COPY of a folder": ask(server, "COPY", "/sources", f"Destination: {folder}/copies").status,
        "MOVE": ask(server, "MOVE", f"{folder}/file", f"Destination: {folder}/moved").status,
        "MOVE away": ask(server, "MOVE", f"{folder}/moved", "Destination: /moved").status,
        "MOVE to it": ask(server, "MOVE", "/moved", f"Destination: {folder}/moved").status,
        "DELETE": ask(server, "DELETE", f"{folder}/moved").status,
    }


DONE = {
    "LOCK": 201, "PUT": 201, "MKCOL": 201, "COPY": 201, "COPY of a folder": 201, "MOVE": 201, "MOVE away": 201,
    "MOVE to it": 201, "DELETE": 204,
}


@pytest.mark.parametrize("mode", [0o755, 0o300], ids=["", "nor does what is around it"])
def test_changes_in_a_folder_of_another_program_that_shows_nothing(serve, folder, mode):
    """There are no unnamed files there, by which the file system could be asked; what was done is said to be done."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs FUSE")
    root, behind = folder / "share", folder / "behind"
    place = root / "fuse"
    place.mkdir(parents=True)
    box = behind / "box"
    box.mkdir(parents=True)
    (root / "sources").mkdir()
    (root / "source").write_text("x")
    for path in (root, root / "sources", behind, box):
        os.chown(path, 65534, 65534)
    behind.chmod(mode)
    box.chmod(0o300)
    subprocess.run(["bindfs", "-o", "allow_other", str(behind), str(place)], check=True)
    try:
        server = serve("--user", "nobody", "--fsync", root=root)
        assert changes_in(server, "/fuse/box") == DONE
        assert sorted(os.listdir(box)) == ["copied", "copies", "folder", "locked"]
        server.stop()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_folder_that_shows_nothing_keeps_nobody_waiting(serve, disk):
    """All of its disk is waited for, but only by who changed something in it; and who is told that it was done has it."""
    root = disk.place / "share"
    box = root / "box"
    box.mkdir(parents=True)
    for place in (root, box):
        os.chown(place, 65534, 65534)
    (root / "source").write_text("x")
    (root / "sources").mkdir()
    os.chown(root / "sources", 65534, 65534)
    box.chmod(0o333)
    server = serve("--user", "nobody", "--fsync", root=root)
    with slowed(server, syncfs=3_000_000):
        begun = time.monotonic()
        answer = in_background(lambda: ask(server, "PUT", "/box/file", body=b"bytes").status)
        wait_until((box / "file").exists, "it has its name")
        assert ask(server, "PUT", "/other", body=b"bytes").status == 201
        assert time.monotonic() - begun < 2
        assert answer() == 201 and time.monotonic() - begun > 2.9
    with failing(server, "syncfs"):
        assert set(changes_in(server, "/box").values()) == {500}
    shutil.rmtree(box / "copies")
    for name in os.listdir(box):
        (box / name).rmdir() if (box / name).is_dir() else (box / name).unlink()
    assert changes_in(server, "/box") == DONE


def test_folder_of_a_lower_layer(serve, folder, overlay):
    """It can be moved and deleted, but nothing can take its place in one step: that is refused, and all stays as it was."""
    (folder / "lower" / "old" / "inner").mkdir(parents=True)
    (folder / "lower" / "old" / "file").write_text("old")
    (folder / "lower" / "new").mkdir()
    (folder / "lower" / "new" / "file").write_text("new")
    # What a mounted overlay has seen of its layers it need not look up again.
    subprocess.run(["mount", "-o", "remount", str(overlay)], check=True)
    server = serve(root=overlay)
    for method in ("COPY", "MOVE"):
        answer = ask(server, method, "/new/", f"Destination: {server.url}/old/")
        assert answer.status == 403, answer
        assert sorted(found.name for found in overlay.iterdir() if not found.name.startswith(".")) == ["new", "old"]
        assert (overlay / "old" / "file").read_text() == "old" and (overlay / "new" / "file").read_text() == "new"
    assert ask(server, "DELETE", "/old/").status == 204
    assert ask(server, "MOVE", "/new/", f"Destination: {server.url}/old/").status == 201
    assert (overlay / "old" / "file").read_text() == "new"


def test_contents_are_below_an_overlay_before_their_names(serve, folder, overlay):
    """It takes no part in writing single ranges back, and would be asked for nothing."""
    server = serve(root=overlay)
    (overlay / "tree").mkdir()
    with Trace(server, folder) as trace:
        assert ask(server, "PUT", "/file", body=b"new").status == 201
    assert trace.calls["fdatasync"] == 1
    # With many files, as many are synced at once as may be open; each is checked for errors.
    for number, calls in ((5, (0, 5)), (100, (4, 100)), (300, (10, 300))):
        for name in range(number):
            (overlay / "tree" / str(name)).write_text("x")
        with Trace(server, folder) as trace:
            assert ask(server, "COPY", "/tree", f"Destination: /copy{number}").status == 201
        assert (trace.calls["syncfs"], trace.calls["fdatasync"]) == calls


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
def test_what_an_overlay_could_not_keep_is_told(serve, folder, overlay, method):
    """One call writes many files back, and says nothing of those that the disk below did not take."""
    root = folder / "share"
    place, tree = root / "over", root / "tree"
    for path in (place, tree):
        path.mkdir(parents=True)
    for number in range(80):
        (tree / str(number)).write_text("x")
    subprocess.run(["mount", "--bind", str(overlay), str(place)], check=True)
    try:
        server = serve()
        with failing(server, "fdatasync", when="40"):
            assert ask(server, method, "/tree", "Destination: /over/tree").status == 500
        assert len(list(tree.iterdir())) == 80
        assert not (place / "tree").exists()
        assert ask(server, method, "/tree", "Destination: /over/tree").status == 201
        server.stop()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_copy_to_a_disk_that_ignores_case_lacks_nothing_that_is_not_told(serve, caseless):
    """Also where it is gone over again, since other names changed meanwhile."""
    root = caseless.parent / "share"
    for path in (root / "folder", root / "caseless"):
        path.mkdir(parents=True)
    for number in range(10):
        (root / "folder" / f"log.{number}").write_text(str(number))
    (root / "folder" / "Report").write_text("one")
    (root / "folder" / "report").write_text("the other")
    for name in ("Folder", "folder"):
        (root / "folder" / name).mkdir()
        (root / "folder" / name / "file").write_text(name)
    subprocess.run(["mount", "--bind", str(caseless), str(root / "caseless")], check=True)
    try:
        server = serve(root=root)
        with slowed(server, utimensat=50_000):
            answer = in_background(lambda: ask(server, "COPY", "/folder", "Destination: /caseless/copy"))
            wait_until(lambda: list(caseless.glob(".shareserve-*/log.*")), "the copy has a file")
            (root / "folder" / "log.0").rename(root / "folder" / "other")
            answer = answer()
        assert answer.status == 207
        assert sum(answer.body.count(b"/folder/%s<" % name) for name in (b"Report", b"report")) == 1
        assert sum(answer.body.count(b"/folder/%s" % name) for name in (b"Folder", b"folder")) == 1
        server.stop()
    finally:
        subprocess.run(["umount", "-l", str(root / "caseless")], check=True)


@pytest.mark.parametrize("kind", ["overlay", "xfs"])
def test_names_that_are_told_apart(serve, request, kind):
    """Where a file system tells all names apart, rules and hidden names hold as they are written, and for nothing else."""
    root = request.getfixturevalue(kind) / "share"
    root.mkdir()
    server = serve("--hidden", "Caf\u00e9*", "--hidden", "*.bak", "--auth", ALICE, "--auth", "@/:rw,/\u00fc:none", root=root)
    for name in ("caf%C3%A9", "Cafe%CC%81", "%C3%A9.BAK", "x.bak.", "%C3%9C", "u%CC%88", "%C3%BC.", "LONGNA~1.TXT"):
        assert ask(server, "PUT", f"/{name}", body=b"content").status == 201, name
        assert ask(server, "GET", f"/{name}").body == b"content", name
    listing = ask(server, "GET", "/", "Accept: application/json").body.decode()
    assert listing.count('"file"') == 8, listing
    for name in ("Caf%C3%A9", "%C3%A9.bak", "%C3%BC"):
        refused(server, "PUT", f"/{name}", body=b"content")


@pytest.mark.parametrize("options", [("--hidden", "*.bak"), ("--auth", "@/:rw,/Many:none,/many/x:none")])
def test_listing_of_names_like_others(serve, folder, options):
    """Names that are like hidden ones, or a folder that is like one with a rule, cost a look, not one for each member."""
    server = serve(*options)
    (folder / "share" / "many").mkdir()
    for number in range(400):
        (folder / "share" / "many" / f"{number}.BAK").touch()
    with Trace(server, folder) as trace:
        assert ask(server, "GET", "/many/", "Accept: application/json").body.count(b".BAK") >= 400
    assert trace.calls["openat"] + trace.calls["openat2"] < 100, trace.calls


def test_short_name(serve, windows):
    """A short name that a folder does not list leads nowhere: not past a rule, and not to the server's own folder."""
    root = windows / "share"
    root.mkdir()
    fill(root)
    server = serve("--auth", ALICE, "--auth", "@/:rw,/private:none", "--hidden", "secret*", root=root)
    assert ask(server, "PUT", "/new", body=b"x").status == 201
    (root / ".shareserve").mkdir(exist_ok=True)
    (root / "own~1.txt").write_text("its own name")
    for name, short in (("private", "PRIVAT~1"), ("secret.txt", "SECRET~1.TXT"), (".shareserve", "SHARES~1")):
        os.setxattr(root / name, "system.ntfs_dos_name", short.encode())
        assert os.path.exists(root / short), "the disk has short names"
    for target in ("/PRIVAT~1/hush.txt", "/privat~1/inner/hush.txt", "/SECRET~1.TXT", "/secret~1.txt", "/SHARES~1/state"):
        refused(server, "GET", target)
        refused(server, "PUT", target, body=b"new")
        refused(server, "DELETE", target)
        refused(server, "COPY", target, "Destination: /taken")
    for target in ("/PRIVAT~1", "/SHARES~1"):
        refused(server, "PROPFIND", target, "Depth: 1")
        refused(server, "DELETE", target)
        refused(server, "MOVE", target, "Destination: /taken")
        refused(server, "MOVE", "/open/file", f"Destination: {target}/taken")
    assert ask(server, "GET", "/OWN~1.TXT").body == b"its own name"
    assert sorted(os.listdir(root)) == [".shareserve", "new", "open", "own~1.txt", "private", "secret.txt"]
