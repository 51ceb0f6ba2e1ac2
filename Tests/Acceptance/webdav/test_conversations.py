"""What clients that cannot run here say, request by request: Finder, Windows, Office, Zotero, Joplin, Obsidian, KeePass."""

import os
import re
import unicodedata
import urllib.parse
import xml.etree.ElementTree as ET

import pytest

from server import wait_until
from wire import Wire, ask

DAV = "{DAV:}"


def multistatus(answer):
    """href → {property: (status, element)}."""
    assert answer.status == 207, answer
    assert answer["Content-Type"].lower().replace('"', "") in ("application/xml; charset=utf-8", "text/xml; charset=utf-8")
    found = {}
    for response in ET.fromstring(answer.body).iter(DAV + "response"):
        properties = {}
        for propstat in response.iter(DAV + "propstat"):
            status = int(propstat.find(DAV + "status").text.split()[1])
            for element in propstat.find(DAV + "prop"):
                properties[element.tag] = (status, element)
        found[response.find(DAV + "href").text] = properties
    return found


def lock(wire, target, *fields, scope="exclusive", owner="<D:href>me</D:href>", timeout=600):
    body = (f'<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:{scope}/></D:lockscope>'
            f"<D:locktype><D:write/></D:locktype><D:owner>{owner}</D:owner></D:lockinfo>")
    answer = wire.ask("LOCK", target, "Depth: 0", f"Timeout: Second-{timeout}", *fields, 'Content-Type: text/xml; charset="utf-8"', body=body)
    token = (answer["Lock-Token"] or "").strip("<>")
    return answer, token


@pytest.fixture
def wire(server):
    with Wire(server) as connection:
        yield connection


FINDER = ("User-Agent: WebDAVFS/3.0.0 (03008000) Darwin/22.6.0 (x86_64)", "Accept: */*")


def test_finder_mounts_for_writing(wire):
    answer = wire.ask("OPTIONS", "/", *FINDER)
    assert answer.status == 200
    classes = [part.strip() for part in answer["DAV"].split(",")]
    assert {"1", "2", "3"} <= set(classes)
    assert {"LOCK", "UNLOCK", "PROPFIND"} <= {part.strip() for part in answer["Allow"].split(",")}
    assert answer["MS-Author-Via"] == "DAV"
    body = ('<?xml version="1.0" encoding="utf-8"?>\n<D:propfind xmlns:D="DAV:">\n<D:prop>\n<D:getlastmodified/>\n<D:getcontentlength/>\n'
            "<D:creationdate/>\n<D:resourcetype/>\n</D:prop>\n</D:propfind>\n")
    properties = multistatus(wire.ask("PROPFIND", "/", *FINDER, "Depth: 0", "Content-Type: text/xml", body=body))["/"]
    assert properties[DAV + "resourcetype"][1].find(DAV + "collection") is not None
    assert properties[DAV + "getlastmodified"][1].text.endswith(" GMT")
    quota = ('<?xml version="1.0" encoding="utf-8"?>\n<D:propfind xmlns:D="DAV:">\n<D:prop>\n<D:quota-available-bytes/>\n<D:quota-used-bytes/>\n'
             "<D:quota/>\n<D:quotaused/>\n</D:prop>\n</D:propfind>\n")
    properties = multistatus(wire.ask("PROPFIND", "/", *FINDER, "Depth: 0", "Content-Type: text/xml", body=quota))["/"]
    assert int(properties[DAV + "quota-available-bytes"][1].text) > 0
    assert int(properties[DAV + "quota-used-bytes"][1].text) >= 0


def test_finder_writes_a_file(wire, server):
    name = "/u%CC%88ber.txt"
    for probe in ("/._u%CC%88ber.txt", "/.DS_Store", "/.hidden", "/.Spotlight-V100", name):
        assert wire.ask("PROPFIND", probe, *FINDER, "Depth: 0").status == 404
    assert wire.ask("PUT", name, *FINDER, "Content-Length: 0").status == 201
    answer, token = lock(wire, name, *FINDER)
    assert answer.status == 200 and token
    assert token in answer.text
    wire.request("PUT", name, *FINDER, "X-Expected-Entity-Length: 11", "Transfer-Encoding: chunked", f"If: (<{token}>)")
    wire.send("b\r\nhello world\r\n0\r\n\r\n")
    assert wire.response().status in (200, 204)
    properties = multistatus(wire.ask("PROPFIND", name, *FINDER, "Depth: 0"))[name]
    assert properties[DAV + "getcontentlength"][1].text == "11"
    assert wire.ask("GET", name, *FINDER).text == "hello world", "a locked file is read without the token"
    assert wire.ask("UNLOCK", name, *FINDER, f"Lock-Token: <{token}>").status == 204
    assert wire.ask("PUT", "/._u%CC%88ber.txt", *FINDER, body=b"\x00\x05\x16\x07").status == 201
    assert (server.root / "u\u0308ber.txt").read_text() == "hello world"


