"""HTTP/2 connections as they live and end: beside one that idles, a fault, a shut-down. RFC 9113."""

import contextlib
import os
import signal
import socket
import time

import hpack
import pytest
from hyperframe.frame import (
    DataFrame, GoAwayFrame, HeadersFrame, PingFrame, PriorityFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame)

from frames import Frames
from server import wait_until
from wire import Wire, ask

WHOLE, BEGUN = ("END_HEADERS", "END_STREAM"), ("END_HEADERS",)
REFUSED = 7


class Client(Frames):
    """A connection whose answers are collected by stream: heads, body, and how each ended."""

    def __init__(self, server, **options):
        super().__init__(server, **options)
        self.decoder = hpack.Decoder()
        self.heads, self.bodies, self.over, self.goodbye = {}, {}, {}, None

    def begin(self, stream, method, path, *fields, flags=WHOLE):
        self.send(self.head(stream, *fields, method=method, path=path, flags=flags))

    def data(self, stream, body, last=False):
        self.send(DataFrame(stream, body, flags=("END_STREAM",) if last else ()).serialize())

    def step(self):
        """Reads a frame; false at the end of the connection."""
        frame = self.next()
        if isinstance(frame, HeadersFrame):
            self.heads.setdefault(frame.stream_id, []).append(dict(self.decoder.decode(frame.data)))
        elif isinstance(frame, DataFrame):
            self.bodies.setdefault(frame.stream_id, bytearray()).extend(frame.data)
        elif isinstance(frame, GoAwayFrame):
            self.goodbye = frame
        if isinstance(frame, RstStreamFrame):
            self.over[frame.stream_id] = frame.error_code
        elif frame is not None and "END_STREAM" in frame.flags:
            self.over.setdefault(frame.stream_id, None)
        return frame is not None

    def until(self, condition):
        while not condition():
            assert self.step(), "the connection ended"

    def status(self, stream):
        """Of the answer, which is waited for to its end."""
        self.until(lambda: stream in self.over)
        return self.heads[stream][-1][":status"] if stream in self.heads else None

    def says_goodbye(self, last):
        """The connection ends with GOAWAY, without an error, and `last` as the last stream that was looked at."""
        while self.step():
            pass
        return self.goodbye is not None and (self.goodbye.error_code, self.goodbye.last_stream_id) == (0, last)


@pytest.fixture
def secure(serve):
    def start(*options):
        server = serve("--tls-self-signed", *options)
        (server.root / "a").write_bytes(b"a" * 1000)
        return server

    return start


def test_stream_may_take_longer_than_an_idle_connection(secure):
    server = secure("--idle-timeout", "1s")
    client = Client(server)
    client.begin(1, "PUT", "/slow", flags=BEGUN)
    for _ in range(8):
        client.data(1, b"x" * 10)
        time.sleep(0.5)
    client.data(1, b"", last=True)
    assert client.status(1) == "201"
    assert (server.root / "slow").read_bytes() == b"x" * 80


def test_an_upload_in_pieces_is_not_held_up(secure):
    """As in test_messages: the client sends its body when the head was acknowledged."""
    client, times = Client(secure("-q")), []
    for stream in range(1, 21, 2):
        began = time.monotonic()
        client.begin(stream, "PUT", "/pieces", flags=BEGUN)
        client.data(stream, b"x" * 1_000, last=True)
        assert client.status(stream) in ("201", "204")
        times.append(time.monotonic() - began)
    assert min(times) < 0.03, times


def test_idle_connection_ends_with_goodbye(secure):
    server = secure("--idle-timeout", "1s")
    client = Client(server)
    client.begin(1, "GET", "/a")
    assert client.status(1) == "200"
    assert client.says_goodbye(last=1)


def test_connections_that_their_clients_end_are_gone(secure):
    server = secure()
    before = server.open_files()
    for _ in range(5):
        client = Client(server)
        client.begin(1, "GET", "/a")
        assert client.status(1) == "200"
        client.socket.settimeout(0)
        try:
            # close_notify; the answer to it is not waited for.
            client.socket.unwrap()
        except OSError:
            pass
        client.socket.close()
    # A server that has just begun may still have opened a timer of its own.
    wait_until(lambda: server.open_files() <= before + 2, "the connections are gone")


