"""tus 1.0, rule by rule, with its own client, and over killed servers."""

import base64
import hashlib
import os
import random
import socket
import struct
import subprocess
import threading
import time

import pytest
import requests
from tusclient import client as tus_client

from server import free_port, wait_until
from tracing import traced
from wire import Wire

VERSION = {"Tus-Resumable": "1.0.0"}
BYTES = VERSION | {"Content-Type": "application/offset+octet-stream"}


def metadata(**pairs):
    return ",".join(f"{key} {base64.b64encode(str(value).encode()).decode()}" for key, value in pairs.items())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "big")


class Tus:
    def __init__(self, server):
        self.server = server
        self.store = server.url + "/.shareserve/uploads"

    def create(self, length=None, status=201, headers=None, data=None, **pairs):
        fields = VERSION | ({"Upload-Length": str(length)} if length is not None else {})
        if pairs:
            fields["Upload-Metadata"] = metadata(**pairs)
        answer = requests.post(self.store, headers=fields | (headers or {}), data=data, timeout=60)
        assert answer.status_code == status, (answer.status_code, answer.text)
        if status != 201:
            return answer
        return requests.compat.urljoin(self.store, answer.headers["Location"])

    def patch(self, address, offset, data, headers=None):
        return requests.patch(address, headers=BYTES | {"Upload-Offset": str(offset)} | (headers or {}), data=data, timeout=60)

    def head(self, address):
        return requests.head(address, headers=VERSION, timeout=60)


@pytest.fixture
def tus(server):
    return Tus(server)


def test_discovery(tus):
    answer = requests.options(tus.store, timeout=20)
    assert answer.status_code in (200, 204)
    assert answer.headers["Tus-Version"] == "1.0.0"
    assert set(answer.headers["Tus-Extension"].split(",")) == {
        "creation", "creation-with-upload", "creation-defer-length", "checksum", "termination", "expiration", "concatenation"}
    assert set(answer.headers["Tus-Checksum-Algorithm"].split(",")) == {"sha1", "sha256", "crc32c"}


def test_version_is_asked_for(tus):
    answer = requests.post(tus.store, headers={"Upload-Length": "1", "Tus-Resumable": "0.2.2"}, timeout=20)
    assert answer.status_code == 412 and answer.headers["Tus-Version"] == "1.0.0"
    assert requests.post(tus.store, headers={"Upload-Length": "1"}, timeout=20).status_code == 412


def test_every_answer_says_the_version(tus):
    """Core: “included in every request and response except for OPTIONS”; another version is not processed."""
    address = tus.create(3, filename="a")
    nowhere = tus.store + "/" + "0" * 32
    for method, place, status in [
        ("HEAD", address, 200), ("GET", address, 405), ("PUT", address, 405), ("PATCH", address, 415),
        ("HEAD", nowhere, 404), ("PATCH", nowhere, 404), ("DELETE", nowhere, 404), ("POST", tus.store, 400),
        ("PATCH", tus.store, 405), ("GET", tus.store, 405), ("DELETE", tus.store, 405), ("DELETE", address, 204),
    ]:
        headers = VERSION | (BYTES | {"Upload-Offset": "0"} if (method, place) == ("PATCH", nowhere) else {})
        answer = requests.request(method, place, headers=headers, timeout=20)
        assert (answer.status_code, answer.headers.get("Tus-Resumable")) == (status, "1.0.0"), (method, place)


def test_whole_upload_is_not_told_before_it_has_its_name(server, tus):
    """A client that hears that nothing is missing takes its file for uploaded, and sends no more."""
    (server.root / "a").write_bytes(b"old")
    address = tus.create(3, filename="a", conflict="replace")
    lock = requests.request("LOCK", server.url + "/a", timeout=20, data=(
        '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'))
    assert tus.patch(address, 0, b"new").status_code == 423
    answer = tus.head(address)
    assert answer.status_code == 423 and answer.headers["Upload-Offset"] == answer.headers["Upload-Length"] == "3"
    assert (server.root / "a").read_bytes() == b"old"
    token = {"Lock-Token": lock.headers["Lock-Token"]}
    assert requests.request("UNLOCK", server.url + "/a", headers=token, timeout=20).status_code == 204
    answer = tus.head(address)
    assert answer.status_code == 200 and answer.headers["Upload-Offset"] == "3" and answer.headers["ETag"]
    assert (server.root / "a").read_bytes() == b"new"


