"""HTTP/2 frame by frame: what is sent is exactly what the test made, right or wrong."""

import socket
import ssl

import hpack
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame, SettingsFrame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Frames:
    """A connection that speaks HTTP/2 as badly as it is told to."""

    def __init__(self, server, receive_buffer=None):
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["h2"])
        plain = socket.socket()
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(20)
        plain.connect(("127.0.0.1", server.port))
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.socket.sendall(PREFACE + SettingsFrame(0).serialize())
        self.encoder = hpack.Encoder()
        self.authority = server.authority
        self.buffer = b""

    def head(self, stream, *more, method="GET", path="/", flags=("END_HEADERS", "END_STREAM")):
        fields = [(":method", method), (":path", path), (":scheme", "https"), (":authority", self.authority), *more]
        return HeadersFrame(stream, self.encoder.encode(fields), flags=flags).serialize()

    def send(self, data):
        """Sends until the server has had enough; gives whether it took all."""
        try:
            for start in range(0, len(data), 65_536):
                self.socket.sendall(data[start:start + 65_536])
            return True
        except OSError:
            return False

    def next(self):
        """The next frame; None at the end of the connection."""
        while True:
            if len(self.buffer) >= 9:
                frame, length = Frame.parse_frame_header(memoryview(self.buffer[:9]))
                if len(self.buffer) >= 9 + length:
                    frame.parse_body(memoryview(self.buffer[9:9 + length]))
                    self.buffer = self.buffer[9 + length:]
                    return frame
            try:
                more = self.socket.recv(65_536)
            except TimeoutError:
                raise
            except OSError:
                return None
            if not more:
                return None
            self.buffer += more

    def ending(self):
        """How the server ended the connection: the code of its GOAWAY, or "closed"."""
        while (frame := self.next()) is not None:
            if isinstance(frame, GoAwayFrame) and frame.error_code != 0:
                return frame.error_code
        return "closed"
