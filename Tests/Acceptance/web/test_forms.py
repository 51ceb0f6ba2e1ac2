"""Uploads by a plain form."""

import base64
import concurrent.futures
import hashlib
import os
import re

import pytest
import requests

from server import wait_until
from wire import Wire

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def send(server, files, path="/", conflict=None, **options):
    fields = [("conflict", (None, conflict))] if conflict else []
    return requests.post(server.url + path, files=fields + [("files", file) for file in files], timeout=60, **options)


def test_many_files_and_folders(server):
    answer = send(server, [("a.txt", b"a"), ("tree/sub/b.txt", b"b"), ("c.bin", os.urandom(3_000_000)), ("empty", b"")])
    assert answer.status_code == 201, answer.text
    assert [file["path"] for file in answer.json()["files"]] == ["/a.txt", "/tree/sub/b.txt", "/c.bin", "/empty"]
    assert (server.root / "tree/sub/b.txt").read_bytes() == b"b"
    assert (server.root / "c.bin").stat().st_size == 3_000_000
    assert (server.root / "empty").read_bytes() == b""


def test_a_browser_is_led_back(server):
    (server.root / "x y").mkdir()
    answer = send(server, [("a", b"a")], "/x%20y/", headers=BROWSER, allow_redirects=False)
    assert answer.status_code == 303 and answer.headers["Location"] == "/x%20y/"


@pytest.mark.parametrize("rule, status, names", [
    (None, 201, {"a.txt", "a (1).txt"}), ("keep", 201, {"a.txt", "a (1).txt"}), ("replace", 201, {"a.txt"}), ("fail", 409, {"a.txt"}),
])
def test_conflict(server, rule, status, names):
    (server.root / "a.txt").write_text("old")
    answer = send(server, [("a.txt", b"new")], conflict=rule)
    assert answer.status_code == status
    assert {entry.name for entry in server.root.iterdir() if not entry.name.startswith(".")} == names
    assert (server.root / "a.txt").read_text() == ("new" if rule == "replace" else "old")


@pytest.mark.parametrize("rule, status", [(None, 201), ("keep", 201), ("replace", 409), ("fail", 409)])
def test_a_folder_has_the_name(server, rule, status):
    (server.root / "a").mkdir()
    answer = send(server, [("a", b"new")], conflict=rule)
    assert answer.status_code == status and (server.root / "a").is_dir()
    assert (server.root / "a (1)").exists() == (status == 201)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_name_is_taken_while_the_file_comes(server, kind):
    start = (b"--b\r\nContent-Disposition: form-data; name=conflict\r\n\r\nkeep\r\n"
             b"--b\r\nContent-Disposition: form-data; name=files; filename=a\r\n\r\n" + b"x" * 500_000)
    end = b"\r\n--b--\r\n"
    with Wire(server) as wire:
        wire.send(
            f"POST / HTTP/1.1\r\nHost: {wire.authority}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            f"Content-Length: {len(start + end)}\r\n\r\n".encode() + start)
        wait_until(lambda: server.opened(f"{server.root}/#") > 0, "it is begun")
        (server.root / "a").mkdir() if kind == "folder" else (server.root / "a").write_text("old")
        assert wire.send(end).response().status == 201
    assert (server.root / "a (1)").read_bytes() == b"x" * 500_000
    assert (server.root / "a").is_dir() == (kind == "folder")


def test_a_refusal_says_what_was_stored(server):
    (server.root / "b").write_text("old")
    answer = send(server, [("a", b"1"), ("b", b"2"), ("c", b"3")], conflict="fail")
    assert answer.status_code == 409 and "a" in re.search(r"Stored before:(.*)", answer.text).group(1)
    assert (server.root / "a").read_bytes() == b"1" and not (server.root / "c").exists()


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "..", "/../../evil", "x" * 256, ".shareserve/x", "a/"])
def test_names_that_lead_out(server, name):
    answer = send(server, [(name, b"x")])
    assert answer.status_code in (400, 403, 404, 409), answer.text
    assert not (server.root.parent / "evil").exists()