WINDOWS = ("User-Agent: Microsoft-WebDAV-MiniRedir/10.0.19045", "Translate: f")


def test_windows_mounts_and_saves(wire, server):
    (server.root / "folder").mkdir()
    answer = wire.ask("OPTIONS", "/", *WINDOWS)
    assert answer.status == 200 and answer["MS-Author-Via"] == "DAV"
    for target in ("/", "/folder"):
        found = multistatus(wire.ask("PROPFIND", target, *WINDOWS, "Depth: 0", "Content-Length: 0"))
        assert list(found) in ([target], [target + "/"])
    multistatus(wire.ask("PROPFIND", "/folder", *WINDOWS, "Content-Length: 0"))
    assert wire.ask("PROPFIND", "/folder/new.docx", *WINDOWS, "Depth: 0").status == 404
    assert wire.ask("PUT", "/folder/new.docx", *WINDOWS, "Content-Length: 0").status == 201
    answer, token = lock(wire, "/folder/new.docx", *WINDOWS, owner="<D:href>PC\\user</D:href>")
    assert answer.status == 200
    assert wire.ask("HEAD", "/folder/new.docx", *WINDOWS).status == 200
    assert wire.ask("PUT", "/folder/new.docx", *WINDOWS, f"If: (<{token}>)", body="document").status == 204
    patch = ('<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>'
             "<Z:Win32CreationTime>Tue, 19 Nov 2019 10:00:00 GMT</Z:Win32CreationTime>"
             "<Z:Win32LastAccessTime>Tue, 19 Nov 2019 10:00:01 GMT</Z:Win32LastAccessTime>"
             "<Z:Win32LastModifiedTime>Tue, 19 Nov 2019 10:00:02 GMT</Z:Win32LastModifiedTime>"
             "<Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>")
    answer = wire.ask("PROPPATCH", "/folder/new.docx", *WINDOWS, f"If: (<{token}>)", "Content-Type: text/xml", body=patch)
    assert all(status == 200 for status, _ in multistatus(answer)["/folder/new.docx"].values())
    # The redirector leaves the brackets away.
    assert wire.ask("UNLOCK", "/folder/new.docx", *WINDOWS, f"Lock-Token: {token}").status == 204
    assert (server.root / "folder" / "new.docx").stat().st_mtime == 1574157602
    everything = multistatus(wire.ask("PROPFIND", "/folder", *WINDOWS, "Depth: 1", "Content-Length: 0"))
    names = {key.split("}")[-1] for key in everything["/folder/new.docx"]}
    assert {"Win32FileAttributes", "Win32CreationTime", "getlastmodified"} <= names


def test_windows_comes_down_to_a_share_under_a_prefix(serve):
    server = serve("--path-prefix", "/deep/files")
    for target in ("/", "/deep", "/deep/"):
        answer = ask(server, "OPTIONS", target, *WINDOWS)
        assert answer.status == 200 and "2" in answer["DAV"] and answer["MS-Author-Via"] == "DAV"
        found = multistatus(ask(server, "PROPFIND", target, *WINDOWS, "Depth: 0", "Content-Length: 0"))
        assert list(found) == [target.rstrip("/") + "/"]
        assert found[target.rstrip("/") + "/"][DAV + "resourcetype"][1].find(DAV + "collection") is not None
    assert list(multistatus(ask(server, "PROPFIND", "/deep", *WINDOWS, "Depth: 1"))) == ["/deep/", "/deep/files/"]
    assert list(multistatus(ask(server, "PROPFIND", "/deep/files", *WINDOWS, "Depth: 1"))) == ["/deep/files/"]
    # duplicity makes the parents that it does not find.
    assert ask(server, "MKCOL", "/deep/").status == 405
    for method, target in (("PROPFIND", "/de"), ("PROPFIND", "/deep/file"), ("PROPFIND", "/other"), ("GET", "/deep/"),
                           ("PUT", "/deep/x"), ("DELETE", "/deep"), ("MKCOL", "/deep/other")):
        assert ask(server, method, target).status == 404, (method, target)


