"""Time, processor time and memory of ours against the amount of work: straight lines, or a reason to look."""

import math
import os
import resource
import shutil
import time

from client import Connection
from content import make_folder
from workloads import download, expect, listing, propfind, upload


class Curves:
    """Points by the name of their curve; each is measured with a fresh server."""

    def __init__(self, kind, place):
        self.kind, self.place, self.points = kind, place, {}

    def measure(self, curve, size, root, work):
        peer = self.kind(root, self.place / "growth")
        peer.start()
        try:
            before, began = peer.precise_cpu(), time.perf_counter()
            work(peer)
            self.points.setdefault(curve, []).append({
                "size": size, "seconds": time.perf_counter() - began, "cpu": peer.precise_cpu() - before,
                "memory": peer.memory("VmHWM") / (1 << 20)})
        finally:
            peer.stop()


def growth(kind, roots, place):
    """All curves."""
    curves = Curves(kind, place)
    members(curves, roots["memory"])
    sizes(curves, roots)
    connections(curves, roots["memory"])
    depths(curves, roots["memory"])
    return curves.points


def members(curves, root):
    for count in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        folder = root / f"list-{count}"
        if not folder.exists():
            make_folder(folder, count)
        curves.measure("members of a folder, PROPFIND", count, root, propfind(count))
        curves.measure("members of a folder, JSON", count, root, listing(count))
        shutil.rmtree(folder)


def sizes(curves, roots):
    for size in (1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30, 10 << 30):
        path = roots["memory"] / "get" / "grow"
        with open(path, "wb") as file:
            file.truncate(size)
        curves.measure("bytes of a download", size, roots["memory"], download("/get/grow"))
        path.unlink()
    free = shutil.disk_usage(roots["disk"]).free
    for size in (1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30, 10 << 30):
        if size * 2 < free:
            curves.measure("bytes of an upload, to a disk", size, roots["disk"], upload(size))


def connections(curves, root):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for count in (1, 10, 100, 1000, 10_000):
        if hard != resource.RLIM_INFINITY and count * 4 // 3 + 1000 > hard:
            print(f"{count} connections: the limit of open files, {hard}, does not allow as many")
            continue

        def keep(peer, count=count):
            opened = [Connection(peer) for _ in range(count)]
            for connection in opened:
                expect(connection.ask("GET /get/1k HTTP/1.1\nHost: 127.0.0.1")[0], 200)
            for connection in opened:
                connection.close()
        curves.measure("connections, one GET each", count, root, keep)


def depths(curves, root):
    for depth in (1, 10, 100, 1000):
        # Longer than a path may be: created and requested in steps, as long as the names fit into one request.
        folder = os.open(root, os.O_DIRECTORY)
        for _ in range(depth):
            try:
                os.mkdir("d", dir_fd=folder)
            except FileExistsError:
                pass
            below = os.open("d", os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        os.close(folder)

        def deep(peer, target="/d" * depth + "/f"):
            connection = Connection(peer)
            for _ in range(200):
                expect(connection.ask(f"GET {target} HTTP/1.1\nHost: 127.0.0.1")[0], 200)
            connection.close()
        curves.measure("depth of a file, 200 GETs", depth, root, deep)

        def walk(peer):
            connection = Connection(peer)
            expect(connection.ask("PROPFIND /d/ HTTP/1.1\nHost: 127.0.0.1\nDepth: infinity\nContent-Length: 0")[0], 207)
            connection.close()
        curves.measure("depth of a tree, PROPFIND Depth: infinity", depth, root, walk)


def exponent(points, key):
    """How `key` grows over the last tenfold of work: 1 is a straight line, 0 is no growth; None for too few points."""
    if len(points) < 2:
        return None
    before, last = points[-2:]
    if before[key] <= 0 or last[key] <= 0:
        return None
    return math.log(last[key] / before[key]) / math.log(last["size"] / before["size"])
