"""What a request costs, in figures that no other process on the machine can change: system calls, and allocations. A slower
server needs more of them first."""

import collections
import ctypes
import errno
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

import pytest

from allocations import with_counts
from server import SANITIZED, wait_until
from tracing import Trace
from wire import Wire

pytestmark = [
    pytest.mark.memory,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]
MANY = 200
# As measured, with a small margin.
PUT_CALLS = 24
# Only for the shared folder itself it must be checked whether it is gone.
PUT_BELOW_CALLS = 22
# One of them checks whether the new file inherited an access list from the folder, which the old one does not have;
# three open, examine and close the lock file.
REPLACING_CALLS = 35
# Into a share in memory, where one call fewer checks for a state folder while the root is unchanged.
FAST_PUT_CALLS = 13
FASTEST_PUT_CALLS = 12
FAST_REPLACING_CALLS = 20
MEMBER_CALLS = 1.3
PROPFIND_CALLS = 9
# For a folder with two files, which take two of them; another thread is used once.
LISTING_CALLS = 21
OPTIONS_CALLS = 7
# From its beginning to its end.
CONNECTION_CALLS = 14
START_ALLOCATIONS = 5_000
CONNECTION_ALLOCATIONS = 70
CACHED_ALLOCATIONS = 1
# All of SwiftNIO's TLS.
SECURE_ALLOCATIONS = 3
GET_ALLOCATIONS = 60
PUT_ALLOCATIONS = 40
MEMBER_ALLOCATIONS = 0.3
PROPFIND_ALLOCATIONS = 40
LOCK_INFO = (
    '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>')


def get(wire, count, target):
    for _ in range(count):
        assert wire.ask("GET", target).status == 200


def put(wire, count, name, status=201):
    for index in range(count):
        assert wire.ask("PUT", f"/{name}{index}", body=b"x" * 1_000).status == status


@pytest.fixture
def warm(serve):
    """A server with some files that has answered each kind of request before."""
    server = serve("-q")
    (server.root / "small").write_bytes(b"x" * 1_000)
    for index in range(MANY + 50):
        (server.root / f"one{index}").write_bytes(b"x" * 1_000)
    (server.root / "many").mkdir()
    for index in range(1_000):
        (server.root / "many" / f"member {index}").touch()
    with Wire(server) as wire:
        get(wire, 50, "/small")
        put(wire, 20, "warm")
        for index in range(MANY, MANY + 50):
            get(wire, 1, f"/one{index}")
        for _ in range(5):
            assert wire.ask("PROPFIND", "/many/", "Depth: 1").status == 207
    return server


def total(calls):
    return round(sum(calls.values()), 1)


def test_calls_of_a_cached_get(warm, folder):
    with Wire(warm) as wire:
        get(wire, 10, "/small")
        with Trace(warm, folder) as trace:
            get(wire, MANY, "/small")
    calls = trace.each(MANY)
    # Read, look whether the file is the same, read it, send.
    assert set(calls) <= {"read", "recvfrom", "statx", "preadv2", "pread64", "sendto"}, calls
    assert total(calls) <= 4.2, calls


@pytest.mark.parametrize("method, field, status, most", [
    ("GET", "Range: bytes=10-19", 206, 4.2), ("GET", "If-Modified-Since: Tue, 14 Nov 2096 22:13:20 GMT", 304, 3.2),
    ("HEAD", "Range: bytes=10-19", 200, 3.2), ("GET", "Accept-Encoding: gzip", 200, 4.2),
])
def test_calls_of_what_is_selected_of_a_cached_file(warm, folder, method, field, status, most):
    # Nobody has requested the whole of it.
    def ask(wire, count):
        for _ in range(count):
            assert wire.ask(method, "/one5", field).status == status
    with Wire(warm) as wire:
        ask(wire, 10)
        with Trace(warm, folder) as trace:
            ask(wire, MANY)
    calls = trace.each(MANY)
    assert set(calls) <= {"read", "recvfrom", "statx", "preadv2", "pread64", "sendto"}, calls
    assert total(calls) <= most, calls