def test_names_keep_their_bytes(server):
    names = ["ünï 日本.txt", "semi;colon", "100%25", "back\\slash", "a'b"]
    for name in names:
        assert send(server, [(name, b"x")]).status_code == 201, name
        assert (server.root / name).exists(), sorted(entry.name for entry in server.root.iterdir())


def test_a_form_that_breaks_off_leaves_no_half_file(server):
    boundary = "b"
    whole = b"--b\r\nContent-Disposition: form-data; name=files; filename=one\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=files; filename=two\r\n\r\nhalf"
    answer = requests.post(
        server.url + "/", data=whole, headers={"Content-Type": f"multipart/form-data; boundary={boundary}"}, timeout=20)
    assert answer.status_code == 400 and "one" in answer.text
    assert (server.root / "one").exists() and not (server.root / "two").exists()


def test_a_form_with_a_digest_is_stored_as_a_whole_or_not_at_all(server):
    (server.root / "b").write_text("old")
    form = b"".join(b"--b\r\nContent-Disposition: form-data; name=%s\r\n\r\n%s\r\n" % part for part in [
        (b"conflict", b"replace"), (b"files; filename=a", b"1" * 100_000), (b"files; filename=b", b"2"), (b"files; filename=tree/c", b"3")]) + b"--b--\r\n"
    wrong, right = (base64.b64encode(hashlib.sha256(data).digest()).decode() for data in (form + b"x", form))
    for digest, status in ((wrong, 400), (right, 201)):
        answer = requests.post(server.url + "/", data=form, timeout=20, headers={
            "Content-Type": "multipart/form-data; boundary=b", "Content-Digest": f"sha-256=:{digest}:"})
        assert answer.status_code == status, answer.text
        assert (server.root / "b").read_text() == ("2" if status == 201 else "old")
        assert (server.root / "a").exists() == (server.root / "tree/c").exists() == (status == 201)
    assert requests.post(server.url + "/", data=form, timeout=20, headers={
        "Content-Type": "multipart/form-data; boundary=b", "Content-Digest": "sha-256=x"}).status_code == 400


@pytest.mark.parametrize("files, status", [(64, 201), (65, 413)])
def test_a_form_with_a_digest_holds_only_so_many_files_open(server, files, status):
    form = b"".join(b"--b\r\nContent-Disposition: form-data; name=files; filename=f%d\r\n\r\nx\r\n" % number
                    for number in range(files)) + b"--b--\r\n"
    digest = base64.b64encode(hashlib.sha256(form).digest()).decode()
    answer = requests.post(server.url + "/", data=form, timeout=20, headers={
        "Content-Type": "multipart/form-data; boundary=b", "Content-Digest": f"sha-256=:{digest}:"})
    assert answer.status_code == status, answer.text
    assert len(list(server.root.glob("f*"))) == (64 if status == 201 else 0)


def test_what_is_no_form(server):
    (server.root / "file").write_text("x")
    assert requests.post(server.url + "/", data=b"x", headers={"Content-Type": "text/plain"}, timeout=20).status_code == 415
    assert requests.post(server.url + "/nothing/", files={"files": ("a", b"")}, timeout=20).status_code == 404
    answer = requests.post(server.url + "/file", files={"files": ("a", b"")}, timeout=20)
    assert answer.status_code == 405 and "GET" in answer.headers["Allow"]
    assert requests.post(server.url + "/", files={"conflict": (None, "keep")}, timeout=20).status_code == 400


def test_many_at_a_time_keep_all(server):
    def one(number):
        return send(server, [("same.txt", bytes([number]) * 100_000)]).status_code

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(16))) == {201}
    found = [path for path in server.root.iterdir() if path.name.startswith("same")]
    assert len(found) == 16 and {path.read_bytes()[0] for path in found} == set(range(16))