def test_what_lies_above_a_prefix_promises_no_locks_that_the_share_has_not(serve):
    server = serve("--path-prefix", "/deep/files", "--read-only")
    said = {target: ask(server, "OPTIONS", target, *WINDOWS)["DAV"] for target in ("/", "/deep/", "/deep/files/")}
    assert set(said.values()) == {"1, 3"}, said


def test_what_lies_above_a_prefix_is_behind_the_same_door(serve):
    server = serve("--path-prefix", "/deep/files", "--auth", "anna:secret@/:rw")
    assert ask(server, "PROPFIND", "/deep", "Depth: 1").status == 401
    anna = "Authorization: Basic YW5uYTpzZWNyZXQ="
    assert ask(server, "PROPFIND", "/deep", anna, "Depth: 1").status == 207
    assert ask(server, "PROPFIND", "/dee", anna, "Depth: 1").status == 404


def test_office_saves_under_a_lock(wire, server):
    (server.root / "a.docx").write_text("old")
    office = ("User-Agent: Microsoft Office Word 2014",)
    assert wire.ask("HEAD", "/", *office).status == 200
    answer, token = lock(wire, "/a.docx", *office)
    assert answer.status == 200
    with Wire(server) as other:
        assert other.ask("PUT", "/a.docx", body="theirs").status == 423
        second, _ = lock(other, "/a.docx")
        assert second.status == 423
        assert "no-conflicting-lock" in second.text and "/a.docx" in second.text
    refreshed = wire.ask("LOCK", "/a.docx", *office, f"If: (<{token}>)", "Timeout: Second-3600")
    assert refreshed.status == 200 and token in refreshed.text
    assert wire.ask("PUT", "/a.docx", *office, f"If: (<{token}>)", body="new").status == 204
    assert (server.root / "a.docx").read_text() == "new"
    # Word 2016 names its lock as UNLOCK does.
    assert wire.ask("PUT", "/a.docx", *office, f"Lock-Token: <{token}>", body="newer").status == 204
    assert wire.ask("PUT", "/a.docx", *office, "Lock-Token: <urn:uuid:other>", body="x").status == 423
    assert wire.ask("UNLOCK", "/a.docx", *office, f"Lock-Token: <{token}>").status == 204
    assert (server.root / "a.docx").read_text() == "newer"


@pytest.mark.parametrize("size", [1_000, 1_000_000])
@pytest.mark.parametrize("meanwhile, status", [("nothing", 204), ("change", 412), ("lock", 412), ("delete", 412)])
def test_a_lock_that_ends_during_an_upload_counts_if_nobody_came_between(wire, server, size, meanwhile, status):
    """davfs2 and LibreOffice do not refresh theirs during a PUT."""
    file, body = server.root / "slow.odt", b"n" * size
    file.write_text("old")
    token = lock(wire, "/slow.odt", timeout=2)[1]
    wire.send(f"PUT /slow.odt HTTP/1.1\r\nHost: {server.authority}\r\nIf: (<{token}>)\r\nContent-Length: {size}\r\n\r\n")
    wire.send(body[:-1])
    with Wire(server) as other:
        wait_until(lambda: token not in other.ask("PROPFIND", "/slow.odt", "Depth: 0").text, "the lock to end")
        if meanwhile == "change":
            assert other.ask("PUT", "/slow.odt", body="theirs").status == 204
        elif meanwhile == "delete":
            assert other.ask("DELETE", "/slow.odt").status == 204
        elif meanwhile == "lock":
            assert lock(other, "/slow.odt")[0].status == 200
    before = file.exists() and file.read_bytes()
    wire.send(body[-1:])
    assert wire.response().status == status
    assert (file.exists() and file.read_bytes()) == (body if status == 204 else before)
    # Only what was begun under the lock.
    assert ask(server, "PUT", "/slow.odt", f"If: (<{token}>)", body="late").status == 412


def test_keepass_moves_a_temporary_file_over_the_old_one(wire, server):
    (server.root / "db.kdbx").write_text("old")
    assert wire.ask("PUT", "/db.kdbx.tmp", body="new").status == 201
    assert wire.ask("MOVE", "/db.kdbx.tmp", f"Destination: {server.url}/db.kdbx", "Overwrite: T").status == 204
    assert (server.root / "db.kdbx").read_text() == "new"


