"""Writers that know what they have been promised, and the check that every promise is kept.

Each content names itself: its name, its version, and a digest over a body of a length that depends on both. So any
mixture of two versions, any hole and any cut shows.
"""

import base64
import hashlib
import http.client
import pathlib
import random
import re
import threading
import xml.etree.ElementTree as ET


def content(name, version, size=None):
    """Version `version` of `name`, whole."""
    chance = random.Random(f"{name} {version}")
    body = chance.randbytes(chance.choice([0, 10, 4096, 100_000, 2_000_000]) if size is None else size)
    digest = hashlib.sha256(body).hexdigest()
    return f"{name} {version} {len(body)} {digest}\n".encode() + body


def version(name, data):
    """The version that `data` is; fails when it is not wholly one."""
    head, newline, body = data.partition(b"\n")
    fields = head.decode(errors="replace").split(" ")
    assert newline and len(fields) == 4, f"{name}: not a whole version: {data[:100]!r}"
    assert fields[0] == name, f"{name} holds what belongs to {fields[0]}"
    assert len(body) == int(fields[2]), f"{name} version {fields[1]}: {len(body)} of {fields[2]} bytes"
    assert hashlib.sha256(body).hexdigest() == fields[3], f"{name} version {fields[1]}: other bytes"
    return int(fields[1])


class Client:
    """HTTP on one connection that is opened anew when it breaks. `tried` says whether a request may have been done."""

    def __init__(self, port, timeout=30):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def ask(self, method, target, body=None, **fields):
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        try:
            self.connection.request(method, target, body=body, headers=headers)
            answer = self.connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise

    def close(self):
        self.connection.close()


class Writer(threading.Thread):
    """Repeats one kind of change until the server is gone, and remembers what was tried and what was answered."""

    def __init__(self, port, history):
        super().__init__(daemon=True)
        self.client = Client(port)
        self.history = history
        self.failure = None

    def run(self):
        try:
            while True:
                self.step()
        except (OSError, http.client.HTTPException):
            pass
        except AssertionError as failure:
            self.failure = failure
        finally:
            self.client.close()


class Versions:
    """For each name: the last version whose write was answered, and the last that was tried."""

    def __init__(self):
        self.answered = {}
        self.tried = {}

    def next(self, name):
        self.tried[name] = self.tried.get(name, 0) + 1
        return self.tried[name]

    def done(self, name):
        self.answered[name] = self.tried[name]

    def check(self, name, data, durable=True):
        """`data` is None for a missing name. Without `durable`, older whole versions are right too."""
        if data is None:
            assert not durable or name not in self.answered, f"{name} is gone"
            return
        found = version(name, data)
        lowest = self.answered.get(name, 1) if durable else 1
        assert lowest <= found <= self.tried[name], (
            f"{name} holds version {found}; {self.answered.get(name)} was answered, {self.tried[name]} tried")


class Overwriter(Writer):
    """PUT over one name again and again."""

    name = "overwritten"

    def step(self):
        number = self.history.next(self.name)
        status, _, _ = self.client.ask("PUT", f"/{self.name}", content(self.name, number))
        assert status in (201, 204), status
        self.history.done(self.name)


class Creator(Writer):
    """PUT to names that are new."""

    count = 0

    def step(self):
        name = f"created-{self.count}"
        self.count += 1
        status, _, _ = self.client.ask("PUT", f"/{name}", content(name, self.history.next(name), size=3000))
        # After a restart the names of the round before are there.
        assert status in (201, 204), status
        self.history.done(name)


class Former(Writer):
    """A form upload of two files that replaces them."""

    def step(self):
        names = ("form-a", "form-b")
        body = b""
        for name in names:
            body += (b'--edge\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n' % name.encode()
                     + content(name, self.history.next(name)) + b"\r\n")
        body = b'--edge\r\nContent-Disposition: form-data; name="conflict"\r\n\r\nreplace\r\n' + body + b"--edge--\r\n"
        status, _, _ = self.client.ask("POST", "/", body, Content_Type="multipart/form-data; boundary=edge")
        assert status in (200, 201, 303), status
        for name in names:
            self.history.done(name)


