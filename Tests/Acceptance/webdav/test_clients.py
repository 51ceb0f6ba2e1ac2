"""WebDAV clients that people have, doing what people do with them."""

import contextlib
import filecmp
import os
import pathlib
import pty
import random
import shutil
import subprocess
import textwrap
import time

import pytest

from server import SANITIZED, rclone_program, wait_until
from wire import ask

LOCK = ('<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>'
        "<D:owner>anna</D:owner></D:lockinfo>")

# Names that a POSIX client may well have; those that XML can't hold are tried in test_writes.py.
HOSTILE = [
    "plain", "with space", "#hash", "100%", "%41", "a?b", "a&b", "'single'", '"double"', "semi;colon", "<b>", "a:b",
    "emoji 😀", "漢字", "composed ü", "decomposed u\u0308", "..almost", "a..b", "trailing.", "+plus", "@at", "[brackets]", "~",
    "x" * 200,
]


def run(*command, ok=True, timeout=120, **options):
    """Runs a client; its whole output is shown when it fails."""
    ended = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
        errors="replace", **options)
    assert not ok or ended.returncode == 0, f"{command}:\n{ended.stdout[-6000:]}"
    return ended.stdout


def make_tree(place, files=200, seed=1):
    """A tree of folders with hostile names, empty ones too."""
    chance = random.Random(seed)
    folders = [place]
    place.mkdir(exist_ok=True)
    for name in HOSTILE:
        folder = chance.choice(folders) / f"{name} d"
        folder.mkdir(exist_ok=True)
        folders.append(folder)
    for index in range(files):
        name = chance.choice(HOSTILE)[:150]
        (chance.choice(folders) / f"{name} {index}").write_bytes(chance.randbytes(chance.choice([0, 1, 100, 5000])))
    return place


def same_tree(left, right, ignored=(".shareserve", "lost+found")):
    """Every difference between two trees, names and bytes."""
    def walk(top):
        found = {}
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name not in ignored]
            for name in folders:
                found[os.path.relpath(os.path.join(folder, name), top)] = None
            for name in files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, top)] = pathlib.Path(path).read_bytes()
        return found
    one, other = walk(left), walk(right)
    return sorted(name for name in one.keys() | other.keys() if one.get(name, "missing") != other.get(name, "missing"))


@pytest.fixture
def home(folder):
    """A home directory for clients that write to one."""
    place = folder / "home"
    place.mkdir()
    return place


