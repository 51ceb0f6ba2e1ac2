"""PUT, form uploads and the other verbs that change files, and the names they take."""

import base64
import concurrent.futures
import errno
import json
import os
import pathlib
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

from server import wait_until
from tracing import Trace
from wire import ConnectionClosed, Wire, ask

NAMES = [
    "space in name", "#hash", "100%", "%41", "a?b", "a&b=c", "'single'", '"double"', "back\\slash", "line\nbreak", "tab\tname",
    "semi;colon", "a:b", "*star*", "<b>bold", "emoji 😀", "漢字", "composed ü", "decomposed u\u0308", "עברית", "-rf", "~",
    "..almost", "a..b", "...", " leading", "trailing ", "trailing.", "COM1", "\x01control", "\x7fdelete", "x" * 255, "ü" * 127,
    b"not utf-8 \xff\xfe", b"lone \xc3", b"overlong \xc0\xaf", "\u202egnp.exe", "+plus", "@at", "[brackets]", "{braces}", "$HOME", "`id`",
]


def escaped(name):
    return "/" + urllib.parse.quote(os.fsencode(name), safe="")


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_name_goes_round(server, name):
    target = escaped(name)
    with Wire(server) as wire:
        assert wire.ask("PUT", target, body="content").status == 201
        assert os.fsencode(name) in os.listdir(os.fsencode(server.root)), "byte for byte on the disk"
        assert wire.ask("GET", target).text == "content"
        listed = json.loads(wire.ask("GET", "/", "Accept: application/json").body)["entries"]
        assert len(listed) == 1
        address = listed[0].get("href") or escaped(listed[0]["name"])
        assert wire.ask("GET", address).text == "content"
        multistatus = wire.ask("PROPFIND", "/", "Depth: 1").text
        hrefs = [urllib.parse.unquote_to_bytes(part.split("<")[0])
                 for part in multistatus.replace("&amp;", "&").split("href>")[1::2]]
        assert b"/" + os.fsencode(name) in hrefs
        assert wire.ask("MOVE", target, f"Destination: http://{wire.authority}/moved").status == 201
        assert wire.ask("COPY", "/moved", f"Destination: {target}").status == 201
        assert wire.ask("DELETE", target).status == 204
        assert wire.ask("GET", target).status == 404
        assert wire.ask("MKCOL", target).status == 201
        assert wire.ask("PUT", target + "/inner", body="x").status == 201
        assert wire.ask("DELETE", target + "/").status == 204


def test_composed_and_decomposed_are_two_names(server):
    assert ask(server, "PUT", escaped("ü"), body="1").status == 201
    assert ask(server, "PUT", escaped("u\u0308"), body="2").status == 201
    assert ask(server, "GET", escaped("ü")).text == "1"


@pytest.mark.parametrize("options", [[], ["--tls-self-signed"]], ids=["plain", "tls"])
@pytest.mark.parametrize("is_chunked", [False, True], ids=["counted", "chunked"])
def test_bytes_of_bodies_are_counted(serve, options, is_chunked):
    server = serve(*options)
    size = 3_000_000

    def counted(wire, name):
        metrics = wire.ask("GET", "/.shareserve/metrics").text
        return next(int(line.split()[1]) for line in metrics.splitlines() if line.startswith(f"shareserve_{name}_bytes_total "))

    with Wire(server, tls=options or None) as wire:
        before = counted(wire, "received")
        if is_chunked:
            wire.request("PUT", "/body", "Transfer-Encoding: chunked")
            wire.send(b"%x\r\n" % size + b"b" * size + b"\r\n0\r\n\r\n")
        else:
            wire.request("PUT", "/body", body=b"b" * size)
        assert wire.response().status == 201
        assert size <= counted(wire, "received") - before < size + 10_000
        before = counted(wire, "sent")
        assert len(wire.ask("GET", "/body").body) == size
        assert size <= counted(wire, "sent") - before < size + 10_000


def test_too_long_names_are_refused(server):
    assert ask(server, "PUT", "/" + "x" * 256, body="x").status in (400, 414)
    assert ask(server, "PUT", "/" + "/".join(["x"] * 3000), body="x").status in (400, 409, 414)
    assert ask(server, "GET", "/").status == 200