class Mover(Writer):
    """Moves one file to and fro between two folders; it must always be at exactly one place, or, when the answer was lost, at either."""

    places = ("/from/moved", "/to/moved")
    at = None

    def step(self):
        if self.at is None:
            # Where the round before left it.
            for index, place in enumerate(self.places):
                if self.client.ask("HEAD", place)[0] == 200:
                    self.at = index
            if self.at is None:
                assert self.client.ask("PUT", self.places[0], content("moved", self.history.next("moved"), 50_000))[0] == 201
                self.history.done("moved")
                self.at = 0
        status, _, _ = self.client.ask(
            "MOVE", self.places[self.at], Destination=self.places[1 - self.at], Overwrite="F")
        assert status == 201, status
        self.at = 1 - self.at


class Copier(Writer):
    """Copies a tree of 20 files over its former copy."""

    files = 20

    def step(self):
        status, _, _ = self.client.ask("COPY", "/tree", Destination="/copy", Overwrite="T")
        assert status in (201, 204), status


class Patcher(Writer):
    """Sets two dead properties to one value in one PROPPATCH."""

    number = 0

    def step(self):
        self.number += 1
        body = (f'<propertyupdate xmlns="DAV:" xmlns:t="urn:t"><set><prop><t:a>{self.number}</t:a></prop></set>'
                f"<set><prop><t:b>{self.number}</t:b></prop></set></propertyupdate>")
        status, _, _ = self.client.ask("PROPPATCH", "/patched", body)
        assert status == 207, status


class Locker(Writer):
    """Locks and unlocks names, and remembers which locks it holds."""

    lockinfo = ('<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype>'
                "<owner>drill</owner></lockinfo>")
    count = 0

    def step(self):
        name = f"/locked-{self.count % 20}"
        self.count += 1
        held = self.history.locks
        if name in held:
            token = held.pop(name)
            status, _, _ = self.client.ask("UNLOCK", name, Lock_Token=f"<{token}>")
            assert status == 204, status
            return
        status, _, fields = self.client.ask("LOCK", name, self.lockinfo, Timeout="Second-3600")
        # 423: a lock whose LOCK or UNLOCK response was lost with the server.
        assert status in (200, 201, 423), status
        if status != 423:
            held[name] = fields["Lock-Token"].strip("<>")


class Resumer(Writer):
    """Uploads one name by tus in pieces, over and over, and goes on after each restart where the server stopped."""

    name = "resumed"
    metadata = ",".join(
        f"{key} {base64.b64encode(value.encode()).decode()}"
        for key, value in {"path": "/", "filename": name, "conflict": "replace"}.items())

    def step(self):
        upload = self.history.upload
        if upload is None:
            data = content(self.name, self.history.next(self.name), size=300_000)
            status, _, fields = self.client.ask(
                "POST", "/.shareserve/uploads", Tus_Resumable="1.0.0", Upload_Length=str(len(data)),
                Upload_Metadata=self.metadata)
            assert status == 201, status
            address = re.sub("^https?://[^/]+", "", fields["Location"])
            self.history.upload = Upload(address, data)
            return
        status, _, fields = self.client.ask("HEAD", upload.address, Tus_Resumable="1.0.0")
        if status in (404, 410) and upload.may_be_done:
            self.history.upload = None
            return
        assert status == 200, status
        offset = int(fields["Upload-Offset"])
        assert upload.answered <= offset <= len(upload.data), f"{offset} bytes are kept, {upload.answered} were answered"
        piece = upload.data[offset:offset + 70_000]
        upload.may_be_done = offset + len(piece) == len(upload.data)
        status, _, fields = self.client.ask(
            "PATCH", upload.address, piece, Tus_Resumable="1.0.0", Upload_Offset=str(offset),
            Content_Type="application/offset+octet-stream")
        assert status == 204, status
        upload.answered = int(fields["Upload-Offset"])
        if upload.answered == len(upload.data):
            self.history.done(self.name)
            self.history.upload = None