def environment(home, **more):
    return {"HOME": str(home), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"} | more


def run_at_terminal(command, lines, timeout=120, **variables):
    """Runs a client that wants a person at a terminal, who types `lines`, each when the one before has been answered."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.clear()
        os.environ.update(variables | {"TERM": "dumb"})
        os.execvp(command[0], [str(part) for part in command])
    output, lines, deadline = b"", list(lines), time.monotonic() + timeout
    # A prompt is what ends without a line break.
    with os.fdopen(terminal, "r+b", buffering=0) as terminal, contextlib.suppress(OSError):
        while piece := terminal.read(65536):
            output += piece
            assert time.monotonic() < deadline, output.decode(errors="replace")
            if output.endswith((b"> ", b") ", b"? ")) and lines:
                terminal.write(lines.pop(0).encode() + b"\n")
    os.waitpid(process, 0)
    return output.decode(errors="replace")


# cadaver

def cadaver(meeting, home, script):
    variables = environment(home, EDITOR=str(home / "editor"))
    script = textwrap.dedent(script)
    if meeting.url.startswith("https:"):
        # It asks a person whether the self-made certificate is right.
        lines = ["y", *script.splitlines(), "quit"]
        return run_at_terminal(["cadaver", meeting.url + "/"], lines, **variables)
    return run("cadaver", meeting.url + "/", input=script, env=variables)


@pytest.fixture
def editor(home):
    """An editor that adds a line; cadaver tells a change by the seconds of the file's time."""
    path = home / "editor"
    path.write_text('#!/bin/sh\necho edited >> "$1"\ntouch -d "1 minute" "$1"\n')
    path.chmod(0o755)


def test_cadaver(meeting, home, folder, editor):
    (folder / "local").write_text("hello\n")
    output = cadaver(meeting, home, f"""\
        put {folder}/local file.txt
        mkcol folder
        copy file.txt folder/copy.txt
        move file.txt "moved ü.txt"
        ls folder
        get folder/copy.txt {folder}/fetched
        propset folder/copy.txt colour blue
        propget folder/copy.txt colour
        propdel folder/copy.txt colour
        cat folder/copy.txt
        """)
    assert (folder / "fetched").read_text() == "hello\n"
    assert "blue" in output
    assert (meeting.root / "moved ü.txt").exists() and (meeting.root / "folder" / "copy.txt").exists()
    assert "failed" not in output.lower(), output


def test_cadaver_locks_and_edits(meeting, home, folder, editor):
    (meeting.root / "a.txt").write_text("first\n")
    os.chmod(meeting.root / "a.txt", 0o666)
    output = cadaver(meeting, home, """\
        lock a.txt
        discover a.txt
        unlock a.txt
        edit a.txt
        discover a.txt
        """)
    assert (meeting.root / "a.txt").read_text() == "first\nedited\n", output
    assert "no locks found" in output, output
    assert "failed" not in output.lower(), output


def test_cadaver_respects_anothers_lock(meeting, home, folder):
    (meeting.root / "a.txt").write_text("mine\n")
    (folder / "local").write_text("theirs\n")
    place, tls = meeting.url.partition(meeting.authority)[2], True if meeting.url.startswith("https:") else None
    assert ask(meeting, "LOCK", f"{place}/a.txt", "Depth: 0", body=LOCK, tls=tls).status == 200
    output = cadaver(meeting, home, f"put {folder}/local a.txt\ndelete a.txt\n")
    assert "423" in output
    assert (meeting.root / "a.txt").read_text() == "mine\n"


# rclone

# Chunked uploads are a protocol of Nextcloud's own.
RCLONE_CONFIG = "[dav]\ntype = webdav\nurl = {meeting.url}/\nvendor = {vendor}\nnextcloud_chunk_size = 0\n"


@pytest.fixture
def rclone(meeting, home):
    program = rclone_program()

    def call(vendor, *arguments, ok=True):
        config = home / "rclone.conf"
        config.write_text(RCLONE_CONFIG.format(meeting=meeting, vendor=vendor))
        return run(program, "--config", config, "--no-check-certificate", "--retries", "1", "--low-level-retries", "2",
                   *arguments, ok=ok, env=environment(home))

    return call


@pytest.mark.parametrize("vendor", ["other", "nextcloud"])
def test_rclone(meeting, rclone, folder, vendor):
    source = make_tree(folder / "source", files=60)
    # rclone's remotes keep no empty folders unless asked, and time only with a vendor that has X-OC-Mtime.
    rclone(vendor, "copy", "--create-empty-src-dirs", source, "dav:copy")
    assert same_tree(source, meeting.root / "copy") == []
    rclone(vendor, "check", "--download", source, "dav:copy")
    if vendor == "nextcloud":
        for path in source.rglob("*"):
            if path.is_file():
                there = meeting.root / "copy" / path.relative_to(source)
                assert int(there.stat().st_mtime) == int(path.stat().st_mtime)
        rclone(vendor, "check", source, "dav:copy")
        touched = next(path for path in source.rglob("*") if path.is_file())
        os.utime(touched, (1_500_000_000, 1_500_000_000))
        rclone(vendor, "sync", "--create-empty-src-dirs", source, "dav:copy")
        assert int((meeting.root / "copy" / touched.relative_to(source)).stat().st_mtime) == 1_500_000_000
        rclone(vendor, "check", source, "dav:copy")
    changed = next(path for path in source.rglob("*") if path.is_file())
    changed.write_text("changed")
    removed = [path for path in source.rglob("*") if path.is_file()][5]
    removed.unlink()
    rclone(vendor, "sync", "--create-empty-src-dirs", source, "dav:copy")
    assert same_tree(source, meeting.root / "copy") == []
    rclone(vendor, "moveto", "dav:copy", "dav:moved")
    rclone(vendor, "copy", "--create-empty-src-dirs", "dav:moved", folder / "back")
    assert same_tree(source, folder / "back") == []
    assert "Free" in rclone(vendor, "about", "dav:")
    rclone(vendor, "purge", "dav:moved")
    assert not (meeting.root / "moved").exists()


def test_rclone_into_a_folder_that_shows_nothing(serve, home):
    """It looks at each file that it has uploaded."""
    server = serve("--auth", "bob:bob@/inbox:w")
    (server.root / "inbox").mkdir()
    (home / "source").mkdir()
    (home / "source" / "a").write_text("one")
    hidden = run(rclone_program(), "obscure", "bob").strip()
    for place in ("", "made/deep"):
        run(rclone_program(), "--config", "", "--retries", "1", "copy", home / "source",
            f":webdav,url='{server.url}/inbox',user=bob,pass={hidden}:{place}", env=environment(home))
        assert (server.root / "inbox" / place / "a").read_text() == "one"


@pytest.mark.parametrize("vendor", ["other", "nextcloud"])
def test_rclone_bisync(meeting, rclone, home, folder, vendor):
    here = folder / "here"
    (meeting.root / "there").mkdir()
    os.chmod(meeting.root / "there", 0o777)
    here.mkdir()
    # More unchanged files than changed ones: else bisync takes it for a mistake.
    for name in ("a", "k", "l", "m", "n"):
        (here / name).write_text(name)
    compare = "size,modtime" if vendor == "nextcloud" else "size"

    def bisync(*options):
        rclone(vendor, "bisync", here, "dav:there", "--compare", compare, "--workdir", home / "state", *options)

    bisync("--resync")
    assert same_tree(here, meeting.root / "there") == []
    (here / "b").write_text("from here")
    (meeting.root / "there" / "c").write_text("from there")
    (here / "a").write_text("longer than before")
    bisync()
    assert same_tree(here, meeting.root / "there") == []
    assert sorted(path.name for path in here.iterdir()) == ["a", "b", "c", "k", "l", "m", "n"]


# davfs2

@pytest.fixture
def mount(meeting, folder):
    """A kernel mount: `mount("use_locks 1")`."""
    mounted = []

    def start(*lines):
        cache = folder / "cache"
        cache.mkdir(exist_ok=True)
        shutil.chown(cache, "root", "davfs2")
        cache.chmod(0o1775)
        place = folder / "mnt"
        place.mkdir(exist_ok=True)
        config = folder / "davfs2.conf"
        trust = [f"trust_server_cert {folder}/cert.pem"] if meeting.url.startswith("https:") else []
        config.write_text("\n".join([
            f"cache_dir {cache}", "buf_size 256", "delay_upload 0", "gui_optimize 0", "ask_auth 0", "dir_refresh 0",
            "file_refresh 0", *trust, *lines, ""]))
        run("mount", "-t", "davfs", "-o", f"conf={config}", meeting.url + "/", place, env=environment(folder))
        mounted.append(place)
        return place

    yield start
    for place in mounted:
        run("umount", place, ok=False, timeout=120)
        if os.path.ismount(place):
            subprocess.run(["umount", "-l", str(place)])


def unmount(place):
    """davfs2 sends what it has kept when it is unmounted."""
    run("umount", place, timeout=240)


needs_mount = [
    pytest.mark.root,
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this kernel has no /dev/fuse"),
    pytest.mark.skipif(SANITIZED, reason="davfs2 gives up on a server this slow"),
]


class TestDavfs2:
    pytestmark = needs_mount

    @pytest.mark.parametrize("locks", [0, 1])
    def test_tree(self, meeting, mount, folder, locks):
        source = make_tree(folder / "source", files=100)
        place = mount(f"use_locks {locks}")
        run("cp", "-a", "--no-preserve=ownership", source, place / "tree", timeout=240)
        run("sync")
        unmount(place)
        assert same_tree(source, meeting.root / "tree") == []
        place = mount(f"use_locks {locks}")
        run("cp", "-a", place / "tree", folder / "back", timeout=240)
        assert same_tree(source, folder / "back") == []

    @pytest.mark.parametrize("delay", [0, 4])
    def test_a_folder_that_shows_nothing(self, serve, folder, delay):
        """davfs2 makes a file, locks it, looks at it, lists its folder, and only then writes to it."""
        server = serve("--auth", "bob:bob@/inbox:w")
        (server.root / "inbox").mkdir()
        cache, place, config, secrets = (folder / name for name in ("cache", "mnt", "davfs2.conf", "secrets"))
        for new in (cache, place):
            new.mkdir()
        shutil.chown(cache, "root", "davfs2")
        cache.chmod(0o1775)
        secrets.write_text(f"{place} bob bob\n")
        secrets.chmod(0o600)
        config.write_text(f"cache_dir {cache}\nsecrets {secrets}\ndelay_upload {delay}\nask_auth 0\n")
        run("mount", "-t", "davfs", "-o", f"conf={config}", server.url + "/inbox/", place, env=environment(folder))
        try:
            (place / "made").mkdir()
            for name in ("a", "b", "c"):
                (place / "made" / name).write_text("for bob's eyes only")
                # davfs2 takes what it knows of a folder for true for a second.
                time.sleep(1.5 if delay else 0)
        finally:
            run("umount", place, timeout=240)
        for name in ("a", "b", "c"):
            assert (server.root / "inbox" / "made" / name).read_text() == "for bob's eyes only"

    def test_append_rename_delete(self, meeting, mount):
        place = mount("use_locks 1")
        (place / "a").write_text("one\n")
        with open(place / "a", "a") as file:
            file.write("two\n")
        os.rename(place / "a", place / "b")
        (place / "folder").mkdir()
        os.rename(place / "b", place / "folder" / "c")
        (place / "gone").write_text("x")
        os.remove(place / "gone")
        unmount(place)
        assert (meeting.root / "folder" / "c").read_text() == "one\ntwo\n"
        assert not (meeting.root / "gone").exists()

    def test_quick_writes_are_all_kept(self, meeting, mount):
        """A weak tag in a file's first second made davfs2 drop the second of two writes."""
        place = mount("use_locks 1")
        for index in range(20):
            (place / "a").write_text(f"version {index}\n" * (index + 1))
        unmount(place)
        assert (meeting.root / "a").read_text() == "version 19\n" * 20

    def test_files_replaced_by_new_ones_before_they_are_sent(self, meeting, mount):
        """As git and editors save: beside the file, and renamed. davfs2 waits with what it sends, and holds a lock."""
        place = mount("use_locks 1", "delay_upload 10")
        (place / "a").write_text("0\n")
        for index in range(1, 4):
            (place / "a.lock").write_text((place / "a").read_text() + f"{index}\n")
            os.rename(place / "a.lock", place / "a")
        unmount(place)
        assert (meeting.root / "a").read_text() == "0\n1\n2\n3\n"
        assert not (meeting.root / "a.lock").exists()

    def test_df(self, meeting, mount):
        place = mount()
        here, there = os.statvfs(place), os.statvfs(meeting.root)
        assert abs(here.f_bavail * here.f_frsize - there.f_bavail * there.f_frsize) < 2 << 30


@pytest.mark.parametrize("locks", [0, 1])
class TestDavfs2Heavy:
    pytestmark = needs_mount

    @pytest.fixture
    def meeting(self, meet):
        return meet("plain")

    def test_2000_files(self, meeting, mount, folder, locks):
        source = make_tree(folder / "source", files=2000, seed=2)
        place = mount(f"use_locks {locks}")
        run("cp", "-a", "--no-preserve=ownership", source, place / "tree", timeout=280)
        unmount(place)
        assert same_tree(source, meeting.root / "tree") == []

    def test_rsync_and_git(self, meeting, mount, folder, home, locks):
        source = make_tree(folder / "source", files=100)
        repository = folder / "repository"
        git = environment(home)
        run("git", "init", "-q", repository, env=git)
        for index in range(30):
            (repository / f"file {index}").write_text(f"{index}\n" * 100)
        run("git", "-C", repository, "add", ".", env=git)
        run("git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first", env=git)
        place = mount(f"use_locks {locks}")
        run("rsync", "-rt", "--inplace", f"{source}/", f"{place}/rsync/", timeout=240)
        run("git", "clone", "-q", repository, place / "clone", timeout=240, env=git)
        assert "nothing to commit" in run("git", "-C", place / "clone", "-c", f"safe.directory={place}/clone", "status", env=git)
        unmount(place)
        assert same_tree(source, meeting.root / "rsync") == []
        run("git", "-C", meeting.root / "clone", "-c", f"safe.directory={meeting.root}/clone", "fsck", "--strict", env=git)

    def test_one_gibibyte(self, meeting, mount, folder, locks):
        if locks:
            # Once is enough for the bytes; the locks are the same for any size.
            size = 64 << 20
        else:
            size = 1 << 30
        source = folder / "big"
        with open("/dev/urandom", "rb") as random_bytes, open(source, "wb") as file:
            block = random_bytes.read(1 << 20)
            for index in range(size >> 20):
                file.write(index.to_bytes(4, "big") + block[4:])
        place = mount(f"use_locks {locks}")
        run("cp", source, place / "big", timeout=240)
        unmount(place)
        assert filecmp.cmp(source, meeting.root / "big", shallow=False)


# GNOME

def test_gio(meeting, home, folder):
    (folder / "local").write_text("hello")
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    address = "dav" + meeting.url.removeprefix("http")
    script = folder / "gio.sh"
    script.write_text(textwrap.dedent(f"""\
        set -ex
        echo 1 | gio mount "{address}/" # yes, the certificate is right
        gio copy "{folder}/local" "{address}/one.txt"
        gio mkdir "{address}/folder"
        gio copy "{address}/one.txt" "{address}/folder/two ü.txt"
        gio move "{address}/one.txt" "{address}/moved.txt"
        gio list -a standard::size "{address}/folder"
        gio cat "{address}/folder/two%20%C3%BC.txt"
        gio rename "{address}/moved.txt" renamed.txt
        gio info -f "{address}/" | grep filesystem::free
        echo replaced | gio save "{address}/renamed.txt"
        gio remove "{address}/folder/two%20%C3%BC.txt"
        gio remove "{address}/folder"
        gio mount -u "{address}/"
        """))
    output = run("dbus-run-session", "--", "sh", script, env=environment(home, XDG_RUNTIME_DIR=str(runtime)))
    assert "hello" in output
    names = [path.name for path in meeting.root.iterdir() if path.name != ".shareserve"]
    assert names == ["renamed.txt"], output
    assert (meeting.root / "renamed.txt").read_text() == "replaced\n"


# git over WebDAV

def test_git_push(meeting, home, folder):
    git = environment(home, GIT_SSL_NO_VERIFY="1", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                      GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="init.defaultBranch",
                      GIT_CONFIG_VALUE_0="main")
    bare = meeting.root / "project.git"
    run("git", "init", "-q", "--bare", bare, env=git)
    run("git", "-C", bare, "update-server-info", env=git)
    subprocess.run(["chmod", "-R", "a+rwX", str(bare)], check=True)
    work = folder / "work"
    run("git", "init", "-q", work, env=git)
    for index in range(3):
        (work / f"file {index}").write_text("x" * 1000 * index)
        run("git", "-C", work, "add", ".", env=git)
        run("git", "-C", work, "commit", "-q", "-m", f"{index}", env=git)
        run("git", "-C", work, "push", f"{meeting.url}/project.git", "main", env=git)
    run("git", "-C", work, "push", f"{meeting.url}/project.git", "main:other", env=git)
    head = run("git", "-C", work, "rev-parse", "HEAD", env=git)
    assert run("git", "-C", bare, "-c", "safe.directory=*", "rev-parse", "main", env=git) == head
    run("git", "-c", "safe.directory=*", "-C", bare, "fsck", "--strict", env=git)
    run("git", "clone", "-q", f"{meeting.url}/project.git", folder / "clone", env=git)
    assert (folder / "clone" / "file 2").exists()
    assert not [path for path in bare.rglob("*_LOCK_*")], "no temporary names stay"


# sitecopy

def test_sitecopy(meeting, home, folder):
    source = make_tree(folder / "site", files=40)
    # sitecopy 0.16 keeps its state in XML and loses names that hold markup.
    for path in sorted(source.rglob("*"), reverse=True):
        if any(character in path.name for character in "<&\"'%?#") or not path.name.isascii():
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    config = home / "sitecopyrc"
    config.write_text(textwrap.dedent(f"""\
        site here
          server 127.0.0.1
          port {meeting.port}
          protocol webdav
          {"http secure" if meeting.url.startswith("https:") else ""}
          remote {meeting.url.partition(meeting.authority)[2]}/site/
          local {source}/
        """))
    config.chmod(0o600)
    (home / "state").mkdir(mode=0o700)
    (meeting.root / "site").mkdir()
    os.chmod(meeting.root / "site", 0o777)

    def sitecopy(action):
        # The first time, it asks whether the certificate is right.
        return run("sitecopy", "-r", config, "-p", home / "state", action, "here", input="y\n", env=environment(home))

    sitecopy("--init")
    sitecopy("--update")
    assert same_tree(source, meeting.root / "site") == []
    file = next(path for path in source.rglob("*") if path.is_file())
    file.write_text("changed, and longer than anything before")
    sitecopy("--update")
    assert same_tree(source, meeting.root / "site") == []
    sitecopy("--fetch")


# duplicity

def test_duplicity(meeting, home, folder):
    source = make_tree(folder / "source", files=100)
    address = "webdav" + meeting.url.removeprefix("http").replace("://", "://user:word@") + "/backup"
    trust = ["--ssl-cacert-file", folder / "cert.pem"] if meeting.url.startswith("https:") else []
    common = ["--no-encryption", *trust, "--archive-dir", home / "archive", "--tempdir", folder]
    run("/usr/bin/duplicity", "full", *common, source, address, env=environment(home, FTP_PASSWORD="word"))
    changed = next(path for path in source.rglob("*") if path.is_file())
    changed.write_text("changed")
    # duplicity tells a change by size and whole seconds.
    os.utime(changed, (time.time() + 60, time.time() + 60))
    run("/usr/bin/duplicity", "incremental", *common, source, address, env=environment(home))
    run("/usr/bin/duplicity", "verify", *common, address, source, env=environment(home))
    run("/usr/bin/duplicity", "restore", *common, address, folder / "restored", env=environment(home))
    assert same_tree(source, folder / "restored") == []


# davix

def test_davix(meeting, home, folder):
    (folder / "local").write_text("hello")
    options = ["-k"]
    run("davix-mkdir", *options, f"{meeting.url}/folder", env=environment(home))
    run("davix-put", *options, folder / "local", f"{meeting.url}/folder/file", env=environment(home))
    assert "file" in run("davix-ls", *options, f"{meeting.url}/folder/", env=environment(home))
    run("davix-get", *options, f"{meeting.url}/folder/file", folder / "back", env=environment(home))
    assert (folder / "back").read_text() == "hello"
    # davix-mv ends with 255 whatever happens; the disk tells.
    run("davix-mv", *options, f"{meeting.url}/folder/file", f"{meeting.url}/folder/moved", env=environment(home), ok=False)
    assert (meeting.root / "folder" / "moved").exists()
    run("davix-rm", *options, f"{meeting.url}/folder/moved", env=environment(home))
    assert list((meeting.root / "folder").iterdir()) == []


# Python

def test_webdavclient3(meeting, folder):
    from webdav3.client import Client
    client = Client({"webdav_hostname": meeting.url, "webdav_login": "a", "webdav_password": "b"})
    client.verify = False
    (folder / "local").write_text("hello")
    assert client.check("/")
    client.mkdir("folder")
    assert client.check("folder") and client.is_dir("folder")
    client.upload_sync(remote_path="folder/a ü.txt", local_path=str(folder / "local"))
    assert "a ü.txt" in client.list("folder")
    client.copy("folder/a ü.txt", "folder/b.txt")
    client.move("folder/b.txt", "c.txt", overwrite=True)
    client.download_sync(remote_path="c.txt", local_path=str(folder / "back"))
    assert (folder / "back").read_text() == "hello"
    assert client.info("c.txt")["size"] == "5"
    assert int(client.free()) > 0
    client.set_property("c.txt", {"namespace": "urn:test", "name": "colour", "value": "blue"})
    assert client.get_property("c.txt", {"namespace": "urn:test", "name": "colour"}) == "blue"
    client.clean("folder")
    assert not client.check("folder")
    assert not client.check("missing")


def test_webdav4(meeting, folder):
    from webdav4.client import Client
    client = Client(meeting.url, verify=False)
    (folder / "local").write_text("hello")
    client.mkdir("folder")
    client.upload_file(str(folder / "local"), "folder/a ü.txt")
    with pytest.raises(Exception):
        client.upload_file(str(folder / "local"), "folder/a ü.txt", overwrite=False)
    assert client.exists("folder/a ü.txt") and client.isdir("folder") and client.isfile("folder/a ü.txt")
    assert client.content_length("folder/a ü.txt") == 5
    assert client.etag("folder/a ü.txt")
    client.copy("folder/a ü.txt", "b.txt")
    client.move("b.txt", "c.txt")
    with client.open("c.txt") as file:
        assert file.read() == "hello"
    assert {entry["name"].strip("/") for entry in client.ls("/")} == {"folder", "c.txt"}
    client.download_file("c.txt", str(folder / "back"))
    client.remove("folder")
    assert not client.exists("folder")


def test_webdav4_filesystem(meeting, folder):
    from webdav4.fsspec import WebdavFileSystem
    files = WebdavFileSystem(meeting.url, verify=False)
    with files.open("numbers", "wb") as file:
        file.write(bytes(range(256)) * 1000)
    with files.open("numbers", "rb") as file:
        file.seek(100_000)
        assert file.read(256) == (bytes(range(256)) * 2)[100_000 % 256:][:256]
    files.rm("numbers")


# Films

def test_ffmpeg_seeks(meeting, folder):
    film = meeting.root / "film.mp4"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=20:size=320x240:rate=10", "-pix_fmt", "yuv420p", film)
    probed = run("ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", f"{meeting.url}/film.mp4")
    assert float(probed) == pytest.approx(20, abs=0.5)
    run("ffmpeg", "-v", "error", "-ss", "15", "-i", f"{meeting.url}/film.mp4", "-frames:v", "1", folder / "frame.png")
    assert (folder / "frame.png").stat().st_size > 0
    run("ffmpeg", "-v", "error", "-i", f"{meeting.url}/film.mp4", "-c", "copy", "-f", "matroska", "-method", "PUT",
        f"{meeting.url}/copy.mkv")
    wait_until(lambda: (meeting.root / "copy.mkv").exists(), "the film that ffmpeg sent is there")


# curl

def test_curl(meeting, folder):
    (folder / "local").write_bytes(bytes(range(256)) * 4096)

    def curl(method, target, *options):
        return run("curl", "-sSk", "-X", method, "-w", "\n%{http_code}", *options, meeting.url + target).splitlines()

    assert curl("MKCOL", "/folder/")[-1] == "201"
    assert curl("PUT", "/folder/a%20%C3%BC", "-T", folder / "local")[-1] == "201"
    assert (meeting.root / "folder" / "a ü").read_bytes() == (folder / "local").read_bytes()
    assert curl("COPY", "/folder/a%20%C3%BC", "-H", f"Destination: {meeting.url}/copy")[-1] == "201"
    assert curl("MOVE", "/copy", "-H", f"Destination: {meeting.url}/folder/moved", "-H", "Overwrite: F")[-1] == "201"
    listed = "\n".join(curl("PROPFIND", "/folder", "-H", "Depth: 1"))
    place = meeting.url.partition(meeting.authority)[2]
    for href in ("/folder/", "/folder/a%20%C3%BC", "/folder/moved"):
        assert f"<D:href>{place}{href}</D:href>" in listed
    run("curl", "-sSk", "-X", "LOCK", "-d", LOCK, "-D", folder / "head", f"{meeting.url}/folder/moved")
    token = next(line.partition(":")[2].strip() for line in (folder / "head").read_text().splitlines() if line.lower().startswith("lock-token:"))
    assert curl("DELETE", "/folder")[-1] in ("207", "423")
    assert curl("DELETE", "/folder/moved", "-H", f"If: <{meeting.url}/folder/moved> ({token})")[-1] == "204"
    whole = (folder / "local").read_bytes()
    (folder / "part").write_bytes(whole[:1000])
    run("curl", "-sSfk", "-C", "-", "-o", folder / "part", f"{meeting.url}/folder/a%20%C3%BC")
    assert (folder / "part").read_bytes() == whole
    assert curl("DELETE", "/folder/")[-1] == "204"
    assert [path.name for path in meeting.root.iterdir()] == [".shareserve"]
