"""`--limit-rate` holds in both directions, by every protocol. A rate can only be exceeded by a fault: what took too short a
time was too fast, however slow the machine is."""

import base64
import fcntl
import gzip
import socket
import subprocess
import termios
import threading
import time
from pathlib import Path

import hpack
import pytest
from hyperframe.frame import HeadersFrame, SettingsFrame, WindowUpdateFrame

from frames import Frames
from server import wait_until
from wire import Wire, ask, flood

RATE = 1_000_000
SIZE = 2_500_000
# A tenth of a second's worth may go ahead, and what the sockets' buffers hold of an upload is not the server's to slow.
AT_LEAST = 1.5

PROPERTY = '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="x">1</x></D:prop></D:set></D:propertyupdate>'
PROTOCOLS = {"http": [], "https": ["--http1.1"], "http2": ["--http2"]}


def curl(server, protocol, *options, fails=False):
    """Runs curl, which may be cut off by its own time limit if it `fails`; gives the seconds, and what it printed."""
    began = time.monotonic()
    shown = subprocess.run(
        ["curl", "-sSk", *PROTOCOLS[protocol], "-w", "%{http_code} %{http_version} %{size_download}", *options],
        capture_output=True, text=True, check=not fails).stdout
    assert shown.split()[1] == ("2" if protocol == "http2" else "1.1")
    return time.monotonic() - began, shown


@pytest.fixture(params=PROTOCOLS)
def limited(serve, request):
    server = serve("--limit-rate", str(RATE), *([] if request.param == "http" else ["--tls-self-signed"]))
    server.protocol = request.param
    return server


def test_download(limited):
    (limited.root / "file").write_bytes(b"d" * SIZE)
    took, shown = curl(limited, limited.protocol, "-o", "/dev/null", f"{limited.url}/file")
    assert shown.startswith("200") and shown.endswith(str(SIZE))
    assert took > AT_LEAST, took


def test_upload(limited, folder):
    source = folder / "source"
    source.write_bytes(b"u" * SIZE)
    took, shown = curl(limited, limited.protocol, "-T", str(source), f"{limited.url}/file")
    assert shown.startswith("201")
    assert (limited.root / "file").stat().st_size == SIZE
    assert took > AT_LEAST, took


def test_stream(limited):
    """An archive, whose bytes come from a task."""
    (limited.root / "folder").mkdir()
    (limited.root / "folder" / "file").write_bytes(b"s" * SIZE)
    took, shown = curl(limited, limited.protocol, "-o", "/dev/null", f"{limited.url}/folder/?archive=tar")
    assert shown.startswith("200") and int(shown.split()[2]) > SIZE
    assert took > AT_LEAST, took


@pytest.mark.parametrize("request_", [["/folder/?json"], ["-X", "PROPFIND", "-H", "Depth: 1", "/folder/"]], ids=["JSON", "PROPFIND"])
def test_listings(limited, request_):
    """Bodies in memory, many on one connection."""
    (limited.root / "folder").mkdir()
    for number in range(120):
        (limited.root / "folder" / f"{number:0200}").touch()
    *options, path = request_
    _, shown = curl(limited, limited.protocol, *options, "-o", "/dev/null", limited.url + path)
    times = SIZE // int(shown.split()[2]) + 1
    took, shown = curl(limited, limited.protocol, *options, *["-o", "/dev/null", limited.url + path] * times)
    assert shown.startswith("20")
    assert took > AT_LEAST, took


