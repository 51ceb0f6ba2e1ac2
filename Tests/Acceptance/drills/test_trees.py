"""Folders, properties and locks under many clients of two processes: what is acknowledged is kept, and only that."""

import collections
import contextlib
import os
import random
import threading
import time
import traceback
import xml.etree.ElementTree as ET

import pytest
import requests

from server import SANITIZED, wait_until
from tracing import traced
from wire import Wire, ask

DAV = "{DAV:}"
CLIENTS = 8
STEPS = 40 if SANITIZED else 150
NAMES = ["a", "b", "c d", "ü"]
LOCK = ('<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype>'
        "<owner>one of many</owner></lockinfo>")
ASK = '<propfind xmlns="DAV:"><prop><resourcetype/><lockdiscovery/><mark xmlns="urn:x"/></prop></propfind>'


def encoded(path):
    return path.replace(" ", "%20").replace("ü", "%C3%BC")


def mark(value, name="mark"):
    return ('<propertyupdate xmlns="DAV:"><set><prop>'
            f'<{name} xmlns="urn:x">{value}</{name}></prop></set></propertyupdate>')


class Client:
    """Asks one of the servers, on one connection for as long as the server keeps it."""

    def __init__(self, server):
        self.server = server
        self.wire = Wire(server, timeout=60)

    def ask(self, *request, **details):
        answer = self.wire.ask(*request, **details)
        if answer["Connection"] == "close":
            self.wire.close()
            self.wire = Wire(self.server, timeout=60)
        return answer

    def close(self):
        self.wire.close()


def run_clients(servers, client):
    """Calls `client(number, wire, chance)` in threads."""
    failures = []

    def run(number):
        try:
            with contextlib.closing(Client(servers[number % len(servers)])) as wire:
                client(number, wire, random.Random(number))
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, "\n".join(failures[:3])


def members(server):
    """All that the share shows: by address, whether it is a folder, its mark and its locks' tokens."""
    with Wire(server) as wire:
        answer = wire.ask("PROPFIND", "/", "Depth: infinity", body=ASK)
    assert answer.status == 207, answer
    found = {}
    for response in ET.fromstring(answer.body).iter(DAV + "response"):
        tokens = [token.findtext(DAV + "href") for token in response.iter(DAV + "locktoken")]
        place = response.findtext(DAV + "href")
        found[place] = (response.find(f".//{DAV}collection") is not None, response.findtext(".//{urn:x}mark"), tokens)
    del found["/"]
    return found


def on_disk(root):
    """Everything below the share's folder but what the server keeps; the tests make no other names."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*")
            if not path.relative_to(root).as_posix().startswith(".shareserve")}


def no_leftovers(root):
    """Whether the server's own folder for what is under way is empty."""
    return not list((root / ".shareserve" / "tmp").iterdir())


def beginnings(contents):
    return [content[:20] for content in contents]


class Ledger:
    """What the answers said is there: how often each content, and each folder."""

    def __init__(self):
        self.guard = threading.Lock()
        self.files = collections.Counter()
        self.folders = set()

    def add(self, name, count=1):
        with self.guard:
            self.files[name] += count


def random_path(chance, most=3):
    return "/" + "/".join(chance.choice(NAMES) for _ in range(chance.choice(range(1, most + 1))))


