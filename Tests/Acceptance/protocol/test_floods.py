"""Clients that abuse HTTP/2 frame by frame: each is told to calm down, or cut off, and the server goes on in little memory."""

import time

import hpack
import pytest
from hyperframe.frame import (
    ContinuationFrame, DataFrame, GoAwayFrame, HeadersFrame, PingFrame, PriorityFrame, RstStreamFrame, SettingsFrame,
    WindowUpdateFrame)

from frames import Frames
from server import SANITIZED, wait_until
from wire import ask

MEBIBYTE = 1 << 20
# The codes with which a connection may end: PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, COMPRESSION_ERROR,
# ENHANCE_YOUR_CALM.
ENDINGS = {1, 3, 6, 9, 11}


@pytest.fixture
def secure(serve):
    server = serve("--tls-self-signed")
    (server.root / "a").write_bytes(b"a" * 1000)
    return server


def goes_on(server):
    """Somebody else is served, and no memory was taken."""
    assert ask(server, "GET", "/a", tls=True).body == b"a" * 1000
    # An instrumented build has other figures.
    assert SANITIZED or server.peak_memory() < 96 * MEBIBYTE, server.peak_memory() / MEBIBYTE


def opened_and_reset(frames):
    return b"".join(
        frames.head(number, path="/a") + RstStreamFrame(number, 8).serialize() for number in range(1, 20_001, 2))


def settings(_):
    return SettingsFrame(0, settings={4: 65_535}).serialize() * 100_000


def pings(_):
    return PingFrame(0, b"12345678").serialize() * 100_000


def continuations(frames):
    # A head that never ends. RFC 9113 §10.5.1
    first = frames.head(1, flags=("END_STREAM",))
    return first + ContinuationFrame(1, b"\x40\x01a" + b"\x7f\x81\x7f" + b"b" * 256).serialize() * 40_000


def empty_continuations(frames):
    return frames.head(1, flags=("END_STREAM",)) + ContinuationFrame(1, b"").serialize() * 200_000


def empty_data(frames):
    return frames.head(1, method="PUT", path="/b", flags=("END_HEADERS",)) + DataFrame(1, b"").serialize() * 200_000


def padding_alone(frames):
    return frames.head(1, method="PUT", path="/b", flags=("END_HEADERS",)) + DataFrame(
        1, b"", pad_length=10, flags=("PADDED",)).serialize() * 100_000


# Header sections without a field, trailers that end nothing, frames for closed streams: CVE-2019-9518.
def empty_heads(frames):
    return b"".join(HeadersFrame(number, b"", flags=("END_HEADERS",)).serialize() for number in range(1, 200_001, 2))


def empty_whole_requests(frames):
    return b"".join(
        HeadersFrame(number, b"", flags=("END_HEADERS", "END_STREAM")).serialize() for number in range(1, 200_001, 2))


def empty_trailers(frames):
    return frames.head(1, method="PUT", path="/b", flags=("END_HEADERS",)) + HeadersFrame(
        1, b"", flags=("END_HEADERS",)).serialize() * 200_000


def trailers_without_end(frames):
    head = frames.head(1, method="PUT", path="/b", flags=("END_HEADERS",))
    frames.encoder.encode([("x-trailer", "v")])
    return head + HeadersFrame(1, frames.encoder.encode([("x-trailer", "v")]), flags=("END_HEADERS",)).serialize() * 200_000


def empty_continuations_that_end(frames):
    return b"".join(
        frames.head(number, path="/a", flags=("END_STREAM",)) + ContinuationFrame(number, b"", flags=("END_HEADERS",)).serialize()
        for number in range(1, 100_001, 2))


def data_for_a_stream_that_ended(frames):
    return frames.head(1, path="/a") + DataFrame(1, b"").serialize() * 200_000


def resets_of_one_stream(frames):
    return frames.head(1, path="/a") + RstStreamFrame(1, 8).serialize() * 200_000


def answers_to_no_settings(_):
    return SettingsFrame(0, flags=("ACK",)).serialize() * 200_000


def windows_overflown(frames):
    return WindowUpdateFrame(0, window_increment=0x7FFFFFFF).serialize() * 2


