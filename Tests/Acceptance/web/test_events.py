"""What others change shows at once; what the page deletes can be had back."""

import contextlib
import json
import os
import pathlib
import re
import socket
import time

import pytest
import requests
from hyperframe.frame import DataFrame

from frames import Frames
from server import wait_until
from wire import Wire, ask

JSON = {"Content-Type": "application/json"}


def test_head_says_no_length(server):
    """The stream has none. RFC 9110 §8.6"""
    answer = requests.head(server.url + "/.shareserve/events", timeout=20)
    assert answer.status_code == 200 and "Content-Length" not in answer.headers


def events(server, folder="/", timeout=20, since=None, **options):
    """Yields (event, data) as they come; the stream's first line has been read already."""
    answer = requests.get(server.url + "/.shareserve/events", params={"in": folder, "since": since}, stream=True, timeout=timeout, **options)
    assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
    lines = answer.iter_lines(chunk_size=1, decode_unicode=True)
    assert next(lines).startswith("retry")

    def read():
        name = None
        for line in lines:
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])

    return answer, read()


def wait_for(stream, wanted, seconds=10):
    deadline = time.monotonic() + seconds
    for event in stream:
        if wanted(*event):
            return event[1]
        assert time.monotonic() < deadline
    raise AssertionError("the stream ended")


def tells(name):
    return lambda event, data: event == "changed" and (data.get("all") or name in data.get("names", []))


def test_changes_are_told(server):
    (server.root / "sub").mkdir()
    answer, stream = events(server)
    (server.root / "straight.txt").write_text("x")
    wait_for(stream, tells("straight.txt"))
    requests.put(server.url + "/put.txt", data=b"x", timeout=20)
    wait_for(stream, tells("put.txt"))
    (server.root / "straight.txt").unlink()
    wait_for(stream, tells("straight.txt"))
    answer.close()


def test_what_changes_between_reading_and_listening_is_told(server):
    def version(folder):
        page = requests.get(server.url + folder, headers={"Accept": "text/html"}, timeout=20).text
        return json.loads(re.search(r'<script type="application/json" id="boot">(.*?)</script>', page, re.DOTALL)[1])["version"]

    (server.root / "sub").mkdir()
    (server.root / "other").mkdir()
    begun = version("/sub/")
    assert version("/sub/") == begun != version("/other/")
    for happens in (False, True):
        # The disk's clock may not distinguish moments that are closer together than this.
        time.sleep(0.02)
        if happens:
            (server.root / "sub/missed").write_text("x")
        answer, stream = events(server, "/sub/", since=begun)
        (server.root / "sub/seen").write_text("x")
        assert next(stream) == ("changed", {"all": True} if happens else {"names": ["seen"]})
        (server.root / "sub/seen").unlink()
        answer.close()
        begun = version("/sub/")


def test_a_folder_that_goes_with_another_is_told_of_no_more(server):
    """Where it is now may be for others: nothing that happens there is told, and the page looks again at the address."""
    (server.root / "a" / "sub").mkdir(parents=True)
    for happens in (True, False):
        # Less than the interval at which a stream sends a sign of life.
        answer, stream = events(server, "/a/sub/", timeout=10)
        (server.root / "a").rename(server.root / "b")
        if happens:
            (server.root / "b" / "sub" / "secret").write_text("x")
        assert [data for event, data in stream if event == "changed"] == [{"all": True}]
        answer.close()
        (server.root / "b").rename(server.root / "a")


def test_uploads_in_progress_are_told(server):
    answer, stream = events(server)
    fields = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": "filename eA=="}
    place = requests.post(server.url + "/.shareserve/uploads", headers=fields, timeout=20).headers["Location"]
    data = wait_for(stream, lambda event, data: event == "uploads" and data)
    assert data[0]["path"] == "/x" and data[0]["size"] == 9
    # What others see of an upload must not let them continue it.
    assert place.rsplit("/", 1)[1] not in json.dumps(data)
    answer.close()


