"""Resumable Uploads for HTTP, in the versions that clients speak."""

import base64
import hashlib
import http.client
import os
import re
import socket
import time

import pytest
import requests

from server import wait_until
from wire import Wire

VERSIONS = [3, 4, 5, 6, 8]


def exchange(server, head, body=b"", pieces=None):
    """One request on a connection of its own; every answer up to the final one, as (status, fields)."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
        wire.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        stream = wire.makefile("rb")
        answers = []
        while True:
            status = int(stream.readline().split()[1])
            fields = http.client.parse_headers(stream)
            answers.append((status, fields))
            if status >= 200:
                return answers


def complete(version, value=True):
    if version < 4:
        return f"Upload-Incomplete: ?{0 if value else 1}"
    return f"Upload-Complete: ?{1 if value else 0}"


def is_complete(version, fields):
    return fields["Upload-Incomplete"] == "?0" if version < 4 else fields["Upload-Complete"] == "?1"


def head(server, method, path, version, *lines):
    return [f"{method} {path} HTTP/1.1", f"Host: {server.authority}", f"Upload-Draft-Interop-Version: {version}", *lines]


@pytest.mark.parametrize("version", VERSIONS)
def test_one_request(server, version):
    answers = exchange(server, head(server, "PUT", "/a.txt", version, complete(version), "Content-Length: 5"), b"hello")
    assert [status for status, _ in answers] == [104, 201]
    interim, final = answers[0][1], answers[1][1]
    assert interim["Upload-Draft-Interop-Version"] == str(version)
    assert interim["Location"].startswith("/.shareserve/uploads/") and interim["Location"] == final["Location"]
    assert is_complete(version, final) and final["Upload-Offset"] == "5" and final["ETag"]
    assert (server.root / "a.txt").read_bytes() == b"hello"


@pytest.mark.parametrize("version", [None, 2, 99])
def test_no_interim_answer_for_other_versions(server, version):
    lines = [f"PUT /a HTTP/1.1", f"Host: {server.authority}", "Upload-Complete: ?1", "Content-Length: 1"]
    if version is not None:
        lines.append(f"Upload-Draft-Interop-Version: {version}")
    assert [status for status, _ in exchange(server, lines, b"x")] == [201]


@pytest.mark.parametrize("ends", ["connection", "refusal", "problem"])
def test_what_nobody_can_go_on_with_keeps_no_room(server, ends):
    """Who says no version hears the address of an upload in its answer alone."""
    uploads = server.root / ".shareserve" / "uploads"
    condition = "Upload-Length: 20" if ends == "problem" else "If-None-Match: *"
    with Wire(server) as wire:
        wire.request("PUT", "/a", "Upload-Complete: ?1", condition, "Transfer-Encoding: chunked").send("4\r\nhalf\r\n")
        wait_until(lambda: uploads.exists() and list(uploads.iterdir()), "the upload is there")
        if ends != "connection":
            (server.root / "a").write_text("somebody else's")
            wire.send("6\r\na half\r\n0\r\n\r\n")
            answer = wire.response()
            assert answer.status == (400 if ends == "problem" else 412) and "Location" not in answer
    wait_until(lambda: not list(uploads.iterdir()), "the upload is gone")


@pytest.mark.parametrize("version", VERSIONS)
def test_in_parts(server, version):
    created = exchange(server, head(server, "PUT", "/b", version, complete(version, False), "Content-Length: 3"), b"abc")[-1]
    assert created[0] == 201 and not is_complete(version, created[1]) and created[1]["Upload-Offset"] == "3"
    place = created[1]["Location"]
    assert not (server.root / "b").exists()
    state = exchange(server, head(server, "HEAD", place, version))[-1]
    assert state[0] in (200, 204) and state[1]["Upload-Offset"] == "3" and not is_complete(version, state[1])
    assert "no-store" in state[1]["Cache-Control"] and state[1]["Upload-Limit"]
    part = ["Content-Type: application/partial-upload", "Content-Length: 3"]
    wrong = exchange(server, head(server, "PATCH", place, version, complete(version, False), "Upload-Offset: 2", *part), b"xyz")[-1]
    assert wrong[0] == 409 and wrong[1]["Upload-Offset"] == "3"
    more = exchange(server, head(server, "PATCH", place, version, complete(version, False), "Upload-Offset: 3", *part), b"def")[-1]
    assert more[0] in (201, 204) and more[1]["Upload-Offset"] == "6" and not is_complete(version, more[1])
    last = exchange(server, head(server, "PATCH", place, version, complete(version), "Upload-Offset: 6", *part), b"ghi")[-1]
    assert last[0] in (200, 201, 204) and is_complete(version, last[1])
    assert (server.root / "b").read_bytes() == b"abcdefghi"
    state = exchange(server, head(server, "HEAD", place, version))[-1]
    assert is_complete(version, state[1]) and state[1]["Upload-Offset"] == "9"
    again = exchange(server, head(server, "PATCH", place, version, complete(version), "Upload-Offset: 9", "Content-Type: application/partial-upload", "Content-Length: 1"), b"x")[-1]
    assert again[0] == 400


@pytest.mark.parametrize("version", VERSIONS)
def test_goes_on_after_a_broken_connection(server, version):
    content = os.urandom(600_000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
        lines = head(server, "PUT", "/c", version, complete(version), f"Content-Length: {len(content)}")
        wire.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + content[:300_000])
        stream = wire.makefile("rb")
        assert b"104" in stream.readline()
        place = http.client.parse_headers(stream)["Location"]
    state = requests.head(server.url + place, headers={"Upload-Draft-Interop-Version": str(version)}, timeout=20)
    offset = int(state.headers["Upload-Offset"])
    assert 0 <= offset <= 300_000 and not (server.root / "c").exists()
    fields = {"Upload-Draft-Interop-Version": str(version), "Upload-Offset": str(offset), "Content-Type": "application/partial-upload"}
    name, value = complete(version).split(": ")
    assert requests.patch(server.url + place, headers=fields | {name: value}, data=content[offset:], timeout=20).ok
    assert (server.root / "c").read_bytes() == content


def test_cancellation(server):
    place = exchange(server, head(server, "PUT", "/d", 8, "Upload-Complete: ?0", "Content-Length: 1"), b"x")[-1][1]["Location"]
    assert exchange(server, head(server, "DELETE", place, 8, "Upload-Offset: 1"))[-1][0] == 400
    assert exchange(server, head(server, "DELETE", place, 8))[-1][0] == 204
    assert exchange(server, head(server, "HEAD", place, 8))[-1][0] == 404


def test_lengths_that_do_not_agree(server):
    lines = head(server, "PUT", "/e", 8, "Upload-Complete: ?1", "Upload-Length: 7", "Content-Length: 3")
    assert exchange(server, lines, b"abc")[-1][0] == 400
    lines = head(server, "PUT", "/e", 8, "Upload-Complete: ?0", "Upload-Length: 4", "Content-Length: 3")
    place = exchange(server, lines, b"abc")[-1][1]["Location"]
    assert exchange(server, head(server, "HEAD", place, 8))[-1][1]["Upload-Length"] == "4"
    part = ["Upload-Offset: 3", "Content-Type: application/partial-upload", "Content-Length: 2"]
    assert exchange(server, head(server, "PATCH", place, 8, "Upload-Complete: ?1", *part), b"de")[-1][0] == 400
    part = ["Upload-Offset: 3", "Content-Type: application/partial-upload", "Content-Length: 1"]
    assert exchange(server, head(server, "PATCH", place, 8, "Upload-Complete: ?1", *part), b"d")[-1][0] in (200, 201, 204)
    assert (server.root / "e").read_bytes() == b"abcd"


def test_completed_by_an_empty_append(server):
    place = exchange(server, head(server, "PUT", "/f", 8, "Upload-Complete: ?0", "Content-Length: 3"), b"abc")[-1][1]["Location"]
    lines = head(server, "PATCH", place, 8, "Upload-Complete: ?1", "Upload-Offset: 3", "Content-Type: application/partial-upload", "Content-Length: 0")
    answer = exchange(server, lines)[-1]
    assert answer[0] in (200, 201, 204) and answer[1]["Upload-Complete"] == "?1"
    assert (server.root / "f").read_bytes() == b"abc"


def test_post_into_a_folder(server):
    (server.root / "in").mkdir()
    lines = head(server, "POST", "/in/", 8, "Upload-Complete: ?1", "Content-Length: 2", 'Content-Disposition: attachment; filename="../my file"')
    for _ in range(2):
        assert exchange(server, lines, b"ab")[-1][0] == 201
    assert sorted(entry.name for entry in (server.root / "in").iterdir()) == ["my file", "my file (1)"]


def test_conditions_hold_to_the_end(server):
    (server.root / "g").write_text("old")
    lines = head(server, "PUT", "/g", 8, "Upload-Complete: ?1", "If-None-Match: *", "Content-Length: 3")
    assert exchange(server, lines, b"new")[-1][0] == 412
    tag = requests.head(server.url + "/g", timeout=20).headers["ETag"]
    lines = head(server, "PUT", "/g", 8, "Upload-Complete: ?0", f"If-Match: {tag}", "Content-Length: 1")
    place = exchange(server, lines, b"n")[-1][1]["Location"]
    (server.root / "g").write_text("somebody else's")
    part = ["Upload-Complete: ?1", "Upload-Offset: 1", "Content-Type: application/partial-upload", "Content-Length: 2"]
    assert exchange(server, head(server, "PATCH", place, 8, *part), b"ew")[-1][0] == 412
    assert (server.root / "g").read_text() == "somebody else's"


def test_digest(server):
    good = base64.b64encode(hashlib.sha256(b"hello").digest()).decode()
    for content, status in ((b"hellO", 400), (b"hello", 201)):
        lines = head(server, "PUT", "/h", 8, "Upload-Complete: ?1", f"Repr-Digest: sha-256=:{good}:", "Content-Length: 5")
        assert exchange(server, lines, content)[-1][0] == status
        assert (server.root / "h").exists() == (status == 201)


def test_discovery(server):
    answer = requests.options(server.url + "/.shareserve/uploads", headers={"Upload-Draft-Interop-Version": "8"}, timeout=20)
    assert "application/partial-upload" in answer.headers["Accept-Patch"] and answer.headers["Upload-Limit"]


def test_missing_parent(server):
    lines = head(server, "PUT", "/no/such/x", 8, "Upload-Complete: ?1", "Content-Length: 1")
    assert exchange(server, lines, b"x")[-1][0] == 409


def test_the_version_alone_makes_no_upload_in_parts(server):
    lines = [f"PUT /a HTTP/1.1", f"Host: {server.authority}", "Upload-Draft-Interop-Version: 6", "Content-Length: 1"]
    assert [status for status, _ in exchange(server, lines, b"x")] == [201]
    assert (server.root / "a").read_bytes() == b"x"


@pytest.mark.parametrize("field", ["Upload-Complete", "Upload-Incomplete"])
@pytest.mark.parametrize("value", ["1", "true", "yes", "?2", '"?1"', ""])
def test_what_is_no_boolean_is_as_if_it_were_not_there(server, field, value):
    """“Other values MUST cause the entire header field to be ignored”: the file must not wait for a part to come."""
    lines = [f"PUT /a HTTP/1.1", f"Host: {server.authority}", f"{field}: {value}", "Content-Length: 3"]
    assert [status for status, _ in exchange(server, lines, b"abc")] == [201]
    assert (server.root / "a").read_bytes() == b"abc"


def content_digest(data):
    return "Content-Digest: sha-256=:" + base64.b64encode(hashlib.sha256(data).digest()).decode() + ":"


def test_digest_of_each_request(server):
    answers = exchange(
        server, head(server, "PUT", "/a", 6, complete(6, False), "Content-Length: 3", content_digest(b"abc")), b"abc")
    assert answers[-1][0] == 201
    address = answers[-1][1]["Location"]
    append = ["Content-Type: application/partial-upload", "Upload-Offset: 3", complete(6), "Content-Length: 3"]
    wrong = exchange(server, head(server, "PATCH", address, 6, *append, content_digest(b"DEF")), b"def")
    assert wrong[-1][0] == 400 and not (server.root / "a").exists()
    state = exchange(server, head(server, "HEAD", address, 6))
    assert state[-1][1]["Upload-Offset"] == "3", "what the digest does not vouch for is dropped"
    right = exchange(server, head(server, "PATCH", address, 6, *append, content_digest(b"def")), b"def")
    assert right[-1][0] in (200, 201) and (server.root / "a").read_bytes() == b"abcdef"


def test_encoded_parts_are_refused(server):
    """Offsets count the upload's own bytes: a compressed part could not be gone on with."""
    answers = exchange(
        server, head(server, "PUT", "/a", 6, complete(6), "Content-Length: 3", "Content-Encoding: gzip"), b"abc")
    assert answers[-1][0] == 415 and not (server.root / "a").exists()


