"""Debian's reverse proxies in front of the server, as config/ shows them to people."""

import contextlib
import pathlib
import re
import socket
import subprocess

from server import PROJECT, free_port, wait_until


class Front:
    """A proxy at a port of its own; to a test it looks like a server."""

    def __init__(self, command, port, folder, scheme="http"):
        self.port = port
        self.authority = f"127.0.0.1:{port}"
        self.url = f"{scheme}://{self.authority}"
        self.log = open(folder / "front.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            wait_until(self._answers, "the proxy listens")
        except AssertionError:
            self.close()
            raise AssertionError(pathlib.Path(self.log.name).read_text()) from None

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError(pathlib.Path(self.log.name).read_text())
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def haproxy(servers, folder):
    """HAProxy that gives each request to the next of `servers`, whichever connection it came on."""
    port = free_port()
    sample = (PROJECT / "config" / "haproxy.cfg").read_text()
    text = re.sub(r"bind \S+", f"bind 127.0.0.1:{port}", sample)
    text = re.sub(r"\n    server .*", "", text)
    for index, server in enumerate(servers):
        text += f"    server s{index} 127.0.0.1:{server.port}\n"
    config = folder / "haproxy.cfg"
    config.write_text(text)
    return Front(["haproxy", "-db", "-f", str(config)], port, folder)


def nginx(server, folder):
    """nginx with the sample's location block."""
    port = free_port()
    sample = (PROJECT / "config" / "nginx.conf").read_text()
    block = re.sub(r"listen [^;]+;", f"listen 127.0.0.1:{port};", sample, count=1)
    block = re.sub(r"server_name [^;]+;|ssl_[^;]+;|http2 on;|listen \[[^;]+;", "", block)
    block = re.sub(r"127\.0\.0\.1:8080", f"127.0.0.1:{server.port}", block)
    config = folder / "nginx.conf"
    temporary = "\n".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off;\n{temporary}\n{block}\n}}\n")
    return Front(["nginx", "-c", str(config), "-e", f"{folder}/nginx.log"], port, folder)
