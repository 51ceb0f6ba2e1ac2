"""HTTP/1.1 byte by byte: what is sent is exactly what the test wrote, and what comes is taken apart strictly."""

import contextlib
import dataclasses
import socket
import ssl
import time


class ConnectionClosed(Exception):
    """The server ended the connection before a whole response had come."""


@dataclasses.dataclass
class Response:
    status: int
    reason: str
    fields: list
    body: bytes = b""
    trailers: list = dataclasses.field(default_factory=list)
    version: str = "HTTP/1.1"

    def __getitem__(self, name):
        """A field's value, several joined by commas; None when it is missing."""
        values = [value for key, value in self.fields if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    def __contains__(self, name):
        return self[name] is not None

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class Wire:
    """One connection to a server."""

    def __init__(self, server, timeout=20, tls=None, receive_buffer=None, source=None):
        """`server` has `authority` and `port`, or is a pair of host and port; `source` is the address to come from."""
        host, port = server if isinstance(server, tuple) else ("127.0.0.1", server.port)
        self.authority = server.authority if not isinstance(server, tuple) else f"{host}:{port}"
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((host, port))
        if tls is not None:
            context = tls if isinstance(tls, ssl.SSLContext) else ssl._create_unverified_context()
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection with RST, as a cable that is pulled."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data.encode() if isinstance(data, str) else data)
        return self

    def request(self, method, target, *fields, body=None, version="HTTP/1.1", host=True):
        """Sends a whole request. `fields` are lines such as "Depth: 1"; a body gets its Content-Length."""
        lines = [f"{method} {target} {version}".encode() if isinstance(target, str)
                 else method.encode() + b" " + target + b" " + version.encode()]
        if host:
            lines.append(f"Host: {self.authority}".encode())
        lines += [line.encode() if isinstance(line, str) else line for line in fields]
        if body is not None:
            body = body.encode() if isinstance(body, str) else body
            lines.append(b"Content-Length: %d" % len(body))
        return self.send(b"\r\n".join(lines) + b"\r\n\r\n" + (body or b""))

    def ask(self, method, target, *fields, **options):
        """Sends a request and reads its final response."""
        self.request(method, target, *fields, **options)
        return self.response(method)

    def response(self, method="GET", interim=False):
        """Reads one response, past interim ones (1xx) unless `interim`."""
        while True:
            response = self._head()
            if response.status >= 200 or response.status == 101 or interim:
                break
        if response.status < 200 or response.status in (204, 304) or method == "HEAD":
            return response
        coding = (response["Transfer-Encoding"] or "").lower()
        if coding:
            assert coding == "chunked", f"Transfer-Encoding: {coding}"
            assert "Content-Length" not in response, "both Content-Length and Transfer-Encoding"
            self._chunks(response)
        elif "Content-Length" in response:
            response.body = self.read(int(response["Content-Length"]))
        else:
            response.body = self.rest()
        return response

    def read(self, count):
        """Exactly so many bytes."""
        while len(self.buffer) < count:
            self._more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def rest(self):
        """Everything until the server ends the connection."""
        try:
            while True:
                self._more()
        except ConnectionClosed:
            data, self.buffer = self.buffer, b""
            return data

    def is_closed(self, timeout=10):
        """Whether the server ends the connection, sending nothing more, within `timeout` seconds."""
        self.socket.settimeout(timeout)
        try:
            return not self.buffer and self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def is_silent(self, timeout=0.5):
        """Whether nothing comes, and the connection stays, for `timeout` seconds."""
        if self.buffer:
            return False
        before = self.socket.gettimeout()
        self.socket.settimeout(timeout)
        try:
            self.buffer = self.socket.recv(65536)
            return False
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        finally:
            self.socket.settimeout(before)

    def _more(self):
        try:
            data = self.socket.recv(1 << 20)
        except (ConnectionError, ssl.SSLEOFError):
            data = b""
        if not data:
            raise ConnectionClosed(f"after {self.buffer[:200]!r}")
        self.buffer += data

    def _line(self):
        while b"\n" not in self.buffer:
            self._more()
        line, self.buffer = self.buffer.split(b"\n", 1)
        assert line.endswith(b"\r"), f"a bare line feed ends {line!r}"
        return line[:-1]

    def _fields(self):
        fields = []
        while line := self._line():
            name, colon, value = line.partition(b":")
            assert colon and name and name.strip() == name, f"not a field: {line!r}"
            assert not any(byte < 32 and byte != 9 or byte == 127 for byte in value), f"control characters: {line!r}"
            fields.append((name.decode("ascii"), value.strip().decode("latin-1")))
        return fields

    def _head(self):
        line = self._line()
        version, _, rest = line.partition(b" ")
        assert version in (b"HTTP/1.1", b"HTTP/1.0"), f"not a status line: {line!r}"
        assert rest[:3].isdigit() and rest[3:4] == b" ", f"not a status line: {line!r}"
        return Response(int(rest[:3]), rest[4:].decode("latin-1"), self._fields(), version=version.decode())

    def _chunks(self, response):
        parts = []
        while True:
            size = int(self._line().partition(b";")[0], 16)
            if size == 0:
                break
            parts.append(self.read(size))
            assert self._line() == b"", "a chunk longer than its size"
        response.body = b"".join(parts)
        response.trailers = self._fields()


def ask(server, method, target, *fields, **options):
    """One request on a connection of its own."""
    tls = options.pop("tls", None)
    with Wire(server, tls=tls) as wire:
        return wire.ask(method, target, *fields, **options)


def flood(wires, seconds):
    """Sends more on each than a server with a rate limit wants, so that it always finds a lot."""
    for wire in wires:
        wire.socket.setblocking(False)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for wire in wires:
            with contextlib.suppress(BlockingIOError, ssl.SSLWantWriteError):
                wire.socket.send(bytes(65_536))
        time.sleep(0.01)