@pytest.mark.parametrize("method", ["HEAD", "PATCH", "DELETE"])
def test_another_version_changes_nothing(tus, method):
    address = tus.create(3, filename="a")
    headers = BYTES | {"Upload-Offset": "0", "Tus-Resumable": "0.2.2"}
    answer = requests.request(method, address, headers=headers, timeout=20)
    assert answer.status_code == 412 and answer.headers["Tus-Version"] == "1.0.0"
    assert tus.head(address).headers["Upload-Offset"] == "0"


def test_an_upload_in_pieces(tus):
    address = tus.create(10, path="/", filename="a b.txt", mtime=1_600_000_000_123)
    assert not (tus.server.root / "a b.txt").exists()
    first = tus.patch(address, 0, b"01234")
    assert first.status_code == 204 and first.headers["Upload-Offset"] == "5" and "Upload-Expires" in first.headers
    state = tus.head(address)
    assert state.headers["Upload-Offset"] == "5" and state.headers["Upload-Length"] == "10"
    assert "no-store" in state.headers["Cache-Control"] and "filename" in state.headers["Upload-Metadata"]
    wrong = tus.patch(address, 4, b"x")
    assert wrong.status_code == 409
    last = tus.patch(address, 5, b"56789", {"Want-Repr-Digest": "sha-256=1"})
    assert last.status_code == 204 and last.headers["Upload-Offset"] == "10"
    assert last.headers["Content-Location"] == "/a%20b.txt"
    digest = base64.b64encode(hashlib.sha256(b"0123456789").digest()).decode()
    assert last.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    file = tus.server.root / "a b.txt"
    assert file.read_bytes() == b"0123456789" and file.stat().st_mtime == pytest.approx(1_600_000_000.123, abs=1e-3)
    assert last.headers["ETag"] == requests.head(f"{tus.server.url}/a%20b.txt", timeout=20).headers["ETag"]
    assert tus.head(address).headers["Upload-Offset"] == "10"
    assert tus.patch(address, 10, b"").status_code == 204


def test_hidden_until_finished(tus):
    address = tus.create(10, filename="x")
    tus.patch(address, 0, b"12345")
    assert requests.get(tus.server.url + "/?json", timeout=20).json()["entries"] == []
    assert requests.get(tus.server.url + "/.shareserve/uploads", timeout=20).status_code in (404, 405)


def test_creation_with_upload_and_empty(tus):
    tus.create(4, data=b"abcd", headers=BYTES, filename="whole")
    assert (tus.server.root / "whole").read_bytes() == b"abcd"
    tus.create(0, filename="empty")
    assert (tus.server.root / "empty").read_bytes() == b""
    address = tus.create(6, data=b"abc", headers=BYTES, filename="half")
    assert tus.head(address).headers["Upload-Offset"] == "3"


def test_deferred_length(tus):
    address = tus.create(headers={"Upload-Defer-Length": "1"}, filename="later")
    assert tus.head(address).headers["Upload-Defer-Length"] == "1"
    assert tus.patch(address, 0, b"abc").status_code == 204
    assert tus.patch(address, 3, b"def", {"Upload-Length": "6"}).status_code == 204
    assert (tus.server.root / "later").read_bytes() == b"abcdef"


@pytest.mark.parametrize("headers", [
    {}, {"Upload-Length": "-1"}, {"Upload-Length": "x"}, {"Upload-Length": "9" * 30},
    {"Upload-Length": "1", "Upload-Defer-Length": "1"}, {"Upload-Defer-Length": "2"},
])
def test_bad_lengths(tus, headers):
    fields = VERSION | {"Upload-Metadata": metadata(filename="x")} | headers
    assert requests.post(tus.store, headers=fields, timeout=20).status_code == 400