def test_shut_down_lets_streams_end_and_takes_no_new_ones(secure):
    server = secure("--shutdown-timeout", "60s")
    with open(server.root / "big", "wb") as file:
        file.truncate(3_000_000)
    client = Client(server)
    client.send(WindowUpdateFrame(0, window_increment=4_000_000).serialize())
    client.begin(1, "PUT", "/new", flags=BEGUN)
    client.data(1, b"first ")
    client.begin(3, "GET", "/big")
    client.until(lambda: 3 in client.bodies)
    server.signal(signal.SIGTERM)
    client.until(lambda: client.goodbye)
    assert (client.goodbye.error_code, client.goodbye.last_stream_id) == (0, 3)
    # A request that crossed the GOAWAY, with its body.
    client.begin(5, "PUT", "/late", flags=BEGUN)
    client.data(5, b"late")
    client.data(5, b"late", last=True)
    client.until(lambda: 5 in client.over)
    assert client.over[5] == REFUSED
    client.send(WindowUpdateFrame(3, window_increment=4_000_000).serialize())
    assert client.status(3) == "200" and len(client.bodies[3]) == 3_000_000
    client.data(1, b"second", last=True)
    assert client.status(1) == "201"
    assert client.says_goodbye(last=3)
    assert server.process.wait(30) == 0
    assert (server.root / "new").read_bytes() == b"first second"
    assert not (server.root / "late").exists()


def test_shut_down_ends_idle_connections_at_once(secure):
    server = secure("--shutdown-timeout", "60s")
    client, fresh, deaf, older = Client(server), Client(server), Client(server), Wire(server, tls=True)
    client.begin(1, "GET", "/a")
    assert client.status(1) == "200"
    assert older.ask("GET", "/a").status == 200
    started = time.monotonic()
    server.signal(signal.SIGTERM)
    assert client.says_goodbye(last=1)
    assert fresh.says_goodbye(last=0)
    assert server.process.wait(30) == 0
    # Clients that do not read would be waited for that long.
    assert time.monotonic() - started < 4.5
    for kept in (deaf.socket, older):
        kept.close()


def test_malformed_request_ends_no_other(secure):
    server = secure()
    client = Client(server)
    client.begin(1, "PUT", "/m", flags=BEGUN)
    # Fields of HTTP/1, an empty path, fewer and more bytes than were announced.
    client.begin(3, "GET", "/a", ("connection", "close"))
    client.begin(5, "GET", "")
    client.begin(7, "PUT", "/short", ("content-length", "5"), flags=BEGUN)
    client.data(7, b"abc", last=True)
    client.begin(9, "PUT", "/long", ("content-length", "5"), flags=BEGUN)
    client.data(9, b"0123456789", last=True)
    client.data(1, b"abc", last=True)
    assert client.status(1) == "201"
    for stream in (3, 5, 7, 9):
        client.until(lambda: stream in client.over)
        assert client.over[stream] == 1
    client.begin(11, "GET", "/a")
    assert client.status(11) == "200"
    assert (server.root / "m").read_bytes() == b"abc"
    assert not (server.root / "short").exists() and not (server.root / "long").exists()


def window_update(stream, increment):
    """Any increment, also those that hyperframe refuses to send."""
    return (4).to_bytes(3, "big") + b"\x08\0" + stream.to_bytes(4, "big") + increment.to_bytes(4, "big")


def test_faulty_window_ends_no_other(secure):
    """RFC 9113 §6.9, §6.9.1"""
    server = secure()
    with open(server.root / "big", "wb") as file:
        file.truncate(1 << 20)
    client = Client(server)
    client.begin(1, "PUT", "/upload", flags=BEGUN)
    for stream, increment, code in ((3, 0, 1), (5, (1 << 31) - 1, 3)):
        client.begin(stream, "GET", "/big", ("range", "bytes=0-69999"))
        client.send(window_update(stream, increment))
        client.until(lambda: stream in client.over)
        assert client.over[stream] == code
        client.send(WindowUpdateFrame(0, window_increment=70_000).serialize())
    client.data(1, b"abc", last=True)
    assert client.status(1) == "201"
    # An increment of 0 for the connection itself is a connection error.
    client.send(window_update(0, 0))
    assert client.ending() == 1