ESCAPES = [
    "/../secret", "/%2e%2e/secret", "/.%2e/secret", "/%2E./secret", "/folder/../../secret", "/folder/%2e%2e/%2e%2e/secret",
    "/..%2fsecret", "/%2e%2e%2fsecret", "/folder/..%2f..%2fsecret", "/..%5csecret", "/%252e%252e/secret", "/..;/secret",
    "/....//secret", "/.%00./secret", "/secret%00", "/%c0%ae%c0%ae/secret", "/link-out/secret", "/link-file", "/link-up/secret",
    "//secret", "/./../secret", "/folder/./../../secret", "/link-abs/secret", "/proc-link/self/root/etc/passwd",
]


@pytest.fixture
def beside(serve, folder):
    """A share with a secret beside it, and links that lead there."""
    server = serve()
    (folder / "secret").write_text("secret")
    (folder / "share_evil").mkdir()
    (folder / "share_evil" / "secret").write_text("secret")
    (server.root / "folder").mkdir()
    os.symlink("..", server.root / "link-out")
    os.symlink("../secret", server.root / "link-file")
    os.symlink("folder/../..", server.root / "link-up")
    os.symlink(str(folder), server.root / "link-abs")
    os.symlink("/proc", server.root / "proc-link")
    os.symlink("folder", server.root / "link-in")
    return server


@pytest.mark.parametrize("target", ESCAPES)
def test_nothing_outside_is_reached(beside, folder, target):
    before = sorted(path.name for path in folder.iterdir())
    for method, fields, body in [
        ("GET", [], None), ("HEAD", [], None), ("PROPFIND", ["Depth: 1"], None), ("PUT", [], b"evil"), ("DELETE", [], None),
        ("MKCOL", [], None), ("COPY", ["Destination: /stolen"], None), ("MOVE", ["Destination: /stolen"], None),
        ("PROPPATCH", [], b'<propertyupdate xmlns="DAV:"><set><prop><x/></prop></set></propertyupdate>'),
        ("LOCK", [], b'<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'),
    ]:
        with Wire(beside) as wire:
            wire.request(method, target, *fields, body=body)
            answer = wire.response(method)
            assert answer.body != b"secret", method
            assert method != "GET" or answer.status in (400, 403, 404, 409), answer
    (beside.root / "mine").write_text("mine")
    for method in ("COPY", "MOVE"):
        assert ask(beside, method, "/mine", f"Destination: {target}").status in (201, 204, 400, 403, 404, 409, 423, 502)
        (beside.root / "mine").write_text("mine")
    assert (folder / "secret").read_text() == "secret"
    assert (folder / "share_evil" / "secret").read_text() == "secret"
    assert sorted(path.name for path in folder.iterdir()) == before
    stolen = beside.root / "stolen"
    assert not stolen.exists() or stolen.is_dir() or stolen.read_text() != "secret"


def test_links_inside_work(beside):
    assert ask(beside, "PUT", "/link-in/a", body="a").status == 201
    assert (beside.root / "folder" / "a").read_text() == "a"
    assert ask(beside, "GET", "/link-in/a").text == "a"
    listed = ask(beside, "GET", "/").text.splitlines()
    assert "link-in/" in listed
    assert not {"link-out", "link-out/", "link-file", "link-abs", "link-abs/", "proc-link/"} & set(listed)


def test_encoded_slash_and_nul_are_refused(server):
    (server.root / "a").mkdir()
    (server.root / "a" / "b").write_text("x")
    for target in ("/a%2fb", "/a%2Fb", "/a%00", "/%00", "/a/b%00.txt"):
        for method in ("GET", "PUT", "DELETE", "PROPFIND"):
            assert ask(server, method, target, body="" if method == "PUT" else None).status == 400
        assert ask(server, "COPY", "/a/b", f"Destination: {target}").status == 400


@pytest.mark.parametrize("target", ["/%", "/%4", "/%zz", "/a%", "/%%41"])
def test_broken_escape_is_refused(server, target):
    assert ask(server, "GET", target).status == 400


def test_root_itself_cannot_be_deleted_moved_or_replaced(server):
    (server.root / "a").write_text("x")
    for method in ("DELETE", "MOVE"):
        for target in ("/", "/.", "/a/..", "//"):
            answer = ask(server, method, target, "Destination: /b/c")
            assert answer.status in (400, 403, 404, 405, 409), (method, target, answer)
    for destination in ("/", "", "http://{}".format(server.authority), "/../", "/.."):
        assert ask(server, "COPY", "/a", f"Destination: {destination}", "Overwrite: T").status in (400, 403, 405, 409, 412, 502)
    assert (server.root / "a").read_text() == "x"