@pytest.mark.parametrize("field", [
    "filename !!", "filename", "a YQ==,a YQ==", metadata(filename="../evil"), metadata(filename="a/../../evil"),
    metadata(path="/../", filename="evil"), metadata(filename="x" * 300), metadata(filename=""),
    "filename " + base64.b64encode(b"a\0b").decode(), metadata(filename="x", mtime="99999999999999999999"), metadata(filename="x", conflict="win"),
])
def test_bad_metadata(tus, field):
    answer = requests.post(tus.store, headers=VERSION | {"Upload-Length": "1", "Upload-Metadata": field}, timeout=20)
    assert answer.status_code in (400, 404), answer.text
    assert not (tus.server.root.parent / "evil").exists()


def test_the_state_folder_is_no_target(tus):
    tus.create(1, status=403, path="/.shareserve", filename="x")


def test_too_many_bytes(tus):
    address = tus.create(3, filename="x")
    assert tus.patch(address, 0, b"12345").status_code == 413
    assert tus.patch(address, 0, iter([b"12", b"345"])).status_code == 413
    assert not (tus.server.root / "x").exists()


def test_wrong_type(tus):
    address = tus.create(3, filename="x")
    assert requests.patch(address, headers=VERSION | {"Upload-Offset": "0"}, data=b"123", timeout=20).status_code == 415


@pytest.mark.parametrize("name", ["sha1", "sha256", "crc32c"])
def test_checksum(tus, name):
    def checksum(data):
        raw = crc32c(data) if name == "crc32c" else hashlib.new(name, data).digest()
        return {"Upload-Checksum": f"{name} {base64.b64encode(raw).decode()}"}

    address = tus.create(6, filename="x")
    assert tus.patch(address, 0, b"abX", checksum(b"abc")).status_code == 460
    assert tus.head(address).headers["Upload-Offset"] == "0"
    assert tus.patch(address, 0, b"abc", checksum(b"abc")).status_code == 204
    assert tus.patch(address, 3, b"def", checksum(b"def")).status_code == 204
    assert (tus.server.root / "x").read_bytes() == b"abcdef"
    assert tus.patch(tus.create(1, filename="y"), 0, b"a", {"Upload-Checksum": "md5 YQ=="}).status_code == 400


def test_unproven_bytes_of_a_killed_server(serve, folder):
    """A chunk whose checksum was never compared is no part of the upload that goes on."""
    port = free_port()
    server = serve(port=port)
    tus = Tus(server)
    address = tus.create(1 << 20, filename="x")
    part = os.urandom(512 << 10)
    digest = base64.b64encode(hashlib.sha1(part).digest()).decode()
    path = address[len(server.url):]
    with Wire(server) as wire:
        wire.request(
            "PATCH", path, "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream",
            f"Upload-Checksum: sha1 {digest}", f"Content-Length: {len(part)}")
        wire.send(part[:256 << 10])
        parts = server.root / ".shareserve" / "uploads"
        wait_until(lambda: any(file.stat().st_size == 256 << 10 for file in parts.glob("*.part")), "the bytes came")
        server.kill()
    tus = Tus(serve(port=port, root=server.root))
    assert tus.head(address).headers["Upload-Offset"] == "0"
    assert tus.patch(address, 0, part, {"Upload-Checksum": f"sha1 {digest}"}).status_code == 204
    assert tus.patch(address, len(part), part).status_code == 204
    assert (server.root / "x").read_bytes() == part + part


def test_places_for_everybody(server):
    """One client can't take every place for unfinished uploads."""
    def begin(source):
        with Wire(server, source=source) as wire:
            for count in range(1001):
                wire.request("POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 1",
                             f"Upload-Metadata: {metadata(filename='x')}", "Content-Length: 0")
                answer = wire.response()
                if answer.status != 201:
                    assert answer.status == 429, answer
                    assert b"unfinished uploads" in answer.body
                    assert answer["Tus-Resumable"] == "1.0.0"
                    return count
        return None
    assert begin("127.0.0.1") == 500
    assert begin("127.0.0.2") == 250


