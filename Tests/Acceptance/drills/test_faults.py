"""Full, read-only, vanished and forbidden disks; the clock; signals under load."""

import concurrent.futures
import contextlib
import fcntl
import itertools
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.parse

import pytest

import workload
from server import SANITIZED, rclone_program, wait_until
from tracing import failing, traced
from wire import ConnectionClosed, Wire, ask


LOCK = b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>"


@pytest.fixture
def tmpfs(folder):
    """A file system of its own: `tmpfs("size=8M")`."""
    mounted = []

    def make(options):
        place = folder / f"tmpfs{len(mounted)}"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)])


@pytest.mark.root
class TestFullDisk:
    def test_old_content_stays_and_the_server_goes_on(self, serve, tmpfs):
        server = serve(root=tmpfs("size=8M"))
        assert ask(server, "PUT", "/a", body=b"old" * 1000).status == 201
        for fields, body in [(["Content-Length: 20000000"], b"x" * 20_000_000), (["Transfer-Encoding: chunked"], None)]:
            with Wire(server) as wire:
                try:
                    wire.request("PUT", "/a", *fields)
                    if body:
                        wire.send(body)
                    else:
                        for _ in range(20):
                            wire.send(b"f4240\r\n" + b"x" * 1_000_000 + b"\r\n")
                        wire.send(b"0\r\n\r\n")
                except OSError:
                    pass
                try:
                    assert wire.response().status == 507
                except ConnectionClosed:
                    pass
            assert ask(server, "GET", "/a").body == b"old" * 1000
        with Wire(server) as wire:
            wire.request("PUT", "/b", "Content-Length: 20000000", "Expect: 100-continue")
            answer = wire.response(interim=True)
            assert answer.status == 507 and answer.text.strip(), "refused before the body is sent"
        assert ask(server, "PUT", "/c", body="small").status == 201
        assert sorted(set(os.listdir(server.root)) - {".shareserve"}) == ["a", "c"]
        assert shutil.disk_usage(server.root).free > 6 << 20, "what did not fit was thrown away"

    def test_form_copy_and_properties(self, serve, tmpfs):
        server = serve(root=tmpfs("size=8M"))
        assert ask(server, "PUT", "/half", body=b"x" * 5_000_000).status == 201
        assert ask(server, "COPY", "/half", "Destination: /copy").status == 507
        body = b'--x\r\nContent-Disposition: form-data; name="files"; filename="f"\r\n\r\n' + b"y" * 5_000_000 + b"\r\n--x--\r\n"
        assert ask(server, "POST", "/", "Content-Type: multipart/form-data; boundary=x", body=body).status == 507
        assert sorted(set(os.listdir(server.root)) - {".shareserve"}) == ["half"]
        assert ask(server, "DELETE", "/half").status == 204

    def test_delete_works_on_a_disk_that_is_wholly_full(self, serve, tmpfs):
        place = tmpfs("size=4M")
        server = serve(root=place)
        assert ask(server, "PUT", "/a", body=b"x").status == 201
        with open(place / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 65536):
                pass
        assert ask(server, "PUT", "/b", body=b"x" * 100_000).status == 507
        assert ask(server, "DELETE", "/filler").status == 204
        assert ask(server, "PUT", "/b", body=b"x" * 100_000).status == 201

    def without_spare_room(self, server):
        """A server that has found its disk small, and whose spare room others have used up since."""
        spare = server.root / ".shareserve" / "spare"
        wait_until(lambda: spare.exists() and len(list(spare.iterdir())) == 16, "there is room to spare")
        shutil.rmtree(spare)
        return server

    @pytest.mark.parametrize("name", ["file", "empty", "tree"])
    @pytest.mark.parametrize("method, target", [("DELETE", None), ("MOVE", "/new"), ("MOVE", "/other")])
    def test_what_is_locked_can_go(self, serve, tmpfs, name, method, target):
        """What is done is answered as done, and locks end with it, though there is no room to write that down."""
        place = tmpfs("size=2M")
        root = place / "share"
        (root / "tree" / "inner").mkdir(parents=True)
        (root / "other").mkdir()
        for path, size in [("file", 9000), ("empty", 0), ("tree/a", 9000), ("tree/inner/b", 9000), ("other/c", 9000)]:
            (root / path).write_bytes(b"x" * size)
        server = self.without_spare_room(serve(root=root))
        held = "If:"
        for path in (name, "other/c"):
            answer = ask(server, "LOCK", f"/{path}", "Timeout: Second-3600", body=LOCK)
            held += f" <{server.url}/{path}> ({answer['lock-token']})"
        with open(place / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 65536):
                pass
        answer = ask(server, method, f"/{name}", held, *([f"Destination: {target}"] if target else []))
        assert answer.status == (201 if target == "/new" else 204)
        assert not (root / name).exists()
        assert not list(root.rglob(".shareserve-*")), "nothing is left out of sight"
        (place / "filler").unlink()
        assert ask(server, "PUT", f"/{name}", body=b"anew").status == 201

    def test_a_lock_on_a_name_that_could_not_be_made(self, serve, tmpfs):
        """Nobody was told of its token."""
        place = tmpfs("size=8M,nr_inodes=40")
        server = self.without_spare_room(serve(root=place))
        for number in range(40):
            with contextlib.suppress(OSError):
                (place / f"{number}").touch()
        for number in range(10):
            status = ask(server, "LOCK", "/new", body=LOCK).status
            assert status in (507, 201)
            if status == 201:
                break
            (place / f"{number}").unlink()
            assert ask(server, "PROPFIND", "/new", "Depth: 0").status == 404
        assert number > 2 and status == 201

    def test_inodes(self, serve, tmpfs):
        place = tmpfs("size=8M,nr_inodes=40")
        server = serve(root=place)
        statuses = [ask(server, "PUT", f"/{index}", body="x").status for index in range(60)]
        assert statuses[0] == 201 and statuses[-1] == 507 and set(statuses) == {201, 507}
        assert ask(server, "MKCOL", "/folder").status == 507
        begun = ask(server, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 9",
                    "Upload-Metadata: filename YQ==")
        for answer in (ask(server, "PUT", "/new", body="x"), begun):
            assert answer.status == 507 and not any(letter.isdigit() for letter in answer.text), "there are bytes enough"
        assert ask(server, "GET", "/0").text == "x"
        assert ask(server, "DELETE", "/0").status == 204
        assert ask(server, "DELETE", "/1").status == 204
        assert ask(server, "PUT", "/again", body="y").status == 201

    def test_min_free_space(self, serve, tmpfs):
        server = serve("--min-free-space", "6M", root=tmpfs("size=8M"))
        assert ask(server, "PUT", "/a", body=b"x" * 1_000_000).status == 201
        answer = ask(server, "PUT", "/b", body=b"x" * 3_000_000)
        assert answer.status == 507 and not (server.root / "b").exists()
        room, needed = map(int, re.findall(r"\d+", answer.text))
        assert 500_000 < room < 1_100_000 and needed == 3_000_000, answer.text
        answer = ask(server, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 3000000",
                     "Upload-Metadata: filename Yg==")
        assert answer.status == 507 and re.search(r"3\.0 MB, and (\d+ kB|1\.\d MB) are free", answer.text), answer.text