def test_swapping_attacker(server, folder):
    """While a folder is swapped for a link that leads out, as fast as can be, nothing outside is read or written."""
    outside = folder / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    inside = server.root / "inside"
    inside.mkdir()
    (inside / "file").write_text("public")
    link, name = server.root / "link", server.root / "place"
    os.symlink("../outside", link)
    os.symlink("inside", name)
    ended = threading.Event()

    def swap():
        while not ended.is_set():
            for target in ("../outside", "inside"):
                os.symlink(target, server.root / "next")
                os.rename(server.root / "next", name)

    attacker = threading.Thread(target=swap)
    attacker.start()
    try:
        with Wire(server) as wire:
            seen = set()
            for index in range(3000):
                answer = wire.ask("GET", "/place/file")
                seen.add(answer.text if answer.status == 200 else answer.status)
                wire.ask("PUT", "/place/new", body="evil")
                if index % 10 == 0:
                    wire.ask("DELETE", "/place/new")
                    wire.ask("COPY", "/place", "Destination: /copy", "Overwrite: T")
                    assert not (server.root / "copy" / "file").exists() or (
                        server.root / "copy" / "file").read_text() == "public"
    finally:
        ended.set()
        attacker.join()
    assert "secret" not in seen and "public" in seen, seen
    assert sorted(path.name for path in outside.iterdir()) == ["file"]


def test_put_creates_and_replaces(server):
    with Wire(server) as wire:
        created = wire.ask("PUT", "/a", body="1")
        assert created.status == 201
        replaced = wire.ask("PUT", "/a", body="22")
        assert replaced.status == 204
        assert wire.ask("GET", "/a").text == "22"
        if "ETag" in replaced:
            assert replaced["ETag"] == wire.ask("GET", "/a")["ETag"]


@pytest.mark.parametrize("target, status", [
    ("/no/parent", 409), ("/folder", 405), ("/folder/", 405), ("/file/x", 409), ("/file/", 409),
])
def test_put_where_no_file_can_be(server, target, status):
    (server.root / "folder").mkdir()
    (server.root / "file").touch()
    answer = ask(server, "PUT", target, body="x")
    assert answer.status == status
    assert status != 405 or "PUT" not in answer["Allow"]


def test_put_conditions(server):
    with Wire(server) as wire:
        assert wire.ask("PUT", "/a", "If-Match: *", body="1").status == 412
        assert wire.ask("PUT", "/a", "If-None-Match: *", body="1").status == 201
        assert wire.ask("PUT", "/a", "If-None-Match: *", body="2").status == 412
        tag = wire.ask("GET", "/a")["ETag"]
        assert wire.ask("PUT", "/a", f"If-Match: {tag}", body="3").status == 204
        assert wire.ask("PUT", "/a", f"If-Match: {tag}", body="4").status == 412
        assert wire.ask("PUT", "/a", "If-None-Match: JoplinIgnore-123", body="5").status == 204
        assert wire.ask("PUT", "/a", "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT", body="6").status == 412
        assert wire.ask("DELETE", "/a", 'If-Match: "other"').status == 412
        assert wire.ask("GET", "/a").text == "5"


def test_conditions_on_nothing_are_404_where_nothing_could_be_done_anyway(server):
    """RFC 9110 §13.2.1: conditions count only where the answer would be a success without them."""
    requests = [
        ("DELETE", []), ("COPY", ["Destination: /b"]), ("MOVE", ["Destination: /b"]),
        ("PATCH", ["X-Update-Range: append"]), ("PROPPATCH", []),
    ]
    update = '<propertyupdate xmlns="DAV:"><set><prop><p xmlns="urn:x">v</p></prop></set></propertyupdate>'
    with Wire(server) as wire:
        for method, fields in requests:
            for condition in ('If-Match: "gone"', "If-Match: *"):
                body = {"PATCH": "x", "PROPPATCH": update}.get(method)
                assert wire.ask(method, "/a", *fields, condition, body=body).status == 404, (method, condition)
        wire.ask("PUT", "/taken", body="x")
        for condition in ('If-Match: "gone"', "If-None-Match: *"):
            assert wire.ask("MKCOL", "/taken", condition).status == 405
        assert wire.ask("MKCOL", "/free", "If-Match: *").status == 412


def test_partial_put_is_refused(server):
    (server.root / "a").write_text("hello")
    assert ask(server, "PUT", "/a", "Content-Range: bytes 0-0/5", body="j").status == 400
    assert (server.root / "a").read_text() == "hello"


