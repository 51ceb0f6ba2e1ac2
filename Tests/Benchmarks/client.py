"""A client with as little work as a client can have."""

import socket
import ssl
import time


class Connection:
    """HTTP/1.1 on one connection."""

    def __init__(self, peer):
        self.socket = socket.create_connection(("127.0.0.1", peer.port), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if peer.tls:
            self.socket = ssl._create_unverified_context().wrap_socket(self.socket)
        self.file = self.socket.makefile("rb", buffering=1 << 18)

    def ask(self, head, body=b"", first_byte=False):
        """Gives the status, the length of the body, and the seconds until the first byte of it."""
        began = time.perf_counter()
        self.socket.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        status = self.file.readline()
        while status.startswith(b"HTTP/1.1 100"):
            while self.file.readline() not in (b"\r\n", b""):
                pass
            status = self.file.readline()
        length, chunked, gone = None, False, False
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                chunked = True
            elif name == b"connection" and b"close" in value.lower():
                gone = True
        code = int(status.split()[1])
        total, first = 0, None
        if code in (204, 304):
            return code, 0, time.perf_counter() - began
        if chunked:
            while size := int(self.file.readline().split(b";")[0], 16):
                self.file.read(1)
                first = first or time.perf_counter() - began
                self.file.read(size - 1 + 2)
                total += size
            self.file.readline()
        elif length is not None:
            left = length
            while left:
                piece = self.file.read1(min(left, 1 << 18))
                if not piece:
                    raise ConnectionError("cut")
                first = first or time.perf_counter() - began
                left -= len(piece)
            total = length
        elif gone:
            while piece := self.file.read1(1 << 18):
                first = first or time.perf_counter() - began
                total += len(piece)
        return code, total, first or time.perf_counter() - began

    def answer(self):
        """Reads one response with a length; gives its status."""
        status = int(self.file.readline().split()[1])
        length = 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if length:
            self.file.read(length)
        return status

    def close(self):
        self.file.close()
        self.socket.close()
