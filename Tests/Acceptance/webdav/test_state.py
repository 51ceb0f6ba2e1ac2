"""What WebDAV promises across restarts, kills and processes, and in what it lists."""

import gzip
import os
import re
import stat
import time
import xml.etree.ElementTree as ET

import pytest

from wire import Wire, ask

DAV = "{DAV:}"
LOCK = ('<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>'
        "<D:owner>anna</D:owner></D:lockinfo>")
PROPERTY = '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><p xmlns="urn:x" xml:lang="de">a<b/>c</p></D:prop></D:set></D:propertyupdate>'
ASK = '<D:propfind xmlns:D="DAV:"><D:prop><p xmlns="urn:x"/></D:prop></D:propfind>'


def sync(server, token, target="/"):
    body = (f'<D:sync-collection xmlns:D="DAV:"><D:sync-token>{token}</D:sync-token><D:sync-level>1</D:sync-level>'
            "<D:prop><D:getetag/></D:prop></D:sync-collection>")
    answer = ask(server, "REPORT", target, body=body)
    assert answer.status == 207, answer
    found = ET.fromstring(answer.body)
    return {element.find(DAV + "href").text for element in found.iter(DAV + "response")}, found.find(DAV + "sync-token").text


def test_locks_properties_and_sync_tokens_survive_a_kill(serve):
    server = serve()
    (server.root / "a").write_text("a")
    locked = ask(server, "LOCK", "/a", "Depth: 0", body=LOCK)
    assert locked.status == 200
    token = locked["Lock-Token"]
    assert ask(server, "PROPPATCH", "/a", f"If: ({token})", body=PROPERTY).status == 207
    _, state = sync(server, "")
    server.kill()
    server.restart()
    assert ask(server, "PUT", "/a", body="b").status == 423
    kept = ET.fromstring(ask(server, "PROPFIND", "/a", "Depth: 0", body=ASK).body).find(".//{urn:x}p")
    assert kept.text == "a" and kept[0].tail == "c"
    assert kept.get("{http://www.w3.org/XML/1998/namespace}lang") == "de"
    assert ask(server, "PUT", "/a", f"If: ({token})", body="bb").status == 204
    assert ask(server, "UNLOCK", "/a", f"Lock-Token: {token}").status == 204
    changed, _ = sync(server, state)
    assert changed == {"/a"}


def test_two_processes_share_locks_and_sync_tokens(serve):
    one = serve()
    other = serve(root=one.root)
    (one.root / "a").write_text("a")
    token = ask(one, "LOCK", "/a", "Depth: 0", body=LOCK)["Lock-Token"]
    assert ask(other, "PUT", "/a", body="b").status == 423
    assert token.strip("<>") in ask(other, "PROPFIND", "/a", "Depth: 0").text
    _, state = sync(one, "")
    assert ask(other, "PUT", "/new", body="n").status == 201
    assert sync(other, state)[0] == {"/new"}
    assert ask(other, "UNLOCK", "/a", f"Lock-Token: {token}").status == 204
    assert ask(one, "PUT", "/a", body="b").status == 204


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_one_resource_is_answered_as_it_is_now(serve, request, place):
    """What was asked before and is answered without a thread shows each change, whoever makes it."""
    one = serve(*([] if place == "disk" else ["--quiet"]), root=None if place == "disk" else request.getfixturevalue("memory"))
    other = serve(root=one.root)
    (one.root / "a").write_text("a")
    (one.root / "folder").mkdir()
    with Wire(one) as wire:
        def asked(target="/a", body=None):
            answers = [wire.ask("PROPFIND", target, "Depth: 0", body=body) for _ in range(3)]
            assert len({(answer.status, answer.text) for answer in answers}) == 1
            return answers[-1]

        assert "getcontentlength>1<" in asked().text and "activelock" not in asked().text
        (one.root / "a").write_text("abc")
        assert "getcontentlength>3<" in asked().text
        token = ask(other, "LOCK", "/a", "Depth: 0", body=LOCK)["Lock-Token"]
        assert token.strip("<>") in asked().text
        assert token.strip("<>") not in asked("/folder/").text
        assert ask(other, "UNLOCK", "/a", f"Lock-Token: {token}").status == 204
        assert "activelock" not in asked().text
        assert ask(other, "PROPPATCH", "/a", body=PROPERTY).status == 207
        assert ET.fromstring(asked(body=ASK).body).find(".//{urn:x}p").text == "a"
        assert "200 OK" not in asked("/folder/", body=ASK).text
        assert asked("/folder")["Content-Location"] == "/folder/"
        (one.root / "a").unlink()
        assert asked().status == 404
        (one.root / "a").symlink_to("/etc/passwd")
        assert asked().status == 404
        (one.root / "a").unlink()
        (one.root / "a").symlink_to("folder")
        assert "collection/>" in asked("/a/").text
        (one.root / "a").unlink()
        (one.root / "a").mkdir()
        assert "collection/>" in asked("/a/").text