def test_streams_of_one_connection_share_its_rate(serve):
    server = serve("--limit-rate", str(RATE), "--tls-self-signed")
    for name in "abc":
        (server.root / name).write_bytes(b"d" * (SIZE // 3))
    began = time.monotonic()
    subprocess.run(
        ["curl", "-sSk", "--http2", "--parallel", *(word for name in "abc" for word in ("-o", "/dev/null", f"{server.url}/{name}"))],
        check=True)
    assert time.monotonic() - began > AT_LEAST


def test_many_connections_share_the_rate_of_all(serve):
    """Each has its turn; and none goes on before it, only because it has waited for so long."""
    server = serve("-q", "--limit-total-rate", "100K")
    (server.root / "file").write_bytes(bytes(1 << 20))
    wires = [Wire(server) for _ in range(400)]
    try:
        for wire in wires:
            wire.request("GET", "/file")
        time.sleep(11)
        waiting = sum(int.from_bytes(fcntl.ioctl(wire.socket, termios.FIONREAD, bytes(4)), "little") for wire in wires)
        # With a piece and a head for each to begin with.
        assert waiting < 11 * 110_000 + len(wires) * 5_000, waiting
    finally:
        for wire in wires:
            wire.close()


@pytest.mark.parametrize("request_", [["/folder/?json"], ["-X", "PROPFIND", "-H", "Depth: 1", "/folder/"]], ids=["JSON", "PROPFIND"])
def test_long_listings(serve, request_):
    """What is made in large pieces is sent in small ones."""
    server = serve("--limit-rate", "5K")
    (server.root / "folder").mkdir()
    for number in range(1500):
        (server.root / "folder" / f"{number:0100}").touch()
    *options, path = request_
    _, shown = curl(server, "http", *options, "-m", "2", "-o", "/dev/null", server.url + path, fails=True)
    assert 5_000 < int(shown.split()[2]) < 2 * 5_500 + 10_000, shown


def test_uploads_leave_turns_to_others(serve):
    """They are received in small pieces too, while many wait."""
    server = serve("-q", "--limit-total-rate", "400K")
    (server.root / "small").write_bytes(bytes(3_000))
    wires = [Wire(server) for _ in range(30)]
    for number, wire in enumerate(wires):
        wire.request("PUT", f"/{number}", "Content-Length: 100000000")
    flood(wires, 3)
    began = time.monotonic()
    assert ask(server, "GET", "/small").status == 200
    assert time.monotonic() - began < 5
    for wire in wires:
        wire.close()


def test_long_listings_that_wait_for_their_rate_take_no_memory(serve):
    """What is sent of them is not kept, however soon there is more."""
    server = serve("-q", "--limit-rate", "20K")
    for number in range(10_000):
        (server.root / f"{number:0150}").touch()
    before = server.peak_memory()
    wires = [Wire(server) for _ in range(20)]
    for wire in wires:
        wire.request("PROPFIND", "/", "Depth: 1", "Accept-Encoding: gzip")
    time.sleep(6)
    assert server.peak_memory() - before < 24 << 20, (before, server.peak_memory())
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("version", ["http", "http2"])
def test_what_waits_for_its_rate_takes_only_so_much_memory(serve, version):
    server = serve("-q", "--limit-rate", "2K", "--max-answer-memory", "4M", *(["--tls-self-signed"] if version == "http2" else []))
    for number in range(999):
        (server.root / f"{number:0230}").touch()
    before = server.peak_memory()
    sockets, statuses = [], []
    for _ in range(200 if version == "http" else 0):
        wire = Wire(server)
        sockets.append(wire)
        wire.request("GET", "/?json")
    for wire in sockets:
        statuses.append(int(wire.socket.recv(12).split()[1]))
    for _ in range(4 if version == "http2" else 0):
        frames = Frames(server)
        sockets.append(frames.socket)
        frames.send(b"".join(frames.head(stream, path="/?json") for stream in range(1, 101, 2)))
        decoder, answers = hpack.Decoder(), 0
        while answers < 50:
            frame = frames.next()
            if isinstance(frame, HeadersFrame):
                answers += 1
                statuses.append(int(dict(decoder.decode(frame.data))[":status"]))
    assert set(statuses) == {200, 503}, statuses
    assert server.peak_memory() - before < 40 << 20, (before, server.peak_memory())
    for socket in sockets:
        socket.close()


@pytest.mark.parametrize("version", ["http", "http2"])
def test_who_takes_nothing_makes_room_by_going_itself(serve, version):
    """The one that asks for more is the one that takes nothing of what it has."""
    server = serve(
        "-q", "--limit-rate", "100M", "--max-answer-memory", "4M", *(["--tls-self-signed"] if version == "http2" else []))
    for number in range(999):
        (server.root / f"{number:0230}").touch()
    if version == "http2":
        client = Frames(server, receive_buffer=4096)
        most = (1 << 31) - 1
        client.send(SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: most}).serialize()
                    + WindowUpdateFrame(0, most - 65_535).serialize())
        requests = [client.head(stream, path="/?json") for stream in range(1, 121, 2)]
    else:
        client = Wire(server, receive_buffer=4096)
        requests = [f"GET /?json HTTP/1.1\r\nHost: {client.authority}\r\n\r\n".encode()] * 60
    try:
        for request in requests:
            if client.send(request) is False:
                break
            time.sleep(0.1)
    except OSError:
        pass
    assert ask(server, "GET", "/.shareserve/health", tls=True if version == "http2" else None).status == 200
    client.socket.close()