def test_content_digest(tus):
    address = tus.create(5, filename="d")
    digest = base64.b64encode(hashlib.sha256(b"hello").digest()).decode()
    assert tus.patch(address, 0, b"hellO", {"Content-Digest": f"sha-256=:{digest}:"}).status_code == 460
    assert tus.head(address).headers["Upload-Offset"] == "0"
    assert tus.patch(address, 0, b"hello", {"Content-Digest": "sha-256=:AAAA:"}).status_code == 400
    assert tus.patch(address, 0, b"hello", {"Content-Encoding": "gzip"}).status_code == 415
    assert tus.patch(address, 0, b"hello", {"Content-Digest": f"sha-256=:{digest}:"}).status_code == 204
    assert (tus.server.root / "d").read_bytes() == b"hello"


def test_whole_digest(tus):
    (tus.server.root / "x").write_text("old")
    address = tus.create(3, filename="x", conflict="replace", sha256=hashlib.sha256(b"new").hexdigest())
    assert tus.patch(address, 0, b"neX").status_code == 460
    assert (tus.server.root / "x").read_text() == "old"
    address = tus.create(3, filename="x", conflict="replace", sha256=hashlib.sha256(b"new").hexdigest())
    assert tus.patch(address, 0, b"new").status_code == 204
    assert (tus.server.root / "x").read_text() == "new"


