"""Measures shareserve against other servers: each workload in interleaved rounds of one run, medians, and the ratio to the
best peer. CPU seconds are the figure that counts: the client shares the machine's processors, and times are noisy.

    make bench                    everything, under 15 minutes
    make bench ONLY=get-1k,put    the workloads whose names begin so
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import peers
import report
from client import Connection
from content import make_archive, make_content, make_folder
from growth import growth
from workloads import WORKLOADS, Goal

PROJECT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = PROJECT / ".test" / "bench"
ROUNDS = 5
STANDING = {
    "start": ("start to first answer", "ms", Goal(limit=10)),
    "idle": ("idle resident", "MiB", Goal(1.0, "nginx")),
    "connections": ("1,000 idle connections, growth", "MiB", Goal(limit=6)),
    "size": ("stripped binary", "MB", Goal(limit=32)),
}


def run_tool(tool, root):
    command = {"zip": "zip -0 -r -q - archive", "tar": "tar cf - archive"}[tool]
    began = time.perf_counter()
    subprocess.run(f"{command} | cat > /dev/null", shell=True, cwd=root, check=True)
    return time.perf_counter() - began


class Measurement:
    """The rounds of one workload: figures by metric and server, and what failed."""

    def __init__(self, workload, kinds, roots, place, tls):
        self.workload, self.figures, self.failures = workload, {}, {}
        self.root = roots["disk" if workload.disk else "memory"]
        self.started = {}
        try:
            for name in workload.against:
                if not name.startswith("tool:"):
                    self._start(kinds[name](self.root, place / f"{workload.name}-{name}", tls if workload.tls else None))
            for _ in range(ROUNDS):
                for name in workload.against:
                    self._round(name)
            for name, peer in self.started.items():
                self._add("memory", name, peer.memory("VmHWM") / (1 << 20))
        finally:
            for peer in self.started.values():
                peer.stop()

    def _start(self, peer):
        try:
            peer.start()
            self.started[peer.name] = peer
        except (RuntimeError, OSError) as failure:
            peer.stop()
            self.failures[peer.name] = str(failure)

    def _add(self, metric, name, value):
        self.figures.setdefault(metric, {}).setdefault(name, []).append(value)

    def _round(self, name):
        if name.startswith("tool:"):
            return self._add("time", name[5:], run_tool(name[5:], self.root))
        peer = self.started.get(name)
        if peer is None:
            return
        before, began = peer.precise_cpu(), time.perf_counter()
        try:
            result = self.workload.work(peer)
        except (RuntimeError, OSError, ValueError, IndexError, subprocess.CalledProcessError) as failure:
            self.failures[name] = str(failure)[:200] or type(failure).__name__
            self.started.pop(name).stop()
            return
        units = result.pop("units")
        self._add("time", name, (time.perf_counter() - began) / units)
        self._add("cpu", name, (peer.precise_cpu() - before) / units)
        for metric, value in result.items():
            self._add(metric, name, value)

    def rows(self):
        """One for each metric with a name; all other figures go with the first."""
        shown = {metric for metric, _, _ in self.workload.metrics}
        labels = {"memory": "peak memory MiB", "time": "s each"}
        others = {
            labels.get(metric, metric): {name: statistics.median(values) for name, values in found.items()}
            for metric, found in self.figures.items() if metric not in shown and metric != "cpu"}
        rows = []
        for metric, unit, goal in self.workload.metrics:
            what = self.workload.what if not rows else f"  {metric}"
            rows.append(report.Row(
                self.workload.name, what, unit, goal, self.figures.get(metric, {}), {} if rows else others,
                {} if rows else self.failures))
        return rows


def standing(name, kinds, roots, place):
    """Figures of a server that does nothing, or only stands there."""
    figures = {}
    if name == "size":
        stripped = place / "stripped"
        shutil.copy(peers.Shareserve.binary, stripped)
        subprocess.run(["strip", str(stripped)], check=True)
        return {"shareserve": [stripped.stat().st_size / 1e6]}
    asked = kinds.values() if name != "connections" else [kinds[name] for name in ("shareserve", "nginx", "lighttpd")]
    for _ in range(ROUNDS):
        for kind in asked:
            peer = kind(roots["memory"], place / f"{name}-{kind.name}")
            try:
                took = peer.start()
            except (RuntimeError, OSError):
                peer.stop()
                continue
            try:
                figures.setdefault(kind.name, []).append(stand(name, peer, took))
            finally:
                peer.stop()
    return figures


def stand(name, peer, took):
    if name == "start":
        return took * 1000
    time.sleep(0.5)
    before = peer.memory("VmRSS") / (1 << 20)
    if name == "idle":
        return before
    opened = [Connection(peer) for _ in range(1000)]
    for connection in opened:
        connection.ask("GET /get/1k HTTP/1.1\nHost: 127.0.0.1")
    grown = peer.memory("VmRSS") / (1 << 20) - before
    for connection in opened:
        connection.close()
    return grown


def make_certificate(place):
    """A pair of files with a key and its self-signed certificate."""
    certificate, key = place / "cert.pem", place / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
         "/CN=localhost", "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key


def measure(wanted, roots, place):
    """Everything that was asked for: rows, and curves of growth."""
    def chosen(name):
        return not wanted or any(name.startswith(prefix) for prefix in wanted)
    kinds = {kind.name: kind for kind in peers.ALL}
    workloads = [workload for workload in WORKLOADS if chosen(workload.name)]
    tls = make_certificate(place)
    for root in roots.values():
        make_content(root)
    for members in (10_000, 100_000):
        # Those of 10,000 have no number in their name.
        if any(workload.name in ("propfind",) if members == 10_000 else workload.name.endswith("-100k") for workload in workloads):
            make_folder(roots["memory"] / f"list-{members}", members)
    if any(workload.name in ("zip", "tar") for workload in workloads):
        make_archive(roots["memory"] / "archive")
    rows = []
    for workload in workloads:
        began = time.monotonic()
        rows += Measurement(workload, kinds, roots, place, tls).rows()
        print(f"{workload.name}: {time.monotonic() - began:.0f} s", flush=True)
    for name, (what, unit, goal) in STANDING.items():
        if chosen(name):
            began = time.monotonic()
            rows.append(report.Row(name, what, unit, goal, standing(name, kinds, roots, place)))
            print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    curves = {}
    if chosen("growth"):
        began = time.monotonic()
        curves = growth(kinds["shareserve"], roots, place)
        print(f"growth: {time.monotonic() - began:.0f} s", flush=True)
    return rows, curves


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--server", required=True)
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    known = [workload.name for workload in WORKLOADS] + [*STANDING, "growth"]
    for name in wanted:
        if not any(other.startswith(name) for other in known):
            sys.exit(f"shareserve: there is no workload '{name}'; there are {', '.join(known)}")
    peers.Shareserve.binary = pathlib.Path(options.server).resolve()
    RESULTS.mkdir(parents=True, exist_ok=True)
    # On the disk of the project, since /tmp may be in memory.
    place = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=RESULTS))
    memory = pathlib.Path(tempfile.mkdtemp(prefix="shareserve-bench-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        for folder in (place, memory):
            folder.chmod(0o755)
        rows, curves = measure(wanted, {"memory": memory / "root", "disk": place / "root"}, place)
    finally:
        # Deeper than Python's own removal of trees can handle.
        subprocess.run(["rm", "-rf", "--", str(memory), str(place)], check=False)
    report.show(rows)
    report.show_growth(curves)
    report.write(RESULTS, rows, curves)


if __name__ == "__main__":
    main()
