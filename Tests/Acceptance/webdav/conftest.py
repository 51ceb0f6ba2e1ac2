"""The ways in which a WebDAV client may meet the server."""

import dataclasses
import os
import subprocess

import pytest

import fronts
from server import binary


@dataclasses.dataclass
class Meeting:
    """Where a client goes: an address, and the directory that is behind it."""

    url: str
    root: object
    servers: list
    authority: str
    port: int


NOBODY = 65534


def ordinary_user():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def certificate(folder):
    """A key and a certificate for 127.0.0.1."""
    key, chain = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(chain)],
        check=True, capture_output=True)
    return chain, key


def has_option(name):
    return name in subprocess.run([str(binary()), "--help"], capture_output=True, text=True).stdout


WAYS = ["plain", "ordinary user", "prefix", "two processes", "nginx", "tls"]


@pytest.fixture
def meet(serve, folder):
    """`meet("nginx")` starts what that way needs."""
    opened = []

    def start(way, *options):
        root = folder / "share"
        if way == "ordinary user":
            root.mkdir()
            if os.geteuid() == 0:
                os.chown(root, NOBODY, NOBODY)
                server = serve(*options, preexec=ordinary_user)
            else:
                server = serve(*options)
            return Meeting(server.url, root, [server], server.authority, server.port)
        if way == "prefix":
            server = serve("--path-prefix", "/deep/files", *options)
            return Meeting(server.url, root, [server], server.authority, server.port)
        if way == "tls":
            chain, key = certificate(folder)
            server = serve("--tls-cert", chain, "--tls-key", key, *options)
            return Meeting(server.url, root, [server], server.authority, server.port)
        if way == "two processes":
            servers = [serve(*options), serve(*options)]
            front = fronts.haproxy(servers, folder)
        elif way == "nginx":
            servers = [serve(*options)]
            front = fronts.nginx(servers[0], folder)
        else:
            server = serve(*options)
            return Meeting(server.url, root, [server], server.authority, server.port)
        opened.append(front)
        return Meeting(front.url, root, servers, front.authority, front.port)

    yield start
    for front in opened:
        front.close()


@pytest.fixture(params=WAYS)
def meeting(request, meet):
    """Every way in turn."""
    if request.param == "tls" and not has_option("--tls-cert"):
        pytest.skip("no TLS in this build")
    return meet(request.param)
