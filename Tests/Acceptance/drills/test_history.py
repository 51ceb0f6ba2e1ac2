"""Thirty-two clients on the same few names: each answer is one that some order of all requests explains."""

import bisect
import itertools
import math
import random
import threading
import time

import pytest

from server import SANITIZED
from wire import Wire
from workload import content, version

CLIENTS = 32
NAMES = ["a", "b", "c", "d"]


class Record:
    """One request that changed or showed a name, with the span of time in which it took effect."""

    def __init__(self, kind, value, began, ended):
        self.kind, self.value, self.began, self.ended = kind, value, began, ended


def check_linear(name, records, missing):
    """Whether one order of the writes explains every read (reads may only see a write that may be the newest).

    A read must see a write that began before the read ended, and that was not surely overwritten before the read
    began: no other write began after the seen one had ended, and ended before the read began. Two running maxima
    answer that for each read in logarithmic time: a fast server leaves tens of thousands of records.
    """
    writes = [record for record in records if record.kind == "write"]
    by_value = {record.value: record for record in writes}
    latest_beginning = RunningMaximum((write.ended, write.began) for write in writes)
    latest_removal = RunningMaximum((write.began, write.ended) for write in writes if write.value is missing)
    problems = []
    for read in (record for record in records if record.kind == "read"):
        overwritten_since = latest_beginning.before(read.began)
        if read.value is missing:
            # Nothing was there at the start, as if removed then.
            if overwritten_since > max(0.0, latest_removal.before(read.ended)):
                problems.append(f"{name} was missing at {read.began:.4f}")
            continue
        seen = by_value.get(read.value)
        if seen is None:
            problems.append(f"{name} held {read.value}, which nobody wrote")
        elif seen.began > read.ended or overwritten_since > seen.ended:
            problems.append(f"{name} held {read.value} at {read.began:.4f}, overwritten before")
    return problems


class RunningMaximum:
    """Of pairs (time, value), the greatest value whose time lies before a given one."""

    def __init__(self, pairs):
        ordered = sorted(pairs)
        self.times = [time for time, _ in ordered]
        self.values = list(itertools.accumulate((value for _, value in ordered), max))

    def before(self, time):
        index = bisect.bisect_left(self.times, time)
        return self.values[index - 1] if index else -math.inf


def run_clients(server, count, client):
    """Calls `client(number, wire)` in `count` threads, each with a connection of its own; fails when one of them does."""
    failures = []

    def run(number):
        try:
            with Wire(server) as wire:
                client(number, wire)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


@pytest.mark.timeout(300)
def test_put_get_delete(server):
    missing = object()
    records = {name: [] for name in NAMES}
    guard = threading.Lock()
    deadline = time.monotonic() + (20 if SANITIZED else 10)

    def client(number, wire):
        chance = random.Random(number)
        count = 0
        while time.monotonic() < deadline:
            name = chance.choice(NAMES)
            action = chance.choice(["PUT", "GET", "GET", "GET", "DELETE"] if number % 4 else ["PUT", "GET"])
            began = time.monotonic()
            if action == "PUT":
                count += 1
                value = number * 1_000_000 + count
                answer = wire.ask("PUT", f"/{name}", body=content(name, value, size=chance.choice([100, 50_000])))
                assert answer.status in (201, 204), answer
                record = Record("write", value, began, time.monotonic())
            elif action == "GET":
                answer = wire.ask("GET", f"/{name}")
                assert answer.status in (200, 404), answer
                value = version(name, answer.body) if answer.status == 200 else missing
                record = Record("read", value, began, time.monotonic())
            else:
                answer = wire.ask("DELETE", f"/{name}")
                assert answer.status in (204, 404), answer
                kind = "write" if answer.status == 204 else "read"
                record = Record(kind, missing, began, time.monotonic())
            with guard:
                records[name].append(record)

    run_clients(server, CLIENTS, client)
    problems = [problem for name in NAMES for problem in check_linear(name, records[name], missing)]
    assert not problems, problems[:5]
    assert sum(map(len, records.values())) > 200


def test_the_check_itself_finds_a_stale_read():
    stale = [Record("write", 1, 0, 1), Record("write", 2, 2, 3), Record("read", 1, 4, 5)]
    assert check_linear("x", stale, None)
    fine = [Record("write", 1, 0, 1), Record("write", 2, 2, 6), Record("read", 1, 4, 5)]
    assert not check_linear("x", fine, None)
    gone = [Record("write", 1, 0.25, 1), Record("read", None, 2, 3)]
    assert check_linear("x", gone, None)
    assert not check_linear("x", [*gone, Record("write", None, 0.5, 4)], None)


@pytest.mark.timeout(300)
def test_conditional_updates_are_never_lost(server):
    """A counter that each client raises under If-Match: no acknowledged raise is lost."""
    (server.root / "counter").write_text("0")
    raised = []

    def client(number, wire):
        done = 0
        while done < 15:
            seen = wire.ask("GET", "/counter")
            answer = wire.ask("PUT", "/counter", f"If-Match: {seen['ETag']}", body=str(int(seen.body) + 1))
            assert answer.status in (204, 412), answer
            done += answer.status == 204
        raised.append(done)

    run_clients(server, 8, client)
    assert int((server.root / "counter").read_text()) == sum(raised) == 120


def test_moves_between_many_clients_keep_every_file(server):
    """Files wander between names by MOVE without overwriting; none is lost, none doubled."""
    for index in range(8):
        (server.root / f"n{index}").write_bytes(content(f"file-{index}", 1, size=1000))
    deadline = time.monotonic() + 5

    def client(number, wire):
        chance = random.Random(number)
        while time.monotonic() < deadline:
            one, other = chance.sample(range(16), 2)
            answer = wire.ask("MOVE", f"/n{one}", f"Destination: /n{other}", "Overwrite: F")
            assert answer.status in (201, 404, 412), answer

    run_clients(server, CLIENTS, client)
    found = sorted(path.read_bytes().split(b" ")[0] for path in server.root.iterdir() if path.is_file())
    assert found == sorted(f"file-{index}".encode() for index in range(8))
