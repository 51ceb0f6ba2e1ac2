"""What the process gives up: its user, and all files but its own."""

import collections
import contextlib
import os
import pathlib
import re
import resource
import signal
import ssl
import subprocess
import threading
import time

import pytest

from server import SANITIZED, binary, free_port, wait_until
from wire import ConnectionClosed, Wire, ask


def status_of(server):
    return pathlib.Path(f"/proc/{server.pid}/status").read_text()


@pytest.mark.root
def test_becomes_another_user_once_it_listens(serve, folder):
    root = folder / "share"
    root.mkdir()
    os.chown(root, 65534, 65534)
    server = serve("--user", "nobody", port=0)
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        assert re.search(r"^Uid:\s+65534\s+65534\s+65534", (task / "status").read_text(), re.MULTILINE)
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert (root / "a").stat().st_uid == 65534


@pytest.mark.root
@pytest.mark.parametrize("options", [("--auth", "@/:rw", "--auth", "anna:x@/:rw"), ("--tls-self-signed",)], ids=["accounts", "TLS"])
def test_what_is_kept_before_it_becomes_another_user_is_theirs(serve, folder, options):
    """A key or a certificate made as root would close the state to the server itself: no upload, no lock, no trash."""
    root = folder / "share"
    root.mkdir()
    os.chown(root, 65534, 65534)
    server = serve("--user", "nobody", "--trash", "1", *options, root=root)
    kept = [root / ".shareserve", *(root / ".shareserve").iterdir()]
    assert len(kept) > 2 and {path.stat().st_uid for path in kept} == {65534}
    context = ssl._create_unverified_context() if server.url.startswith("https:") else None
    assert ask(server, "PUT", "/a", body="x", tls=context).status == 201
    assert ask(server, "DELETE", "/a", tls=context).status == 204