def test_calls_of_a_line_in_the_log(serve, folder):
    """Waking a thread for each would cost as much as a small answer: some go together, and each gets there."""
    server = serve()
    (server.root / "small").write_bytes(b"x" * 1_000)
    costs = []
    with Wire(server) as wire:
        get(wire, 10, "/small")
        for _ in range(5):
            with Trace(server, folder) as trace:
                get(wire, MANY, "/small")
            calls = trace.each(MANY)
            costs.append(calls.get("write", 0) + calls.get("futex", 0))
    # The number depends on how long the requests take, so the quickest round counts.
    assert min(costs) <= 0.5, costs
    wait_until(lambda: server.logged().count("GET /small 200 1000 ") == 5 * MANY + 10, "each request has its line")


def connect_and_get(server, count):
    for _ in range(count):
        with Wire(server) as wire:
            assert wire.ask("GET", "/small", "Connection: close").status == 200


def test_calls_of_a_connection_with_one_request(warm, folder):
    # Another client is connected, so that the loop keeps the open file.
    with Wire(warm) as other:
        get(other, 1, "/small")
        connect_and_get(warm, 10)
        with Trace(warm, folder) as trace:
            connect_and_get(warm, MANY)
    calls = trace.each(MANY)
    assert "setsockopt" not in calls, calls
    assert total(calls) <= CONNECTION_CALLS, calls


def test_answers_do_not_wait_for_more(warm):
    """Nagle's algorithm is off for every connection, though none is asked to turn it off."""
    with Wire(warm) as wire:
        get(wire, 1, "/small")
        # No response shows it: only the socket itself does.
        process = os.pidfd_open(warm.pid)
        found = [has_no_delay(process, int(name), wire.socket.getsockname()) for name in os.listdir(f"/proc/{warm.pid}/fd")]
        os.close(process)
    assert [answer for answer in found if answer is not None] == [True]


def has_no_delay(process, descriptor, peer):
    """What a socket of another process says; None for one without this peer."""
    pidfd_getfd = 438
    copy = ctypes.CDLL(None, use_errno=True).syscall(pidfd_getfd, process, descriptor, 0)
    assert copy >= 0, os.strerror(ctypes.get_errno())
    try:
        if not stat.S_ISSOCK(os.fstat(copy).st_mode):
            return None
        with socket.socket(fileno=os.dup(copy)) as held:
            if held.getpeername() == peer:
                return held.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    except OSError as failure:
        assert failure.errno == errno.ENOTCONN, failure
    finally:
        os.close(copy)
    return None


def test_calls_of_a_get_of_another_file_each_time(warm, folder):
    with Wire(warm) as wire:
        get(wire, 10, "/small")
        with Trace(warm, folder) as trace:
            for index in range(MANY):
                get(wire, 1, f"/one{index}")
    calls = trace.each(MANY)
    assert set(calls) <= {"read", "recvfrom", "openat2", "statx", "preadv2", "pread64", "sendto", "close"}, calls
    assert total(calls) <= 6.5, calls


def test_calls_of_a_put(warm, folder):
    with Wire(warm) as wire:
        put(wire, 5, "before")
        with Trace(warm, folder) as trace:
            put(wire, MANY, "new")
    calls = trace.each(MANY)
    assert total(calls) <= PUT_CALLS, calls


def test_calls_of_a_put_below_a_folder(warm, folder):
    with Wire(warm) as wire:
        put(wire, 5, "many/before")
        with Trace(warm, folder) as trace:
            put(wire, MANY, "many/new")
    calls = trace.each(MANY)
    assert total(calls) <= PUT_BELOW_CALLS, calls


def test_calls_of_a_put_over_a_file(warm, folder):
    with Wire(warm) as wire:
        put(wire, MANY, "file")
        put(wire, 20, "file", 204)
        with Trace(warm, folder) as trace:
            put(wire, MANY, "file", 204)
    calls = trace.each(MANY)
    assert total(calls) <= REPLACING_CALLS, calls