def test_who_uploads_is_told_to_users_only(serve):
    server = serve("--auth", "anna:x@/:rw", "--auth", "@/:ro")
    fields = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": "filename eA=="}
    place = requests.post(server.url + "/.shareserve/uploads", headers=fields, auth=("anna", "x"), timeout=20)
    assert place.status_code == 201
    for credentials, user in ((("anna", "x"), "anna"), (None, None)):
        answer, stream = events(server, auth=credentials)
        data = wait_for(stream, lambda event, data: event == "uploads" and data)
        assert data[0]["path"] == "/x" and data[0].get("user") == user
        answer.close()


def test_a_drop_box_is_told_of_and_a_file_of_its_name_is_not(serve):
    server = serve("--auth", "anna:x@/:rw", "--auth", "bert:x@/:ro,/box:w,/secret:w")
    (server.root / "secret").write_text("old")
    answer, stream = events(server, auth=("bert", "x"))
    (server.root / "secret").write_text("new")
    time.sleep(1)
    (server.root / "box").mkdir()
    (server.root / "last").mkdir()
    told = set()
    while "last" not in told:
        told.update(wait_for(stream, lambda event, data: event == "changed" and data)["names"])
    assert "box" in told and "secret" not in told
    answer.close()


def test_a_folder_that_is_not_there(server):
    for folder in ("/nothing/", "/../"):
        status = requests.get(server.url + "/.shareserve/events", params={"in": folder}, timeout=20).status_code
        assert status in (400, 404)


def test_streams_that_go_while_they_are_told_stop_nobody(server):
    """Pages that are closed together, just as something changes in what they show."""
    for number in range(10):
        streams = [Wire(server) for _ in range(150)]
        for stream in streams:
            stream.request("GET", "/.shareserve/events?in=/")
        for stream in streams:
            stream.socket.recv(2000)
        (server.root / str(number)).write_text("x")
        # Changes are gathered for 150 ms and reported together: the streams are closed from just before that moment on,
        # for 45 ms.
        time.sleep(0.145)
        for stream in streams:
            stream.reset()
            time.sleep(0.0003)
        assert requests.get(server.url + "/.shareserve/health", timeout=10).status_code == 200


@pytest.mark.parametrize("places, streams", [(8, 2), (1, 0)])
def test_open_pages_leave_places_for_others(serve, places, streams):
    """Each has a stream for as long as it is open, which takes a request's place."""
    server = serve("--max-requests", str(places))
    (server.root / "small").write_bytes(b"x")
    with contextlib.ExitStack() as stack:
        statuses = []
        for _ in range(10):
            wire = stack.enter_context(Wire(server))
            wire.request("GET", "/.shareserve/events?in=/")
            statuses.append(int(wire.socket.recv(2_000).split()[1]))
        assert statuses == [200] * streams + [503] * (10 - streams)
        for _ in range(6):
            # The one before may still have its place.
            wait_until(lambda: ask(server, "PROPFIND", "/", "Depth: 1").status == 207, "there is a place")


def test_the_server_ends_with_streams_open(server):
    answer, _ = events(server)
    begun = time.monotonic()
    server.stop()
    assert time.monotonic() - begun < 5
    answer.close()