@pytest.mark.root
def test_a_disk_that_does_not_say_how_large_it_is(serve, tmpfs):
    """Without a limit a file system in memory tells of no space at all, as some of FUSE do: that is not a full one."""
    server = serve(root=tmpfs("size=0"))
    assert os.statvfs(server.root).f_blocks == 0
    assert ask(server, "PUT", "/a", body=b"x" * 1_000_000).status == 201
    assert ask(server, "COPY", "/a", "Destination: /b").status == 201
    quota = ask(server, "PROPFIND", "/", "Depth: 0", body=(
        '<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>'))
    assert quota.status == 207 and "404" in quota.text and "200 OK" not in quota.text


def test_file_size_limit_of_the_process(serve):
    """RLIMIT_FSIZE raises SIGXFSZ, which kills whoever does not ignore it."""
    server = serve(preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)))
    assert ask(server, "PUT", "/a", body=b"x" * 500_000).status == 201
    assert ask(server, "PUT", "/a", body=b"y" * 2_000_000).status in (413, 507)
    assert (server.root / "a").read_bytes() == b"x" * 500_000
    assert server.alive()
    assert "no file can be larger than the process's limit" in server.logged()


@pytest.mark.root
@pytest.mark.parametrize("size", ["64M", "2G"])
def test_read_only_remount(serve, tmpfs, size):
    """The system refuses it while anything is open for writing."""
    # On a small disk the state folder is made at the start, on a large one with the first lock or replaced file.
    place = tmpfs(f"size={size}")
    server = serve(root=place)
    assert ask(server, "PUT", "/a", body="older").status == 201
    assert ask(server, "PUT", "/a", body="old").status == 204
    token = ask(server, "LOCK", "/a", body=LOCK)["Lock-Token"]
    assert ask(server, "UNLOCK", "/a", f"Lock-Token: {token}").status == 204
    # Behind an answer, the spare files of a small disk may still be written.
    wait_until(lambda: subprocess.run(["mount", "-o", "remount,ro", str(place)]).returncode == 0, "a remount", 3)
    for method, fields in [("PUT", []), ("DELETE", []), ("MKCOL", []), ("MOVE", ["Destination: /b"]), ("COPY", ["Destination: /b"])]:
        target = "/new" if method == "MKCOL" else "/a"
        assert ask(server, method, target, *fields, body="new" if method == "PUT" else None).status in (403, 507), method
    assert ask(server, "GET", "/a").text == "old"
    if size == "2G":
        # Within a minute the log says why, as for a disk that has failed.
        wait_until(lambda: "changes will be refused" in server.logged(), "the log says so", 70)
        assert "Read-only file system" in server.logged()
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    assert ask(server, "PUT", "/a", body="new").status == 204