def test_limits_are_told(serve):
    server = serve("--max-upload-size", "10")
    for target in ("/", "*", "/.shareserve/uploads"):
        told = exchange(server, head(server, "OPTIONS", target, 8))[-1][1]
        assert told["Upload-Limit"] == "max-size=10" and "application/partial-upload" in told["Accept-Patch"], target
    status, fields = exchange(
        server, head(server, "PUT", "/a", 8, complete(8), "Content-Length: 11"), b"x" * 11)[-1]
    assert status == 413 and fields["Upload-Limit"] == "max-size=10"


REFUSED = {
    "wrong offset": ["Upload-Offset: 1", "Content-Type: application/partial-upload"],
    "no offset": ["Content-Type: application/partial-upload"],
    "malformed digest": ["Upload-Offset: 3", "Content-Type: application/partial-upload", "Content-Digest: sha-256=x"],
    "more than announced": ["Upload-Offset: 3", "Content-Type: application/partial-upload", "Upload-Length: 3"],
    "other length": ["Upload-Offset: 3", "Content-Type: application/partial-upload", "Upload-Length: 9"],
}


@pytest.mark.parametrize("version", [3, 4, 5, 6])
@pytest.mark.parametrize("reason", REFUSED)
def test_a_refused_part_says_that_the_upload_goes_on(server, version, reason):
    """Up to draft -05 any answer to a part that is not the last one does; later ones only what took it."""
    lines = head(server, "PUT", "/a", version, complete(version, False), "Upload-Length: 5", "Content-Length: 3")
    place = exchange(server, lines, b"abc")[-1][1]["Location"]
    part = [complete(version, False), "Content-Length: 3", *REFUSED[reason]]
    status, fields = exchange(server, head(server, "PATCH", place, version, *part), b"def")[-1]
    assert status in (400, 409, 413) and not is_complete(version, fields)
    state = exchange(server, head(server, "HEAD", place, version))[-1]
    assert fields["Upload-Offset"] == state[1]["Upload-Offset"], "and where; nothing where it is over"


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_a_refused_beginning_says_where_it_can_be_gone_on_with(server, version):
    """The upload is there, though its first bytes are not what their digest says, or its name is taken meanwhile."""
    lines = head(server, "PUT", "/a", version, complete(version), "Content-Length: 3", content_digest(b"ABC"))
    status, fields = exchange(server, lines, b"abc")[-1]
    assert status == 400 and fields["Upload-Offset"] == "0"
    part = [complete(version), "Upload-Offset: 0", "Content-Type: application/partial-upload", "Content-Length: 3"]
    assert exchange(server, head(server, "PATCH", fields["Location"], version, *part), b"ABC")[-1][0] in (200, 201)
    assert (server.root / "a").read_bytes() == b"ABC"


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_a_refused_end_says_where_the_upload_stands(server, version):
    place = exchange(server, head(server, "PUT", "/a", version, complete(version, False), "If-None-Match: *", "Content-Length: 3"), b"abc")
    place = place[-1][1]["Location"]
    (server.root / "a").write_text("somebody else's")
    part = [complete(version), "Upload-Offset: 3", "Content-Type: application/partial-upload", "Content-Length: 1"]
    status, fields = exchange(server, head(server, "PATCH", place, version, *part), b"d")[-1]
    assert status == 412 and fields["Upload-Offset"] == "4" and (server.root / "a").read_text() == "somebody else's"


