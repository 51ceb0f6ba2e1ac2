"""Folders and selections as one download, read back by the tools that people have."""

import io
import os
import random
import socket
import subprocess
import tarfile
import threading
import zipfile
from urllib.parse import quote

import pytest
import requests
import urllib3

from server import SANITIZED, wait_until
from tracing import failing, traced
from wire import Wire, ask

NOBODY = 65534
NOTE = "NOT-IN-THIS-ARCHIVE.txt"
FORM = "Content-Type: application/x-www-form-urlencoded"
NAMES = ["plain.txt", "spaces and #%?&.txt", "umläut 日本 🎉.bin", "a/b/c/deep", "quote\"'<b>.html", "-dash", "back\\slash"]


@pytest.fixture
def tree(server):
    """Files with odd names, an empty folder, an empty file, and a link that leads round in a circle."""
    content = {}
    for number, name in enumerate(NAMES):
        path = server.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content[name] = os.urandom(number * 70_000)
        path.write_bytes(content[name])
        os.utime(path, (1_600_000_000 + 2 * number, 1_600_000_000 + 2 * number))
    (server.root / "empty folder" / "inside").mkdir(parents=True)
    (server.root / "a" / "round").symlink_to("..")
    return content


def fetch(server, query, **options):
    return requests.get(f"{server.url}/?{query}", timeout=60, **options)


def test_zip_holds_all(server, tree, folder):
    answer = fetch(server, "archive=zip")
    assert answer.headers["Content-Type"] == "application/zip"
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    names = set(archive.namelist())
    for name, content in tree.items():
        assert archive.read(name) == content
    assert {"empty folder/", "empty folder/inside/", "a/", "a/b/"} <= names
    assert NOTE not in names
    assert archive.getinfo("plain.txt").date_time == (2020, 9, 13, 12, 26, 40)
    saved = folder / "all.zip"
    saved.write_bytes(answer.content)
    assert subprocess.run(["unzip", "-tq", saved], capture_output=True).returncode == 0
    assert subprocess.run(["bsdtar", "-tf", saved], capture_output=True).returncode == 0
    # From a pipe, where the central directory at the end cannot be read first.
    piped = subprocess.run(["bsdtar", "-xOf", "-", "a/b/c/deep"], input=answer.content, capture_output=True)
    assert piped.stdout == tree["a/b/c/deep"]


@pytest.mark.parametrize("kind", ["tar", "tar.gz"])
def test_tar_holds_all(server, tree, kind):
    answer = fetch(server, f"archive={kind}", stream=True)
    body = answer.raw.read(decode_content=False)
    assert ("Content-Length" in answer.headers) == (kind == "tar")
    with tarfile.open(fileobj=io.BytesIO(body), mode="r:gz" if kind == "tar.gz" else "r:") as archive:
        for name, content in tree.items():
            assert archive.extractfile(name).read() == content
        assert archive.getmember("empty folder/inside").isdir()
        assert archive.getmember("plain.txt").mtime == 1_600_000_000
    assert subprocess.run(["bsdtar", "-tf", "-"], input=body, capture_output=True).returncode == 0