@pytest.mark.root
def test_disk_that_is_mounted_over_a_share_in_memory(serve, tmpfs):
    """What is on it is not said to be missing: who keeps a copy would take that for removed."""
    place = tmpfs("size=2G")
    server = serve(root=place)
    assert ask(server, "GET", "/file").status == 404
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=True)
    try:
        (place / "file").write_text("content")
        time.sleep(1.1)
        assert ask(server, "GET", "/file").text == "content"
        server.stop()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


@pytest.mark.root
def test_permission_denied(serve, folder):
    root = folder / "share"
    root.mkdir()
    os.chown(root, 65534, 65534)
    for name, mode in [("closed", 0o000), ("fixed", 0o555)]:
        (root / name).mkdir()
        (root / name / "file").write_text("x")
        (root / name).chmod(mode)
    (root / "secret").write_text("x")
    (root / "secret").chmod(0o600)
    server = serve(preexec=as_nobody)
    assert ask(server, "GET", "/secret").status == 403
    assert ask(server, "GET", "/closed/").status in (403, 404)
    assert ask(server, "GET", "/closed/file").status in (403, 404)
    assert ask(server, "PUT", "/fixed/new", body="x").status == 403
    assert ask(server, "DELETE", "/fixed/file").status in (403, 207)
    assert ask(server, "PROPFIND", "/", "Depth: 1").status == 207
    listed = ask(server, "GET", "/").text.splitlines()
    assert "fixed/" in listed
    answer = ask(server, "DELETE", "/fixed")
    assert answer.status in (403, 207)
    assert (root / "fixed" / "file").exists()