@pytest.fixture
def as_player(tmp_path):
    """Words before a command that have it run where `nobody` is in the group `games`, and in no other but their own."""
    groups = [line for line in pathlib.Path("/etc/group").read_text().splitlines() if not line.startswith("games:")]
    (tmp_path / "group").write_text("\n".join(groups + ["games:x:60:nobody"]) + "\n")
    words = ["unshare", "--mount", "sh", "-c", f'mount --bind {tmp_path}/group /etc/group && exec "$@"', "sh"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    return words


@pytest.mark.root
def test_share_that_is_open_to_one_of_their_groups(serve, folder, as_player):
    root = folder / "share"
    root.mkdir()
    (root / "a.txt").write_text("one")
    os.chown(root, 0, 60)
    root.chmod(0o770)
    server = serve("--user", "nobody", "--tls-self-signed", root=root, wrapper=as_player)
    assert (root / ".shareserve" / "tls").stat().st_uid == 65534
    made = subprocess.run([*as_player, str(binary()), "link", str(root / "a.txt")], capture_output=True, text=True, timeout=20)
    assert made.returncode == 0, made.stderr
    assert (root / ".shareserve" / "links").stat().st_uid == 65534
    place = made.stdout.strip()[len(server.url.rstrip("/")):]
    assert ask(server, "GET", place, tls=ssl._create_unverified_context()).text == "one"


@pytest.mark.root
def test_nobody_is_answered_with_the_rights_of_root(serve, folder):
    """A client that is there before the server: what it is answered first must be answered as all that comes later."""
    root = folder / "share"
    root.mkdir()
    (root / "secret").write_text("root's")
    (root / "secret").chmod(0o600)
    port = free_port()
    ended = threading.Event()
    seen = collections.Counter()

    def insist():
        while not ended.is_set():
            with contextlib.suppress(OSError, ConnectionClosed), Wire(("127.0.0.1", port), timeout=5) as wire:
                seen[wire.ask("GET", "/secret", "Connection: close").status] += 1

    clients = [threading.Thread(target=insist) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        for _ in range(20):
            serve("--user", "nobody", root=root, port=port).kill()
    finally:
        ended.set()
        for client in clients:
            client.join()
    assert set(seen) == {403}


@pytest.mark.root
def test_notes_in_the_state_give_nobody_roots_rights(folder):
    """Whoever keeps the state writes what is to be done, and root does it for them when it makes a link."""
    root = folder / "share"
    notes = root / ".shareserve" / "tmp"
    notes.mkdir(parents=True)
    (root / "kept" / "tree").mkdir(parents=True)
    (root / "kept" / "tree" / "a").write_text("a")
    (root / "b").write_text("b")
    things = [(root / "kept" / "tree").stat(), (root / "b").stat()]
    numbers = " ".join(f"{thing.st_dev} {thing.st_ino}" for thing in things)
    (notes / "x.move").write_bytes(f"{numbers} kept/tree\0b".encode())
    for place in [root, root / ".shareserve", notes, notes / "x.move"]:
        os.chown(place, 65534, 65534)
    subprocess.run([str(binary()), "link", str(root / "b"), "--root", str(root)], capture_output=True, check=True, timeout=20)
    assert (root / "kept" / "tree" / "a").read_text() == "a"
    assert {path.stat().st_uid for path in (root / ".shareserve").iterdir()} == {65534}


@pytest.mark.root
def test_state_of_another_user_is_told_of(serve, folder):
    root = folder / "share"
    (root / ".shareserve").mkdir(parents=True, mode=0o700)
    os.chown(root, 65534, 65534)
    server = serve("--user", "nobody", root=root)
    wait_until(lambda: "place=.shareserve" in server.logged(), "the log says why nothing can be written")


@pytest.mark.root
def test_a_umask_that_closes_everything_does_not_close_the_state(serve, folder):
    root = folder / "share"
    root.mkdir()
    os.chown(root, 65534, 65534)

    def as_nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.umask(0o777)

    server = serve(preexec=as_nobody, root=root)
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert ask(server, "LOCK", "/new", body=(
        '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>')).status == 201
    assert ask(server, "COPY", "/a", "Destination: /b").status == 201
    assert {path.stat().st_mode & 0o777 for path in (root / ".shareserve").iterdir() if path.is_dir()} <= {0o700}
    assert (root / ".shareserve").stat().st_mode & 0o777 == 0o700
    assert (root / ".shareserve" / "locks").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_signals_that_mean_nothing_to_it(serve, number):
    server = serve()
    server.signal(number)
    assert ask(server, "GET", "/").status == 200
    assert server.stop() == 0


def test_unknown_user_is_one_line(folder):
    words = [str(binary()), str(folder), "--port", "0", "--user", "no such user", "--tls-self-signed"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 64
    assert len(ended.stderr.splitlines()) == 1 and "no such user" in ended.stderr
    # State created as root would be closed to the intended user.
    assert not (folder / ".shareserve").exists()


@pytest.mark.parametrize("options", [(), ("--confine",)], ids=["by itself", "to the share alone"])
def test_confined(serve, folder, options):
    """Everything works below the root; a link that a stranger set up inside leads nowhere, were it ever followed."""
    server = serve(*options, "--trash", "1")
    assert "NoNewPrivs:\t1" in status_of(server)
    with Wire(server) as wire:
        assert wire.ask("MKCOL", "/a").status == 201
        assert wire.ask("PUT", "/a/b", body="x").status == 201
        assert wire.ask("PUT", "/a/b", body="y").status == 204
        assert wire.ask("COPY", "/a", "Destination: /c").status == 201
        assert wire.ask("MKCOL", "/d").status == 201
        assert wire.ask("MOVE", "/a/b", "Destination: /d/b").status == 201
        assert wire.ask("PROPFIND", "/", "Depth: 1").status == 207
        assert wire.ask("PROPPATCH", "/d/b", body='<propertyupdate xmlns="DAV:"><set><prop><x/></prop></set></propertyupdate>').status == 207
        lock = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
        assert wire.ask("LOCK", "/locked", body=lock).status == 201
        assert wire.ask("DELETE", "/c").status == 204
        assert wire.ask("GET", "/d/b").text == "y"
        assert wire.ask("GET", "/", "Accept: text/html").status == 200


def test_unconfined_when_asked(serve):
    server = serve("--no-confine")
    assert "NoNewPrivs:\t0" in status_of(server)
    assert ask(server, "PUT", "/a", body="x").status == 201


def test_confined_over_tls_and_a_socket(serve, folder):
    place = folder / "secrets"
    place.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
         "-keyout", str(place / "key"), "-out", str(place / "cert")], check=True, capture_output=True)
    server = serve("--confine", "--tls-cert", place / "cert", "--tls-key", place / "key", bind=("127.0.0.1", str(folder / "socket")))
    with Wire(server, tls=True) as wire:
        assert wire.ask("PUT", "/a", body="x").status == 201
    assert server.stop() == 0


def test_standard_streams_that_are_closed(serve):
    """A file of the share, opened next, would have the number; lines would be written into it."""
    server = serve(preexec=lambda: (os.close(0), os.close(2)))
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert {os.readlink(f"/proc/{server.pid}/fd/{number}") for number in (0, 2)} == {"/dev/null"}


@pytest.mark.parametrize("most", [12, 32, 95])
def test_too_few_open_files_are_one_line(folder, most):
    ended = subprocess.run(
        [str(binary()), str(folder), "--port", "0", "--bind", "127.0.0.1"], capture_output=True, text=True, timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
    assert ended.returncode == 70
    assert len(ended.stderr.splitlines()) == 1 and f"may have {most} files open, and needs 96" in ended.stderr
    assert ended.stdout == ""


def test_as_few_open_files_as_it_needs(serve):
    server = serve(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 96)))
    assert ask(server, "PUT", "/a", body="x").status == 201