def test_modification_time_is_kept(server):
    answer = ask(server, "PUT", "/a", "X-OC-Mtime: 1234567890", body="x")
    assert answer["X-OC-MTime"] == "accepted"
    assert (server.root / "a").stat().st_mtime == 1234567890
    assert ask(server, "PUT", "/b", "X-OC-Mtime: 1234567890.25", body="x").status == 201
    assert int((server.root / "b").stat().st_mtime) == 1234567890
    assert ask(server, "PUT", "/c", "X-OC-Mtime: 99999999999999999999999", body="x").status in (201, 400)
    # A time that no disk can store is no reason to lose the file; the response shows that it was not stored.
    answer = ask(server, "PUT", "/e", "X-OC-Mtime: 99999999999", body="x")
    assert (answer.status, answer["X-OC-MTime"]) == (201, None)
    assert ask(server, "PUT", "/d", "X-OC-Mtime: nonsense", body="x").status in (201, 400)


def test_permissions_follow_the_umask(serve):
    server = serve(preexec=lambda: os.umask(0o027))
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert ask(server, "MKCOL", "/d").status == 201
    assert stat.S_IMODE((server.root / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((server.root / "d").stat().st_mode) == 0o750


def test_replacing_keeps_other_hard_links_as_they_were(server):
    (server.root / "a").write_text("old")
    os.link(server.root / "a", server.root / "b")
    assert ask(server, "PUT", "/a", body="new").status == 204
    assert (server.root / "b").read_text() == "old"


def test_five_parallel_uploads_of_one_name(server):
    contents = [bytes([65 + index]) * 3_000_000 for index in range(5)]
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        statuses = list(pool.map(lambda content: ask(server, "PUT", "/one", body=content).status, contents))
    assert sorted(statuses).count(201) == 1 and set(statuses) <= {201, 204}
    assert (server.root / "one").read_bytes() in contents


def test_parallel_creation_with_if_none_match_has_one_winner(server):
    for index in range(20):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(
                lambda number: ask(server, "PUT", f"/n{index}", "If-None-Match: *", body=str(number)).status, range(8)))
        assert sorted(statuses) == [201] + [412] * 7


def test_read_only(serve):
    server = serve("--read-only")
    (server.root / "a").write_text("x")
    for method, fields, body in [("PUT", [], b"y"), ("DELETE", [], None), ("MKCOL", [], None), ("MOVE", ["Destination: /b"], None),
                                 ("COPY", ["Destination: /b"], None), ("PROPPATCH", [], b"<x/>"), ("LOCK", [], None),
                                 ("POST", ["Content-Type: multipart/form-data; boundary=x"], b"--x--\r\n")]:
        target = "/" if method == "POST" else "/new" if method == "MKCOL" else "/a"
        assert ask(server, method, target, *fields, body=body).status in (400, 403, 405), method
    assert (server.root / "a").read_text() == "x"
    assert os.listdir(server.root) == ["a"], "a read-only share is left as it is"
    assert ask(server, "GET", "/a").text == "x"


@pytest.mark.parametrize("piece", [1, 3, 17, 1000, 1 << 20])
def test_form_upload_however_it_falls(server, piece):
    boundary = "----boundary"
    files = {"a.txt": b"hello", "b ü.bin": bytes(range(256)) * 8, "empty": b"", "tricky": b"\r\n------boundar\r\n--\r\n------boundaryX"}
    body = b""
    for name, content in files.items():
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
                 "Content-Type: application/octet-stream\r\n\r\n").encode() + content + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    if piece == 1:
        body = body[:400] + body[400:]
    with Wire(server) as wire:
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.request("POST", "/", f"Content-Type: multipart/form-data; boundary={boundary}", f"Content-Length: {len(body)}")
        for start in range(0, len(body), piece):
            wire.send(body[start:start + piece])
        assert wire.response().status in (200, 201, 303)
    for name, content in files.items():
        assert (server.root / name).read_bytes() == content, name


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil", "evil\x00", "..", "."])
def test_form_names_do_not_escape(server, folder, name):
    body = (f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\nevil\r\n--x--\r\n').encode()
    ask(server, "POST", "/", "Content-Type: multipart/form-data; boundary=x", body=body)
    assert [path.name for path in folder.iterdir()] == ["share"]


@pytest.mark.parametrize("kind, body", [
    ("multipart/form-data", b"--x\r\n\r\n--x--"), ("multipart/form-data; boundary=", b"x"),
    ("multipart/form-data; boundary=x", b"nothing"), ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data"),
    ("multipart/form-data; boundary=" + "y" * 500, b"--x--"), ("application/x-www-form-urlencoded", b"a=b"),
    ("multipart/form-data; boundary=x", b"--x\r\n" + b"A: b\r\n" * 10000 + b"\r\nx\r\n--x--\r\n"),
    ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="files"; filename="half"\r\n\r\nhal'),
])
def test_broken_forms_are_refused_and_leave_nothing(server, kind, body):
    answer = ask(server, "POST", "/", f"Content-Type: {kind}", body=body)
    assert 400 <= answer.status < 500
    assert [name for name in os.listdir(server.root) if name != ".shareserve"] == []


def test_leftovers_of_a_killed_upload_are_invisible(serve):
    server = serve()
    wire = Wire(server)
    wire.request("PUT", "/x", "Content-Length: 1000000")
    wire.send(b"a" * 500_000)
    assert ask(server, "GET", "/").status == 200
    server.kill()
    assert not (server.root / "x").exists()
    server.restart()
    assert ask(server, "GET", "/").text.split() == []
    assert "shareserve" not in ask(server, "PROPFIND", "/", "Depth: 1").text.replace("/.shareserve/", "")
    for target in ("/.shareserve/", "/.shareserve", "/.shareserve/uploads/", "/%2eshareserve/uploads"):
        for method in ("PUT", "DELETE", "MKCOL", "MOVE"):
            assert ask(server, method, target, "Destination: /y", body=b"" if method == "PUT" else None).status >= 400


def test_half_closed_client_still_gets_its_answer(server):
    with Wire(server) as wire:
        wire.request("PUT", "/h", body="hello")
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.response().status == 201


def test_truncated_body_with_half_close_replaces_nothing(server):
    (server.root / "h").write_text("old")
    with Wire(server) as wire:
        wire.request("PUT", "/h", "Content-Length: 100")
        wire.send("new")
        wire.socket.shutdown(socket.SHUT_WR)
        try:
            assert wire.response().status in (400, 408)
        except ConnectionClosed:
            pass
    assert pathlib.Path(server.root / "h").read_text() == "old"


@pytest.mark.parametrize("update, expected", [
    ("append", lambda old: old + b"12345"),
    ("bytes=0-4", lambda old: b"12345" + old[5:]),
    ("bytes=4096-4100", lambda old: old[:4096] + b"12345" + old[4101:]),
    ("bytes=-5", lambda old: old[:-5] + b"12345"),
    ("bytes=199998-200002", lambda old: old[:199_998] + b"12345"),
])
def test_part_of_a_file_is_replaced(server, update, expected):
    old = os.urandom(200_000)
    (server.root / "p").write_bytes(old)
    before = os.stat(server.root / "p").st_ino
    assert ask(server, "PATCH", "/p", f"X-Update-Range: {update}", body=b"12345").status == 204
    assert (server.root / "p").read_bytes() == expected(old)
    assert os.stat(server.root / "p").st_ino != before, "a copy takes its place"
    answer = ask(server, "PATCH", "/p", body=b"12345")
    assert answer.status == 400 and "X-Update-Range" in answer.text
    # RFC 9110 §14.4; a client that expects a smaller file would overwrite bytes that it does not know.
    size = os.stat(server.root / "p").st_size
    for whole, status in ((size, 204), ("*", 204), (size + 9, 204), (size - 1, 416)):
        assert ask(server, "PATCH", "/p", f"Content-Range: bytes 0-4/{whole}", body=b"12345").status == status, whole
    # RFC 5789 §2.2
    answer = ask(server, "PATCH", "/p", "Content-Type: application/json-patch+json", body=b"[]")
    assert answer.status == 415 and "application/x-sabredav-partialupdate" in answer["Accept-Patch"]


# acl(5) as the kernel takes it: version 2; owner, one more user, group, mask, others.
ACCESS_LIST = struct.pack("<I" + 5 * "HHI", 2, 1, 6, 2**32 - 1, 2, 4, 1234, 4, 4, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1)


@pytest.mark.parametrize("place", ["folder", "memory"])
@pytest.mark.parametrize("attribute, value", [("user.other", b"kept"), ("system.posix_acl_access", ACCESS_LIST)], ids=["attribute", "access list"])
@pytest.mark.parametrize("method, fields, status", [
    ("PUT", (), 204), ("PATCH", ("X-Update-Range: append",), 204), ("MOVE", ("Destination: /other",), 201)])
def test_what_other_programs_keep_with_a_file_stays(serve, request, place, attribute, value, method, fields, status):
    server = serve(root=request.getfixturevalue(place) / "attributes")
    file = server.root / "file"
    file.write_text("old")
    try:
        os.setxattr(file, attribute, value)
    except OSError as error:
        # Older kernels have none in memory.
        assert place == "memory" and error.errno == errno.EOPNOTSUPP
        pytest.skip("this kernel keeps no such attributes in memory")
    bits = file.stat().st_mode
    assert ask(server, method, "/file", *fields, body=None if method == "MOVE" else b"new").status == status
    now = server.root / ("other" if method == "MOVE" else "file")
    assert os.getxattr(now, attribute) == value and now.stat().st_mode == bits


def upload(server, name, body):
    made = ask(server, "PUT", f"/{name}", "Upload-Complete: ?0", body=body[:1])
    place = made["location"]
    return ask(server, "PATCH", place, "Upload-Complete: ?1", "Upload-Offset: 1", "Content-Type: application/partial-upload", body=body[1:])


@pytest.mark.parametrize("place", ["folder", "memory"])
@pytest.mark.parametrize("work, result", [
    (lambda server: ask(server, "PUT", "/file", body=b"new"), b"new"), (lambda server: upload(server, "file", b"new"), b"new"),
    (lambda server: ask(server, "PATCH", "/file", "X-Update-Range: append", body=b"new"), b"oldnew")], ids=["PUT", "in parts", "PATCH"])
def test_what_a_folder_grants_on_new_files_opens_no_replaced_one(serve, request, place, work, result):
    server = serve(root=request.getfixturevalue(place) / "attributes")
    file = server.root / "file"
    file.write_text("old")
    file.chmod(0o640)
    try:
        os.setxattr(server.root, "system.posix_acl_default", ACCESS_LIST)
    except OSError as error:
        assert place == "memory" and error.errno == errno.EOPNOTSUPP
        pytest.skip("this kernel keeps no such attributes in memory")
    assert ask(server, "PUT", "/other", body=b"x").status == 201
    assert "system.posix_acl_access" in os.listxattr(server.root / "other"), "new files get the list"
    assert work(server).status < 300
    assert file.read_bytes() == result
    assert "system.posix_acl_access" not in os.listxattr(file) and file.stat().st_mode & 0o777 == 0o640


def by_form(server, name, body):
    folder, _, last = name.rpartition("/")
    form = (b'--edge\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n%s\r\n--edge--\r\n' % (last.encode(), body))
    return ask(server, "POST", f"/{folder}/", "Content-Type: multipart/form-data; boundary=edge", body=form)


def by_tus(server, name, body):
    fields = ("Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream")
    told = base64.b64encode(b"/" + name.encode()).decode()
    made = ask(server, "POST", "/.shareserve/uploads", *fields, f"Upload-Length: {len(body)}", f"Upload-Metadata: path {told}", body=body[:1])
    return ask(server, "PATCH", made["location"], *fields, "Upload-Offset: 1", body=body[1:])


def by_copy(server, name, body):
    (server.root / "source").write_bytes(body)
    # A copy is created with its source's bits.
    (server.root / "source").chmod(0o666)
    return ask(server, "COPY", "/source", f"Destination: /{name}")


def rights(path):
    found = path.stat()
    return found.st_mode, found.st_gid, {name: os.getxattr(path, name) for name in os.listxattr(path) if "acl" in name}


@pytest.fixture(params=["folder", "memory"])
def granting(serve, request):
    """A server whose root, or a folder in it, gives a group and an access list to what is created there."""
    root = request.getfixturevalue(request.param) / "granting"
    root.mkdir()

    def make(place):
        server = serve(root=root)
        folder = server.root / place
        folder.mkdir(exist_ok=True)
        os.chown(folder, -1, 4321)
        folder.chmod(0o2775)
        try:
            os.setxattr(folder, "system.posix_acl_default", ACCESS_LIST)
        except OSError as error:
            assert request.param == "memory" and error.errno == errno.EOPNOTSUPP
        return server

    return make


@pytest.mark.root
@pytest.mark.parametrize("place", [".", "group"])
@pytest.mark.parametrize("way", [
    lambda server, name, body: ask(server, "PUT", f"/{name}", body=body), upload, by_tus, by_form, by_copy],
    ids=["PUT", "draft", "tus", "form", "COPY"])
def test_a_new_file_has_the_rights_that_its_folder_gives(granting, way, place):
    server = granting(place)
    name = "new" if place == "." else "group/new"
    assert way(server, name, b"content").status < 300
    (server.root / place / "model").write_bytes(b"content")
    assert (server.root / name).read_bytes() == b"content"
    assert rights(server.root / name) == rights(server.root / place / "model")
    # What the root gives, a folder below it need not.
    (server.root / "plain").mkdir()
    os.chown(server.root / "plain", -1, 0)
    (server.root / "plain").chmod(0o755)
    if "system.posix_acl_default" in os.listxattr(server.root / "plain"):
        os.removexattr(server.root / "plain", "system.posix_acl_default")
    assert way(server, "plain/new", b"content").status < 300
    (server.root / "plain" / "model").write_bytes(b"content")
    assert rights(server.root / "plain" / "new") == rights(server.root / "plain" / "model")


@pytest.mark.root
@pytest.mark.parametrize("way", [lambda server, name, body: ask(server, "PUT", f"/{name}", body=body), upload, by_tus],
                         ids=["PUT", "draft", "tus"])
def test_a_new_file_has_the_group_that_its_folder_gives_though_the_server_is_no_member(serve, folder, way):
    share = folder / "share"
    group = share / "group"
    group.mkdir(parents=True)
    os.chown(share, 65534, 65534)
    os.chown(group, -1, 4321)
    group.chmod(0o2777)
    os.setxattr(group, "system.posix_acl_default", ACCESS_LIST)
    server = serve("--user", "nobody", root=share)
    assert way(server, "group/new", b"content").status < 300
    (group / "model").write_bytes(b"content")
    assert (group / "new").read_bytes() == b"content"
    assert rights(group / "new") == rights(group / "model")


@pytest.mark.root
@pytest.mark.parametrize("place", [".", "group"])
def test_a_copied_folder_has_the_rights_that_its_folder_gives(granting, place):
    server = granting(place)
    source = server.root / "tree"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "file").write_text("content")
    for folder in (source, source / "inner"):
        folder.chmod(0o755)
        os.chown(folder, -1, 0)
        if "system.posix_acl_default" in os.listxattr(folder):
            os.removexattr(folder, "system.posix_acl_default")
    assert ask(server, "COPY", "/tree/", f"Destination: /{place}/copy/".replace("/./", "/")).status == 201
    model = server.root / place / "model"
    model.mkdir(0o755)
    (model / "inner").mkdir(0o755)
    (model / "inner" / "file").write_text("content")
    copy = server.root / place / "copy"
    for name in ("", "inner", "inner/file"):
        assert rights(copy / name) == rights(model / name), name
    assert not [name for name in os.listdir(server.root / place) if name.startswith(".shareserve-")]