def test_trash(server):
    (server.root / "a.txt").write_text("a")
    (server.root / "dir").mkdir()
    (server.root / "dir/b").write_text("b")
    trash = server.url + "/.shareserve/trash"
    done = requests.post(trash, json={"paths": ["/a.txt", "/dir", "/nothing", "/../x"]}, timeout=20).json()
    assert [item["path"] for item in done["items"]] == ["/a.txt", "/dir"] and len(done["failures"]) == 2
    assert not (server.root / "a.txt").exists() and not (server.root / "dir").exists()
    listed = requests.get(trash, timeout=20).json()["items"]
    assert {item["path"] for item in listed} == {"/a.txt", "/dir"}
    ids = {item["path"]: item["id"] for item in done["items"]}
    back = requests.post(trash + "/restore", json={"ids": [ids["/dir"]]}, timeout=20).json()
    assert not back["failures"] and (server.root / "dir/b").read_text() == "b"
    (server.root / "a.txt").write_text("new")
    assert requests.post(trash + "/restore", json={"ids": [ids["/a.txt"]]}, timeout=20).json()["failures"]
    assert not requests.post(trash + "/restore", json={"ids": [ids["/a.txt"]], "conflict": "keep"}, timeout=20).json()["failures"]
    assert (server.root / "a.txt").read_text() == "new" and (server.root / "a (1).txt").read_text() == "a"
    requests.post(trash, json={"paths": ["/dir"]}, timeout=20)
    assert requests.delete(trash, timeout=20).status_code == 204
    assert requests.get(trash, timeout=20).json()["items"] == []


def test_documents_are_checked(server):
    trash = server.url + "/.shareserve/trash"
    assert requests.post(trash, data="{}", timeout=20).status_code == 415
    for body in (b"", b"{", b"[]", b"{}", b'{"paths":[]}', b'{"paths":"x"}', b"[" * 100_000):
        assert requests.post(trash, data=body, headers=JSON, timeout=20).status_code == 400, body[:20]
    assert requests.post(trash, data=b" " * (2 << 20), headers=JSON, timeout=20).status_code == 413


def test_a_client_that_is_slow_to_listen_misses_nothing(server):
    # Long in JSON, six bytes for each.
    names = ["\x01" * 240 + str(number) for number in range(150)]
    with Wire(server, receive_buffer=4096) as wire:
        wire.request("GET", "/.shareserve/events?in=/")
        for _ in range(60):
            for name in names:
                (server.root / name).write_bytes(b"")
            time.sleep(0.16)
        (server.root / "last").write_bytes(b"")
        time.sleep(1)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        heard = b""
        deadline = time.monotonic() + 20
        while b'"last"' not in heard and b'"all":true' not in heard:
            assert time.monotonic() < deadline, f"{len(heard)} bytes, and no word of the last change"
            heard += wire.socket.recv(1 << 20)


@pytest.mark.parametrize("protocol", ["http", "http2"])
def test_a_client_that_is_gone_without_a_word_is_let_go(serve, protocol):
    """The little that it is told would find room in the server's socket for a quarter of an hour."""
    secure = protocol == "http2"
    server = serve("--read-timeout", "2s", *(["--tls-self-signed"] if secure else []))
    (server.root / "sub").mkdir()

    def sockets():
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{server.pid}/fd").iterdir() if link.is_symlink()]
        return sum(link.startswith("socket:") for link in links)

    before = wait_until(sockets, "the server listens")
    path = "/.shareserve/events?in=/"
    if secure:
        gone = Frames(server, receive_buffer=4096)
        gone.send(gone.head(1, path=path))
        while not isinstance(gone.next(), DataFrame):
            pass
    else:
        gone = Wire(server, receive_buffer=4096)
        gone.request("GET", path)
        seen = b""
        while b"retry" not in seen:
            piece = gone.socket.recv(4096)
            assert piece, seen
            seen += piece
    with requests.get(server.url + "/.shareserve/events?in=/sub/", stream=True, timeout=20, verify=False) as answer:
        lines = answer.iter_lines(chunk_size=1)
        assert next(lines).startswith(b"retry")
        # More than it has a buffer for, while its system acknowledges nothing: the server treats the client as gone.
        for number in range(80):
            (server.root / f"{number:0250}").write_bytes(b"")
        wait_until(lambda: sockets() == before + 1, "the connection is closed")
        (server.root / "sub" / "later").write_bytes(b"")
        assert any(b"later" in line for line in lines)
    gone.socket.close()