def test_uploads_that_were_broken_off_have_no_turn(serve):
    server = serve("-q", "--limit-total-rate", "20K")
    for number in range(300):
        with Wire(server) as wire:
            wire.send(f"PUT /{number} HTTP/1.1\r\nHost: {wire.authority}\r\nContent-Length: 1000000\r\n\r\n".encode() + bytes(9_000))
    began = time.monotonic()
    assert ask(server, "PUT", "/mine", body=b"x").status == 201
    # A single one that was still there may have been received.
    assert time.monotonic() - began < 15
    wait_until(lambda: len(list(Path(f"/proc/{server.pid}/fd").iterdir())) < 60, "their places are free")


def test_what_was_changed_is_told_without_memory_for_it(serve):
    """While all memory for answers is taken by listings that wait for their rate."""
    server = serve("-q", "--limit-rate", "20K", "--max-answer-memory", "1M")
    (server.root / "listed").mkdir()
    for number in range(999):
        (server.root / "listed" / f"{number:0230}").touch()
    wires = []
    while True:
        wires.append(Wire(server))
        wires[-1].request("GET", "/listed/?json")
        if int(wires[-1].socket.recv(12).split()[1]) == 503:
            break
        assert len(wires) < 20
    parts = [f'--b\r\nContent-Disposition: form-data; name="file"; filename="{number:0200}"\r\n\r\nx\r\n' for number in range(1_000)]
    form = gzip.compress(("".join(parts) + "--b--\r\n").encode())
    with Wire(server) as wire:
        wire.request("POST", "/", "Content-Type: multipart/form-data; boundary=b", "Content-Encoding: gzip",
                     "Accept: application/json", body=form)
        assert wire.socket.recv(12).split()[1] == b"201"
    for wire in wires:
        wire.close()


def test_archives_that_wait_for_their_rate_keep_their_places(serve):
    """Each step of theirs takes longer than a client may take nothing while others want its place."""
    server = serve("-q", "--limit-rate", "500", "--max-archives", "1")
    (server.root / "folder").mkdir()
    for number in range(100):
        (server.root / "folder" / f"{number}").write_bytes(bytes(3_000))
    with Wire(server, timeout=40) as wire:
        wire.request("GET", "/folder/?archive=tar")
        wire.read(2_000)
        time.sleep(7)
        for _ in range(2):
            with Wire(server) as other:
                other.request("GET", "/folder/?archive=tar")
                assert other.socket.recv(12).split()[1] == b"503"
            time.sleep(0.5)
        wire.read(6_000)


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_who_goes_after_all_was_sent_has_uploaded_it(serve, tls):
    """Without waiting for the answer, and without a word of TLS."""
    server = serve("-q", "--limit-rate", "20K", *(["--tls-self-signed"] if tls else []))
    with Wire(server, tls=tls) as wire:
        wire.request("PUT", "/file", body=b"x" * 50_000)
    wait_until(lambda: (server.root / "file").exists(), "it is stored")
    assert (server.root / "file").stat().st_size == 50_000


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_a_small_upload_waits_for_one_turn(serve, tls):
    server = serve("-q", "--limit-total-rate", "100K", *(["--tls-self-signed"] if tls else []))
    wires = [Wire(server, tls=tls) for _ in range(50)]
    for number, wire in enumerate(wires):
        wire.request("PUT", f"/{number}", body=bytes(60_000))
    time.sleep(2)
    began = time.monotonic()
    assert ask(server, "PUT", "/mine", body=b"x", tls=tls).status == 201
    # The turns of the others take two seconds each.
    assert time.monotonic() - began < 6
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_an_upload_and_a_download_get_the_same(serve, tls):
    server = serve("-q", "--limit-total-rate", "100K", *(["--tls-self-signed"] if tls else []))
    (server.root / "file").write_bytes(bytes(5_000_000))
    with Wire(server, tls=tls) as up, Wire(server, tls=tls) as down:
        up.send(f"PUT /new HTTP/1.1\r\nHost: {up.authority}\r\nContent-Length: 5000000\r\n\r\n")
        down.request("GET", "/file")
        sending = threading.Thread(target=flood, args=([up], 8))
        sending.start()
        began, got = time.monotonic(), 0
        while time.monotonic() - began < 8:
            got += len(down.socket.recv(65_536))
        sending.join()
    assert 0.35 < got / 800_000 < 0.65, got