@pytest.mark.parametrize("version", VERSIONS)
def test_too_large_an_append_says_the_limit(serve, version):
    server = serve("--max-upload-size", "5")
    place = exchange(server, head(server, "PUT", "/a", version, complete(version, False), "Content-Length: 3"), b"abc")[-1][1]["Location"]
    part = [complete(version, False), "Upload-Offset: 3", "Content-Type: application/partial-upload", "Content-Length: 3"]
    status, fields = exchange(server, head(server, "PATCH", place, version, *part), b"def")[-1]
    assert status == 413 and "max-size=5" in fields["Upload-Limit"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("begins", [True, False], ids=["beginning", "append"])
def test_more_than_was_announced_ends_the_upload(server, version, begins):
    """What the length of the request does not tell before."""
    chunked = ["Transfer-Encoding: chunked", complete(version)]
    body = b"5\r\nabcde\r\n0\r\n\r\n"
    if begins:
        answers = exchange(server, head(server, "PUT", "/a", version, "Upload-Length: 4", *chunked), body)
        place = answers[0][1]["Location"]
    else:
        lines = head(server, "PUT", "/a", version, complete(version, False), "Upload-Length: 4", "Content-Length: 0")
        place = exchange(server, lines)[-1][1]["Location"]
        part = ["Upload-Offset: 0", "Content-Type: application/partial-upload", *chunked]
        answers = exchange(server, head(server, "PATCH", place, version, *part), body)
    assert answers[-1][0] == 400
    assert exchange(server, head(server, "HEAD", place, version))[-1][0] == 404
    assert not (server.root / "a").exists()


def test_where_uploads_can_begin_is_told(server):
    """Any address, whether there is something or not."""
    (server.root / "sub").mkdir()
    (server.root / "file").write_text("x")
    for target in ("/file", "/sub/", "/sub/new", "/.shareserve/uploads"):
        status, fields = exchange(server, head(server, "OPTIONS", target, 8))[-1]
        assert status in (200, 204) and "application/partial-upload" in fields["Accept-Patch"] and fields["Upload-Limit"], target
        # The other kind needs a file. RFC 5789 §3.1
        assert ("sabredav" in fields["Accept-Patch"]) == (target == "/file"), target


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_beginning_and_an_empty_file(server, version):
    created = exchange(server, head(server, "PUT", "/a", version, complete(version, False), "Content-Length: 0"))[-1]
    assert created[0] == 201 and created[1]["Upload-Offset"] == "0" and not is_complete(version, created[1])
    whole = exchange(server, head(server, "PUT", "/empty", version, complete(version), "Content-Length: 0"))[-1]
    assert whole[0] == 201 and is_complete(version, whole[1]) and (server.root / "empty").read_bytes() == b""


@pytest.mark.parametrize("version", VERSIONS)
def test_progress_is_told_without_the_address(server, version):
    """Interim answers after the first have the offset only; versions 3 and 4 knew of one only."""
    size = 80 << 20
    lines = head(server, "PUT", "/a", version, complete(version), f"Content-Length: {size}")
    answers = exchange(server, lines, bytes(size))
    first, *more = [fields for status, fields in answers[:-1]]
    assert first["Location"] and "Upload-Offset" not in first
    assert len(more) == (0 if version < 5 else 2)
    for fields in more:
        assert "Location" not in fields and 0 < int(fields["Upload-Offset"]) < size
        assert fields["Upload-Draft-Interop-Version"] == str(version)
    assert answers[-1][0] == 201


def test_what_was_told_stays(server):
    """An offset in any answer means that the client need not keep the bytes, even when the server is killed next."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
        lines = head(server, "PUT", "/a", 8, complete(8), f"Content-Length: {200 << 20}")
        wire.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + bytes(60 << 20))
        part, = (server.root / ".shareserve" / "uploads").glob("*.part")
        wait_until(lambda: part.stat().st_size == 60 << 20, "all has come")
        answers = wire.recv(10_000)
        server.kill()
    server.start()
    place = re.search(rb"Location: (\S+)", answers)[1].decode()
    told = max(int(offset) for offset in re.findall(rb"Upload-Offset: (\d+)", answers))
    assert int(exchange(server, head(server, "HEAD", place, 8))[-1][1]["Upload-Offset"]) >= told > 0


def test_what_was_asked_for_stays(server):
    """The same of the offset that is asked for, while another connection still hangs."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
        lines = head(server, "PUT", "/a", 8, complete(8), f"Content-Length: {2 << 20}")
        wire.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + bytes(1 << 20))
        stream = wire.makefile("rb")
        assert b"104" in stream.readline()
        place = http.client.parse_headers(stream)["Location"]
        part, = (server.root / ".shareserve" / "uploads").glob("*.part")
        wait_until(lambda: part.stat().st_size > 0, "something has come")
        offset = int(exchange(server, head(server, "HEAD", place, 8))[-1][1]["Upload-Offset"])
        server.kill()
    server.start()
    assert int(exchange(server, head(server, "HEAD", place, 8))[-1][1]["Upload-Offset"]) == offset > 0


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_over_and_what_never_was(server, version):
    done = exchange(server, head(server, "PUT", "/a", version, complete(version), "Content-Length: 1"), b"a")[-1][1]["Location"]
    state = exchange(server, head(server, "HEAD", done, version))[-1]
    assert state[0] == 204 and is_complete(version, state[1]) and state[1]["Upload-Offset"] == "1"
    part = [complete(version), "Upload-Offset: 1", "Content-Type: application/partial-upload", "Content-Length: 0"]
    answer = requests.patch(server.url + done, timeout=20, headers=dict(
        line.split(": ", 1) for line in [f"Upload-Draft-Interop-Version: {version}", *part]))
    assert answer.status_code == 400 and answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["type"].endswith("#completed-upload")
    never = done[:-4] + "0000"
    for method, lines in {"HEAD": [], "DELETE": [], "PATCH": part}.items():
        assert exchange(server, head(server, method, never, version, *lines))[-1][0] == 404, method