class Upload:
    """One upload by tus, as far as the client knows."""

    def __init__(self, address, data):
        self.address = address
        self.data = data
        self.answered = 0
        self.may_be_done = False


class Deleter(Writer):
    """Makes a tree and deletes it."""

    def step(self):
        self.client.ask("MKCOL", "/doomed")
        self.client.ask("MKCOL", "/doomed/inner")
        for index in range(10):
            name = f"doomed-{index}"
            folder = "/doomed" if index % 2 else "/doomed/inner"
            self.client.ask("PUT", f"{folder}/{name}", content(name, 1, size=1000))
        status, _, _ = self.client.ask("DELETE", "/doomed")
        assert status in (204, 404), status


WRITERS = [Overwriter, Creator, Former, Mover, Copier, Patcher, Locker, Resumer, Deleter]


def prepare(root):
    """What the writers expect to be there."""
    root = pathlib.Path(root)
    for name in ("from", "to", "tree", "tree/inner"):
        (root / name).mkdir()
    for index in range(Copier.files):
        name = f"leaf-{index}"
        folder = root / "tree" if index % 2 else root / "tree" / "inner"
        (folder / name).write_bytes(content(name, 1, size=20_000))
    (root / "patched").write_text("x")


def check(root, server, history, durable=True):
    """Looks at the disk and asks the server: everything answered is there, everything there is whole."""
    root = pathlib.Path(root)
    client = Client(server.port)
    known = {"from", "to", "tree", "copy", "patched", "doomed", ".shareserve", "lost+found"}
    for path in root.iterdir():
        name = path.name
        if re.fullmatch(r"created-\d+|overwritten|resumed|form-[ab]", name):
            history.check(name, path.read_bytes(), durable)
        elif not re.fullmatch(r"locked-\d+", name):
            assert name in known, f"stray name: {name}"
    for name in history.answered:
        if durable and name != "moved":
            assert (root / name).exists(), f"{name} was answered and is gone"
    listed = client.ask("GET", "/")[1].decode().split()
    assert not [name for name in listed if "shareserve" in name or "tmp" in name], listed

    moved = [root / place.strip("/") for place in Mover.places if (root / place.strip("/")).exists()]
    if "moved" in history.answered and durable:
        assert len(moved) == 1, f"moved is at {len(moved)} places"
    for path in moved:
        history.check("moved", path.read_bytes(), durable)
    for folder in ("from", "to"):
        assert {path.name for path in (root / folder).iterdir()} <= {"moved"}

    if (root / "copy").exists():
        leaves = sorted(path for path in (root / "copy").rglob("*") if path.is_file())
        assert len(leaves) == Copier.files, f"a copy of {len(leaves)} files"
        for path in leaves:
            assert version(path.name, path.read_bytes()) == 1
    for path in (root / "doomed").rglob("*") if (root / "doomed").exists() else ():
        if path.is_file():
            assert version(path.name, path.read_bytes()) == 1

    body = '<propfind xmlns="DAV:" xmlns:t="urn:t"><prop><t:a/><t:b/></prop></propfind>'
    status, answer, _ = client.ask("PROPFIND", "/patched", body, Depth="0")
    assert status == 207
    values = {element.tag: element.text for element in ET.fromstring(answer).iter() if element.tag.startswith("{urn:t}")}
    assert values.get("{urn:t}a") == values.get("{urn:t}b"), f"half a PROPPATCH: {values}"

    if durable:
        for name, token in list(history.locks.items()):
            status, answer, _ = client.ask("PROPFIND", name, '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>', Depth="0")
            assert status == 207 and token.encode() in answer, f"the lock on {name} is gone"
    client.close()


class History(Versions):
    def __init__(self):
        super().__init__()
        self.locks = {}
        self.upload = None