def test_open_files_of_whoever_starts_it_count(folder):
    null = os.open(os.devnull, os.O_RDONLY)
    theirs = [null, *(os.dup(null) for _ in range(59))]
    try:
        ended = subprocess.run(
            [str(binary()), str(folder), "--port", "0", "--bind", "127.0.0.1"], capture_output=True, text=True, timeout=20,
            pass_fds=theirs, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150)))
    finally:
        for number in theirs:
            os.close(number)
    assert ended.returncode == 70
    assert "may have 90 files open, and needs 96, besides those that were open before it began" in ended.stderr


def test_the_end_waits_for_transfers_though_there_is_no_file_left_to_open(serve):
    server = serve("--shutdown-timeout", "4s")
    with contextlib.ExitStack() as stack:
        for number in range(4):
            sender = stack.enter_context(Wire(server))
            sender.request("PUT", f"/{number}", "Content-Length: 3000000", body=None)
            sender.send(b"x" * 1024)
        # For the uploads to begin.
        time.sleep(0.5)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, 3))
        begun = time.monotonic()
        server.signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        assert time.monotonic() - begun > 3.5


@pytest.mark.root
@pytest.mark.skipif(SANITIZED, reason="the sanitizers start a thread of their own")
def test_too_few_threads_are_one_line(folder):
    def as_somebody():
        # Root has no such limit, and nobody else runs anything as this user.
        resource.setrlimit(resource.RLIMIT_NPROC, (4, 4))
        os.setgid(54321)
        os.setuid(54321)

    ended = subprocess.run(
        [str(binary()), str(folder), "--port", "0", "--bind", "127.0.0.1"], capture_output=True, text=True, timeout=20,
        preexec_fn=as_somebody)
    assert ended.returncode == 70
    assert len(ended.stderr.splitlines()) == 1 and "may have 3 more threads, and needs " in ended.stderr


def with_proc(command):
    """Words before a command that have it run where /proc was changed."""
    words = ["unshare", "--mount", "sh", "-c", f'{command} && exec "$@"', "sh"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    return words


@pytest.mark.root
@pytest.mark.skipif(SANITIZED, reason="the sanitizers cannot run without it either")
@pytest.mark.parametrize("is_there", [False, True])
def test_without_its_proc_it_does_not_begin(folder, is_there):
    wrapper = with_proc("umount --lazy /proc")
    if is_there:
        wrapper = ["unshare", "--pid", "--fork"]
    words = [*wrapper, str(binary()), str(folder), "--port", "0", "--bind", "127.0.0.1"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 70
    assert ended.stderr == (
        "shareserve: /proc is not mounted here, or belongs to another PID namespace, and the program cannot run without it\n")


@pytest.mark.root
def test_with_a_proc_that_shows_little(serve, folder):
    root = folder / "share"
    root.mkdir()
    os.chown(root, 65534, 65534)
    server = serve("--user", "nobody", wrapper=with_proc("mount -t proc -o hidepid=2,subset=pid proc /proc"))
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert server.stop() == 0


@pytest.mark.root
@pytest.mark.skipif(SANITIZED, reason="the sanitizers have handlers of their own")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_process_of_a_container_ends_while_it_starts(serve, folder, number):
    """The kernel spares it the default action of a signal."""
    wrapper = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces can be made here")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    # The program that runs the tests may ignore SIGINT.
    server = serve(
        "--tls-cert", pipe, "--tls-key", pipe, wrapper=wrapper, wait=False,
        preexec=lambda: signal.signal(number, signal.SIG_DFL))

    def has_begun():
        status = status_of(server)
        ignored = int(re.search(r"^SigIgn:\s+(\w+)$", status, re.MULTILINE)[1], 16)
        return status.startswith("Name:\tshareserve\n") and ignored & 1 << signal.SIGUSR1 - 1

    wait_until(has_begun, "it has begun")
    server.signal(number)
    assert server.process.wait(10) == 128 + number