@pytest.mark.root
def test_whom_a_list_shut_out_stays_out_where_it_cannot_be_carried(serve, folder):
    share = folder / "share"
    share.mkdir()
    os.chown(share, 65534, 65534)
    server = serve("--user", "nobody", root=share)
    file = share / "file"
    file.write_text("old")
    # Owner and mask have all rights, the group has none; the server may not even read it.
    closed = struct.pack("<I" + 5 * "HHI", 2, 1, 6, 2**32 - 1, 2, 6, 1234, 4, 0, 2**32 - 1, 16, 6, 2**32 - 1, 32, 0, 2**32 - 1)
    os.setxattr(file, "system.posix_acl_access", closed)
    os.chown(file, 1234, 65534)
    assert file.stat().st_mode & 0o777 == 0o660
    assert ask(server, "PUT", "/file", body=b"new").status == 204
    assert file.stat().st_mode & 0o077 == 0


def test_with_fsync_the_disk_has_the_bits_before_the_name(serve, folder):
    server = serve("--fsync")
    counts = {}
    # The first also waits for the share's state, which is new.
    for mode in (0o644, 0o644, 0o600):
        (server.root / "file").write_text("old")
        (server.root / "file").chmod(mode)
        ask(server, "PUT", "/file", body=b"newer")
        with Trace(server, folder) as trace:
            assert ask(server, "PUT", "/file", body=b"new").status == 204
        counts[mode] = trace.calls["fsync"] + trace.calls["fdatasync"]
        assert (server.root / "file").stat().st_mode & 0o777 == mode
    assert counts[0o600] == counts[0o644] + 1, counts