def calls_of_puts_in_memory(memory, serve, folder, name, over=False):
    warm = serve("-q", root=memory)
    (memory / "folder").mkdir()
    with Wire(warm) as wire:
        put(wire, 20, f"{name}before")
        if over:
            put(wire, MANY, f"{name}new")
            put(wire, 20, f"{name}new", 204)
        # A folder that has just changed is not relied on.
        watched = memory / ".shareserve" if over else memory
        wait_until(lambda: time.time() - os.stat(watched).st_ctime > 2, "the folder has been as it is for a while")
        put(wire, 20, f"{name}warm")
        with Trace(warm, folder) as trace:
            put(wire, MANY, f"{name}new", 204 if over else 201)
    # One thread does everything, except for the check of the root that one upload per second makes.
    return trace.each(MANY)


def test_calls_of_a_put_in_memory(memory, serve, folder):
    calls = calls_of_puts_in_memory(memory, serve, folder, "")
    assert total(calls) <= FAST_PUT_CALLS, calls


def test_calls_of_a_put_below_a_folder_in_memory(memory, serve, folder):
    calls = calls_of_puts_in_memory(memory, serve, folder, "folder/")
    assert total(calls) <= FASTEST_PUT_CALLS, calls


def test_calls_of_a_put_over_a_file_in_memory(memory, serve, folder):
    calls = calls_of_puts_in_memory(memory, serve, folder, "", over=True)
    assert total(calls) <= FAST_REPLACING_CALLS, calls


@pytest.mark.parametrize("refused", [None, "1+", "2"], ids=["possible", "refused-by-the-socket", "refused-by-the-file"])
def test_calls_of_a_long_upload(memory, serve, folder, refused):
    """It moves to the file within the kernel, where both ends allow that; else it arrives all the same."""
    server = serve("-q", "--io-threads", "1", root=memory)
    content = os.urandom(1 << 25)
    options = ["-e", f"inject=splice:error=EINVAL:when={refused}"] if refused else []
    with Wire(server) as wire, Trace(server, folder, *options) as trace:
        assert wire.ask("PUT", "/new", body=content).status == 201
        assert wire.ask("PUT", "/new", body=content).status == 204
    assert (server.root / "new").read_bytes() == content
    calls = trace.each(1)
    copied = calls.get("recvfrom", 0) + calls.get("pwrite64", 0)
    if refused:
        assert copied > 100, calls
    else:
        # The loop itself reads a little whenever the sender pauses.
        assert copied <= 60 and 0 < calls.get("splice", 0) < 6_000, calls


@pytest.mark.parametrize("memory, least, most", [("600K", 8, 32), ("100K", 50, 200)], ids=["for one", "for none"])
def test_calls_of_a_long_upload_over_tls(serve, folder, memory, least, most):
    """Much is read at once, if there is memory for that; the connection gives it back at its end."""
    server = serve("-q", "--tls-self-signed", "--max-request-memory", memory)
    content = os.urandom(1 << 24)
    for name in ("first", "second"):
        with Wire(server, tls=True) as wire:
            with Trace(server, folder) as trace:
                assert wire.ask("PUT", f"/{name}", body=content).status == 201
            assert (server.root / name).read_bytes() == content
            calls = trace.each(16)
            assert least <= calls["read"] <= most and least <= calls["pwrite64"] <= most, calls
            wire.socket.unwrap()


def test_calls_of_a_member_in_propfind(warm, folder):
    with Wire(warm) as wire:
        with Trace(warm, folder) as trace:
            assert wire.ask("PROPFIND", "/many/", "Depth: 1").status == 207
    calls = trace.each(1_000)
    assert calls.get("statx", 0) <= 1.1, calls
    assert total(calls) <= MEMBER_CALLS, calls