def test_root_removed_and_made_again(serve):
    """Who keeps a copy of the share must not take it for an empty one, nor anything in it for removed."""
    server = serve()
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert ask(server, "GET", "/a").text == "x"
    shutil.rmtree(server.root)
    for method in ("GET", "HEAD", "PROPFIND", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "LOCK"):
        body = {"PUT": b"x", "LOCK": LOCK}.get(method)
        answer = ask(server, method, "/a", "Destination: /b", body=body)
        assert answer.status == 503, (method, answer)
    for method, target in [("GET", "/"), ("HEAD", "/"), ("GET", "/?json"), ("GET", "/?archive=zip"), ("PROPFIND", "/"),
                           ("GET", "/a/deep"), ("PROPFIND", "/a/deep")]:
        answer = ask(server, method, target, "Depth: 1")
        assert answer.status == 503, (method, target, answer)
    assert "not there" in ask(server, "GET", "/").text
    assert server.alive()
    assert ask(server, "GET", "/.shareserve/health").status == 200
    server.root.mkdir()
    (server.root / "b").write_text("new")
    assert ask(server, "GET", "/b").text == "new"
    assert ask(server, "GET", "/a").status == 404
    assert ask(server, "PROPFIND", "/", "Depth: 1").text.count("<D:response>") == 2
    assert ask(server, "PUT", "/a", body="x").status == 201


def test_a_copy_of_a_root_that_was_removed_is_not_emptied(serve, folder):
    program = rclone_program()
    if program is None:
        pytest.skip("needs rclone")
    server = serve()
    (server.root / "d").mkdir()
    (server.root / "d" / "a").write_text("x")
    copy = folder / "copy"

    def sync():
        return subprocess.run(
            [program, "sync", ":webdav:", str(copy), f"--webdav-url={server.url}", "--retries=1", "--low-level-retries=1",
             "--config", str(folder / "rclone.conf")], capture_output=True, text=True, timeout=120)

    assert sync().returncode == 0
    assert (copy / "d" / "a").read_text() == "x"
    shutil.rmtree(server.root)
    ended = sync()
    assert ended.returncode != 0, ended.stderr
    assert (copy / "d" / "a").read_text() == "x"


@pytest.mark.root
def test_unmounted_and_mounted_again(serve, folder):
    from test_kill import Disk
    disk = Disk(folder, megabytes=64)
    root = disk.place / "share"
    root.mkdir()
    server = serve(root=root)
    assert ask(server, "PUT", "/a", body="x").status == 201
    subprocess.run(["umount", "-l", str(disk.place)], check=True)
    assert ask(server, "GET", "/").status < 600
    assert server.alive()
    server.stop()
    wait_until(lambda: str(disk.image) not in subprocess.run(["losetup", "-a"], capture_output=True, text=True).stdout,
               "the device is free")
    disk.mount()
    server.restart()
    assert ask(server, "GET", "/a").text == "x"
    server.stop()
    disk.unmount()


def test_clock_set_back(server):
    """Files from the future, and a time that runs backwards between two writes."""
    (server.root / "a").write_text("1")
    os.utime(server.root / "a", (4_000_000_000, 4_000_000_000))
    first = ask(server, "GET", "/a")
    assert first.status == 200
    (server.root / "a").write_text("2")
    os.utime(server.root / "a", (1_000_000_000, 1_000_000_000))
    second = ask(server, "GET", "/a", f"If-None-Match: {first['ETag']}")
    assert second.status == 200 and second.text == "2"
    os.utime(server.root / "a", (-1_000_000_000, -1_000_000_000))
    assert ask(server, "GET", "/a").status == 200
    assert ask(server, "PROPFIND", "/a", "Depth: 0").status == 207


def test_sighup_at_once(serve):
    """Whoever reads the address may send a signal the same moment."""
    for _ in range(10):
        server = serve()
        server.signal(signal.SIGHUP)
        assert ask(server, "GET", "/").status == 200
        assert server.stop() == 0


def test_sighup_under_load(server):
    (server.root / "a").write_bytes(b"x" * 100_000)
    failures = []
    ended = threading.Event()

    def load():
        try:
            with Wire(server) as wire:
                while not ended.is_set():
                    assert wire.ask("GET", "/a").body == b"x" * 100_000
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        server.signal(signal.SIGHUP)
        assert ask(server, "PUT", "/b", body="y").status in (201, 204)
    ended.set()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_signals_are_obeyed_after_the_machine_was_busy(serve):
    """What has only kept a signal from being passed on for a while has no effect on the next ones."""
    server = serve()
    slow = "?alarm,?setitimer"
    with traced(server, "-o", os.devnull, "-e", f"trace={slow}", "-e", f"inject={slow}:delay_exit=1500000:when=1"):
        for times in (1, 2):
            server.signal(signal.SIGHUP)
            wait_until(lambda: server.logged().count("nothing to reload") == times, "the signal is obeyed")
        assert server.stop() == 0