def test_a_copy_has_the_bits_of_its_source(serve):
    server = serve()
    bits = {"program": 0o755, "closed": 0o600, "read": 0o444, "folder": 0o700, "folder/closed": 0o600, "folder/open": 0o750}
    for name, mode in bits.items():
        path = server.root / name
        path.mkdir() if name in ("folder", "folder/open") else path.write_text(name)
        path.chmod(mode)
    for name in ("program", "closed", "read", "folder"):
        assert ask(server, "COPY", f"/{name}", f"Destination: /copy-{name}").status == 201
    for name, mode in bits.items():
        assert (server.root / f"copy-{name}").stat().st_mode & 0o777 == mode, name


def test_a_date_names_no_content_within_its_second(serve):
    server = serve()
    assert ask(server, "PUT", "/file", body=b"a" * 200).status == 201
    written = int(os.stat(server.root / "file").st_mtime)

    def part():
        date = ask(server, "HEAD", "/file")["last-modified"]
        return ask(server, "GET", "/file", "Range: bytes=100-", f"If-Range: {date}").status

    found = part()
    assert found == 200 or time.time() >= written + 1
    wait_until(lambda: time.time() >= written + 1, "the second is over")
    assert part() == 206


PUTS = {"small": 1_000, "large": 2_000_000}