def calls_of(warm, folder, status, method, *words, body=b""):
    """What one request costs behind others like it."""
    with Wire(warm) as wire:
        for _ in range(5):
            assert wire.ask(method, *words, body=body).status == status
        with Trace(warm, folder) as trace:
            for _ in range(MANY):
                assert wire.ask(method, *words, body=body).status == status
    return trace.each(MANY)


def calls_of_propfinds(warm, folder, target="/small", status=207):
    calls = calls_of(warm, folder, status, "PROPFIND", target, "Depth: 0")
    # No other thread is used, except once per second to check whether the share is still in its place.
    assert calls.get("futex", 0) <= 0.3, calls
    return calls


def test_calls_of_a_propfind_of_one_resource(warm, folder):
    calls = calls_of_propfinds(warm, folder)
    assert total(calls) <= PROPFIND_CALLS, calls


@pytest.mark.parametrize("name, looks", [("getetag", 0), ("lockdiscovery", 1), ("displayname", 1)])
def test_calls_of_a_propfind_that_names_a_property(serve, folder, name, looks):
    """At a server that was asked for nothing else before: what is not asked for need not be known."""
    server = serve("-q")
    (server.root / "small").write_bytes(b"x")
    body = f'<propfind xmlns="DAV:"><prop><{name}/></prop></propfind>'
    calls = calls_of(server, folder, 207, "PROPFIND", "/small", "Depth: 0", body=body)
    assert calls.get("futex", 0) <= 0.3, calls
    assert calls.get("openat2", 0) <= 1.2 + looks, calls
    assert total(calls) <= PROPFIND_CALLS - 2 + looks, calls


def test_calls_of_a_propfind_of_a_missing_name(warm, folder):
    calls = calls_of_propfinds(warm, folder, "/._small", 404)
    assert total(calls) <= PROPFIND_CALLS, calls


@pytest.mark.parametrize("method, calls", [("PROPFIND", PROPFIND_CALLS), ("GET", 6)])
def test_calls_of_a_missing_name_in_memory(memory, serve, folder, method, calls):
    made = calls_of(serve("-q", root=memory), folder, 404, method, "/._small", "Depth: 0")
    assert made.get("futex", 0) <= 0.3 and total(made) <= calls, made


def test_calls_of_a_small_listing(warm, folder):
    (warm.root / "two").mkdir()
    for name in ("a", "b"):
        (warm.root / "two" / name).write_bytes(b"x")
    calls = calls_of(warm, folder, 207, "PROPFIND", "/two/", "Depth: 1")
    # The folder and its members once each, and whether there are tables of locks and properties.
    assert calls.get("statx", 0) <= 5.2, calls
    assert calls.get("openat2", 0) <= 1.2, calls
    assert total(calls) <= LISTING_CALLS, calls


def test_calls_of_options(warm, folder):
    (warm.root / "two").mkdir()
    calls = calls_of(warm, folder, 200, "OPTIONS", "/two/")
    # As above: clients ask this first, and some before each thing that they do.
    assert calls.get("futex", 0) <= 0.3, calls
    assert total(calls) <= OPTIONS_CALLS, calls


def test_calls_of_a_propfind_while_something_else_is_locked(warm, folder):
    with Wire(warm) as wire:
        assert wire.ask("LOCK", "/other", "Timeout: Second-600", body=LOCK_INFO).status == 201
    calls = calls_of_propfinds(warm, folder)
    # The table is there to be opened.
    assert total(calls) <= PROPFIND_CALLS + 2, calls


@pytest.mark.parametrize("protocol", ["http", "https", "http2"])
def test_a_download_leaves_turns_to_others(serve, folder, protocol):
    """Its client takes everything while it is being sent, but after each MiB the loop looks at its other sockets."""
    secure = protocol != "http"
    server = serve("-q", "--event-loops", "1", *(["--tls-self-signed"] if secure else []))
    (server.root / "large").write_bytes(bytes(32 << 20))
    option = "--http2" if protocol == "http2" else "--http1.1"
    with Trace(server, folder, "-e", "trace=epoll_wait,epoll_pwait") as trace:
        subprocess.run(["curl", "-sfk", option, "-o", os.devnull, server.url + "/large"], check=True, timeout=60)
    assert total(trace.calls) >= 32, trace.calls