def test_zotero_sets_itself_up(wire, server):
    assert wire.ask("MKCOL", "/zotero/").status == 201
    assert "1" in wire.ask("OPTIONS", "/zotero/")["DAV"]
    body = '<propfind xmlns="DAV:"><prop><getcontentlength/></prop></propfind>'
    found = multistatus(wire.ask("PROPFIND", "/zotero/", "Depth: 0", "Content-Type: text/xml; charset=utf-8", body=body))
    assert list(found) == ["/zotero/"]
    assert wire.ask("GET", "/zotero/nonexistent.prop").status == 404
    assert wire.ask("PUT", "/zotero/zotero-test-file.prop", body=" ").status == 201
    assert wire.ask("GET", "/zotero/zotero-test-file.prop").text == " "
    assert wire.ask("DELETE", "/zotero/zotero-test-file.prop").status == 204


def test_joplin_synchronises(wire, server):
    # Its bucket of quirks: an unquoted If-None-Match on every method but GET and HEAD.
    quirk = "If-None-Match: JoplinIgnore-4711"
    assert wire.ask("MKCOL", "/joplin/", quirk).status == 201
    assert wire.ask("MKCOL", "/joplin/", quirk).status == 405
    assert wire.ask("PUT", "/joplin/info.json", quirk, body="{}").status == 201
    assert wire.ask("PUT", "/joplin/info.json", quirk, body="{ }").status == 204
    body = '<?xml version="1.0" encoding="UTF-8"?><d:propfind xmlns:d="DAV:"><d:prop><d:getlastmodified/><d:resourcetype/></d:prop></d:propfind>'
    found = multistatus(wire.ask("PROPFIND", "/joplin/", quirk, "Depth: 1", body=body))
    assert set(found) == {"/joplin/", "/joplin/info.json"}
    assert wire.ask("MOVE", "/joplin/info.json", quirk, f"Destination: {server.url}/joplin/other.json").status == 201
    assert wire.ask("DELETE", "/joplin/other.json", quirk).status == 204


def test_names_as_libreoffice_and_git_annex_write_them(wire, server):
    """With blanks as they are; and what was listed is locked by the listed address and saved by the plainest one."""
    (server.root / "a b").mkdir()
    (server.root / "Peter's.odt").write_text("old")
    assert wire.ask("MOVE", "/Peter%27s.odt", f"Destination: {server.url}/a b/mo ved ü.odt").status == 201
    assert (server.root / "a b" / "mo ved ü.odt").read_text() == "old"
    assert wire.ask("COPY", "/a%20b/mo%20ved%20%C3%BC.odt", "Destination: /Peter's.odt").status == 201
    token = lock(wire, "/a%20b/mo%20ved%20%C3%BC.odt")[1]
    tagged = f"If: <{server.url}/a b/mo ved ü.odt> (<{token}>)"
    assert wire.ask("COPY", "/Peter's.odt", "Destination: /a b/mo ved ü.odt", tagged).status == 204
    assert b"href>/Peter's.odt<" in wire.ask("PROPFIND", "/", "Depth: 1").body
    refused = wire.ask("MOVE", "/a%20b", "Destination: /c#d")
    assert refused.status == 400 and "%23" in refused.text
    assert wire.ask("GET", b"/a b/").status == 400


@pytest.mark.parametrize("origin", ["app://obsidian.md", "capacitor://localhost", "http://localhost"])
def test_obsidian_preflight(serve, origin):
    server = serve("--cors", "app://obsidian.md", "--cors", "capacitor://localhost", "--cors", "http://localhost")
    for method in ("PROPFIND", "PUT", "MKCOL", "DELETE", "MOVE"):
        answer = ask(server, "OPTIONS", "/vault/", f"Origin: {origin}", f"Access-Control-Request-Method: {method}",
                     "Access-Control-Request-Headers: authorization, content-type, depth, if-match, x-custom")
        assert answer.status in (200, 204)
        assert answer["Access-Control-Allow-Origin"] in (origin, "*")
        assert method in answer["Access-Control-Allow-Methods"]
        allowed = answer["Access-Control-Allow-Headers"].lower()
        assert allowed == "*" or {"authorization", "depth", "if-match"} <= set(re.split(r"[,\s]+", allowed))
    answer = ask(server, "PROPFIND", "/", f"Origin: {origin}", "Depth: 1")
    assert answer.status == 207 and "etag" in answer["Access-Control-Expose-Headers"].lower()