@pytest.fixture(params=["", pytest.param("far", marks=pytest.mark.root)], ids=["on the share's disk", "on a far disk"])
def place(request, folder):
    """A folder of the share, before the server starts."""
    place = folder / "share" / request.param
    place.mkdir(parents=True)
    if not request.param:
        yield place
        return
    behind = folder / "behind"
    behind.mkdir()
    subprocess.run(["bindfs", str(behind), str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_whole_upload_gets_its_name_though_its_client_goes(serve, place):
    """What still keeps it from that is its digest, which takes a while."""
    server = serve()
    whole = place / "whole"
    content = os.urandom(8 << 20)
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    slow = ["-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=30000"]
    with traced(server, *slow), Wire(server) as wire:
        wire.request(
            "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", f"Upload-Length: {len(content)}", f"Repr-Digest: sha-256=:{digest}:",
            "Content-Type: application/offset+octet-stream", f"Upload-Metadata: {metadata(filename=whole.relative_to(server.root))}",
            body=content)
        wait_until(
            lambda: [part.stat().st_size for part in server.root.glob(".shareserve/uploads/*.part")] == [len(content)], "all has come")
        assert not whole.exists()
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
        wait_until(whole.exists, "it has its name", timeout=20)
    assert whole.read_bytes() == content


def test_conflicts(tus):
    (tus.server.root / "folder").mkdir()
    assert tus.create(1, status=409, filename="folder", conflict="replace").status_code == 409
    tus.create(3, data=b"new", headers=BYTES, filename="folder", conflict="keep")
    assert (tus.server.root / "folder (1)").read_text() == "new"
    (tus.server.root / "x.txt").write_text("old")
    assert tus.create(1, status=409, filename="x.txt").status_code == 409
    tus.create(3, data=b"new", headers=BYTES, filename="x.txt", conflict="keep")
    assert (tus.server.root / "x (1).txt").read_text() == "new" and (tus.server.root / "x.txt").read_text() == "old"
    # The name is taken while the bytes arrive: the upload stays, and can be tried again.
    address = tus.create(3, filename="y")
    (tus.server.root / "y").write_text("other")
    assert tus.patch(address, 0, b"mine").status_code == 413
    assert tus.patch(address, 0, b"new").status_code == 409
    (tus.server.root / "y").unlink()
    assert tus.patch(address, 3, b"").status_code == 204
    assert (tus.server.root / "y").read_text() == "new"


def test_what_becomes_of_a_taken_name_can_be_said_anew(tus):
    """All bytes stay; a refusal that has no offset is about the name, not about where to go on."""
    root = tus.server.root

    def taken(name):
        address = tus.create(3, filename=name)
        (root / name).write_text("other")
        answer = tus.patch(address, 0, b"new")
        assert answer.status_code == 409 and "Upload-Offset" not in answer.headers
        assert tus.head(address).status_code == 409
        assert tus.patch(address, 1, b"").headers["Upload-Offset"] == "3"
        return address

    def say(address, wish, **fields):
        return tus.patch(address, 3, b"", {"Upload-Metadata": metadata(conflict=wish)} | fields)

    address = taken("a")
    assert say(address, "fail").status_code == 409 and say(address, "win").status_code == 400
    assert say(address, "replace", **{"If-Match": '"another"'}).status_code == 412
    assert (root / "a").read_text() == "other"
    tag = requests.head(tus.server.url + "/a", timeout=20).headers["ETag"]
    assert say(address, "replace", **{"If-Match": tag}).status_code == 204
    assert (root / "a").read_text() == "new"
    address = taken("b")
    for answer in (say(address, "keep"), say(address, "keep")):
        assert answer.status_code == 204 and answer.headers["Content-Location"] == "/b%20(1)"
    assert (root / "b").read_text() == "other" and (root / "b (1)").read_text() == "new"


@pytest.mark.parametrize("wish", [{}, {"conflict": "replace"}])
def test_conditions_hold_as_with_put(tus, wish):
    file = tus.server.root / "x"
    tus.create(3, data=b"one", headers=BYTES | {"If-None-Match": "*"}, filename="x", **wish)
    tus.create(3, data=b"two", headers=BYTES | {"If-None-Match": "*"}, filename="x", status=412, **wish)
    tus.create(3, data=b"two", headers=BYTES | {"If-Match": '"another"'}, filename="x", status=412, **wish)
    tag = {"If-Match": requests.head(tus.server.url + "/x", timeout=20).headers["ETag"]}
    address = tus.create(3, headers=tag, filename="x", **wish)
    file.write_bytes(b"somebody else's")
    assert tus.patch(address, 0, b"two").status_code == 412
    assert file.read_bytes() == b"somebody else's"
    tag = {"If-Match": requests.head(tus.server.url + "/x", timeout=20).headers["ETag"]}
    tus.create(3, data=b"two", headers=BYTES | tag, filename="x", **wish)
    assert file.read_bytes() == b"two"
    tus.create(3, data=b"new", headers=BYTES | tag, filename="x", conflict="keep")
    assert file.read_bytes() == b"two" and (tus.server.root / "x (1)").read_bytes() == b"new"


def test_folders_are_made(tus):
    tus.create(1, data=b"x", headers=BYTES, path="/", relativePath="tree/sub/x", filename="x")
    assert (tus.server.root / "tree/sub/x").read_bytes() == b"x"


@pytest.mark.parametrize("pairs", [
    {"path": "/in/x.txt"}, {"path": "/in/x.txt", "filename": "x.txt"}, {"path": "in/x.txt", "name": "x.txt", "type": "text/plain"},
    {"path": "/in", "filename": "x.txt"}, {"path": "/in/", "filename": "x.txt"},
])
def test_the_path_may_be_that_of_the_file(tus, pairs):
    (tus.server.root / "in").mkdir()
    tus.create(1, data=b"x", headers=BYTES, **pairs)
    assert (tus.server.root / "in/x.txt").read_bytes() == b"x"


@pytest.mark.parametrize("time, expected", [
    ({"mtime": 1_600_000_000_123}, 1_600_000_000.123), ({"mtime": 1_600_000_000}, 1_600_000_000),
    ({"lastModified": -86_400_000}, -86_400), ({"lastModified": 1000}, 1),
])
def test_time_of_change(tus, time, expected):
    tus.create(1, data=b"x", headers=BYTES, filename="x", **time)
    assert (tus.server.root / "x").stat().st_mtime == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("when", [8_640_000_000_000_000, -8_640_000_000_000_000])
def test_a_clock_that_is_far_off_is_no_reason_to_refuse_a_file(tus, when):
    """The first and the last day of browsers; no file system keeps them."""
    tus.create(1, data=b"x", headers=BYTES, filename="x", lastModified=when)
    assert abs((tus.server.root / "x").stat().st_mtime - time.time()) < 60


def test_termination(tus):
    address = tus.create(3, filename="x")
    assert requests.delete(address, headers=VERSION, timeout=20).status_code == 204
    assert tus.head(address).status_code in (404, 410)
    assert tus.patch(address, 0, b"abc").status_code in (404, 410)
    assert tus.head(tus.store + "/" + "0" * 32).status_code == 404
    assert tus.head(tus.store + "/../../etc").status_code == 404


def test_method_override(tus):
    address = tus.create(3, filename="x")
    answer = requests.post(address, headers=BYTES | {"Upload-Offset": "0", "X-HTTP-Method-Override": "PATCH"}, data=b"abc", timeout=20)
    assert answer.status_code == 204 and (tus.server.root / "x").read_bytes() == b"abc"


def test_concatenation(tus):
    parts = []
    for piece in (b"Hello ", b"world"):
        address = tus.create(len(piece), headers={"Upload-Concat": "partial"})
        assert tus.patch(address, 0, piece).status_code == 204
        assert tus.head(address).headers["Upload-Concat"] == "partial"
        parts.append(address)
    paths = " ".join(part.removeprefix(tus.server.url) for part in parts)
    address = tus.create(headers={"Upload-Concat": f"final;{paths}"}, filename="whole")
    assert (tus.server.root / "whole").read_bytes() == b"Hello world"
    state = tus.head(address)
    assert state.headers["Upload-Length"] == "11" and state.headers["Upload-Concat"].startswith("final;")
    for offset, data in [(11, b"!"), (11, b""), (0, b"Hello")]:
        answer = tus.patch(address, offset, data)
        assert answer.status_code == 403, "Concatenation: a final upload takes no PATCH"
    assert (tus.server.root / "whole").read_bytes() == b"Hello world"
    unfinished = tus.create(5, headers={"Upload-Concat": "partial"})
    tus.create(status=400, headers={"Upload-Concat": f"final;{unfinished}"}, filename="no")
    tus.create(status=400, headers={"Upload-Concat": "final;"}, filename="no")
    whole = tus.create(1, headers={"Upload-Concat": "partial"})
    assert tus.patch(whole, 0, b"x").status_code == 204
    tus.create(status=400, headers={"Upload-Concat": f"final;{whole} {whole}"}, filename="no")
    assert not (tus.server.root / "no").exists()


def test_tuspy(server, folder):
    content = os.urandom(3_000_000)
    (folder / "source").write_bytes(content)
    uploader = tus_client.TusClient(server.url + "/.shareserve/uploads").uploader(
        str(folder / "source"), chunk_size=700_000, metadata={"filename": "from tuspy"}, upload_checksum=True)
    uploader.upload()
    assert (server.root / "from tuspy").read_bytes() == content


def test_a_newer_request_takes_over(tus):
    address = tus.create(1_000_000, filename="x")
    blocked = threading.Event()

    def slow():
        yield b"a" * 100_000
        blocked.wait(20)
        yield b"b" * 100_000

    def send():
        try:
            tus.patch(address, 0, slow())
        except requests.RequestException:
            pass

    thread = threading.Thread(target=send)
    thread.start()
    deadline = time.monotonic() + 10
    while (offset := int(tus.head(address).headers["Upload-Offset"])) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    # The reported offset holds, whatever the older request still sends.
    answer = tus.patch(address, offset, b"c" * (1_000_000 - offset))
    blocked.set()
    thread.join()
    assert answer.status_code == 204
    content = (tus.server.root / "x").read_bytes()
    assert len(content) == 1_000_000 and content == b"a" * offset + b"c" * (1_000_000 - offset)


def test_goes_on_after_kills(serve):
    server = serve()
    tus = Tus(server)
    size = int(os.environ.get("SHARESERVE_KILL_BYTES", 192 << 20))
    block = os.urandom(1 << 20)
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(block)
    address = tus.create(size, filename="video")
    dice = random.Random(3)

    def send(offset):
        position = offset % len(block)
        left = size - offset
        while left:
            piece = block[position:][:left]
            position = 0
            left -= len(piece)
            yield piece

    kills = 0
    while kills < 10:
        offset = int(tus.head(address).headers["Upload-Offset"])
        killer = threading.Timer(dice.uniform(0.01, 0.15), server.kill)
        killer.start()
        try:
            tus.patch(address, offset, send(offset))
        except requests.RequestException:
            pass
        killer.join()
        server.process.wait()
        kills += 1
        server.start()
        if int(tus.head(address).headers["Upload-Offset"]) == size:
            break
    offset = int(tus.head(address).headers["Upload-Offset"])
    assert tus.patch(address, offset, send(offset)).status_code == 204
    assert hashlib.sha256((server.root / "video").read_bytes()).hexdigest() == digest.hexdigest()


def test_read_only(serve):
    server = serve("--read-only")
    Tus(server).create(1, status=403, filename="x")


def test_size_limit(serve):
    server = serve("--max-upload-size", "1000")
    tus = Tus(server)
    assert requests.options(tus.store, timeout=20).headers["Tus-Max-Size"] == "1000"
    tus.create(1001, status=413, filename="x")
    address = tus.create(headers={"Upload-Defer-Length": "1"}, filename="x")
    assert tus.patch(address, 0, b"x" * 1001).status_code == 413


def test_a_full_disk_says_what_is_missing(serve):
    server = serve("--min-free-space", "1000000000000000")
    answer = Tus(server).create(5_000_000, status=507, filename="x")
    assert "5.0 MB" in answer.text


@pytest.mark.parametrize("kind", ["Application/Offset+Octet-Stream", "application/offset+octet-stream; charset=binary"])
def test_media_type_in_other_letters(tus, kind):
    address = tus.create(9, headers={"Content-Type": kind}, data=b"begun", filename="x")
    assert tus.head(address).headers["Upload-Offset"] == "5"
    assert tus.patch(address, 5, b" end", headers={"Content-Type": kind}).status_code == 204
    assert (tus.server.root / "x").read_bytes() == b"begun end"


def test_offset_for_a_client_of_the_draft_that_names_no_version(server):
    begun = requests.put(server.url + "/x", headers={"Upload-Complete": "?0", "Upload-Length": "6"}, data=b"abc", timeout=20)
    place = requests.compat.urljoin(server.url, begun.headers["Location"])
    state = requests.head(place, timeout=20).headers
    assert state["Upload-Offset"] == "3" and state["Upload-Complete"] == "?0" and "max-age=" in state["Upload-Limit"], state


def test_goes_on_at_another_process(serve, folder):
    (folder / "share").mkdir()
    one, other = Tus(serve()), Tus(serve())
    address = one.create(6, filename="x")
    assert one.patch(address, 0, b"abc").status_code == 204
    there = address.replace(one.server.url, other.server.url)
    assert other.head(there).headers["Upload-Offset"] == "3"
    assert other.patch(there, 3, b"def").status_code == 204
    assert (one.server.root / "x").read_bytes() == b"abcdef"
    assert one.head(address).headers["Upload-Offset"] == "6"


def test_expires(serve):
    server = serve("--upload-expiry", "1s")
    tus = Tus(server)
    address = tus.create(6, filename="x")
    assert tus.patch(address, 0, b"abc").status_code == 204
    time.sleep(1.5)
    assert tus.head(address).status_code in (404, 410)
    assert tus.patch(address, 3, b"def").status_code in (404, 410)


@pytest.mark.root
def test_a_full_disk_keeps_what_has_come(serve, folder):
    place = folder / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", place], check=True)
    try:
        server = serve(root=place)
        tus = Tus(server)
        (place / "filler").write_bytes(b"x" * 2_000_000)
        address = tus.create(headers={"Upload-Defer-Length": "1"}, filename="x")
        content = os.urandom(3_000_000)
        assert tus.patch(address, 0, content).status_code == 507
        offset = int(tus.head(address).headers["Upload-Offset"])
        assert offset > 500_000
        (place / "filler").unlink()
        assert tus.patch(address, offset, content[offset:], {"Upload-Length": str(len(content))}).status_code == 204
        assert (place / "x").read_bytes() == content
        server.stop()
    finally:
        subprocess.run(["umount", "-l", place])


@pytest.mark.root
def test_what_nobody_can_go_on_with_keeps_no_room(serve, folder):
    """The address of an upload that comes with its creation is in the answer, and in no refusal."""
    place = folder / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", place], check=True)
    try:
        server = serve(root=place)
        tus = Tus(server)
        for _ in range(2):
            tus.create(headers=BYTES | {"Upload-Defer-Length": "1"}, data=os.urandom(6_000_000), status=507, filename="x")
            assert not list((place / ".shareserve" / "uploads").iterdir())
        with Wire(server) as wire:
            wire.request("POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 9", "Content-Length: 9",
                         "Upload-Metadata: filename YQ==", "Content-Type: application/offset+octet-stream")
            wire.send(b"half")
            wait_until(lambda: list((place / ".shareserve" / "uploads").iterdir()), "the upload is there")
        wait_until(lambda: not list((place / ".shareserve" / "uploads").iterdir()), "the upload is gone")
        server.stop()
    finally:
        subprocess.run(["umount", "-l", place])


def test_hidden_names_and_extensions(serve):
    server = serve("--hidden", "*.secret", "--allow-extensions", "txt,secret")
    tus = Tus(server)
    tus.create(1, status=403, filename="x.exe")
    answer = requests.post(tus.store, headers=VERSION | {"Upload-Length": "1", "Upload-Metadata": metadata(filename="a.secret")}, timeout=20)
    assert answer.status_code in (403, 404)
    tus.create(1, data=b"x", headers=BYTES, filename="x.txt")


def test_who_says_no_more_in_http_1_0_learns_that_the_file_is_stored(server):
    """Without the digest, which takes longer than somebody who may be gone is waited for."""
    content = os.urandom(6 << 20)
    fields = VERSION | {
        "Content-Type": "application/offset+octet-stream", "Upload-Length": str(len(content)),
        "Upload-Metadata": metadata(filename="a"), "Want-Repr-Digest": "sha-256=10"}
    slow = ["-o", os.devnull, "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=1500000"]
    with traced(server, *slow), Wire(server) as wire:
        wire.request("POST", "/.shareserve/uploads", *map(": ".join, fields.items()), body=content, version="HTTP/1.0")
        wire.socket.shutdown(socket.SHUT_WR)
        answer = wire.response()
    assert answer.status == 201 and answer["ETag"] and "Repr-Digest" not in answer
    assert (server.root / "a").read_bytes() == content


@pytest.mark.parametrize("keeps", [False, True], ids=["once it is free", "beside it"])
def test_the_rights_of_an_upload_that_met_a_taken_name(server, tus, keeps):
    address = tus.create(3, path="/name", **({"conflict": "keep"} if keeps else {}))
    (server.root / "name").write_text("taken")
    usual = (server.root / "name").stat().st_mode
    answer = tus.patch(address, 0, b"abc")
    if keeps:
        assert answer.status_code == 204
        made = server.root / "name (1)"
    else:
        assert answer.status_code == 409
        made = server.root / "name"
        made.unlink()
        assert tus.patch(address, 3, b"").status_code == 204
    assert made.read_bytes() == b"abc" and made.stat().st_mode == usual