def test_pictures_may_be_wanted_in_another_order(secure):
    """Browsers say so for each one that comes into view. RFC 7540 §6.3"""
    client = Client(secure())
    client.begin(1, "PUT", "/upload", flags=BEGUN)
    for stream in range(3, 603, 2):
        client.send(PriorityFrame(stream, depends_on=0, stream_weight=9).serialize())
    client.data(1, b"all", last=True)
    assert client.status(1) == "201"


@pytest.mark.parametrize("fields", [
    [("x", " a")], [("x", "a ")], [("x", "\ta")], [("host", "other.example")], [("host", "localhost"), ("host", "localhost")],
], ids=str)
def test_field_that_is_no_field_of_this_protocol_is_refused(secure, fields):
    """RFC 9113 §8.2.1, §8.3.1"""
    client = Client(secure())
    client.begin(1, "GET", "/a", *fields)
    assert client.status(1) == "400"
    # A field that is sent twice with the same value.
    client.begin(3, "GET", "/a", ("host", client.authority.upper()), ("x", "a b"))
    assert client.status(3) == "200"


def test_pieces_of_a_body_may_be_empty(secure):
    server = secure()
    client = Client(server)
    client.begin(1, "PUT", "/pieces", flags=BEGUN)
    for piece in (b"", b"", b"ab", b"", b"", b"", b"c"):
        client.data(1, piece)
    client.data(1, b"", last=True)
    assert client.status(1) == "201" and (server.root / "pieces").read_bytes() == b"abc"


def test_more_streams_than_a_few_are_reset_while_their_bodies_come(secure):
    server = secure()
    client = Client(server)
    numbers = range(1, 199, 2)
    for stream in numbers:
        client.begin(stream, "PUT", f"/no/such/folder/{stream}", flags=BEGUN)
    for stream in numbers:
        client.until(lambda: stream in client.over)
    # On their way when the answers came.
    for stream in numbers:
        client.data(stream, b"late")
    client.begin(201, "GET", "/a")
    assert client.status(201) == "200"


def test_some_hundred_requests_may_be_cancelled(secure):
    client = Client(secure())
    client.begin(1, "PUT", "/upload", flags=BEGUN)
    for stream in range(3, 1003, 2):
        client.begin(stream, "GET", "/a")
        client.send(RstStreamFrame(stream, 8).serialize())
    client.data(1, b"all", last=True)
    assert client.status(1) == "201"


def test_continue_is_said_when_it_is_waited_for(secure):
    client = Client(secure())
    client.begin(1, "PUT", "/n", ("expect", "100-continue"), ("content-length", "3"), flags=BEGUN)
    client.until(lambda: 1 in client.heads)
    assert client.heads[1] == [{":status": "100"}]
    client.data(1, b"abc", last=True)
    assert client.status(1) == "201" and len(client.heads[1]) == 2
    client.begin(3, "PUT", "/no/such/folder/n", ("expect", "100-continue"), ("content-length", "3"), flags=BEGUN)
    assert client.status(3) == "409" and len(client.heads[3]) == 1


def test_refused_head_has_no_body(secure):
    client = Client(secure())
    for stream, status, fields in [(1, "417", [("expect", "more")]), (3, "431", [("x", "y")] * 200), (5, "404", [])]:
        client.begin(stream, "HEAD", "/missing", *fields)
        assert client.status(stream) == status
    assert not any(client.bodies.values())


def test_cookies_may_come_one_by_one(secure):
    """As browsers send them, ours between those of others on the same host. RFC 9113 §8.2.3"""
    server = secure("--auth", "anna:secret@/:rw")
    form = "user=anna&password=secret&return=/"
    answer = ask(
        server, "POST", "/.shareserve/login", "Content-Type: application/x-www-form-urlencoded",
        f"Origin: {server.url}", body=form, tls=True)
    cookie = answer["Set-Cookie"].split(";")[0]
    client = Client(server)
    client.begin(1, "GET", "/a")
    assert client.status(1) == "401"
    client.begin(3, "GET", "/a", ("cookie", "other=1"), ("cookie", cookie), ("cookie", "more=2"))
    assert client.status(3) == "200" and client.bodies[3] == b"a" * 1000