def test_nextcloud_and_rclone_upload(wire, server):
    answer = wire.ask("PUT", "/a", "X-OC-Mtime: 1500000000", "OC-Total-Length: 5",
                      "OC-Checksum: SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", body="hello")
    assert answer.status == 201 and answer["X-OC-MTime"] == "accepted"
    assert answer["ETag"] and answer["OC-ETag"] == answer["ETag"]
    assert answer["OC-FileId"]
    body = '<d:propfind xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:prop><oc:checksums/><d:getlastmodified/></d:prop></d:propfind>'
    found = multistatus(wire.ask("PROPFIND", "/a", "Depth: 0", body=body))["/a"]
    status, element = found["{http://owncloud.org/ns}checksums"]
    assert status == 200 and "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d" in "".join(element.itertext())
    for place in ("/b", "/folder"):
        (server.root / "folder").mkdir(exist_ok=True)
        copy = place if place == "/b" else "/copied/a"
        if place == "/folder":
            assert wire.ask("MOVE", "/b", "Destination: /folder/a").status == 201
            assert wire.ask("COPY", "/folder", "Destination: /copied").status == 201
        else:
            assert wire.ask("COPY", "/a", "Destination: /b").status == 201
        status, element = multistatus(wire.ask("PROPFIND", copy, "Depth: 0", body=body))[copy]["{http://owncloud.org/ns}checksums"]
        assert status == 200 and "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d" in "".join(element.itertext())
    wrong = wire.ask("PUT", "/a", "OC-Checksum: SHA1:0000000000000000000000000000000000000000", body="other")
    assert wrong.status == 400
    assert (server.root / "a").read_text() == "hello"


def test_nextcloud_recalculates_a_check_sum(wire, server):
    (server.root / "a").write_text("hello")
    answer = wire.ask("PATCH", "/a", "X-Recalculate-Hash: sha1", "Content-Length: 0")
    assert (answer.status, answer["OC-Checksum"]) == (204, "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d")
    body = '<d:propfind xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:prop><oc:checksums/></d:prop></d:propfind>'
    status, element = multistatus(wire.ask("PROPFIND", "/a", "Depth: 0", body=body))["/a"]["{http://owncloud.org/ns}checksums"]
    assert status == 200 and "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d" in "".join(element.itertext())
    assert wire.ask("PATCH", "/a", "X-Recalculate-Hash: crc32", "Content-Length: 0").status == 400
    assert wire.ask("PATCH", "/a", "X-Recalculate-Hash: sha1", 'If-Match: "other"', "Content-Length: 0").status == 412
    assert wire.ask("PATCH", "/", "X-Recalculate-Hash: sha1", "Content-Length: 0").status == 405
    assert wire.ask("PATCH", "/nothing", "X-Recalculate-Hash: sha1", "Content-Length: 0").status == 404
    assert (server.root / "a").read_text() == "hello"


def test_nobody_recalculates_check_sums_for_clients_that_have_gone(server):
    with open(server.root / "large", "wb") as file:
        file.truncate(1 << 40)

    for _ in range(5):
        with Wire(server) as wire:
            wire.request("PATCH", "/large", "X-Recalculate-Hash: sha1", body="")
    wait_until(lambda: server.opened("/large") > 0, "they are begun")
    wait_until(lambda: server.opened("/large") == 0, "nobody works on any of them")


def test_xml_without_a_content_type(wire):
    assert wire.ask("PROPFIND", "/", "Depth: 0", body='<propfind xmlns="DAV:"><allprop/></propfind>').status == 207


BILLION = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{index} "{f"&l{index - 1};" * 10}">' for index in range(1, 10))
    + ']><propfind xmlns="DAV:"><prop><displayname>&l9;</displayname></prop></propfind>')


@pytest.mark.parametrize("body", [
    BILLION,
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><propfind xmlns="DAV:"><prop><x>&e;</x></prop></propfind>',
    '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><propfind xmlns="DAV:"><allprop/></propfind>',
    "<a>" * 5000, "<propfind", "", "\0", '<propfind xmlns="DAV:"><allprop/></propfind><extra/>',
], ids=["billion laughs", "external entity", "external subset", "deep", "cut", "empty", "nul", "two roots"])
def test_hostile_xml(server, body):
    for method in ("PROPFIND", "PROPPATCH", "LOCK"):
        if body == "" and method != "PROPPATCH":
            continue
        answer = ask(server, method, "/", "Depth: 0", body=body)
        assert answer.status in (400, 403, 413, 415, 422), (method, answer)
        assert "root:" not in answer.text
    assert ask(server, "GET", "/").status == 200
    assert server.cpu_seconds() < 5