def test_long_paths_and_odd_times(server):
    long = "/".join(["d" * 200, "e" * 200, "f" * 255])
    (server.root / long).parent.mkdir(parents=True)
    (server.root / long).write_text("x")
    (server.root / "old").write_text("y")
    os.utime(server.root / "old", (-86_400, -86_400))
    (server.root / "far").write_text("z")
    os.utime(server.root / "far", (5_000_000_000, 5_000_000_000))
    assert zipfile.ZipFile(io.BytesIO(fetch(server, "archive=zip").content)).read(long) == b"x"
    with tarfile.open(fileobj=io.BytesIO(fetch(server, "archive=tar").content)) as archive:
        assert archive.extractfile(long).read() == b"x"
        assert archive.getmember("old").mtime == -86_400
        assert archive.getmember("far").mtime == 5_000_000_000


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_resumed_in_pieces(server, tree, kind):
    first = fetch(server, f"archive={kind}")
    tag, whole = first.headers["ETag"], first.content
    assert not tag.startswith("W/")
    dice = random.Random(7)
    for _ in range(3):
        got = b""
        while len(got) < len(whole):
            end = min(len(whole), len(got) + dice.randrange(1, len(whole) // 3)) - 1
            part = fetch(server, f"archive={kind}", headers={"Range": f"bytes={len(got)}-{end}", "If-Range": tag})
            assert part.status_code == 206
            assert part.headers["Content-Range"] == f"bytes {len(got)}-{end}/{len(whole)}"
            got += part.content
        assert got == whole


def test_resumed_after_a_restart(server, tree):
    whole = fetch(server, "archive=zip")
    server.stop()
    server.start()
    middle = len(whole.content) // 2
    rest = fetch(server, "archive=zip", headers={"Range": f"bytes={middle}-", "If-Range": whole.headers["ETag"]})
    assert rest.status_code == 206 and rest.content == whole.content[middle:]


def test_a_changed_tree_is_sent_anew(server, tree):
    first = fetch(server, "archive=zip")
    assert fetch(server, "archive=zip", headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    (server.root / "more").write_text("more")
    again = fetch(server, "archive=zip", headers={"Range": "bytes=100-", "If-Range": first.headers["ETag"]})
    assert again.status_code == 200 and again.headers["ETag"] != first.headers["ETag"]
    beyond = fetch(server, "archive=zip", headers={"Range": "bytes=999999999-"})
    assert beyond.status_code == 416 and beyond.headers["Content-Range"].startswith("bytes */")


def test_selection(server, tree):
    answer = fetch(server, "archive=zip&name=plain.txt&name=a")
    names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert "plain.txt" in names and "a/b/c/deep" in names and "-dash" not in names
    assert fetch(server, "archive=zip&name=nothing").status_code == 404
    for evil in ("..", "a/b", "%2e%2e", "a%00", ""):
        assert fetch(server, f"archive=zip&name={evil}").status_code == 400, evil
    assert fetch(server, "archive=rar").status_code == 400


def named(server, body, kind="zip"):
    """An archive of what a form's body names."""
    return requests.post(f"{server.url}/?archive={kind}", data=body, timeout=60,
                         headers={"Content-Type": "application/x-www-form-urlencoded"})


def test_selection_in_depth(server, tree):
    """What a search found in several folders comes as one archive, each thing once."""
    answer = fetch(server, "archive=zip&path=a/b/c/deep&path=plain.txt&path=a/b/&path=plain.txt")
    found = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert sorted(found) == sorted(set(found)) and {"plain.txt", "a/b/c/deep"} <= set(found), found
    assert all(name == "plain.txt" or name.startswith("a/b/") for name in found), found
    (server.root / "a-b").write_bytes(b"beside")
    answer = fetch(server, "archive=tar&path=a/b/c/deep&path=a-b&path=a")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        assert sorted(archive.getnames()) == sorted(set(archive.getnames()))
        assert archive.extractfile("a-b").read() == b"beside"
    assert 'filename="deep.zip"' in fetch(server, "archive=zip&path=a/b/c/deep").headers["Content-Disposition"]
    assert fetch(server, "archive=zip&path=a/nothing").status_code == 404
    assert fetch(server, "archive=zip&path=.shareserve/lock").status_code == 404
    for evil in ("..", "a/../..", "%2e%2e/x", "a%00", "", "/", "x" * 300):
        assert fetch(server, f"archive=zip&path={evil}").status_code == 400, evil


def test_selection_too_long_for_an_address(server, tree):
    names = [f"photo {n:05} of a long journey, ä.jpg" for n in range(2_000)]
    for name in names:
        (server.root / name).write_text(name)
    body = "&".join(f"name={quote(name)}" for name in names)
    assert len(body) > 64 * 1024
    # The second as a browser ends a form that it sends as plain text.
    for ending in ("", "\r\n"):
        answer = named(server, body + ending)
        assert answer.status_code == 200 and int(answer.headers["Content-Length"]) == len(answer.content)
        assert answer.headers["Content-Disposition"].startswith("attachment")
        # Its address does not identify the content: a client can neither resume it nor ask whether it is still the
        # same.
        assert "ETag" not in answer.headers and "Accept-Ranges" not in answer.headers
        archive = zipfile.ZipFile(io.BytesIO(answer.content))
        assert archive.testzip() is None and archive.namelist() == sorted(names, key=str.encode)
        assert archive.read(names[-1]) == names[-1].encode()
    # Also in pieces, without a length.
    with tarfile.open(fileobj=io.BytesIO(named(server, iter([body[:99].encode(), body[99:].encode()]), "tgz").content)) as archive:
        assert archive.getnames() == sorted(names, key=str.encode)
    assert "photo 00000 of a long journey, ä.jpg" in named(server, "").content.decode("utf-8", "ignore")
    assert named(server, "name=plain.txt", "rar").status_code == 400
    assert named(server, "name=nothing").status_code == 404
    assert named(server, "name=..").status_code == 400
    many = named(server, "name=plain.txt&" * 20_001)
    assert many.status_code == 413 and "20000" in many.text
    assert named(server, "name=plain.txt\n" * 20_001).status_code == 413
    large = named(server, "name=" + "x" * (4 << 20))
    assert large.status_code == 413 and "20000" in large.text
    answer = requests.post(f"{server.url}/plain.txt?archive=zip", data="name=a", timeout=60)
    assert 400 <= answer.status_code < 500, answer.status_code


def replaced_by_a_folder(path):
    path.unlink()
    path.mkdir()


def changed_behind_its_time(path):
    """As `exiftool -P` does: in place, and the time put back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {
    "shorter": lambda path: path.write_bytes(b"short"),
    "longer": lambda path: path.open("ab").write(b"more"),
    "other content": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "other content, same time": changed_behind_its_time,
    "gone": lambda path: path.unlink(),
    "closed": lambda path: path.chmod(0),
    "a folder now": replaced_by_a_folder,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "the rest of a zip"])
def test_a_file_that_changes_meanwhile_ends_it(server, kind, change):
    for number in range(30):
        (server.root / f"{number:02}").write_bytes(os.urandom(1_000_000))
    query, headers = f"archive={kind.split()[-1]}", {}
    if kind.startswith("the rest"):
        tag = requests.head(f"{server.url}/?{query}", timeout=60).headers["ETag"]
        headers = {"Range": "bytes=1000000-", "If-Range": tag}
    answer = fetch(server, query, stream=True, headers=headers)
    assert answer.status_code == (206 if headers else 200)
    answer.raw.read(100_000)
    CHANGES[change](server.root / "29")
    # Whether a client relies on the length or on the last chunk: it does not arrive.
    with pytest.raises(urllib3.exceptions.ProtocolError):
        while answer.raw.read(1_000_000, decode_content=False):
            pass
    wait_until(lambda: "an answer was cut off" in server.logged() and "/29 changed" in server.logged(), "a line in the log")


def test_a_client_that_leaves_is_no_line_in_the_log(server):
    (server.root / "large").write_bytes(bytes(96 << 20))
    answer = fetch(server, "archive=tar", stream=True)
    answer.raw.read(100_000)
    answer.close()
    wait_until(lambda: "?archive=tar" in server.logged(), "the request in the log")
    assert "cut off" not in server.logged()


@pytest.mark.parametrize("kind", ["zip", "tar", "a zip sent before"])
def test_a_large_file_that_changes_while_it_is_sent_ends_it(server, kind):
    """Whatever is on the way already: what comes whole was never torn."""
    path = server.root / "large"
    path.write_bytes(bytes(96 << 20))
    (server.root / "more").write_bytes(bytes(48 << 20))
    query = "archive=" + ("tar" if kind == "tar" else "zip")
    if kind == "a zip sent before":
        fetch(server, query)
    answer = fetch(server, query, stream=True)
    answer.raw.read(100_000)
    with path.open("r+b") as file:
        file.seek(-1_000_000, os.SEEK_END)
        file.write(b"torn")
    with pytest.raises(urllib3.exceptions.ProtocolError):
        while answer.raw.read(1_000_000, decode_content=False):
            pass


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_conditions_and_ranges(server, tree, kind):
    whole = fetch(server, f"archive={kind}")
    tag, size = whole.headers["ETag"], len(whole.content)
    head = requests.head(f"{server.url}/?archive={kind}", timeout=60)
    assert head.status_code == 200 and not head.content
    assert (head.headers["ETag"], head.headers["Content-Length"]) == (tag, str(size)) and head.headers["Accept-Ranges"] == "bytes"

    def status(**fields):
        return fetch(server, f"archive={kind}", headers={name.replace("_", "-"): value for name, value in fields.items()})

    assert status(If_Match=tag).status_code == 200
    assert status(If_Match='"other"').status_code == 412
    assert status(If_None_Match=tag).status_code == 304
    assert status(Range="bytes=-10", If_Range=tag).content == whole.content[-10:]
    assert status(Range="bytes=5-5").content == whole.content[5:6]
    # A weak tag, another tag and a time do not guarantee identical bytes.
    for other in ["W/" + tag, '"other"', "Sat, 29 Oct 2044 19:43:31 GMT"]:
        again = status(Range="bytes=5-9", If_Range=other)
        assert again.status_code == 200 and len(again.content) == size, other
    assert status(Range=f"bytes={size}-").headers["Content-Range"] == f"bytes */{size}"
    several = status(Range="bytes=0-1,4-5")
    assert several.status_code in (200, 206) and (several.status_code == 206 or several.content == whole.content)


def ordinary_user():
    """Root may read everything."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


@pytest.fixture
def partly_closed(serve, folder):
    """A server whose user may not read all that is in its directory; and what is to be said of that."""
    root = folder / "share"
    (root / "sub" / "closed folder").mkdir(parents=True)
    (root / "names only").mkdir()
    for name in ["open", "closed", "sub/open", "sub/line\nbreak: closed", "sub/closed folder/file", "names only/file"]:
        (root / name).write_bytes(name.encode() * 1000)
    (root / "link").symlink_to("sub/line\nbreak: closed")
    (root / "fine link").symlink_to("open")
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink() and os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    for name, mode in [("closed", 0), ("sub/line\nbreak: closed", 0), ("sub/closed folder", 0), ("names only", 0o444)]:
        (root / name).chmod(mode)
    left_out = {
        "closed: no permission", "link: no permission", "names only/ and all that is in it: no permission",
        "sub/closed folder/ and all that is in it: no permission", "sub/line\ufffdbreak: closed: no permission"}
    return serve(preexec=ordinary_user), left_out


def content(kind, body):
    """Every file of an archive, and what it holds."""
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            assert archive.testzip() is None
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_what_cannot_be_read_is_left_out_and_named(partly_closed, kind):
    server, left_out = partly_closed
    answer = fetch(server, f"archive={kind}", stream=True)
    body = answer.raw.read(decode_content=False)
    if kind != "tar.gz":
        assert int(answer.headers["Content-Length"]) == len(body)
    found = content(kind, body)
    lines = found.pop(NOTE).decode().splitlines()
    assert set(lines[2:]) == left_out
    assert list(lines[:2]) == ["This archive is not complete. The server could not read:", ""]
    assert found == {name: name.encode() * 1000 for name in ["open", "sub/open"]} | {"fine link": b"open" * 1000}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_incomplete_archive_is_resumed(partly_closed, kind):
    server, _ = partly_closed
    whole = fetch(server, f"archive={kind}")
    tag, size = whole.headers["ETag"], len(whole.content)
    for start in [1, size // 2, size - 700, size - 500, size - 30]:
        rest = fetch(server, f"archive={kind}", headers={"Range": f"bytes={start}-", "If-Range": tag})
        assert rest.status_code == 206 and rest.content == whole.content[start:], start
    # More may be read now: the rest of another archive is of no use.
    (server.root / "closed").chmod(0o644)
    again = fetch(server, f"archive={kind}", headers={"Range": "bytes=100-", "If-Range": tag})
    assert again.status_code == 200 and content(kind, again.content)["closed"] == b"closed" * 1000


def test_note_takes_nobodys_name(partly_closed):
    server, _ = partly_closed
    for name in [NOTE, NOTE.lower()]:
        (server.root / name).write_text("somebody's")
    found = content("zip", fetch(server, "archive=zip").content)
    assert found.pop(NOTE) == found.pop(NOTE.lower()) == b"somebody's"
    note, = [name for name in found if name.startswith("NOT-IN-THIS-ARCHIVE-")]
    assert b"closed: no permission" in found[note]


def test_selection_that_cannot_be_read_at_all(partly_closed):
    server, _ = partly_closed
    assert fetch(server, "archive=zip&name=closed").status_code == 403
    assert fetch(server, "archive=zip&name=names%20only").status_code == 403
    found = content("zip", fetch(server, "archive=zip&name=closed&name=open").content)
    assert found["open"] == b"open" * 1000 and b"closed: no permission" in found[NOTE]


@pytest.mark.parametrize("error, status", [("ENOKEY", 200), ("EMFILE", 503), ("ENOMEM", 500)])
def test_file_that_does_not_open_for_another_reason(server, error, status):
    """One whose key is missing is left out; when files or memory are short, it might be any."""
    (server.root / "sub").mkdir()
    (server.root / "sub" / "file").write_text("x")
    with failing(server, "openat", error=error):
        answer = fetch(server, "archive=tar")
    assert answer.status_code == status
    if status == 200:
        assert b"sub/file: it can't be opened\n" in content("tar", answer.content)[NOTE]
    assert content("tar", fetch(server, "archive=tar").content) == {"sub/file": b"x"}


def test_packages_that_link_each_other(server):
    """There are a million ways from one to another, and none of them is a loop."""
    packages = [f"package {number}" for number in range(10)]
    for name in packages:
        modules = server.root / "all" / name / "node_modules"
        modules.mkdir(parents=True)
        (modules.parent / "index").write_text(name)
        for other in packages:
            if other != name:
                (modules / other).symlink_to(f"../../{other}")
    direct = {f"{name}/node_modules/{other}/index": other.encode() for name in packages for other in packages if other != name}
    for kind in ["zip", "tar"]:
        answer = requests.get(f"{server.url}/all/?archive={kind}", timeout=10)
        found = content(kind, answer.content)
        assert b"/ and all that is in it: links lead to it over and over\n" in found.pop(NOTE)
        assert direct.items() <= found.items() and len(found) < 1_000 + 5 * len(direct)
        assert requests.head(f"{server.url}/all/?archive={kind}", timeout=10).headers["ETag"] == answer.headers["ETag"]
    copied = ask(server, "COPY", "/all/", "Destination: /copied/")
    assert copied.status == 207 and b"/all/package%200/node_modules/" in copied.body
    assert all((server.root / "copied" / name).read_bytes() == own for name, own in direct.items())


@pytest.fixture
def slow(server, folder):
    """What walks through its tree takes half a minute; and the trace of those steps."""
    for number in range(1000):
        (server.root / f"{number:04}").mkdir()
    place = folder / "steps"
    delay = ["-e", "trace=getdents64", "-e", "inject=getdents64:delay_enter=15000"]
    with traced(server, "-o", str(place), *delay):
        yield place


@pytest.mark.parametrize("request_line", [("GET", "/?archive=zip"), ("POST", "/?archive=tar")])
def test_nobody_plans_for_a_client_that_has_gone(server, slow, request_line):
    """It has closed its connection as any program does that ends, without a reset."""
    wire = Wire(server)
    chosen = "&".join(f"path={number:04}" for number in range(1000))
    wire.request(*request_line, FORM, body=chosen if request_line[0] == "POST" else None)
    wait_until(lambda: slow.stat().st_size > 0, "the walk has begun")
    wire.close()
    sizes = []

    def has_ended():
        sizes.append(slow.stat().st_size)
        return len(sizes) > 100 and sizes[-100] == sizes[-1]

    wait_until(has_ended, "the walk has ended", timeout=8)


def test_who_only_says_no_more_gets_the_archive(server, slow):
    wire = Wire(server, timeout=90)
    wire.request("GET", "/?archive=zip&name=" + "&name=".join(f"{number:04}" for number in range(100)))
    wire.socket.shutdown(socket.SHUT_WR)
    assert wire.response(interim=True).status == 102
    answer = wire.response()
    assert answer.status == 200 and len(zipfile.ZipFile(io.BytesIO(answer.body)).namelist()) == 100


@pytest.mark.memory
def test_memory_stays_small(server):
    content = os.urandom(1 << 20)
    for number in range(100):
        (server.root / f"{number}").write_bytes(content)

    def read():
        answer = fetch(server, "archive=zip", stream=True)
        while answer.raw.read(1 << 20):
            pass

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.peak_memory() < 64 << 20


def test_many_searches_and_archives_at_a_time(server, tree):
    """Whatever strangers ask for at once, the server stays well and says so."""
    answers = []

    def ask(query):
        answers.append(requests.get(server.url + query, timeout=60).status_code)

    threads = [threading.Thread(target=ask, args=(query,)) for query in ["/?archive=zip", "/.shareserve/search?q=a"] * 60]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {200, 503} and answers.count(200) >= 16
    assert fetch(server, "archive=zip").status_code == 200


@pytest.fixture
def chosen(server):
    (server.root / "f" / "g").mkdir(parents=True)
    (server.root / "f" / "a.txt").write_text("a")
    (server.root / "f" / "g" / "b c.txt").write_text("b")
    return server


def listed(server, body, *fields):
    answer = ask(server, "POST", "/f/?archive=zip", *fields, body=body)
    return answer.status, sorted(zipfile.ZipFile(io.BytesIO(answer.body)).namelist()) if answer.status == 200 else None


@pytest.mark.parametrize("fields", [[FORM], ["Content-Type: text/plain"], ["Content-Type: Text/Plain; charset=utf-8"], []])
def test_a_list_in_the_body(chosen, fields):
    every = (200, ["a.txt", "g/b c.txt"])
    assert listed(chosen, b"path=a.txt&path=g/b%20c.txt", *fields) == every
    assert listed(chosen, b"path=a.txt\r\npath=g/b+c.txt\r\n", *fields) == every
    assert listed(chosen, b"name=a.txt&other=1", *fields) == (200, ["a.txt"])


def test_a_list_that_chooses_nothing_does_not_choose_all(chosen):
    for body in (b"x", b"paths=a.txt", b"a.txt\ng/b c.txt\n", b"\n", b"&&", b"x\n" * 15_000):
        assert listed(chosen, body, FORM)[0] == 400, body[:20]
    for kind in ("application/json", "multipart/form-data; boundary=x", "application/octet-stream", "text/html"):
        assert listed(chosen, b'{"paths":["a.txt"]}', f"Content-Type: {kind}")[0] == 415, kind
    assert listed(chosen, b"path=a.txt&path=", FORM)[0] == 400
    assert listed(chosen, b"path=a.txt&path=../x", FORM)[0] == 400


def test_a_list_is_bounded(chosen):
    for separator in (b"&", b"\n", b"\r\n"):
        assert listed(chosen, separator.join([b"x=1"] * 19_999 + [b"path=a.txt"]) + separator, FORM) == (200, ["a.txt"])
        assert listed(chosen, separator.join([b"x=1"] * 20_000 + [b"path=a.txt"]), FORM)[0] == 413
    assert listed(chosen, b"path=" + b"a/" * 20_000, FORM)[0] == 400
    assert listed(chosen, b"path=a.txt&x=" + b"y" * (4 << 20), FORM)[0] == 413


@pytest.mark.parametrize("body", [
    b"path=" + b"d/" * (2 << 20), b"x\n" * (2 << 20), b"\n".join([b"path=" + b"%64" * 65] * 20_000),
    b"&".join([b"path=" + b"d/" * 100] * 20_000)], ids=["deep", "lines", "encoded", "many"])
def test_a_list_costs_little(chosen, body):
    before = chosen.cpu_seconds()
    assert ask(chosen, "POST", "/f/?archive=zip", FORM, body=body[:4 << 20]).status in (400, 404, 413)
    assert chosen.cpu_seconds() - before < (10 if SANITIZED else 0.7)