@pytest.fixture
def counting(folder, serve):
    """Starts a server, with the options given, whose allocations are counted."""
    return lambda *options: with_counts(serve, folder, *options)


@pytest.fixture
def counted(counting):
    return counting()


def allocations(server, count, work):
    work(50)
    before = server.allocations().made
    work(count)
    return (server.allocations().made - before) / count


def is_optimised():
    """Allocations of a debug build say nothing about the one that is shipped."""
    return os.environ.get("SHARESERVE_BINARY", "release").find("debug") < 0


optimised = pytest.mark.skipif(not is_optimised() or SANITIZED, reason="the build for debugging allocates as it likes")


@optimised
def test_allocations_of_a_start(counting):
    # With fixed numbers of threads, which do not depend on the machine.
    assert counting("--event-loops", "1", "--io-threads", "8").allocations().made <= START_ALLOCATIONS


@optimised
def test_allocations_of_a_cached_get(counted):
    (counted.root / "small").write_bytes(b"x" * 1_000)
    with Wire(counted) as wire:
        assert allocations(counted, MANY, lambda count: get(wire, count, "/small")) <= CACHED_ALLOCATIONS


@optimised
def test_allocations_of_a_cached_get_over_tls(counting):
    server = counting("--tls-self-signed")
    (server.root / "small").write_bytes(b"x" * 1_000)
    with Wire(server, tls=True) as wire:
        assert allocations(server, MANY, lambda count: get(wire, count, "/small")) <= SECURE_ALLOCATIONS


@optimised
def test_allocations_of_a_connection_with_one_request(counted):
    (counted.root / "small").write_bytes(b"x" * 1_000)
    with Wire(counted) as other:
        get(other, 1, "/small")
        assert allocations(counted, MANY, lambda count: connect_and_get(counted, count)) <= CONNECTION_ALLOCATIONS


@optimised
def test_allocations_of_a_put(counted):
    names = iter(["before", "new"])
    with Wire(counted) as wire:
        assert allocations(counted, MANY, lambda count: put(wire, count, next(names))) <= PUT_ALLOCATIONS


@optimised
def test_allocations_of_a_get_of_another_file_each_time(counted):
    for index in range(MANY + 50):
        (counted.root / f"one{index}").write_bytes(b"x" * 1_000)
    names = iter(range(MANY + 50))
    with Wire(counted) as wire:
        def work(count):
            for _ in range(count):
                get(wire, 1, f"/one{next(names)}")
        assert allocations(counted, MANY, work) <= GET_ALLOCATIONS


@optimised
def test_allocations_of_a_member_in_propfind(counted):
    (counted.root / "many").mkdir()
    for index in range(1_000):
        (counted.root / "many" / f"member {index}").touch()
    with Wire(counted) as wire:
        def work(count):
            assert wire.ask("PROPFIND", "/many/", "Depth: 1").status == 207
        assert allocations(counted, 1_000, work) <= MEMBER_ALLOCATIONS


@optimised
def test_allocations_of_a_propfind_that_was_asked_before(counted):
    """Its body is the same as before, so that it is not read again."""
    (counted.root / "small").write_bytes(b"x")
    properties = b"".join(b"<D:%s/>" % name for name in (b"resourcetype", b"getcontentlength", b"getetag", b"getlastmodified"))
    body = b'<?xml version="1.0"?><D:propfind xmlns:D="DAV:"><D:prop>%s</D:prop></D:propfind>' % properties
    with Wire(counted) as wire:
        def work(count):
            for _ in range(count):
                assert wire.ask("PROPFIND", "/small", "Depth: 0", body=body).status == 207
        assert allocations(counted, MANY, work) <= PROPFIND_ALLOCATIONS
