"""Measures shareserve against other servers: each workload in interleaved rounds of one run, medians, and the ratio to the
best peer. CPU seconds are the figure that counts: the client shares the machine's processors, and times are noisy.

    make bench                    everything, under 15 minutes
    make bench ONLY=get-1k,put    some of it
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

import peers
import plots

PROJECT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = PROJECT / ".test" / "bench"
GIBIBYTE = 1 << 30
WEB = ["nginx", "lighttpd", "apache"]


class Connection:
    """HTTP/1.1 on one connection, with as little work as a client can have."""

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

    def close(self):
        self.file.close()
        self.socket.close()


def expect(found, *statuses):
    if found not in statuses:
        raise RuntimeError(f"status {found}")


# Workloads: each takes a started peer, does its work, and gives what it counts (`units`), maybe with other figures.

def wrk(path, connections, seconds=2):
    def work(peer):
        shown = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"{peer.url}{path}"], capture_output=True, text=True, check=True).stdout
        if "Non-2xx" in shown:
            raise RuntimeError(shown)
        requests = int(re.search(r"(\d+) requests in", shown).group(1))
        return {"units": requests / 100_000, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", shown).group(1))}
    return work


def download(path, count=1):
    def work(peer):
        size = 0
        running = [subprocess.Popen(["curl", "-sSk", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", peer.url + path],
                                    stdout=subprocess.PIPE, text=True) for _ in range(count)]
        for process in running:
            status, got = process.communicate()[0].split()
            expect(int(status), 200)
            size += int(got)
        return {"units": size / GIBIBYTE}
    return work


def upload(size):
    def work(peer):
        block = bytes(1 << 20)
        connection = Connection(peer)
        connection.socket.sendall(f"PUT /put/big HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size >> 20):
            connection.socket.sendall(block)
        status = int(connection.file.readline().split()[1])
        expect(status, 200, 201, 204)
        connection.close()
        os.remove(peer.root / "put" / "big")
        return {"units": size / GIBIBYTE}
    return work


def small_uploads(files, connections):
    def work(peer):
        body = b"x" * 10_240
        opened = [Connection(peer) for _ in range(connections)]
        for index in range(files):
            connection = opened[index % connections]
            connection.socket.sendall(
                f"PUT /put/f{index} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            if index % connections == connections - 1:
                for other in opened:
                    expect(other.ask_nothing(), 200, 201, 204)
        for connection in opened:
            connection.close()
        for index in range(files):
            os.remove(peer.root / "put" / f"f{index}")
        return {"units": files / 1000}
    return work


def _ask_nothing(self):
    """Reads one response with a length."""
    status = int(self.file.readline().split()[1])
    length = 0
    while (line := self.file.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if length:
        self.file.read(length)
    return status


Connection.ask_nothing = _ask_nothing


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


ALLPROP = b'<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/></propfind>'


def propfind(members):
    def work(peer):
        connection = Connection(peer)
        status, size, first = connection.ask(
            f"PROPFIND /list-{members}/ HTTP/1.1\nHost: 127.0.0.1\nDepth: 1\nContent-Type: application/xml\nContent-Length: {len(ALLPROP)}",
            ALLPROP)
        expect(status, 207)
        connection.close()
        return {"units": 1, "first byte ms": first * 1000, "bytes": size}
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
    for _ in range(5):
        status, size, _ = connection.ask("GET /get/text.txt HTTP/1.1\nHost: 127.0.0.1\nAccept-Encoding: gzip")
        expect(status, 200)
    connection.close()
    return {"units": 5, "bytes": size}


class Workload:
    """`metric` is what is compared: `cpu` (seconds a unit), `time` (seconds a unit), or a figure that `work` gives."""

    def __init__(self, name, what, work, against, unit, goal, metric="cpu", tls=False, disk=False, rounds=5):
        self.name, self.what, self.work, self.against, self.unit = name, what, work, ["shareserve", *against], unit
        self.goal, self.metric, self.tls, self.disk, self.rounds = goal, metric, tls, disk, rounds


WORKLOADS = [
    Workload("get-1k", "GET 1 KiB, 64 connections", wrk("/get/1k", 64), [*WEB, "rclone", "caddy"], "CPU s per 100k", 0.9),
    Workload("get-64k", "GET 64 KiB, 64 connections", wrk("/get/64k", 64), [*WEB], "CPU s per 100k", 0.95),
    Workload("get-1g", "GET 1 GiB, 1 connection", download("/get/1g"), [*WEB], "s per GiB", 1 / 0.95, metric="time"),
    Workload("get-1g-cpu", "GET 1 GiB, 1 connection", download("/get/1g"), [*WEB], "CPU s per GiB", 1.0),
    Workload("get-1g-4", "GET 1 GiB, 4 connections", download("/get/1g", 4), ["nginx", "lighttpd"], "s per GiB", 1 / 0.95, metric="time",
             rounds=3),
    Workload("tls-1g", "GET 1 GiB over TLS", download("/get/1g"), ["nginx"], "CPU s per GiB", 0.8, tls=True),
    Workload("tls-1k", "GET 1 KiB over TLS, 64 connections", wrk("/get/1k", 64), ["nginx"], "CPU s per 100k", 1.0, tls=True),
    Workload("put", "PUT 1 GiB, tmpfs", upload(GIBIBYTE), [*WEB, "rclone"], "CPU s per GiB", 0.75),
    Workload("put-disk", "PUT 1 GiB, disk", upload(GIBIBYTE), ["nginx", "lighttpd"], "CPU s per GiB", 0.75, disk=True, rounds=3),
    Workload("put-small", "PUT 2,000 × 10 KiB, 1 connection", small_uploads(2000, 1), [*WEB, "wsgidav"], "CPU s per 1,000", 0.6),
    Workload("put-small-8", "PUT 2,000 × 10 KiB, 8 connections", small_uploads(2000, 8), ["nginx", "lighttpd"], "CPU s per 1,000", None),
    Workload("form", "2,000 × 10 KiB in one form", form(2000), [], "CPU s per 1,000", None),
    Workload("propfind", "PROPFIND, 10,000 members", propfind(10_000), [*WEB, "wsgidav"], "CPU s", 1.0),
    Workload("propfind-100k", "PROPFIND, 100,000 members", propfind(100_000), ["nginx"], "CPU s", None, rounds=3),
    Workload("list-100k", "JSON listing, 100,000 members", listing(100_000), [], "CPU s", None, rounds=3),
    Workload("gzip", "gzip of 4 MiB text", compressed, ["nginx"], "CPU s each", 1.0),
    Workload("zip", "ZIP of 10,000 files, 1 GiB", archive("zip"), ["tool:zip"], "s", 1 / 0.8, metric="time", rounds=3),
    Workload("tar", "tar of 10,000 files, 1 GiB", archive("tar"), ["tool:tar"], "s", 1 / 0.8, metric="time", rounds=3),
]
STANDING = ["start", "idle", "connections", "size"]


def make_content(root):
    """The files of all workloads, the same for every server."""
    (root / "get").mkdir(parents=True)
    (root / "put").mkdir()
    (root / ".nginx").mkdir()
    (root / "get" / "1k").write_bytes(os.urandom(1024))
    (root / "get" / "64k").write_bytes(os.urandom(65536))
    (root / "get" / "text.txt").write_bytes(b"".join(b"%d the quick brown fox jumps over %d lazy dogs\n" % (n, n * n % 977)
                                                     for n in range(90_000))[:4 << 20])
    with open(root / "get" / "1g", "wb") as file:
        file.truncate(GIBIBYTE)


def make_folder(place, members):
    place.mkdir()
    for index in range(members):
        (place / f"file {index:06}.txt").touch()


def make_archive(place):
    block = os.urandom(107_374)
    for folder in range(100):
        (place / f"{folder:02}").mkdir(parents=True)
        for index in range(100):
            (place / f"{folder:02}" / f"{index:02}").write_bytes(block)


def run_tool(tool, root):
    command = {"zip": "zip -0 -r -q - archive", "tar": "tar cf - archive"}[tool]
    began = time.perf_counter()
    subprocess.run(f"{command} | cat > /dev/null", shell=True, cwd=root, check=True)
    return time.perf_counter() - began


def measure(workload, kinds, roots, place, tls):
    """Interleaved rounds; gives {server: [figures]}, and other figures by name."""
    figures, others, started, failures = {}, {}, {}, {}
    root = roots["disk" if workload.disk else "memory"]
    for name in workload.against:
        if name.startswith("tool:"):
            continue
        peer = kinds[name](root, place / f"{workload.name}-{name}", tls if workload.tls else None)
        try:
            peer.start()
            started[name] = peer
        except (RuntimeError, OSError) as failure:
            failures[name] = str(failure)
    for _ in range(workload.rounds):
        for name in workload.against:
            if name.startswith("tool:"):
                figures.setdefault(name[5:], []).append(run_tool(name[5:], root))
                continue
            peer = started.get(name)
            if peer is None:
                continue
            before, began = peer.precise_cpu(), time.perf_counter()
            try:
                result = workload.work(peer)
            except (RuntimeError, OSError, ValueError, IndexError, subprocess.CalledProcessError) as failure:
                failures[name] = str(failure)[:200] or type(failure).__name__
                started.pop(name).stop()
                continue
            took, used = time.perf_counter() - began, peer.precise_cpu() - before
            units = result.pop("units")
            value = {"cpu": used / units, "time": took / units}[workload.metric]
            figures.setdefault(name, []).append(value)
            for key, other in result.items():
                others.setdefault(key, {}).setdefault(name, []).append(other)
    for name, peer in started.items():
        others.setdefault("peak memory MiB", {})[name] = [peer.memory("VmHWM") / (1 << 20)]
        peer.stop()
    return figures, {key: {name: statistics.median(values) for name, values in found.items()} for key, found in others.items()}, failures


def standing(name, kinds, roots, place):
    """Figures of a server that does nothing, or only stands there."""
    figures = {}
    for kind in kinds.values():
        if name == "size":
            if kind.name == "shareserve":
                stripped = place / "stripped"
                shutil.copy(peers.Shareserve.binary, stripped)
                subprocess.run(["strip", str(stripped)], check=True)
                figures[kind.name] = [stripped.stat().st_size / 1e6]
            continue
        values = []
        for attempt in range(5 if name == "start" else 1):
            peer = kind(roots["memory"], place / f"{name}-{kind.name}")
            try:
                took = peer.start()
            except (RuntimeError, OSError):
                break
            if name == "start":
                values.append(took * 1000)
            elif name == "idle":
                time.sleep(0.5)
                values.append(peer.memory("VmRSS") / (1 << 20))
            elif kind.name in ("shareserve", "nginx", "lighttpd"):
                before = peer.memory("VmRSS")
                opened = [Connection(peer) for _ in range(1000)]
                for connection in opened:
                    connection.ask("GET /get/1k HTTP/1.1\nHost: 127.0.0.1")
                values.append((peer.memory("VmRSS") - before) / (1 << 20))
                for connection in opened:
                    connection.close()
            peer.stop()
        if values:
            figures[kind.name] = values
    return figures


TITLES = {"start": ("start to first answer", "ms", None), "idle": ("idle resident", "MiB", None),
          "connections": ("1,000 idle connections, growth", "MiB", None), "size": ("stripped binary", "MB", None)}


def row(name, what, unit, goal, figures, others, failures):
    medians = {server: statistics.median(values) for server, values in figures.items()}
    rivals = {server: value for server, value in medians.items() if server != "shareserve"}
    ours = medians.get("shareserve")
    best = min(rivals, key=rivals.get) if rivals else None
    spread = {server: (max(values) - min(values)) / statistics.median(values) if statistics.median(values) else 0
              for server, values in figures.items()}
    return {"name": name, "what": what, "unit": unit, "goal": goal, "medians": medians, "spread": spread, "best": best,
            "ratio": ours / rivals[best] if ours is not None and best and rivals[best] else None, "others": others, "failures": failures}


def show(rows):
    """The table, for people."""
    print(f"\n{'workload':36} {'unit':16} {'ours':>9} {'best peer':>20} {'ratio':>6} {'goal':>6}  others")
    for entry in rows:
        ours = entry["medians"].get("shareserve")
        ours = "not built" if ours is None else f"{ours:.4g}"
        best = f"{entry['best']} {entry['medians'][entry['best']]:.4g}" if entry["best"] else "–"
        ratio = f"{entry['ratio']:.2f}" if entry["ratio"] is not None else "–"
        goal = f"{entry['goal']:.2f}" if entry["goal"] else "–"
        rest = ", ".join(f"{server} {value:.4g}" for server, value in entry["medians"].items() if server not in ("shareserve", entry["best"]))
        mark = "" if entry["ratio"] is None or not entry["goal"] else (" ✓" if entry["ratio"] <= entry["goal"] else " ✗")
        print(f"{entry['what']:36} {entry['unit']:16} {ours:>9} {best:>20} {ratio:>6} {goal:>6}{mark} {rest}")
        for server, failure in entry["failures"].items():
            print(f"    {server}: {failure}")
        for key, found in entry["others"].items():
            print(f"    {key}: " + ", ".join(f"{server} {value:.4g}" for server, value in found.items()))


def growth(kinds, root, place):
    """Time, CPU and memory of ours against the amount of work."""
    curves = {}
    kind = kinds["shareserve"]

    def point(curve, size, work):
        peer = kind(root, place / "growth")
        peer.start()
        before, began = peer.precise_cpu(), time.perf_counter()
        work(peer)
        curves.setdefault(curve, []).append(
            {"size": size, "seconds": time.perf_counter() - began, "cpu": peer.precise_cpu() - before, "memory": peer.memory("VmHWM") / (1 << 20)})
        peer.stop()

    for members in (10, 100, 1000, 10_000, 100_000):
        folder = root / f"list-{members}"
        if not folder.exists():
            make_folder(folder, members)
        point("members of a folder, PROPFIND", members, propfind(members))
        point("members of a folder, JSON", members, listing(members))
    for size in (1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30, 10 << 30):
        path = root / "get" / "grow"
        with open(path, "wb") as file:
            file.truncate(size)
        point("bytes of a download", size, download("/get/grow"))
        path.unlink()
    for size in (1 << 20, 1 << 25, 1 << 28, 1 << 30):
        point("bytes of an upload", size, upload(size))
    for connections in (1, 10, 100, 1000, 5000):
        def idle(peer, connections=connections):
            opened = [Connection(peer) for _ in range(connections)]
            for connection in opened:
                connection.ask("GET /get/1k HTTP/1.1\nHost: 127.0.0.1")
            for connection in opened:
                connection.close()
        point("connections", connections, idle)
    folder = root / "deep"
    for depth in (1, 10, 100, 300):
        place_at = folder
        for _ in range(depth):
            place_at = place_at / "d"
        place_at.mkdir(parents=True, exist_ok=True)
        (place_at / "f").write_bytes(b"x")
        target = "/deep" + "/d" * depth + "/f"

        def deep(peer, target=target):
            connection = Connection(peer)
            for _ in range(200):
                status, _, _ = connection.ask(f"GET {target} HTTP/1.1\nHost: 127.0.0.1")
                expect(status, 200)
            connection.close()
        point("depth of a file, 200 GETs", depth, deep)
    return curves


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--server", required=True)
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    known = [workload.name for workload in WORKLOADS] + STANDING + ["growth"]
    for name in wanted:
        if not any(name == other or other.startswith(name) for other in known):
            sys.exit(f"shareserve: there is no workload '{name}'; there are {', '.join(known)}")
    peers.Shareserve.binary = pathlib.Path(options.server).resolve()
    kinds = {kind.name: kind for kind in peers.ALL}
    chosen = [workload for workload in WORKLOADS
              if not wanted or any(workload.name == name or workload.name.startswith(name) for name in wanted)]
    RESULTS.mkdir(parents=True, exist_ok=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix="shareserve-bench-"))
    memory = pathlib.Path(tempfile.mkdtemp(prefix="shareserve-bench-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    rows, curves = [], {}
    try:
        roots = {"memory": memory / "root", "disk": place / "root"}
        for root in roots.values():
            make_content(root)
        tls = (place / "cert.pem", place / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
             "/CN=localhost", "-keyout", str(tls[1]), "-out", str(tls[0])], check=True, capture_output=True)
        for members in (10_000, 100_000):
            if any(str(members // 1000) + "k" in workload.name or workload.name == "propfind" for workload in chosen):
                make_folder(roots["memory"] / f"list-{members}", members)
        if any(workload.name in ("zip", "tar") for workload in chosen):
            make_archive(roots["memory"] / "archive")
        for workload in chosen:
            began = time.monotonic()
            figures, others, failures = measure(workload, kinds, roots, place, tls)
            rows.append(row(workload.name, workload.what, workload.unit, workload.goal, figures, others, failures))
            print(f"{workload.name}: {time.monotonic() - began:.0f} s", flush=True)
        for name in STANDING:
            if not wanted or name in wanted:
                what, unit, goal = TITLES[name]
                rows.append(row(name, what, unit, goal, standing(name, kinds, roots, place), {}, {}))
        if not wanted or "growth" in wanted:
            curves = growth(kinds, roots["memory"], place)
    finally:
        shutil.rmtree(memory, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
    show(rows)
    (RESULTS / "bench.json").write_text(json.dumps({"rows": rows, "growth": curves}, indent=1))
    for name, points in curves.items():
        file = RESULTS / (re.sub(r"\W+", "-", name) + ".svg")
        file.write_text(plots.chart(name, points))
    print(f"\nfigures and plots: {RESULTS}")


if __name__ == "__main__":
    main()