def test_who_goes_after_all_was_sent_has_turns_like_others(serve):
    """Neither is what it has sent stored at once, nor do others wait for all of it."""
    server = serve("-q", "--limit-total-rate", "200K", "--tls-self-signed")
    began = time.monotonic()
    for number in range(20):
        with Wire(server, tls=True) as wire:
            wire.request("PUT", f"/{number}", body=bytes(100_000))
    time.sleep(1)
    asked = time.monotonic()
    assert ask(server, "PUT", "/mine", body=b"x", tls=True).status == 201
    # Those of the others take half a second each.
    assert time.monotonic() - asked < 3
    wait_until(lambda: all((server.root / str(number)).exists() for number in range(20)), "all is stored")
    assert time.monotonic() - began > 7


def test_what_comes_at_once_is_paid_for_in_turns(serve):
    """A whole body in one piece of TLS is several of what others send and receive."""
    server = serve("-q", "--limit-total-rate", "100K", "--tls-self-signed")
    wires = [Wire(server, tls=True) for _ in range(120)]
    for number, wire in enumerate(wires):
        wire.request("PUT", f"/{number}", body=bytes(16_000))
    time.sleep(1)
    began = time.monotonic()
    assert ask(server, "PUT", "/mine", body=b"x", tls=True).status == 201
    # One turn of all others takes five seconds; all that they have sent, nineteen.
    assert time.monotonic() - began < 10
    for wire in wires:
        wire.close()


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
@pytest.mark.parametrize("size", [50_000, 150_000])
def test_who_has_gone_replaces_nothing_that_came_later(serve, size, tls):
    """A client that gives up waiting, and sends something newer on another connection."""
    server = serve("-q", "--limit-rate", "20K", *(["--tls-self-signed"] if tls else []))
    with Wire(server, tls=tls) as wire:
        wire.request("PUT", "/file", body=b"1" * size)
    # Which of two requests at the same time is the newer one is not known.
    time.sleep(0.2)
    assert ask(server, "PUT", "/file", body=b"newer", tls=tls).status in (201, 204)
    time.sleep(size / 20_480 + 1)
    assert (server.root / "file").read_bytes() == b"newer"