def put_over(server, name, owner, group, mode, size):
    """What a file is after it was replaced: owner, group and mode."""
    file = server.root / name
    file.write_text("old")
    file.chmod(mode)
    os.chown(file, owner, group)
    assert ask(server, "PUT", f"/{name}", body=b"n" * size).status == 204
    now = file.stat()
    assert now.st_size == size
    return now.st_uid, now.st_gid, now.st_mode & 0o777


@pytest.mark.root
@pytest.mark.parametrize("place", ["folder", "memory"])
@pytest.mark.parametrize("size", PUTS.values(), ids=PUTS)
def test_a_replaced_file_stays_its_owners(serve, request, place, size):
    server = serve(root=request.getfixturevalue(place) / "share")
    for mode in (0o600, 0o640, 0o755, 0o666):
        for owner, group in ((65534, 65534), (0, 60), (1234, 5678)):
            assert put_over(server, "file", owner, group, mode, size) == (owner, group, mode)


@pytest.mark.root
@pytest.mark.parametrize("size", PUTS.values(), ids=PUTS)
def test_a_file_that_can_not_be_given_away_opens_to_nobody_new(serve, folder, size):
    share = folder / "share"
    share.mkdir()
    share.chmod(0o777)
    os.chown(share, 65534, 65534)
    server = serve("--user", "nobody", root=share)
    for mode, now in ((0o600, 0o600), (0o640, 0o600), (0o664, 0o644), (0o604, 0o600), (0o000, 0o600), (0o066, 0o666), (0o755, 0o755)):
        assert put_over(server, "file", 1234, 5678, mode, size)[2] == now, oct(mode)
        (share / "file").unlink()