@pytest.mark.timeout(600)
def test_nothing_that_wanders_is_lost(serve):
    """Files and folders move, are copied, replaced and removed, each under a condition that says exactly what of.

    So it is known what must be there in the end, wherever it is: every content as often as the answers said, each
    folder once, and each with the property that was given to it.
    """
    one = serve()
    servers = [one, serve(root=one.root)]
    ledger = Ledger()

    def seen(wire, path):
        """A file's content and entity tag; nothing for what is none."""
        answer = wire.ask("GET", encoded(path), "Accept: */*")
        assert answer.status in (200, 404), answer
        if answer.status == 200 and answer["ETag"] and answer.body.startswith(b"file "):
            return answer.body.decode(), answer["ETag"]
        return None, None

    def client(number, wire, chance):
        for step in range(STEPS):
            name = f"file {number} {step} "
            path, other = random_path(chance), random_path(chance)
            action = chance.choice(
                ["make", "make", "folder", "folder", "move", "move", "move", "copy", "replace", "over", "remove"])
            if action == "make":
                name += "x" * chance.choice([10, 300_000])
                answer = wire.ask("PUT", encoded(path), "If-None-Match: *", body=name)
                assert answer.status in (201, 405, 409, 412), answer
                if answer.status == 201:
                    ledger.add(name)
            elif action == "folder":
                # Created under another name and marked there, then moved into place.
                made = f"/made{number}-{step}"
                assert wire.ask("MKCOL", made).status == 201
                assert wire.ask("PROPPATCH", made, body=mark(name)).status == 207
                with ledger.guard:
                    ledger.folders.add(name)
                answer = wire.ask("MOVE", made, f"Destination: {encoded(path)}", "Overwrite: F")
                assert answer.status in (201, 409, 412), answer
            elif action == "move":
                answer = wire.ask("MOVE", encoded(path), f"Destination: {encoded(other)}", "Overwrite: F")
                assert answer.status in (201, 403, 404, 409, 412), answer
            else:
                content, tag = seen(wire, path)
                if content is None:
                    continue
                condition = f"If-Match: {tag}"
                if action == "remove":
                    answer = wire.ask("DELETE", encoded(path), condition)
                    assert answer.status in (204, 404, 412), answer
                    if answer.status == 204:
                        ledger.add(content, -1)
                elif action == "replace":
                    answer = wire.ask("PUT", encoded(path), condition, body=name)
                    assert answer.status in (204, 405, 409, 412), answer
                    if answer.status == 204:
                        ledger.add(content, -1)
                        ledger.add(name)
                elif action == "copy":
                    answer = wire.ask("COPY", encoded(path), f"Destination: {encoded(other)}", "Overwrite: F", condition)
                    assert answer.status in (201, 403, 404, 409, 412), answer
                    if answer.status == 201:
                        ledger.add(content)
                else:
                    under, under_tag = seen(wire, other)
                    if under is None or path == other:
                        continue
                    # One If list with a tag for each: both must still have the state that was seen.
                    answer = wire.ask("MOVE", encoded(path), f"Destination: {encoded(other)}", condition,
                                      f"If: <{encoded(other)}> ([{under_tag}])")
                    assert answer.status in (204, 404, 409, 412), answer
                    if answer.status == 204:
                        ledger.add(under, -1)

    run_clients(servers, client)
    found, folders = collections.Counter(), collections.Counter()
    shown = members(one)
    assert shown == members(servers[1])
    with Wire(one) as wire:
        for place, (is_folder, kept_mark, _) in shown.items():
            if is_folder:
                folders[kept_mark] += 1
            else:
                found[wire.ask("GET", place).body.decode()] += 1
    assert beginnings(found - ledger.files) == beginnings(ledger.files - found) == []
    assert folders == collections.Counter(ledger.folders)
    assert len(on_disk(one.root)) == len(shown)
    assert found and folders
    wait_until(lambda: no_leftovers(one.root), "nothing is left out of sight")


@pytest.mark.timeout(600)
def slowed(server, **delays):
    """Has system calls of a server begin so many microseconds later."""
    calls = [word for call, delay in delays.items() for word in ("-e", f"inject={call}:delay_enter={delay}")]
    return traced(server, "-o", os.devnull, "-e", "trace=" + ",".join(delays), *calls)