@pytest.mark.memory
def test_writes_that_end_within_a_frame_cost_no_memory(secure):
    server = secure("-q")
    client = Client(server)
    client.begin(1, "GET", "/a")
    assert client.status(1) == "200"
    # Frames of an unknown type, so that nothing is answered.
    frame = (16_000).to_bytes(3, "big") + b"\x77\0" + bytes(4) + b"x" * 16_000
    pieces = frame * 64
    client.send(pieces[:-5])
    before = server.peak_memory()
    for _ in range(100):
        client.send(pieces[-5:] + pieces[:-5])
    assert server.peak_memory() - before < 20 << 20
    client.send(pieces[-5:])
    client.begin(3, "GET", "/a")
    assert client.status(3) == "200" and client.bodies[3] == b"a" * 1000


def test_fields_that_do_not_end_end_their_connection(secure):
    server = secure("--head-timeout", "1s", "--idle-timeout", "60s")
    client, other = Client(server), Client(server)
    client.begin(1, "GET", "/a", flags=("END_STREAM",))
    # One header section per second is not a slow one.
    began = time.monotonic()
    for stream in range(1, 9, 2):
        other.begin(stream, "GET", "/a")
        assert other.status(stream) == "200"
        time.sleep(0.9)
    while client.step():
        pass
    assert client.goodbye is not None and 1 < time.monotonic() - began < 10
    other.begin(9, "GET", "/a")
    assert other.status(9) == "200"


@pytest.mark.parametrize("ended", [True, False], ids=["behind the goodbye", "in time"])
def test_fields_that_are_announced_and_do_not_come_take_nothing_from_others(secure, ended):
    server = secure("--max-request-memory", "16778000", "--head-timeout", "1s")
    client = Client(server)
    client.begin(1, "GET", "/a", flags=())
    if ended:
        while client.goodbye is None:
            assert client.step(), "the connection ended without a goodbye"
    # The head of a frame of 16 MB.
    client.send(b"\xff\xff\xff\x09\0" + (1).to_bytes(4, "big"))
    if ended:
        client.socket.shutdown(socket.SHUT_WR)
        while client.step():
            pass
    else:
        client.until(lambda: client.goodbye is not None)
    assert ask(server, "GET", "/a", "X-Long: " + "x" * 30_000, tls=True).status == 200


def test_last_of_an_answer_reaches_a_slow_client_of_an_idle_connection(secure):
    """It lies in the system's buffer, and would be thrown away with what the client says of its windows."""
    server = secure("--idle-timeout", "1s", "--read-timeout", "3s")
    content = bytes(range(256)) * 2_000
    (server.root / "file").write_bytes(content)
    client = Client(server, receive_buffer=4_096)
    client.send(WindowUpdateFrame(0, window_increment=1 << 20).serialize())
    client.send(SettingsFrame(0, settings={4: 1 << 20}).serialize())
    client.begin(1, "GET", "/file")
    while 1 not in client.over:
        taken = len(client.bodies.get(1, b""))
        assert client.step(), f"the connection ended after {taken} bytes"
        if len(client.bodies.get(1, b"")) > taken:
            client.send(WindowUpdateFrame(0, window_increment=1_000).serialize())
            time.sleep(0.25)
    assert client.bodies[1] == content


def test_client_cannot_make_the_table_of_fields_grow(secure):
    server = secure()
    for index in range(300):
        (server.root / f"name-{index}").write_bytes(b"x" * index)
    client = Client(server)
    client.decoder.max_allowed_table_size = 1 << 30
    client.send(SettingsFrame(0, settings={1: 1 << 30}).serialize())
    for index in range(300):
        client.begin(2 * index + 1, "GET", f"/name-{index}?download")
        assert client.status(2 * index + 1) == "200"
    # A few values of a few fields, and none that differs from file to file.
    assert len(client.decoder.header_table.dynamic_entries) < 40
    assert ask(server, "GET", "/a", tls=True).status == 200