def test_many_large_owners_are_not_repeated_with_each_member(server):
    lock = LOCK.replace("exclusive", "shared").replace("anna", "anna" * 2_000)
    for name in ("a", "b"):
        (server.root / name).touch()
    for _ in range(20):
        answer = ask(server, "LOCK", "/", "Depth: infinity", body=lock)
        assert answer.status == 200 and answer["Lock-Token"].strip("<>") in answer.text
    listed = ask(server, "PROPFIND", "/", "Depth: 1")
    for response in ET.fromstring(listed.body).iter(DAV + "response"):
        assert len(list(response.iter(DAV + "activelock"))) == 20
        assert len(list(response.iter(DAV + "owner"))) == 8


def test_one_resource_is_asked_about_in_pieces_and_wrongly(server):
    (server.root / "a").write_text("a")
    with Wire(server) as wire:
        head = f"PROPFIND /a HTTP/1.1\r\nHost: {wire.authority}\r\nDepth: 0\r\nContent-Length: {len(ASK)}\r\n\r\n"
        for cut in (0, 1, len(ASK) // 2, len(ASK)):
            wire.send(head + ASK[:cut])
            time.sleep(0.05)
            wire.send(ASK[cut:])
            answer = wire.response()
            assert answer.status == 207 and "urn:x" in answer.text
        for body, status in [("<a>", 400), ("<a/>", 400), (ASK.replace("propfind", "find"), 400)]:
            for _ in range(2):
                assert wire.ask("PROPFIND", "/a", "Depth: 0", body=body).status == status
        for field, status in [("If: (<urn:x>)", 412), ("If: x", 400), ("If: (Not <urn:x>)", 207), ("Prefer: return=minimal", 207)]:
            assert wire.ask("PROPFIND", "/a", "Depth: 0", field, body=ASK).status == status
        assert "404" not in wire.ask("PROPFIND", "/a", "Depth: 0", "Prefer: return=minimal", body=ASK).text
        assert wire.ask("PROPFIND", "/a", "Depth: 0,noroot", body=ASK).status == 400


def test_a_cut_upload_replaces_nothing(server):
    (server.root / "a").write_text("old")
    for fields, sent in ((("Content-Length: 1000000",), b"x" * 500_000), (("Transfer-Encoding: chunked",), b"5\r\nhello\r\n")):
        for target in ("/a", "/new"):
            with Wire(server) as wire:
                wire.request("PUT", target, *fields)
                wire.send(sent)
    assert ask(server, "GET", "/a").text == "old"
    assert sorted(name for name in os.listdir(server.root) if name != ".shareserve") == ["a"]


def test_infinite_depth_is_limited_or_refused_as_told(serve):
    refusing = serve("--propfind-limit", "0")
    answer = ask(refusing, "PROPFIND", "/", "Depth: infinity")
    assert answer.status == 403 and "propfind-finite-depth" in answer.text
    limited = serve("--propfind-limit", "5")
    for index in range(9):
        (limited.root / str(index)).write_text("")
    # Not by a listing that ends too early: some programs would take that for everything there is.
    answer = ask(limited, "PROPFIND", "/", "Depth: infinity")
    assert answer.status == 403 and "propfind-finite-depth" in answer.text
    for index in range(4):
        (limited.root / str(index)).unlink()
    (limited.root / "4").rename(limited.root / "moved")
    assert ask(limited, "PROPFIND", "/", "Depth: infinity").text.count("<D:response>") == 6
    (limited.root / "folder").mkdir()
    (limited.root / "moved").rename(limited.root / "folder" / "4")
    assert ask(limited, "PROPFIND", "/", "Depth: infinity").status == 403
    assert ask(limited, "PROPFIND", "/", "Depth: 1").status == 207
    assert ask(limited, "PROPFIND", "/folder/4", "Depth: infinity").status == 207


def test_a_tree_that_is_moved_too_deep_keeps_nobody_from_the_rest(server):
    """No path is short enough for one of its members: that can't be asked for, and so is in no listing."""
    deep = ""
    for _ in range(19):
        deep += "/" + 200 * "p"
        assert ask(server, "MKCOL", deep).status == 201
    assert ask(server, "MKCOL", "/sub").status == 201
    assert ask(server, "PUT", "/sub/" + 255 * "n", body="long").status == 201
    assert ask(server, "PUT", "/sub/s", body="short").status == 201
    place = f"{deep}/{100 * 's'}"
    assert ask(server, "MOVE", "/sub", f"Destination: {place}").status == 201
    for method in ("COPY", "MOVE"):
        assert ask(server, method, place + "/s", f"Destination: {place}/{255 * 'm'}").status == 414
    for target, depth in [(place + "/", "1"), ("/", "infinity")]:
        listed = ET.fromstring(ask(server, "PROPFIND", target, f"Depth: {depth}").body)
        files = [href.text for href in listed.iter(DAV + "href") if not href.text.endswith("/")]
        assert files == [place + "/s"]
        assert ask(server, "GET", files[0]).body == b"short"
    told, token = sync(server, "", place + "/")
    assert told == {place + "/s"} and sync(server, token, place + "/") == (set(), token)
    for query in ("zip", "tar", "zip&name=" + 200 * "p"):
        archive = ask(server, "GET", "/?archive=" + query)
        assert archive.status == 200 and f"/{255 * 'n'}: its path is too long\n".encode() in archive.body
    assert ask(server, "COPY", place + "/", "Destination: /up").status == 201
    assert ask(server, "GET", "/up/" + 255 * "n").body == b"long"
    assert ask(server, "DELETE", "/" + 200 * "p").status == 204
    assert sorted(name for name in os.listdir(server.root) if name != ".shareserve") == ["up"]


def test_a_large_listing_is_streamed_and_compressed_for_who_wants_it(server):
    for index in range(3000):
        (server.root / f"{index:05d} ü&<.txt").write_text("")
    plain = ask(server, "PROPFIND", "/", "Depth: 1")
    packed = ask(server, "PROPFIND", "/", "Depth: 1", "Accept-Encoding: gzip")
    assert packed["Content-Encoding"] == "gzip"
    for body in (plain.body, gzip.decompress(packed.body)):
        hrefs = [element.text for element in ET.fromstring(body).iter(DAV + "href")]
        assert len(hrefs) == 3001
        assert all(re.fullmatch(r"/(%[0-9A-F]{2}|[\w.!$()*+,:=@~-])*", href) for href in hrefs)


def test_a_destination_is_bytes_as_a_target_is(server):
    """The same bytes name the same file, escaped or not, UTF-8 or not, in a target and in a Destination."""
    (server.root / "a").write_text("a")
    for raw, name in ((b"/raw\xff\xfe", b"raw\xff\xfe"), (b"/%72aw%FF%fe", b"raw\xff\xfe"), ("/ü".encode(), "ü".encode())):
        for method in ("COPY", "MOVE"):
            answer = ask(server, method, "/a", b"Destination: " + raw)
            assert answer.status == 201, (method, raw)
            assert name in os.listdir(os.fsencode(server.root))
            assert ask(server, "GET", raw).text == "a"
            if method == "MOVE":
                assert ask(server, "COPY", raw, "Destination: /a").status == 201
            assert ask(server, "DELETE", raw).status == 204


@pytest.mark.parametrize("method, fields, body", [("PUT", (), b"new"), ("COPY", (), None), ("MOVE", (), None), ("DELETE", (), None)])
def test_large_properties_go_with_what_is_replaced(server, method, fields, body):
    """Those that lie beside the files, whatever takes their place."""
    beside = server.root / ".shareserve" / "sidecar"
    value = f"""<propertyupdate xmlns="DAV:"><set><prop><large xmlns="x:">{"x" * 20_000}</large></prop></set></propertyupdate>"""
    for name in ("a", "b"):
        assert ask(server, "PUT", f"/{name}", body=name.encode()).status == 201
    assert ask(server, "PROPPATCH", "/b", "Content-Type: application/xml", body=value.encode()).status == 207
    assert len(list(beside.iterdir())) == 1
    target = "/b" if method in ("PUT", "DELETE") else "/a"
    if target == "/a":
        fields = (f"Destination: {server.url}/b",)
    assert ask(server, method, target, *fields, body=body).status == 204
    if method == "PUT":
        assert ask(server, "DELETE", "/b").status == 204
    assert list(beside.iterdir()) == []


def test_too_many_properties_are_not_called_a_full_disk(server):
    (server.root / "file").write_text("")
    many = "".join(f"<p{number} xmlns='x'>1</p{number}>" for number in range(1_001))
    answer = ask(server, "PROPPATCH", "/file", body=f"<propertyupdate xmlns='DAV:'><set><prop>{many}</prop></set></propertyupdate>")
    assert answer.status == 507 and "1,000 properties" in answer.text and "disk" not in answer.text


def put_in_place(path, kind):
    if path.exists():
        path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("nowhere")
    else:
        os.mknod(path, stat.S_IFSOCK | 0o600)


@pytest.mark.parametrize("kind", ["folder", "link", "socket"])
@pytest.mark.parametrize("name", ["commit", "lock", "locks", "properties"])
def test_something_else_in_place_of_the_state_says_nothing_about_the_share(serve, name, kind):
    """Who keeps a copy of the share would take a 404 for its removal."""
    server = serve()
    assert ask(server, "PUT", "/a", body="x").status == 201
    assert ask(server, "LOCK", "/locked", body=LOCK).status == 201
    assert ask(server, "PROPPATCH", "/a", body=PROPERTY).status == 207
    put_in_place(server.root / ".shareserve" / name, kind)
    answers = [ask(server, *request).status for request in [
        ("GET", "/"), ("GET", "/a"), ("PROPFIND", "/", "Depth: 1"), ("PROPFIND", "/a", "Depth: 0"), ("PUT", "/new"),
        ("MKCOL", "/folder"), ("COPY", "/a", "Destination: /b"), ("DELETE", "/a")]]
    assert set(answers) <= {200, 201, 204, 207, 500}, answers
    assert 500 not in answers or f"file={name}" in server.logged()