def test_sigterm_with_running_transfers_keeps_old_files(serve):
    server = serve("--shutdown-timeout", "1s")
    (server.root / "a").write_text("old")
    with open(server.root / "big", "wb") as file:
        file.truncate(1 << 30)
    uploading, downloading = Wire(server), Wire(server, receive_buffer=4096)
    uploading.request("PUT", "/a", "Content-Length: 1000000")
    uploading.send(b"x" * 1000)
    downloading.request("GET", "/big")
    downloading.read(100)
    assert ask(server, "GET", "/").status == 200
    started = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - started < 10
    assert (server.root / "a").read_text() == "old"
    assert sorted(set(os.listdir(server.root)) - {".shareserve"}) == ["a", "big"]


def test_transfers_that_the_end_cuts_off_leave_no_strange_line(serve):
    server = serve("--tls-self-signed", "--shutdown-timeout", "0s")
    # Many times, since the result depended on which thread was quicker.
    for _ in range(10):
        wire = Wire(server, tls=True)
        wire.request("PUT", "/a", "Content-Length: 1000000").send(b"x" * 150_000)
        assert ask(server, "GET", "/", tls=True).status == 200
        assert server.stop() == 0
        wire.close()
        server.restart()
    assert "ERROR" not in server.logged(), server.logged()