def test_streams_of_all_connections_are_bounded(secure):
    """What is too much may be sent again, and is taken once there is room."""
    server = secure("--max-streams", "3")
    crowd, other = Client(server), Client(server)
    for stream in (1, 3, 5):
        crowd.begin(stream, "PUT", f"/{stream}", flags=BEGUN)
    # Answered on the same connection after the three are there.
    crowd.begin(7, "GET", "/a")
    assert crowd.status(7) is None and crowd.over[7] == REFUSED
    other.begin(1, "GET", "/a")
    assert other.status(1) is None and other.over[1] == REFUSED
    for stream in (1, 3, 5):
        crowd.data(stream, b"x", last=True)
        assert crowd.status(stream) == "201"
    other.begin(3, "GET", "/a")
    assert other.status(3) == "200"


def test_one_connection_leaves_streams_to_others(secure):
    server = secure("--max-streams", "20")
    greedy, other = Client(server), Client(server)
    streams = range(1, 40, 2)
    for stream in streams:
        greedy.begin(stream, "PUT", f"/{stream}", flags=BEGUN)
    greedy.until(lambda: sum(greedy.over.get(stream) == REFUSED for stream in streams) == 10)
    for stream in (1, 3, 5, 7):
        other.begin(stream, "GET", "/a")
        assert other.status(stream) == "200"
    greedy.data(1, b"x", last=True)
    assert greedy.status(1) == "201"


def test_streams_whose_clients_take_nothing_make_way(secure):
    """The one that has waited for longest, and no more of them than are needed."""
    server = secure("--max-streams", "8")
    (server.root / "big").write_bytes(b"b" * 1_000_000)
    streams = (1, 3, 5, 7)
    idle, slow = Client(server), Client(server)
    for client in (idle, slow):
        for stream in streams:
            client.begin(stream, "GET", "/big")
            client.until(lambda: stream in client.heads)
        time.sleep(2)

    def answered():
        client = Client(server)
        client.begin(1, "GET", "/a")
        return client.status(1) == "200"

    assert not answered()
    wait_until(answered, "one of them makes way")
    idle.until(lambda: idle.over)
    assert len(idle.over) == 1
    slow.send(WindowUpdateFrame(0, window_increment=1 << 24).serialize())
    for stream in streams:
        slow.send(WindowUpdateFrame(stream, window_increment=1 << 24).serialize())
    for stream in streams:
        assert slow.status(stream) == "200" and len(slow.bodies[stream]) == 1_000_000


def test_uploads_that_bring_next_to_nothing_make_way(secure):
    server = secure("--max-streams", "8", "--event-loops", "1")
    streams = (1, 3, 5, 7)
    crowd = [Client(server), Client(server)]
    for client in crowd:
        for stream in streams:
            client.begin(stream, "PUT", f"/{stream}", ("expect", "100-continue"), flags=BEGUN)
            client.until(lambda: stream in client.heads)

    def answered():
        for client in crowd:
            for stream in streams:
                client.data(stream, b"x")
        other = Client(server)
        other.begin(1, "GET", "/a")
        return other.status(1) == "200"

    assert not answered()
    wait_until(answered, "one of them makes way")


def test_who_reads_on_slowly_keeps_the_place(secure):
    """What is given to a connection is taken in large steps, between which seconds may pass."""
    server = secure("--max-streams", "2", "--event-loops", "1")
    (server.root / "big").write_bytes(b"b" * 400_000)
    slow, other = Client(server, receive_buffer=4_096), Client(server)
    slow.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 1 << 24}).serialize())
    slow.send(WindowUpdateFrame(0, window_increment=1 << 24).serialize())
    for stream in (1, 3):
        slow.begin(stream, "GET", "/big")
    began = time.monotonic()
    number = 1
    while time.monotonic() - began < 12:
        # 20 KB a second.
        bytes_before = sum(map(len, slow.bodies.values()))
        while sum(map(len, slow.bodies.values())) - bytes_before < 20_000:
            assert slow.step(), "the connection ended"
        assert not slow.over, slow.over
        other.begin(number, "GET", "/a")
        assert other.status(number) is None and other.over[number] == REFUSED
        number += 2
        time.sleep(1)
    for stream in (1, 3):
        assert slow.status(stream) == "200" and len(slow.bodies[stream]) == 400_000


