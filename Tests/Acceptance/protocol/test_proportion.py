"""What a request costs is in proportion to what it brings, and to what is there: none is small and keeps others waiting."""

import base64
import os
import subprocess
import time

import pytest

from server import SANITIZED, wait_until
from wire import Wire, ask

# Seconds of processor time: a tenth of what one of these took when it was not in proportion, and ten times what they
# take.
LITTLE = 20 if SANITIZED else 2
# Marks of two kinds upon one letter: a normal form has them in order.
MARKS = "\u0300\u0316".encode() * 15_000
DEEP = "/a" * 1_900
LOCK = ('<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
        "<D:locktype><D:write/></D:locktype></D:lockinfo>")


def cost(server, *requests):
    """The processor's seconds that these requests take, one after the other."""
    before = server.cpu_seconds()
    for method, target, *fields in requests:
        body = fields.pop()[0] if isinstance(fields[-1], tuple) else None
        with Wire(server, timeout=120) as wire:
            wire.ask(method, target, *fields, body=body)
    return server.cpu_seconds() - before


@pytest.mark.parametrize("method, field", [
    ("PROPFIND", "Prefer"), ("PROPFIND", "Depth"), ("GET", "Want-Repr-Digest"), ("PUT", "Repr-Digest"), ("GET", "User-Agent"),
    ("PROPFIND", "Content-Type")])
def test_marks_in_a_field(server, method, field):
    (server.root / "file").write_text("content")
    requests = [(method, "/file" if method != "GET" else "/", field.encode() + b": " + MARKS, (b"",))] * 20
    if field == "Want-Repr-Digest":
        requests = [(method, "/file", *rest) for method, _, *rest in requests]
    assert cost(server, *requests) < LITTLE


def test_marks_in_credentials(serve):
    server = serve("--auth", "anna:secret@/:rw")
    user = base64.b64encode(MARKS[:44_000] + b":x")
    assert cost(server, *[("GET", "/", b"Authorization: Basic " + user)] * 20) < LITTLE
    form = b"user=" + MARKS[:60_000] + b"&password=x"
    login = ("POST", "/.shareserve/login", "Content-Type: application/x-www-form-urlencoded", (form,))
    assert cost(server, *[login] * 20) < LITTLE


@pytest.mark.parametrize("document", [
    b'{"%s": 1, "path": "/"}', b'{"ids": ["a"], "conflict": "%s"}', b'{"path": "%s"}', b'{"paths": ["%s"]}'])
def test_marks_in_a_document(server, document):
    body = (document % (MARKS * 8),)
    for place in ("links", "trash", "trash/restore"):
        assert cost(server, ("POST", f"/.shareserve/{place}", "Content-Type: application/json", body)) < LITTLE


@pytest.mark.parametrize("body", [
    # Names, prefixes and text.
    "".join(f'<a{i}{MARKS[:4000].decode()} xmlns="x:"/>' for i in range(200)),
    "".join(f'<x{i}{MARKS[:1900].decode()}:a xmlns:x{i}{MARKS[:1900].decode()}="x:"/>' for i in range(200)),
    f'<Win32LastModifiedTime xmlns="urn:schemas-microsoft-com:">{MARKS.decode() * 8}</Win32LastModifiedTime>',
    f'<checksums xmlns="http://owncloud.org/ns"><checksum>{MARKS.decode() * 8}</checksum></checksums>'])
def test_marks_in_xml(server, body):
    (server.root / "file").write_text("content")
    update = f'<propertyupdate xmlns="DAV:"><set><prop>{body}</prop></set></propertyupdate>'.encode()
    assert cost(server, ("PROPPATCH", "/file", (update,))) < LITTLE


def test_many_files_of_one_name_in_a_form(server):
    part = b'--b\r\nContent-Disposition: form-data; name="f"; filename="name.txt"\r\n\r\nx\r\n'
    body = part * 1_500 + b"--b--\r\n"
    assert cost(server, ("POST", "/", "Content-Type: multipart/form-data; boundary=b", (body,))) < 2 * LITTLE
    assert len(list(server.root.glob("name (*).txt"))) == 1_499
    assert (server.root / "name (1499).txt").exists()


def deep(root):
    """Makes the folders of a path that is as long as any."""
    folder = os.open(root, os.O_RDONLY)
    for name in DEEP.split("/")[1:]:
        os.mkdir(name, dir_fd=folder)
        above, folder = folder, os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(above)
    os.close(folder)


def test_locks_in_a_deep_folder(server):
    deep(server.root)
    try:
        locks = [("LOCK", f"{DEEP}/{number}", "Depth: 0", (LOCK,)) for number in range(6)]
        assert cost(server, *locks) < 2 * LITTLE
        assert ask(server, "DELETE", "/a").status == 207
        assert cost(server, *[("DELETE", "/a", "Depth: infinity")] * 15) < 2 * LITTLE
    finally:
        # Too deep for what removes the directories of tests.
        subprocess.run(["rm", "-rf", server.root / "a"], check=True)


def test_hidden_names_in_other_letters_all_the_way(serve):
    server = serve("--hidden", ".git")
    assert cost(server, *[("GET", "/.GIT" * 800, "Accept: */*")] * 20) < LITTLE
    (server.root / "file").write_text("content")
    assert cost(server, *[("GET", "/file" + "/.GIT" * 800, "Accept: */*")] * 20) < LITTLE
    (server.root / "folder").mkdir()
    (server.root / "link").symlink_to("folder")
    assert cost(server, *[("GET", "/link" + "/.GIT" * 800, "Accept: */*")] * 20) < LITTLE


@pytest.mark.memory
def test_large_properties_of_many_files(server):
    """They are kept beside the files, and looked at when a folder moves."""
    (server.root / "folder").mkdir()
    value = "".join(f'<p{number} xmlns="x:">{"v" * 60_000}</p{number}>' for number in range(16))
    update = f'<propertyupdate xmlns="DAV:"><set><prop>{value}</prop></set></propertyupdate>'
    for number in range(60):
        (server.root / str(number)).touch()
        assert ask(server, "PROPPATCH", f"/{number}", body=update).status == 207
    before = server.peak_memory()
    assert ask(server, "MOVE", "/folder", "Destination: /moved").status == 201
    assert server.peak_memory() - before < 24 << 20


@pytest.mark.parametrize("request_of_tree", [
    ("HEAD", "/?archive=zip"),
    ("REPORT", "/", '<sync-collection xmlns="DAV:"><sync-token/><sync-level>infinite</sync-level><prop><getetag/></prop>'
     "</sync-collection>")])
def test_many_who_ask_for_a_whole_tree_leave_others_their_service(many, request_of_tree):
    method, target, *body = request_of_tree
    # A sanitizer makes each of them take half a minute.
    wires = [Wire(many, timeout=120, receive_buffer=4096) for _ in range(4 if SANITIZED else 32)]
    before = many.cpu_seconds()
    try:
        for wire in wires:
            wire.request(method, target, body=body[0] if body else None)
        wait_until(lambda: many.cpu_seconds() > before + 0.1, "the trees are looked at")
        started = time.monotonic()
        assert ask(many, "PROPFIND", "/", "Depth: 0").status == 207
        took = time.monotonic() - started
        for wire in wires:
            wire.read(1)
        assert took < (time.monotonic() - started) / 4
    finally:
        for wire in wires:
            wire.close()