def windows_by_the_byte(_):
    return WindowUpdateFrame(0, window_increment=1).serialize() * 100_000


def frames_that_nobody_knows(_):
    return b"\x00\x00\x00\x63\x00\x00\x00\x00\x00" * 100_000


def bodies_by_the_byte(frames):
    return frames.head(1, method="PUT", path="/b", flags=("END_HEADERS",)) + DataFrame(1, b"x").serialize() * 60_000


def no_window_at_all(frames):
    # An increment of 0. RFC 9113 §6.9
    return frames.head(1) + b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"



CALM, FLOW, PROTOCOL = 11, 3, 1


@pytest.mark.parametrize("flood, code", [
    (opened_and_reset, CALM), (settings, CALM), (pings, CALM), (continuations, CALM), (empty_continuations, CALM),
    (empty_data, CALM), (windows_overflown, FLOW), (no_window_at_all, PROTOCOL), (windows_by_the_byte, CALM),
    (frames_that_nobody_knows, CALM), (bodies_by_the_byte, CALM)])
def test_flood_ends_the_connection(secure, flood, code):
    frames = Frames(secure)
    took_all = frames.send(flood(frames))
    ending = frames.ending()
    # Cut off in the middle of sending, a client may not see the last frame.
    assert ending == code or (ending == "closed" and not took_all), ending
    goes_on(secure)


@pytest.mark.parametrize("flood", [
    padding_alone, empty_heads, empty_whole_requests, empty_trailers, trailers_without_end, empty_continuations_that_end,
    data_for_a_stream_that_ended, resets_of_one_stream, answers_to_no_settings])
def test_flood_of_nothing_costs_nothing(secure, flood):
    frames = Frames(secure)
    data = flood(frames)
    before = secure.cpu_seconds()
    frames.send(data)
    assert frames.ending() in ENDINGS | {"closed"}
    # Another client's request is answered after everything that was sent.
    goes_on(secure)
    assert secure.cpu_seconds() - before < (20 if SANITIZED else 5)