def test_who_opens_windows_slowly_keeps_the_place(secure):
    server = secure("--max-streams", "2", "--event-loops", "1")
    (server.root / "big").write_bytes(b"b" * 1_000_000)
    slow, other = Client(server), Client(server)
    for stream in (1, 3):
        slow.begin(stream, "GET", "/big")
        slow.send(WindowUpdateFrame(0, window_increment=65_535).serialize())
    # Two connections: what is asked for on the other one may be read first.
    time.sleep(0.5)
    began = time.monotonic()
    number = 1
    while time.monotonic() - began < 14:
        other.begin(number, "GET", "/a")
        assert other.status(number) is None and other.over[number] == REFUSED
        number += 2
        # 8 KB a second.
        for stream in (1, 3):
            slow.send(WindowUpdateFrame(0, window_increment=20_000).serialize())
            slow.send(WindowUpdateFrame(stream, window_increment=20_000).serialize())
        time.sleep(2.5)
    wide = 1_000_000
    slow.send(WindowUpdateFrame(0, window_increment=2 * wide).serialize())
    for stream in (1, 3):
        slow.send(WindowUpdateFrame(stream, window_increment=wide).serialize())
        assert slow.status(stream) == "200" and len(slow.bodies[stream]) == wide


def test_what_is_asked_for_beside_a_download_does_not_wait_long(secure):
    """On a thin line, what the system would have taken of the download is seconds."""
    server = secure()
    with open(server.root / "film", "wb") as file:
        file.truncate(100 << 20)
    client = Client(server, receive_buffer=65_536)
    # As wide as browsers open theirs.
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 1 << 26}).serialize())
    client.send(WindowUpdateFrame(0, window_increment=1 << 26).serialize())
    client.begin(1, "GET", "/film")
    client.until(lambda: len(client.bodies.get(1, b"")) > 8 << 20)
    # The server sends until nothing more is taken.
    time.sleep(1)
    client.begin(3, "GET", "/a")
    before = len(client.bodies[1])
    assert client.status(3) == "200"
    assert len(client.bodies[1]) - before < 1 << 20


def test_windows_that_shrink_within_a_listing_end_their_connection_alone(secure):
    """RFC 9113 §6.9.2: such a window may be less than nothing, and an empty frame is due."""
    server = secure()
    (server.root / "big").write_bytes(b"b" * 70_000)
    (server.root / "folder").mkdir()
    # More than are sent with their length.
    for number in range(1001):
        (server.root / "folder" / str(number)).touch()
    client = Client(server)
    client.begin(1, "GET", "/folder/")
    assert client.status(1) == "200"
    listing = len(client.bodies[1])
    # The end of the second listing waits for the connection's window, which its last byte uses up.
    client.begin(3, "GET", "/big", ("range", f"bytes=0-{65_535 - 2 * listing - 1}"))
    assert client.status(3) == "206"
    client.begin(5, "GET", "/folder/")
    client.until(lambda: len(client.bodies.get(5, b"")) == listing)
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 0}).serialize())
    client.send(WindowUpdateFrame(0, window_increment=100).serialize())
    assert client.ending() == 11
    assert ask(server, "GET", "/a", tls=True).status == 200


@pytest.mark.parametrize("name, size", [("a", 1000), ("big", 300_000)])
def test_a_file_goes_on_when_its_window_was_less_than_nothing(secure, name, size):
    """RFC 9113 §6.9.2"""
    server = secure()
    content = bytes(range(250)) * (size // 250)
    (server.root / name).write_bytes(content)
    client = Client(server)
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 3}).serialize())
    client.begin(1, "GET", f"/{name}")
    client.until(lambda: len(client.bodies.get(1, b"")) == 3)
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 2}).serialize())
    client.send(WindowUpdateFrame(1, window_increment=2).serialize())
    client.until(lambda: len(client.bodies[1]) > 3)
    assert client.bodies[1] == content[:4]
    # To far less than nothing and back.
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 0}).serialize())
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 500_000}).serialize())
    client.send(WindowUpdateFrame(0, window_increment=500_000).serialize())
    assert client.status(1) == "200" and client.bodies[1] == content