def encoded(name, form):
    return urllib.parse.quote(unicodedata.normalize(form, name))


class Finder(Wire):
    def ask(self, method, target, *fields, **more):
        return super().ask(method, target, "User-Agent: WebDAVFS/3.0.0 (03008000) Darwin/23.0.0 (arm64)", *fields, **more)


@pytest.fixture
def finder(server):
    with Finder(server) as connection:
        yield connection


def test_finder_writes_letters_in_parts(finder, server):
    """Whatever a listing said; what other programs made has whole letters on the disk."""
    wire = finder
    folder, name = "Übung 각", "é が.txt"
    there = server.root / unicodedata.normalize("NFC", folder)
    there.mkdir()
    (there / unicodedata.normalize("NFC", name)).write_text("one")
    place, file = "/" + encoded(folder, "NFD"), "/" + encoded(folder, "NFD") + "/" + encoded(name, "NFD")
    assert wire.ask("GET", file).text == "one"
    assert wire.ask("OPTIONS", file).status == 200
    assert list(multistatus(wire.ask("PROPFIND", file, "Depth: 0"))) == [file]
    # The client takes the folder for one of its own members if its address is not spelled as in the request.
    assert sorted(multistatus(wire.ask("PROPFIND", place + "/", "Depth: 1"))) == sorted(
        [place + "/", place + "/" + encoded(name, "NFC")])
    assert wire.ask("PROPFIND", place + "/._" + encoded(name, "NFD"), "Depth: 0").status == 404
    answer, token = lock(wire, file)
    assert answer.status == 200
    assert wire.ask("PUT", file, f"If: <{server.url}{file}> (<{token}>)", body="two").status == 204
    assert wire.ask("UNLOCK", file, f"Lock-Token: <{token}>").status == 204
    assert [path.read_text() for path in there.iterdir()] == ["two"]
    assert wire.ask("COPY", file, f"Destination: {server.url}{place}/copy").status == 201
    assert wire.ask("MOVE", place + "/copy", f"Destination: {server.url}{file}", "Overwrite: T").status == 204
    assert wire.ask("MKCOL", place + "/" + encoded("ö", "NFD")).status == 201
    assert wire.ask("DELETE", file).status == 204
    # A new name is stored as requested, and an existing decomposed name (NFD) is found as it is.
    assert [path.name for path in there.iterdir()] == [unicodedata.normalize("NFD", "ö")]
    assert wire.ask("DELETE", place + "/" + encoded("ö", "NFD")).status == 204
    assert wire.ask("DELETE", place).status == 204
    assert not there.exists()


def test_both_spellings_of_a_name_are_two_files(wire, finder):
    """But for Apple's systems, which find each where it is."""
    for form in ("NFC", "NFD"):
        assert wire.ask("PUT", "/" + encoded("é", form), body=form).status == 201
    for form in ("NFC", "NFD"):
        for client in (wire, finder):
            assert client.ask("GET", "/" + encoded("é", form)).text == form


def test_letters_in_parts_open_nothing_that_is_closed(serve):
    server = serve("--auth", "@/:rw,/Ä:none", "--auth", "anna:x@/:rw", "--hidden", "Ö*")
    for name in ("Ä", "Ö"):
        (server.root / name).mkdir()
        (server.root / name / "file").write_text("secret")
    with Finder(server) as wire:
        for name, statuses in (("Ä", (401, 403, 404)), ("Ö", (404,))):
            place = "/" + encoded(name, "NFD")
            for method, fields in (("GET", []), ("PROPFIND", ["Depth: 0"]), ("DELETE", []), ("OPTIONS", [])):
                answer = wire.ask(method, place + "/file", *fields)
                assert answer.status in (*statuses, *([200] if method == "OPTIONS" else [])), (name, method, answer)
                assert "GET" not in (answer["Allow"] or ""), answer
            assert wire.ask("PROPFIND", place, "Depth: 1").status in statuses
            assert (server.root / name / "file").read_text() == "secret"