def test_head_larger_than_announced_is_refused(secure):
    frames = Frames(secure)
    block = frames.encoder.encode(
        [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", frames.authority)]
        + [(f"x-{number}", "v" * 1_000) for number in range(200)])
    pieces = [block[start:start + 16_000] for start in range(0, len(block), 16_000)]
    data = HeadersFrame(1, pieces[0], flags=("END_STREAM",)).serialize()
    for piece in pieces[1:-1]:
        data += ContinuationFrame(1, piece).serialize()
    frames.send(data + ContinuationFrame(1, pieces[-1], flags=("END_HEADERS",)).serialize())
    while (frame := frames.next()) is not None:
        if isinstance(frame, HeadersFrame):
            assert dict(hpack.Decoder().decode(frame.data))[":status"] == "431"
            break
        if isinstance(frame, (GoAwayFrame, RstStreamFrame)):
            assert frame.error_code in ENDINGS
            break
    goes_on(secure)


def test_header_bomb_of_small_references_is_refused(secure):
    # One large field in the table, named again and again by a byte each. RFC 7541 §4
    frames = Frames(secure)
    encoder = frames.encoder
    frames.send(frames.head(1, ("bomb", "b" * 3_900)))
    reference = encoder.encode([("bomb", "b" * 3_900)])
    assert len(reference) <= 2
    base = encoder.encode([(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", frames.authority)])
    frames.send(HeadersFrame(3, base + reference * 7_000, flags=("END_HEADERS", "END_STREAM")).serialize())
    answered = None
    while (frame := frames.next()) is not None:
        if isinstance(frame, (GoAwayFrame, RstStreamFrame)):
            answered = frame.error_code
            break
        if isinstance(frame, HeadersFrame) and frame.stream_id == 3:
            answered = 431
            break
    assert answered in ENDINGS | {431, None}
    goes_on(secure)


def test_streams_beyond_the_announced_number_are_refused(secure):
    frames = Frames(secure)
    frames.send(b"".join(
        frames.head(number, method="PUT", path="/b", flags=("END_HEADERS",)) for number in range(1, 401, 2)))
    refused = 0
    while (frame := frames.next()) is not None:
        if isinstance(frame, (RstStreamFrame, GoAwayFrame)):
            refused += 1
            break
    assert refused or frame is None
    goes_on(secure)


def test_reader_that_never_opens_its_window_costs_no_memory(secure):
    with open(secure.root / "large", "wb") as file:
        file.truncate(1 << 30)
    frames = Frames(secure)
    frames.send(SettingsFrame(0, settings={4: 0}).serialize())
    frames.send(b"".join(frames.head(number, path="/large") for number in range(1, 200, 2)))
    answers = 0
    while answers < 100 and (frame := frames.next()) is not None:
        answers += isinstance(frame, HeadersFrame)
    assert answers == 100
    goes_on(secure)
    frames.socket.close()


def test_reader_that_takes_nothing_of_many_streams_costs_no_memory(secure):
    """Its windows are as large as can be, so that only the socket holds the answers up."""
    with open(secure.root / "large", "wb") as file:
        file.truncate(1 << 30)
    readers = [Frames(secure, receive_buffer=4096) for _ in range(6)]
    for frames in readers:
        frames.send(SettingsFrame(0, settings={4: 2**31 - 1}).serialize())
        frames.send(WindowUpdateFrame(0, window_increment=2**31 - 65_536).serialize())
        frames.send(b"".join(frames.head(number, path="/large") for number in range(1, 200, 2)))
    # By now the server holds what it would ever hold.
    time.sleep(2)
    goes_on(secure)
    for frames in readers:
        frames.socket.close()


def test_bodies_by_the_byte_that_wait_for_their_rate_cost_no_memory(serve):
    server = serve("--tls-self-signed", "--limit-rate", "10K")
    (server.root / "a").write_bytes(b"a" * 1000)
    for attempt in range(3):
        frames = Frames(server)
        heads = b"".join(
            frames.head(number, method="PUT", path=f"/{attempt}-{number}", flags=("END_HEADERS",))
            for number in range(1, 41, 2))
        frames.send(heads + b"".join(DataFrame(number, b"x").serialize() * 50_000 for number in range(1, 41, 2)))
        frames.ending()
    goes_on(server)


def test_answer_before_the_end_of_its_request_comes_whole(secure):
    frames = Frames(secure)
    frames.send(SettingsFrame(0, settings={4: 10}).serialize())
    frames.send(frames.head(
        1, ("content-length", "1000000"), method="PUT", path="/no/such/folder", flags=("END_HEADERS",)))
    body, length = b"", None
    while (frame := frames.next()) is not None and not isinstance(frame, RstStreamFrame):
        if isinstance(frame, HeadersFrame):
            head = dict(hpack.Decoder().decode(frame.data))
            assert head[":status"] == "409"
            length = int(head["content-length"])
        if isinstance(frame, DataFrame):
            body += frame.data
            frames.send(WindowUpdateFrame(1, window_increment=1000).serialize())
    assert isinstance(frame, RstStreamFrame) and frame.error_code == 0
    assert length and len(body) == length


def test_stream_that_its_client_resets_is_logged_once(secure):
    (secure.root / "medium").write_bytes(b"m" * 100_000)
    frames = Frames(secure)
    frames.send(frames.head(1, path="/medium"))
    # As much as the initial window allows; the rest waits.
    came = 0
    while came < 65_535 and (frame := frames.next()) is not None:
        came += len(frame.data) if isinstance(frame, DataFrame) else 0
    assert came == 65_535
    frames.send(RstStreamFrame(1, 8).serialize() + frames.head(3, path="/a"))
    while (frame := frames.next()) is not None:
        if frame.stream_id == 3 and isinstance(frame, HeadersFrame):
            break
    wait_until(lambda: " /a " in secure.logged(), "the later request is logged")
    assert secure.logged().count(" /medium ") == 1


def test_priorities_without_end_cost_no_memory(secure):
    frames = Frames(secure)
    frames.send(b"".join(PriorityFrame(number, depends_on=0, stream_weight=7).serialize() for number in range(1, 200_001, 2)))
    frames.send(PingFrame(0, b"abcdefgh").serialize())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (frame := frames.next()) is not None:
        if isinstance(frame, (PingFrame, GoAwayFrame)):
            break
    goes_on(secure)