def test_windows_that_grow_or_shrink_between_requests_are_fine(secure):
    client = Client(secure())
    for number, size in enumerate((100_000, 2_000, 70_000)):
        client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: size}).serialize())
        client.begin(2 * number + 1, "GET", "/a")
        assert client.status(2 * number + 1) == "200" and len(client.bodies[2 * number + 1]) == 1000


class Sender(Client):
    """A client that keeps count of what it may send."""

    def __init__(self, server, **options):
        super().__init__(server, **options)
        self.windows = {0: 65_535, 1: 65_535}

    def next(self):
        frame = super().next()
        if isinstance(frame, WindowUpdateFrame) and frame.stream_id in self.windows:
            self.windows[frame.stream_id] += frame.window_increment
        elif isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
            self.windows[1] += frame.settings.get(SettingsFrame.INITIAL_WINDOW_SIZE, 65_535) - 65_535
            self.send(SettingsFrame(0, flags=("ACK",)).serialize())
        return frame

    def upload(self, body):
        """Sends a part of the body of stream 1, as soon as it may."""
        for start in range(0, len(body), 16_384):
            piece = body[start:start + 16_384]
            self.until(lambda: min(self.windows.values()) >= len(piece))
            self.data(1, piece)
            for stream in self.windows:
                self.windows[stream] -= len(piece)


def test_a_long_body_may_have_much_on_its_way(secure):
    """To a client that is far away, a window for each round trip is all the speed there is."""
    server = secure()
    client = Sender(server)
    client.begin(1, "PUT", "/long", flags=BEGUN)
    body = bytes(range(256)) * (6 << 12)
    client.upload(body)
    client.until(lambda: min(client.windows.values()) >= 1 << 20)
    # What waits for the disk takes memory.
    assert client.windows[1] < 4 << 20
    client.upload(body)
    client.data(1, b"", last=True)
    assert client.status(1) == "201"
    assert (server.root / "long").read_bytes() == body + body


@pytest.mark.parametrize("size", [65_000, 65_280, 65_535, 200_000])
@pytest.mark.parametrize("is_announced", [False, True])
@pytest.mark.parametrize("is_late", [False, True], ids=["each frame", "the last frame"])
def test_padding_takes_a_part_of_the_window(secure, size, is_announced, is_late):
    """RFC 9113 §6.9.1"""
    server = secure()
    client = Sender(server)
    client.begin(1, "PUT", "/padded", *([("content-length", str(size))] if is_announced else []), flags=BEGUN)
    body = os.urandom(size)
    for start in range(0, size, 16_000):
        piece = body[start:start + 16_000]
        padding = 0 if is_late else 255
        client.until(lambda: min(client.windows.values()) > len(piece) + padding)
        client.send(DataFrame(1, piece, pad_length=padding, flags=("PADDED",) if padding else ()).serialize())
        for stream in client.windows:
            client.windows[stream] -= len(piece) + (padding + 1 if padding else 0)
    client.until(lambda: min(client.windows.values()) > 255)
    client.send(DataFrame(1, b"", pad_length=255, flags=("PADDED", "END_STREAM")).serialize())
    assert client.status(1) == "201"
    assert (server.root / "padded").read_bytes() == body


FILM = 24 << 20


@pytest.fixture
def unread(secure):
    """A client with a download, on stream 3, of which it reads nothing, so that the server can't send anything."""
    server = secure()
    with open(server.root / "film", "wb") as file:
        file.truncate(FILM)
    client = Sender(server, receive_buffer=65_536)
    client.server = server
    client.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 1 << 26}).serialize())
    client.send(WindowUpdateFrame(0, window_increment=1 << 26).serialize())
    # So that the connection has its whole window.
    client.begin(1, "PUT", "/before", flags=BEGUN)
    client.upload(bytes(1 << 20))
    client.data(1, b"", last=True)
    assert client.status(1) == "201" and client.windows[0] > 1 << 20
    client.begin(3, "GET", "/film")
    # Here and below: waits until the server has got that far, which a client that reads nothing cannot see.
    time.sleep(0.5)
    return client