@contextlib.contextmanager
def repeated(work, pause=0.001):
    """Does some work again and again while the block runs."""
    over = threading.Event()

    def run():
        while not over.is_set():
            work()
            time.sleep(pause)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def in_background(work):
    """Begins some work; gives what waits for its answer."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    return lambda: (thread.join(), answers[0])[1]


def test_what_is_restored_is_whole(serve):
    """Who deletes a folder for good and who has it back: one of them comes too late."""
    server = serve()
    (server.root / "t").mkdir()
    for number in range(200):
        (server.root / "t" / f"{number}").write_bytes(b"x")
    trash = server.url + "/.shareserve/trash"
    item, = requests.post(trash, json={"paths": ["/t"]}, timeout=20).json()["items"]
    with slowed(server, unlinkat=5_000):
        deleted = in_background(lambda: requests.delete(trash, params={"id": item["id"]}, timeout=60))
        time.sleep(0.3)
        answer = requests.post(trash + "/restore", json={"ids": [item["id"]]}, timeout=60).json()
        deleted()
    assert not answer["items"] or len(os.listdir(server.root / "t")) == 200


def test_trash_emptied_while_a_folder_is_replaced(serve):
    """What takes the folder's place waits in the trash for a moment, and is nothing that can be deleted there."""
    server = serve("--trash", "7")
    for name in ("new", "old"):
        (server.root / name).mkdir()
        for number in range(20):
            (server.root / name / f"{number}").write_text(name)
    with slowed(server, renameat2=1_000_000, unlinkat=50_000):
        copied = in_background(lambda: ask(server, "COPY", "/new", "Destination: /old"))
        wait_until(lambda: list((server.root / ".shareserve").glob("trash/*.item")), "the copy waits")
        requests.delete(server.url + "/.shareserve/trash", timeout=60)
        assert copied().status == 204
    assert {path.read_bytes() for path in (server.root / "old").iterdir()} == {b"new"}
    assert len(os.listdir(server.root / "old")) == 20


def test_properties_stay_with_a_file_that_is_replaced_and_moved(serve):
    """One file, of which some clients set a property each, while others replace its content and move it."""
    one = serve()
    servers = [one, serve(root=one.root)]
    (one.root / "p").write_text("first")
    expected = {}

    def client(number, wire, chance):
        for step in range(STEPS):
            here, there = chance.sample(["/p", "/q"], 2)
            if number < CLIENTS // 2:
                value = f"{number} {step}"
                answer = wire.ask("PROPPATCH", here, body=mark(value, f"mark{number}"))
                assert answer.status in (207, 404), answer
                if answer.status == 207:
                    expected[f"{{urn:x}}mark{number}"] = value
                    listed = wire.ask("PROPFIND", there, "Depth: 0")
                    if listed.status == 404:
                        listed = wire.ask("PROPFIND", here, "Depth: 0")
                    assert listed.status == 404 or f">{value}<" in listed.text, (here, value, listed.text)
            elif number % 4 == 0:
                answer = wire.ask("MOVE", here, f"Destination: {there}", "Overwrite: F")
                assert answer.status in (201, 404, 412), answer
            else:
                answer = wire.ask("PUT", here, "If-Match: *", body=f"content {number} {step}")
                assert answer.status in (204, 412), answer

    run_clients(servers, client)
    (place,) = members(one)
    with Wire(one) as wire:
        shown = ET.fromstring(wire.ask("PROPFIND", place, "Depth: 0").body)
    assert {element.tag: element.text for element in shown.iter() if element.tag.startswith("{urn:x}")} == expected
    assert len(expected) == CLIENTS // 2


