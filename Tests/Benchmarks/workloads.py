"""What the servers are asked to do. Each kind of work takes a started peer, does it, and gives what it counts (`units`), maybe
with other figures."""

import itertools
import os
import re
import statistics
import subprocess

from client import Connection

GIBIBYTE = 1 << 30
WEB = ["nginx", "lighttpd", "apache"]


def expect(found, *statuses):
    if found not in statuses:
        raise RuntimeError(f"status {found}")


def wrk(path, connections, seconds=2, request=None):
    """GET, or what a `request` in wrk's language makes of it."""
    def work(peer):
        script = peer.place / "request.lua"
        script.write_text(request or "")
        shown = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", *(["-s", str(script)] if request else []), f"{peer.url}{path}"],
            capture_output=True, text=True, check=True).stdout
        if "Non-2xx" in shown:
            raise RuntimeError(shown)
        requests = int(re.search(r"(\d+) requests in", shown).group(1))
        return {"units": requests / 100_000, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", shown).group(1))}
    return work


CURL = ["-sSk", "-o", "/dev/null"]


def require_version(spoken, version):
    if not version.endswith(spoken):
        raise RuntimeError(f"HTTP/{spoken}, where {version} was asked for")


def download(path, count=1, version="--http1.1"):
    def work(peer):
        size = 0
        running = [subprocess.Popen(["curl", *CURL, version, "-w", "%{http_version} %{http_code} %{size_download}", peer.url + path],
                                    stdout=subprocess.PIPE, text=True) for _ in range(count)]
        for process in running:
            spoken, status, got = process.communicate()[0].split()
            expect(int(status), 200)
            require_version(spoken, version)
            size += int(got)
        return {"units": size / GIBIBYTE}
    return work


def upload(size):
    def work(peer):
        block = bytes(min(size, 1 << 20))
        connection = Connection(peer)
        connection.socket.sendall(f"PUT /put/big HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size // len(block)):
            connection.socket.sendall(block)
        status = int(connection.file.readline().split()[1])
        expect(status, 200, 201, 204)
        connection.close()
        os.remove(peer.root / "put" / "big")
        return {"units": size / GIBIBYTE}
    return work


def secure_upload(version):
    def work(peer):
        file = peer.root / "get" / "1g"
        spoken, status = subprocess.run(
            ["curl", *CURL, version, "-w", "%{http_version} %{http_code}", "-T", str(file), peer.url + "/put/big"],
            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        expect(int(status), 200, 201, 204)
        require_version(spoken, version)
        os.remove(peer.root / "put" / "big")
        return {"units": 1}
    return work


def small_uploads(files, connections, over=False, removes=True):
    """New files each time, or, `over` existing ones, the same once more: only the first round makes them.

    Without `removes` all stay: ext4 gives the inodes of removed files to nobody for a minute or more, and each new file
    looks at all of them, which costs every server more than all the rest."""
    rounds = itertools.count()

    def work(peer):
        body = b"x" * 10_240
        number = next(rounds)
        names = [f"over{index}" if over else f"f{number}-{index}" for index in range(files)]
        opened = [Connection(peer) for _ in range(connections)]
        for index, name in enumerate(names):
            connection = opened[index % connections]
            connection.socket.sendall(
                f"PUT /put/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            if index % connections == connections - 1:
                for other in opened:
                    expect(other.answer(), 200, 201, 204)
        for connection in opened:
            connection.close()
        for name in names if removes and not over else []:
            os.remove(peer.root / "put" / name)
        return {"units": files / 1000}
    return work


def form(files):
    def work(peer):
        body = b"".join(
            b'--edge\r\nContent-Disposition: form-data; name="files"; filename="m%d"\r\n\r\n' % index + b"x" * 10_240 + b"\r\n"
            for index in range(files)) + b"--edge--\r\n"
        connection = Connection(peer)
        status, _, _ = connection.ask(
            f"POST /put/ HTTP/1.1\nHost: 127.0.0.1\nContent-Type: multipart/form-data; boundary=edge\nContent-Length: {len(body)}", body)
        expect(status, 200, 201, 303)
        connection.close()
        for index in range(files):
            os.remove(peer.root / "put" / f"m{index}")
        return {"units": files / 1000}
    return work


RANGE = 'wrk.headers["Range"] = "bytes=1000-1999"'
SINCE = 'wrk.headers["If-Modified-Since"] = "Sat, 01 Jan 2050 00:00:00 GMT"'
PROPFIND_ONE = 'wrk.method = "PROPFIND"; wrk.headers["Depth"] = "0"'
PROPFIND_FEW = 'wrk.method = "PROPFIND"; wrk.headers["Depth"] = "1"'
ALLPROP = b'<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/></propfind>'


def propfind(members, times=1):
    def work(peer):
        firsts = []
        for _ in range(times):
            connection = Connection(peer)
            status, size, first = connection.ask(
                f"PROPFIND /list-{members}/ HTTP/1.1\nHost: 127.0.0.1\nDepth: 1\nContent-Type: application/xml\nContent-Length: {len(ALLPROP)}",
                ALLPROP)
            expect(status, 207)
            connection.close()
            firsts.append(first)
        return {"units": times, "first byte ms": statistics.median(firsts) * 1000, "bytes": size}
    return work


def listing(members):
    def work(peer):
        connection = Connection(peer)
        status, size, first = connection.ask(f"GET /list-{members}/ HTTP/1.1\nHost: 127.0.0.1\nAccept: application/json")
        expect(status, 200)
        connection.close()
        return {"units": 1, "first byte ms": first * 1000, "bytes": size}
    return work


def archive(kind):
    def work(peer):
        connection = Connection(peer)
        status, size, _ = connection.ask(f"GET /archive/?archive={kind} HTTP/1.1\nHost: 127.0.0.1")
        expect(status, 200)
        connection.close()
        return {"units": 1, "bytes": size}
    return work


def compressed(peer):
    connection = Connection(peer)
    size = 0
    for _ in range(20):
        status, size, _ = connection.ask("GET /get/text.txt HTTP/1.1\nHost: 127.0.0.1\nAccept-Encoding: gzip")
        expect(status, 200)
    connection.close()
    return {"units": 20, "bytes": size}


class Goal:
    """What a figure of ours may be at most: `factor` times that of a peer in the same run (the best where none is named), or
    `limit` as it stands."""

    def __init__(self, factor=None, peer=None, limit=None):
        self.factor, self.peer, self.limit = factor, peer, limit

    def bound(self, rivals):
        """The bound beside these figures of the others; None where there is nothing to compare with."""
        if self.limit is not None:
            return self.limit
        if self.peer:
            return self.factor * rivals[self.peer] if self.peer in rivals else None
        return self.factor * min(rivals.values()) if rivals else None

    def __str__(self):
        return f"≤ {self.limit:g}" if self.limit is not None else f"≤ {self.factor:.2f} × {self.peer or 'best'}"


class Workload:
    """Work that is given to several servers in turn. Each of `metrics` is (what, unit, goal): `cpu` and `time` are seconds a
    unit, `memory` the peak in MiB, all else is a figure that `work` gives."""

    def __init__(self, name, what, work, against, metrics, tls=False, disk=False):
        self.name, self.what, self.work, self.against = name, what, work, ["shareserve", *against]
        self.metrics, self.tls, self.disk = metrics, tls, disk


WORKLOADS = [
    Workload("get-1k", "GET 1 KiB, 64 connections", wrk("/get/1k", 64), [*WEB, "rclone", "caddy"], [("cpu", "CPU s/100k", Goal(0.9))]),
    Workload("get-64k", "GET 64 KiB, 64 connections", wrk("/get/64k", 64), WEB, [("cpu", "CPU s/100k", Goal(0.95))]),
    Workload("get-range", "1,000 bytes of 64 KiB, 16 connections", wrk("/get/64k", 16, request=RANGE), WEB, [("cpu", "CPU s/100k", None)]),
    Workload("get-304", "304 for a file, 16 connections", wrk("/get/1k", 16, request=SINCE), WEB, [("cpu", "CPU s/100k", None)]),
    Workload("get-1g", "GET 1 GiB, 1 connection", download("/get/1g"), WEB,
             [("time", "s/GiB", Goal(1 / 0.95)), ("cpu", "CPU s/GiB", Goal(1.0))]),
    Workload("get-1g-4", "GET 1 GiB, 4 connections", download("/get/1g", 4), ["nginx", "lighttpd"],
             [("time", "s/GiB", Goal(1 / 0.95)), ("cpu", "CPU s/GiB", Goal(1.0))]),
    Workload("tls-1g", "GET 1 GiB over TLS", download("/get/1g"), ["nginx"], [("cpu", "CPU s/GiB", Goal(0.8))], tls=True),
    Workload("tls-1g-h2", "the same over HTTP/2", download("/get/1g", version="--http2"), ["nginx"], [("cpu", "CPU s/GiB", None)],
             tls=True),
    Workload("tls-1k", "GET 1 KiB over TLS, 64 connections", wrk("/get/1k", 64), ["nginx"], [("cpu", "CPU s/100k", Goal(1.0))], tls=True),
    Workload("put", "PUT 1 GiB, tmpfs", upload(GIBIBYTE), [*WEB, "rclone"], [("cpu", "CPU s/GiB", Goal(0.75))]),
    Workload("put-disk", "PUT 1 GiB, disk", upload(GIBIBYTE), ["nginx", "lighttpd"], [("cpu", "CPU s/GiB", Goal(0.75))], disk=True),
    Workload("tls-put", "PUT 1 GiB over TLS, tmpfs", secure_upload("--http1.1"), ["nginx"], [("cpu", "CPU s/GiB", None)], tls=True),
    Workload("tls-put-h2", "the same over HTTP/2", secure_upload("--http2"), ["nginx"], [("cpu", "CPU s/GiB", None)], tls=True),
    Workload("put-small", "PUT 2,000 × 10 KiB, 1 connection", small_uploads(2000, 1), [*WEB, "wsgidav"],
             [("cpu", "CPU s/1000", Goal(0.6, "nginx"))]),
    Workload("put-small-over", "the same over files that are there", small_uploads(2000, 1, over=True), ["nginx", "lighttpd"],
             [("cpu", "CPU s/1000", None)]),
    Workload("put-small-disk", "new ones on a disk", small_uploads(2000, 1, removes=False), ["nginx", "lighttpd"],
             [("cpu", "CPU s/1000", Goal(0.6, "nginx"))], disk=True),
    Workload("put-small-8", "PUT 2,000 × 10 KiB, 8 connections", small_uploads(2000, 8), ["nginx", "lighttpd"],
             [("cpu", "CPU s/1000", None)]),
    Workload("form", "2,000 × 10 KiB in one form", form(2000), [], [("cpu", "CPU s/1000", None)]),
    Workload("propfind-one", "PROPFIND of one file, 8 connections", wrk("/get/1k", 8, request=PROPFIND_ONE), WEB,
             [("cpu", "CPU s/100k", None)]),
    Workload("propfind-few", "PROPFIND, 4 members, 16 connections", wrk("/get/", 16, request=PROPFIND_FEW), WEB,
             [("cpu", "CPU s/100k", None)]),
    Workload("propfind", "PROPFIND, 10,000 members", propfind(10_000, times=5), [*WEB, "wsgidav"],
             [("cpu", "CPU s", Goal(1.0, "nginx")), ("first byte ms", "ms", Goal(limit=5))]),
    Workload("propfind-100k", "PROPFIND, 100,000 members", propfind(100_000), ["nginx"],
             [("cpu", "CPU s", None), ("memory", "MiB", Goal(limit=64))]),
    Workload("list-100k", "JSON listing, 100,000 members", listing(100_000), [], [("cpu", "CPU s", None), ("memory", "MiB", Goal(limit=64))]),
    Workload("gzip", "gzip of 4 MiB text", compressed, ["nginx"], [("cpu", "CPU s", Goal(1.0)), ("bytes", "bytes", Goal(1.02))]),
    Workload("zip", "ZIP of 10,000 files, 1 GiB", archive("zip"), ["tool:zip", "tool:tar"], [("time", "s", Goal(1 / 0.8, "tar"))]),
    Workload("tar", "tar of 10,000 files, 1 GiB", archive("tar"), ["tool:tar"], [("time", "s", Goal(1 / 0.8, "tar"))]),
]