def goes_on(client):
    client.begin(7, "GET", "/a")
    return client.status(7) == "200" and client.status(3) == "200" and len(client.bodies[3]) == FILM


@pytest.mark.parametrize("size", [48, 60])
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_body_that_is_over_before_its_window_is_opened(unread, size, is_cancelled):
    unread.begin(5, "PUT", "/beside", flags=BEGUN)
    body = bytes(range(256)) * 4 * size
    for start in range(0, len(body), 16_384):
        unread.data(5, body[start:start + 16_384])
    time.sleep(0.5)
    if is_cancelled:
        unread.send(RstStreamFrame(5, error_code=8).serialize())
    else:
        unread.data(5, b"", last=True)
    time.sleep(0.5)
    if not is_cancelled:
        assert unread.status(5) == "201" and (unread.server.root / "beside").read_bytes() == body
    assert goes_on(unread)


def test_a_request_that_is_cancelled_before_its_answer_is_sent(unread):
    unread.begin(5, "GET", "/a")
    time.sleep(0.5)
    unread.send(RstStreamFrame(5, error_code=8).serialize())
    time.sleep(0.5)
    assert goes_on(unread)


def test_the_window_of_a_body_is_opened_no_wider_while_nothing_is_read(unread):
    """What a client may send has to be kept until it is written."""
    unread.windows[5] = 0
    unread.begin(5, "PUT", "/beside", flags=BEGUN)
    for _ in range(60):
        unread.data(5, bytes(1024))
    time.sleep(0.5)
    unread.data(5, b"", last=True)
    assert unread.status(5) == "201" and 0 < unread.windows[5] < 1 << 20
    assert goes_on(unread)


def test_downloads_beside_one_another_all_go_on(unread):
    unread.send(WindowUpdateFrame(0, window_increment=1 << 26).serialize())
    for stream in (5, 7, 9):
        unread.begin(stream, "GET", "/film")
    time.sleep(0.5)
    unread.until(lambda: len(unread.bodies.get(3, b"")) > FILM / 2)
    assert min(len(unread.bodies[stream]) for stream in (5, 7, 9)) > FILM / 4
    for stream in (3, 5, 7, 9):
        assert unread.status(stream) == "200" and len(unread.bodies[stream]) == FILM


def test_who_reads_nothing_is_told_only_so_much(unread):
    for _ in range(2_000):
        if not unread.send(PingFrame(0, bytes(8)).serialize()):
            break
    while unread.step():
        pass
    assert unread.goodbye is not None and unread.goodbye.error_code == 11


def test_who_reads_nothing_may_ask_for_much(unread):
    """As many answers as a client may wait for come when it reads: those that are made at once, too."""
    streams = range(5, 5 + 2 * 99, 2)
    for stream in streams:
        unread.begin(stream, "GET", "/")
    time.sleep(1)
    assert {unread.status(stream) for stream in streams} == {"200"}
    assert len({bytes(unread.bodies[stream]) for stream in streams}) == 1
    assert unread.status(3) == "200" and len(unread.bodies[3]) == FILM


def test_idle_connections_keep_no_window_from_others(serve):
    """Memory for what they once brought over TLS stays theirs until they end."""
    server = serve("-q", "--tls-self-signed", "--max-request-memory", "1M")
    with contextlib.ExitStack() as stack:
        for number in range(4):
            wire = stack.enter_context(Wire(server, tls=True))
            assert wire.ask("PUT", f"/{number}", body=bytes(200_000)).status == 201
        client = Client(server)
        client.begin(1, "PUT", "/new", ("content-length", "2000000"), flags=BEGUN)
        for _ in range(5):
            client.data(1, bytes(13_107))
        granted = 0
        while granted < 200_000:
            frame = client.next()
            assert frame is not None
            if isinstance(frame, WindowUpdateFrame) and frame.stream_id == 1:
                granted += frame.window_increment