@pytest.mark.timeout(600)
def test_what_is_locked_stays_as_its_holder_left_it(serve):
    """Each client locks files and folders in turn, while all others write, move and remove in the same tree."""
    one = serve()
    servers = [one, serve(root=one.root)]
    paths = [f"/{top}/{low}" for top in NAMES for low in NAMES]
    for top in NAMES:
        (one.root / top).mkdir()
    taken = collections.Counter()

    def attack(wire, chance, step):
        """A write without a token, anywhere."""
        path, other = (chance.choice(paths) if chance.random() < 0.6 else "/" + chance.choice(NAMES) for _ in range(2))
        kind = chance.choice(["PUT", "DELETE", "MOVE", "COPY", "PROPPATCH", "MKCOL", "MKCOL"])
        target = f"Destination: {encoded(other)}"
        if kind == "PUT":
            answer = wire.ask("PUT", encoded(path), body=f"attack {step}")
        elif kind in ("MOVE", "COPY"):
            answer = wire.ask(kind, encoded(path), target, f"Overwrite: {chance.choice('TF')}")
        elif kind == "PROPPATCH":
            answer = wire.ask(kind, encoded(path), body=mark("attack"))
        else:
            answer = wire.ask(kind, encoded(path))
        assert answer.status in (201, 204, 207, 403, 404, 405, 409, 412, 423), (kind, path, other, answer)
        taken[answer.status] += 1

    def hold(wire, chance, name):
        """Locks something, writes there, and finds it all as it was left."""
        path = chance.choice(paths)
        top = path.rpartition("/")[0]
        is_folder = chance.random() < 0.4
        root = top if is_folder else path
        depth = "infinity" if is_folder or chance.random() < 0.5 else "0"
        answer = wire.ask("LOCK", encoded(root), f"Depth: {depth}", "Timeout: Second-3000", body=LOCK)
        assert answer.status in (200, 201, 207, 409, 423), answer
        if answer.status not in (200, 201):
            return
        taken["locks"] += 1
        token = answer["Lock-Token"]
        condition = f"If: <{encoded(root)}> ({token})"
        # Nobody else may remove it now: a locked resource exists.
        assert wire.ask("HEAD", encoded(root)).status == 200, (root, answer)

        def left():
            listed = wire.ask("PROPFIND", encoded(path), "Depth: 0", body=ASK)
            shown = wire.ask("GET", encoded(path)).body.decode()
            assert listed.status == 207 and token.strip("<>") in listed.text, (root, path, name, listed)
            assert (shown, ET.fromstring(listed.body).findtext(".//{urn:x}mark")) == (name, name), (root, path)

        put = wire.ask("PUT", encoded(path), condition, body=name)
        if put.status in (405, 409):
            # There is a folder, or the lock has created a file in place of the parent folder.
            assert wire.ask("UNLOCK", encoded(root), f"Lock-Token: {token}").status == 204
            return
        assert put.status in (201, 204), (root, path, put)
        changed = wire.ask("PROPPATCH", encoded(path), condition, body=mark(name))
        assert changed.status == 207, changed
        for _ in range(chance.choice([1, 5])):
            left()
        end = chance.choice(["unlock", "unlock", "delete", "move", "leave"])
        if end == "unlock":
            refreshed = wire.ask("LOCK", encoded(path), f"If: ({token})", "Timeout: Second-2000")
            assert refreshed.status == 200, refreshed
            left()
            assert wire.ask("UNLOCK", encoded(path), f"Lock-Token: {token}").status == 204
        elif end == "delete":
            gone = wire.ask("DELETE", encoded(root), condition)
            assert gone.status == 204, gone
            assert wire.ask("UNLOCK", encoded(root), f"Lock-Token: {token}").status == 409
        elif end == "move":
            new = f"/out-{name.replace(' ', '-')}"
            moved = wire.ask("MOVE", encoded(root), f"Destination: {new}", condition)
            assert moved.status == 201, moved
            at = new + encoded(path[len(root):])
            listed = wire.ask("PROPFIND", at, "Depth: 0", body=ASK)
            assert listed.status == 207 and token.strip("<>") not in listed.text and name in listed.text, listed
            assert wire.ask("GET", at).body.decode() == name
            assert wire.ask("UNLOCK", encoded(root), f"Lock-Token: {token}").status == 409
        else:
            left()
            assert wire.ask("UNLOCK", encoded(root), f"Lock-Token: {token}").status == 204

    def client(number, wire, chance):
        for step in range(STEPS):
            if chance.random() < 0.3:
                hold(wire, chance, f"held {number} {step}")
            else:
                attack(wire, chance, f"{number} {step}")

    run_clients(servers, client)
    shown = members(one)
    assert {place: tokens for place, (_, _, tokens) in shown.items() if tokens} == {}
    assert len(on_disk(one.root)) == len(shown)
    wait_until(lambda: no_leftovers(one.root), "nothing is left out of sight")
    assert taken["locks"] and taken[201] + taken[204], taken