def test_who_waits_for_the_answer_may_have_closed_its_side(serve):
    """Such a client looks like one that has gone, but what it replaces has the same content as before."""
    server = serve("-q", "--limit-rate", "20K")
    changes = {
        "permissions": lambda file: file.chmod(0o600),
        "link": lambda file: (server.root / "second").hardlink_to(file),
        "properties": lambda file: ask(server, "PROPPATCH", f"/{file.name}", body=PROPERTY),
    }
    for name, change in changes.items():
        file = server.root / name
        file.write_bytes(b"old")
        with Wire(server) as wire:
            wire.request("PUT", f"/{name}", body=b"1" * 30_000)
            wire.socket.shutdown(socket.SHUT_WR)
            time.sleep(0.3)
            change(file)
            assert wire.response("PUT").status == 204, name
        assert file.stat().st_size == 30_000


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_whose_form_has_waited_replaces_nothing_that_came_later(serve, tls):
    server = serve("-q", "--limit-rate", "20K", *(["--tls-self-signed"] if tls else []))
    parts = [b'name="conflict"\r\n\r\nreplace', b'name="file"; filename="file"\r\n\r\n' + b"1" * 60_000]
    form = b"".join(b"--B\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--B--\r\n"
    with Wire(server, tls=tls) as wire:
        wire.request("POST", "/", "Content-Type: multipart/form-data; boundary=B", body=form)
    time.sleep(0.2)
    assert ask(server, "PUT", "/file", body=b"newer", tls=tls).status in (201, 204)
    time.sleep(4)
    assert (server.root / "file").read_bytes() == b"newer"


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_what_is_deleted_while_an_upload_waits_stays_so(serve, tls):
    server = serve("-q", "--limit-rate", "20K", *(["--tls-self-signed"] if tls else []))
    (server.root / "file").write_bytes(b"old")
    with Wire(server, tls=tls) as wire:
        wire.request("PUT", "/file", body=b"1" * 60_000)
    time.sleep(0.3)
    assert ask(server, "DELETE", "/file", tls=tls).status == 204
    time.sleep(4)
    assert not (server.root / "file").exists()


@pytest.mark.parametrize("tls", [None, True], ids=["http", "https"])
def test_a_resumable_upload_that_has_waited_replaces_nothing_that_came_later(serve, tls):
    server = serve("-q", "--limit-rate", "20K", *(["--tls-self-signed"] if tls else []))
    (server.root / "file").write_bytes(b"old")
    name, rule = (base64.b64encode(text).decode() for text in (b"file", b"replace"))
    fields = ["Tus-Resumable: 1.0.0", "Upload-Length: 60000", f"Upload-Metadata: filename {name},conflict {rule}"]
    place = ask(server, "POST", "/.shareserve/uploads", *fields, tls=tls)["Location"]
    stream = "Content-Type: application/offset+octet-stream"
    for method, target, *more in [("POST", "/.shareserve/uploads", *fields, stream), ("PUT", "/file", "Upload-Complete: ?1"),
                                  ("PATCH", place, fields[0], "Upload-Offset: 0", stream)]:
        with Wire(server, tls=tls) as wire:
            wire.request(method, target, *more, body=b"1" * 60_000)
    time.sleep(0.3)
    assert ask(server, "PUT", "/file", body=b"newer", tls=tls).status == 204
    time.sleep(4)
    assert (server.root / "file").read_bytes() == b"newer"
    # What has come stays, and gets its name for whoever asks for it now.
    assert ask(server, "HEAD", place, fields[0], tls=tls)["Upload-Offset"] == "60000"
    assert (server.root / "file").stat().st_size == 60_000


def test_a_form_replaces_nothing_that_came_before_its_part_did(serve):
    """Though its client goes only after that."""
    server = serve("-q", "--limit-rate", "20K")
    parts = [b'name="conflict"\r\n\r\nreplace', b'name="file"; filename="first"\r\n\r\n' + b"1" * 20_000,
             b'name="file"; filename="second"\r\n\r\n' + b"1" * 60_000]
    form = b"".join(b"--B\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--B--\r\n"
    with Wire(server) as wire:
        wire.request("POST", "/", "Content-Type: multipart/form-data; boundary=B", body=form)
        time.sleep(0.3)
        assert ask(server, "PUT", "/second", body=b"newer").status == 201
        wait_until(lambda: (server.root / "first").exists(), "the first part is stored")
        time.sleep(0.5)
    time.sleep(4)
    assert (server.root / "second").read_bytes() == b"newer"


def test_whose_form_waits_for_the_answer_may_have_closed_its_side(serve):
    server = serve("-q", "--limit-rate", "20K")
    rule = b'name="conflict"\r\n\r\nreplace'
    part = b'name="file"; filename="file"\r\n\r\n'
    for parts, change in [([rule, part + b"1" * 30_000], lambda file: file.chmod(0o600)),
                          ([rule, part + b"1" * 15_000, part + b"2" * 15_000], lambda file: None)]:
        form = b"".join(b"--B\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--B--\r\n"
        file = server.root / "file"
        file.write_bytes(b"old")
        with Wire(server) as wire:
            wire.request("POST", "/", "Content-Type: multipart/form-data; boundary=B", body=form)
            wire.socket.shutdown(socket.SHUT_WR)
            time.sleep(0.3)
            change(file)
            answer = wire.response("POST")
        assert answer.status in (200, 201), answer.text
        assert file.read_bytes() == parts[-1].partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("limit", [["--limit-rate", "1K"], ["--limit-total-rate", "20K"]], ids=lambda limit: limit[0])
def test_who_has_gone_makes_way_for_others(serve, limit):
    """Uploads that wait for their turns hold places, of which half are for those who stay."""
    server = serve("-q", *limit, "--max-requests", "40", "--tls-self-signed")
    for number in range(60):
        with Wire(server, tls=True) as wire:
            wire.request("PUT", f"/{number}", body=bytes(15_000))
    wait_until(lambda: ask(server, "OPTIONS", "/", tls=True).status == 200, "the server answers")
    wait_until(lambda: ask(server, "MKCOL", "/mine", tls=True).status == 201, "a place is free", timeout=8)