def test_too_many_open_files(serve):
    """With all descriptors gone, accept goes on, and a normal client is served again as soon as there are some."""
    server = serve(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
    (server.root / "a").write_text("x")
    wires = []
    for _ in range(300):
        try:
            wires.append(Wire(server, timeout=5))
        except OSError:
            break
    wait_until(lambda: _answers(server), "a normal client is served", 30)
    for wire in wires:
        wire.close()
    assert ask(server, "GET", "/a").text == "x"
    assert server.cpu_seconds() < 5, "no busy loop"


def _answers(server):
    try:
        with Wire(server, timeout=2) as wire:
            return wire.ask("GET", "/a").status == 200
    except (OSError, ConnectionClosed):
        return False


def test_slow_clients_leave_a_normal_one_its_service(server):
    """2,000 slow heads, bodies and readers; a normal client's median stays within twice its time, and 50 ms, and its 99th
    percentile too, and a quarter of a second; nobody's share of the memory is large."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    (server.root / "a").write_bytes(b"x" * 10_000)
    with open(server.root / "big", "wb") as file:
        file.truncate(1 << 30)

    def best():
        """Median and 99th percentile, each of the best of three turns: what else the machine does is not meant."""
        turns = []
        for _ in range(3):
            times = []
            for _ in range(200):
                started = time.perf_counter()
                assert ask(server, "GET", "/a").status == 200
                times.append(time.perf_counter() - started)
            times.sort()
            turns.append((times[100], times[197]))
        return [min(column) for column in zip(*turns)]

    alone = best()
    before = server.peak_memory()
    wires = []
    for index in range(2000):
        wire = Wire(server, receive_buffer=4096)
        if index % 3 == 0:
            wire.send("GET /a HTTP/1.1\r\nHo")
        elif index % 3 == 1:
            wire.request("PUT", f"/slow-{index}", "Content-Length: 1000000")
            wire.send("x")
        else:
            wire.request("GET", "/big")
        wires.append(wire)
    crowded = best()
    taken = server.peak_memory() - before
    for wire in wires:
        wire.close()
    assert crowded[0] < 2 * alone[0] + 0.05 and crowded[1] < 2 * alone[1] + 0.25, (alone, crowded)
    assert SANITIZED or taken < 100 << 20, taken
    wait_until(lambda: set(os.listdir(server.root)) <= {"a", "big", ".shareserve"}, "nothing half is left")


def test_5000_idle_connections(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 6000:
        pytest.skip("this system gives a process fewer than 6,000 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    (server.root / "a").write_text("x")
    wires = []
    for _ in range(5000):
        wire = Wire(server)
        wires.append(wire)
    for wire in wires[::100]:
        assert wire.ask("GET", "/a").text == "x"
    assert ask(server, "GET", "/a").text == "x"
    for wire in wires:
        wire.close()


def test_properties_that_cannot_be_read_are_not_replaced(serve):
    def change(name, value):
        return ask(server, "PROPPATCH", "/file", body=(
            f'<propertyupdate xmlns="DAV:"><set><prop><{name} xmlns="urn:t">{value}</{name}></prop></set></propertyupdate>'))

    server = serve()
    (server.root / "file").write_text("x")
    assert change("old", "kept").status == 207
    with failing(server, "fgetxattr", "getxattr"):
        answer = change("new", "added")
        assert answer.status >= 500 or b" 50" in answer.body, answer.body
        assert ask(server, "COPY", "/file", "Destination: /copy").status >= 500
    assert not (server.root / "copy").exists()
    found = ask(server, "PROPFIND", "/file", "Depth: 0").text
    assert "kept" in found and "added" not in found


@pytest.mark.parametrize("method, fields, body", [
    ("PROPFIND", ["Depth: 1,noroot"], None),
    ("REPORT", [], '<sync-collection xmlns="DAV:"><sync-token/><sync-level>1</sync-level><prop><p xmlns="urn:t"/></prop></sync-collection>'),
], ids=["propfind", "report"])
def test_properties_that_cannot_be_read_are_not_left_out_of_a_listing(serve, method, fields, body):
    server = serve()
    (server.root / "folder").mkdir()
    for name in ("a", "b"):
        (server.root / "folder" / name).write_text("x")
        assert ask(server, "PROPPATCH", f"/folder/{name}", body=(
            f'<propertyupdate xmlns="DAV:"><set><prop><p xmlns="urn:t">kept {name}</p></prop></set></propertyupdate>')).status == 207
    assert ask(server, method, "/folder/", *fields, body=body).text.count("kept") == 2
    with failing(server, "fgetxattr", "getxattr"):
        try:
            answer = ask(server, method, "/folder/", *fields, body=body)
        except (ConnectionClosed, ConnectionError):
            answer = None
    assert answer is None or answer.status >= 500, answer.text
    (server.root / "folder" / "b").unlink()
    assert ask(server, method, "/folder/", *fields, body=body).text.count("kept") == 1


def test_file_system_that_calls_missing_attributes_a_failure(serve):
    """Some in programs behind FUSE do, for files; of the root they say what is true."""
    server = serve()
    for name in ("other", "file"):
        (server.root / name).write_text("x")
    body = '<propertyupdate xmlns="DAV:"><set><prop><p xmlns="urn:t">kept</p></prop></set></propertyupdate>'
    assert ask(server, "PROPPATCH", "/other", body=body).status == 207
    with traced(server, "-o", os.devnull, "-e", "trace=fgetxattr,lgetxattr", "-e", "inject=fgetxattr:error=EIO",
                "-e", "inject=lgetxattr:error=EOPNOTSUPP"):
        answer = ask(server, "PROPPATCH", "/file", body=body)
    assert answer.status == 207 and b" 200 " in answer.body
    assert "kept" in ask(server, "PROPFIND", "/file", "Depth: 0").text


@pytest.mark.parametrize("method, target, fields", [
    ("GET", "/folder/", ["Accept: application/json"]),
    ("GET", "/folder/?json&" + "&".join(f"name=member%20{number}" for number in range(4)) + "&name=a%20link", []),
    ("GET", "/folder/?archive=tar", []), ("PROPFIND", "/folder/", ["Depth: 1"]),
], ids=["json", "chosen", "tar", "propfind"])
def test_listing_of_a_broken_disk_leaves_nothing_out(serve, method, target, fields):
    """Who keeps a copy in step would delete what is missing."""
    server = serve()
    (server.root / "folder").mkdir()
    names = [f"member {number}" for number in range(4)]
    for name in names:
        (server.root / "folder" / name).write_text("x")
    (server.root / "folder" / "a link").symlink_to(names[0])
    broken = 0
    for number in range(1, 15):
        with failing(server, "statx", when=number):
            try:
                answer = ask(server, method, target, *fields)
            except (ConnectionClosed, ConnectionError):
                answer = None
        if answer is None or answer.status >= 500:
            broken += 1
        else:
            found = urllib.parse.unquote(answer.body.decode())
            assert all(name in found for name in [*names, "a link"]), (number, answer)
    assert broken > 3


def test_slow_head_is_ended(serve):
    server = serve("--head-timeout", "1s")
    with Wire(server) as wire:
        wire.send("GET / HTTP/1.1\r\nHost: ")
        started = time.monotonic()
        data = wire.rest()
        assert time.monotonic() - started < 10
        assert data == b"" or b" 408 " in data.splitlines()[0]


def test_idle_connection_is_ended(serve):
    server = serve("--idle-timeout", "1s")
    with Wire(server) as wire:
        assert wire.ask("GET", "/").status == 200
        assert wire.is_closed(10)


def test_stalled_upload_is_ended_but_a_slow_one_is_not(serve):
    server = serve("--body-timeout", "2s")
    with Wire(server) as stalled, Wire(server) as slow:
        for wire, name in ((stalled, "stalled"), (slow, "slow")):
            wire.request("PUT", f"/{name}", "Content-Length: 8")
            wire.send("x")
        for _ in range(7):
            threading.Event().wait(0.6)
            slow.send("y")
        assert slow.response().status == 201
        rest = stalled.rest()
        assert rest == b"" or b" 408 " in rest.splitlines()[0]
    assert pathlib.Path(server.root / "slow").read_text() == "xyyyyyyy"
    assert not (server.root / "stalled").exists()


def test_log_that_nobody_reads_does_not_stop_the_server(serve, folder):
    """Standard error is a pipe that is full."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 65536)
    except BlockingIOError:
        pass
    server = serve(preexec=lambda: os.dup2(writer, 2))
    try:
        for _ in range(200):
            assert ask(server, "GET", "/missing").status == 404
    finally:
        os.close(reader)
        os.close(writer)
    assert workload.content("a", 1)


def test_senders_that_begin_fast_and_trickle_on_keep_no_threads(serve):
    """No thread waits for a byte now and then: others need it."""
    server = serve("--io-threads", "2")
    (server.root / "folder").mkdir()
    ended = threading.Event()
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(server)) for _ in range(8)]
        for number, wire in enumerate(wires):
            wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire.send(f"PUT /{number} HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n".encode())

        def trickle():
            for turn in itertools.count():
                if ended.is_set():
                    return
                for wire in wires:
                    wire.socket.sendall(b"y" * (80 << 10 if turn % 200 == 0 else 1))
                # A thread that waits for a sender gives up after two milliseconds.
                time.sleep(0.0003)

        sender = threading.Thread(target=trickle)
        sender.start()
        try:
            times = []
            with Wire(server) as other:
                for _ in range(30):
                    begun = time.monotonic()
                    assert other.ask("PROPFIND", "/folder/", "Depth: 1").status == 207
                    times.append(time.monotonic() - begun)
        finally:
            ended.set()
            sender.join()
    assert sum(times) < 5, sorted(times)


def test_all_who_wait_for_a_server_that_hangs_wait_at_the_same_time(server):
    assert ask(server, "LOCK", "/a", "Depth: 0", body=LOCK).status == 201
    began = time.monotonic()
    with open(server.root / ".shareserve" / "commit", "r+b") as lock, concurrent.futures.ThreadPoolExecutor(5) as pool:
        # What another process's write lock looks like: F_OFD_SETLK.
        fcntl.fcntl(lock, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        answers = list(pool.map(lambda name: Wire(server, timeout=60).ask("MKCOL", f"/{name}/").status, "bcdef"))
    assert answers == [503] * 5 and time.monotonic() - began < 20
    assert ask(server, "MKCOL", "/b/").status == 201