def test_the_files_time_is_read_as_with_any_other_upload(server):
    def put(name, when):
        lines = head(server, "PUT", name, 6, "Upload-Complete: ?1", "Content-Length: 1", f"X-OC-Mtime: {when}")
        return exchange(server, lines, b"x")[-1][0]

    assert put("/a", "1500000000.5") == 201
    assert (server.root / "a").stat().st_mtime == 1500000000.5
    assert put("/b", "-1.25") == 201
    assert (server.root / "b").stat().st_mtime == -1.25
    for wrong in ("soon", "99999999999999999999", "1.x"):
        assert put("/c", wrong) == 400
    assert not (server.root / "c").exists()
    assert put("/d", "99999999999") == 201
    assert abs((server.root / "d").stat().st_mtime - time.time()) < 60


@pytest.mark.parametrize("method, target", [("PUT", "/folder"), ("PUT", "/new/"), ("POST", "/file")])
def test_what_is_in_the_way(server, method, target):
    (server.root / "folder").mkdir()
    (server.root / "file").write_text("file")
    [(status, fields)] = exchange(
        server, [f"{method} {target} HTTP/1.1", "Host: x", "Content-Length: 1", complete(6), "Upload-Draft-Interop-Version: 6"],
        b"x")
    assert status == 409 and not (server.root / "new").exists() and (server.root / "file").read_text() == "file"