def test_mounted_drives_fill_what_they_have_made_where_nothing_is_replaced(serve):
    server = serve("--no-overwrite")
    with Wire(server) as wire:
        assert wire.ask("PUT", "/new", "Content-Length: 0").status == 201
        answer, token = lock(wire, "/new")
        assert answer.status == 200
        # As Windows does.
        stamp = ('<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop><Z:Win32LastModifiedTime>'
                 "Fri, 20 Nov 2026 10:00:00 GMT</Z:Win32LastModifiedTime></D:prop></D:set></D:propertyupdate>")
        assert wire.ask("PROPPATCH", "/new", f"If: (<{token}>)", body=stamp).status == 207
        assert wire.ask("PUT", "/new", f"If: (<{token}>)", body="content").status == 204
        assert wire.ask("PUT", "/new", f"If: (<{token}>)", body="other").status == 403
        assert wire.ask("COPY", "/new", "Destination: /copy").status == 201
        assert wire.ask("MOVE", "/copy", "Destination: /new").status == 403
    assert (server.root / "new").read_text() == "content"


def test_a_put_of_a_range_that_is_all_of_the_file(wire, server):
    """As curl sends it, asked to go on with a file of which nothing is there."""
    assert wire.ask("PUT", "/a", "Content-Range: bytes 0-4/5", body="whole").status == 201
    (server.root / "large").write_bytes(bytes(300_000))
    assert wire.ask("PUT", "/b", "Content-Range: bytes 0-299999/300000", body=bytes(300_000)).status == 201
    for other in ("bytes 1-5/6", "bytes 0-4/6", "bytes 0-4/*", "bytes 0-3/4", "bytes */5", "items 0-4/5", ""):
        answer = wire.ask("PUT", "/a", f"Content-Range: {other}", body="other")
        assert answer.status == 400 and "Content-Range" in answer.text, other
    assert (server.root / "a").read_text() == "whole"


@pytest.mark.parametrize("time", [
    "Sun, 2 Feb 2020 02:02:02 GMT", "Sun, 02 Feb 2020 02:02:02 UTC", "Sun, 02 Feb 2020 02:02:02 +0000",
    "Sun, 02 Feb 2020 02:02:02 GMT", "2020-02-02T02:02:02Z"])
def test_times_as_libraries_write_them(wire, server, time):
    (server.root / "a").write_text("a")
    body = ('<propertyupdate xmlns="DAV:"><set><prop><Win32LastModifiedTime xmlns="urn:schemas-microsoft-com:">'
            f"{time}</Win32LastModifiedTime></prop></set></propertyupdate>")
    assert wire.ask("PROPPATCH", "/a", body=body).status == 207
    assert (server.root / "a").stat().st_mtime == 1_580_608_922


def test_refusals_have_words(wire, server):
    for name in ("a", "b"):
        (server.root / name).write_text(name)
    lock(wire, "/a")
    refused = wire.ask("PUT", "/a", body="other")
    words = ET.fromstring(refused.body).find("{http://sabredav.org/ns}message").text
    assert refused.status == 423 and "lock" in words
    taken = wire.ask("COPY", "/b", "Destination: /a", "Overwrite: F")
    assert taken.status == 412 and "taken" in taken.text
    queried = wire.ask("MOVE", "/b", "Destination: /what?now")
    assert queried.status == 400 and "%3F" in queried.text
    assert (server.root / "b").read_text() == "b" and not (server.root / "what").exists()


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
def test_a_file_takes_no_folders_place_by_mistake(server, method):
    """Whoever ends the Destination in a slash means a place in that folder, unless he says what is to be replaced."""
    (server.root / "album").mkdir()
    (server.root / "album" / "photo").write_text("photo")
    (server.root / "note").write_text("note")
    answer = ask(server, method, "/note", "Destination: /album/")
    assert answer.status == 409 and "Overwrite: T" in answer.text
    assert ask(server, method, "/note", "Destination: /album/", "Overwrite: F").status == 412
    assert sorted(os.listdir(server.root / "album")) == ["photo"] and (server.root / "note").read_text() == "note"
    assert ask(server, method, "/note", "Destination: /album/", "Overwrite: T").status == 204
    assert (server.root / "album").read_text() == "note"
    # Where no folder is, nothing can be lost.
    for status in (201, 204):
        (server.root / "note").write_text("note")
        assert ask(server, method, "/note", "Destination: /new/").status == status
        assert (server.root / "new").read_text() == "note"