@pytest.mark.root
@pytest.mark.parametrize("size", PUTS.values(), ids=PUTS)
def test_a_file_is_replaced_without_the_right_to_change_others(serve, folder, size):
    words = ["setpriv", "--bounding-set=-fowner", "--inh-caps=-fowner"]
    server = serve(wrapper=words)
    for mode in (0o600, 0o666):
        assert put_over(server, "file", 1234, 5678, mode, size) == (1234, 5678, mode)


# Runs the remaining words as root of a user namespace, which is user 1000 outside.
IN_NAMESPACE = """
import ctypes, os, sys
ours, theirs = os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(ours[0], 1)
    for name in "uid_map", "gid_map":
        with open(f"/proc/{os.getppid()}/{name}", "w") as file:
            file.write("0 1000 1\\n1 100000 65535\\n")
    os.write(theirs[1], b"x")
    os._exit(0)
if ctypes.CDLL(None).unshare(0x10000000) != 0:
    sys.exit("no namespace")
os.write(ours[1], b"x")
os.read(theirs[0], 1)
os.wait()
os.setgroups([])
os.setgid(0)
os.setuid(0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.root
def test_a_stranger_to_the_namespace_is_given_nothing(serve, folder):
    """Whom it has no number for shows as one who is somebody else in it."""
    share = folder / "share"
    share.mkdir()
    os.chown(share, 1000, 1000)
    words = [sys.executable, "-c", IN_NAMESPACE]
    if subprocess.run([*words, "/bin/true"], capture_output=True).returncode != 0:
        pytest.skip("there are no namespaces of users here")
    server = serve(root=share, wrapper=words)
    assert put_over(server, "file", 0, 0, 0o644, 1_000)[:2] == (1000, 1000)
