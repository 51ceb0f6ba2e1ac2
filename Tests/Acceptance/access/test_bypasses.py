"""Every door and method, tried against what a user may not see or change; and the same by form, JSON and metadata."""

import base64
import io
import json
import zipfile

import pytest

from wire import ask

BOB = "Authorization: Basic " + base64.b64encode(b"bob:pw").decode()
SECRET = "the secret"
SPELLINGS = [
    "/private", "//private", "/private/", "/./private", "/home/../private", "/home/%2e%2e/private", "/%70rivate", "/private%2F",
    "/PRIVATE", "/private%00", "/home/..%2fprivate", "/private;x=1", "/private?x", "/.shareserve/../private", "/home//../private",
    "/\\private", "/home\\..\\private", "http://{authority}/private", "/privat%65/", "/private/%2e/",
]
METHODS = ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "MKCOL", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", "COPY", "MOVE",
           "OPTIONS", "REPORT", "SEARCH"]


@pytest.fixture
def guarded(serve):
    server = serve("--auth", "@/public:ro", "--auth", "bob:pw@/home:rw", "--auth", "anna:pw@/:rw")
    for name in ("public", "home", "private"):
        (server.root / name).mkdir()
    (server.root / "private" / "secret.txt").write_text(SECRET)
    (server.root / "home" / "mine.txt").write_text("mine")
    return server


def untouched(server):
    private = server.root / "private"
    assert sorted(path.name for path in private.iterdir()) == ["secret.txt"]
    assert (private / "secret.txt").read_text() == SECRET
    assert sorted(path.name for path in server.root.iterdir() if path.name != ".shareserve") == ["home", "private", "public"]


@pytest.mark.parametrize("fields", [[], [BOB]], ids=["nobody", "bob"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_and_spelling(guarded, method, fields):
    for spelling in SPELLINGS:
        for end in ("", "/secret.txt"):
            target = spelling.replace("{authority}", guarded.authority)
            target = target + end if "?" not in target else target.replace("?", end + "?")
            body = "evil" if method in ("PUT", "POST", "PATCH", "PROPPATCH", "LOCK") else None
            answer = ask(guarded, method, target, "Destination: /home/stolen", "Depth: 1", *fields, body=body)
            assert SECRET not in answer.text, target
            assert "secret.txt" not in answer.text.replace(target, ""), target
            if method not in ("OPTIONS",):
                assert answer.status >= 400 or answer.status == 207 and "200 OK" not in answer.text, (target, answer.status)
    untouched(guarded)
    assert sorted(path.name for path in (guarded.root / "home").iterdir()) == ["mine.txt"]


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_destination(guarded, method, spelling):
    destination = spelling.replace("{authority}", guarded.authority).split("?")[0].rstrip("/") + "/new"
    for overwrite in "TF":
        answer = ask(guarded, method, "/home/mine.txt", f"Destination: {destination}", f"Overwrite: {overwrite}", BOB)
        assert answer.status >= 400, answer.status
    untouched(guarded)
    assert (guarded.root / "home" / "mine.txt").read_text() == "mine"


def test_check_sums_are_for_who_may_write(guarded):
    """Clients believe them, and take a file for whole or for damaged."""
    (guarded.root / "public" / "file").write_text("hello")
    anna = "Authorization: Basic " + base64.b64encode(b"anna:pw").decode()

    def claim(digit):
        return ('<propertyupdate xmlns="DAV:"><set><prop><o:checksums xmlns:o="http://owncloud.org/ns"><o:checksum>'
                f"SHA1:{40 * digit}</o:checksum></o:checksums></prop></set></propertyupdate>")

    def kept():
        wanted = '<propfind xmlns="DAV:"><prop><checksums xmlns="http://owncloud.org/ns"/></prop></propfind>'
        return ask(guarded, "PROPFIND", "/public/file", "Depth: 0", anna, body=wanted).text

    assert ask(guarded, "PROPPATCH", "/public/file", anna, body=claim("1")).status == 207
    assert "SHA1:" + 40 * "1" in kept()
    for fields in ([], [BOB]):
        assert ask(guarded, "PROPPATCH", "/public/file", *fields, body=claim("2")).status in (401, 403)
        assert ask(guarded, "PATCH", "/public/file", "X-Recalculate-Hash: sha1", *fields).status in (401, 403)
    assert "SHA1:" + 40 * "1" in kept()


def metadata(**values):
    return "Upload-Metadata: " + ",".join(
        f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in values.items())


@pytest.mark.parametrize("place", ["/private/", "private", "/home/../private/", "../private", "/home/..%2fprivate/", "//private/"])
@pytest.mark.parametrize("fields", [[], [BOB]], ids=["nobody", "bob"])
def test_uploads_by_metadata(guarded, place, fields):
    for names in ({"filename": "evil"}, {"relativePath": "../private/evil"}, {"filename": "../../private/evil"}):
        answer = ask(
            guarded, "POST", "/.shareserve/uploads", "Tus-Resumable: 1.0.0", "Upload-Length: 4",
            "Content-Type: application/offset+octet-stream", metadata(path=place, **names), *fields, body="evil")
        if answer.status < 400:
            # The path may have been taken for one where bob has rights; nothing else is allowed.
            assert not (guarded.root / "private" / "evil").exists()
    untouched(guarded)


@pytest.mark.parametrize("name", ["../private/evil", "/private/evil", "..\\\\private\\\\evil", "..%2fprivate%2fevil", "a/../../private/evil"])
def test_uploads_by_form(guarded, name):
    body = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\nevil\r\n--x--\r\n'
    for place in ("/home/", "/private/", "/"):
        ask(guarded, "POST", place, "Content-Type: multipart/form-data; boundary=x", BOB, body=body)
    untouched(guarded)


@pytest.mark.parametrize("fields", [[], [BOB]], ids=["nobody", "bob"])
def test_the_json_interface(guarded, fields):
    for place in ("/private", "/private/secret.txt", "/home/../private/secret.txt", "private/secret.txt", "//private/secret.txt", "/"):
        kind = "Content-Type: application/json"
        trashed = ask(guarded, "POST", "/.shareserve/trash", kind, *fields, body=json.dumps({"paths": [place]}))
        assert trashed.status >= 400 or not json.loads(trashed.body)["items"], place
        link = ask(guarded, "POST", "/.shareserve/links", kind, *fields, body=json.dumps({"path": place}))
        if link.status < 400:
            shown = ask(guarded, "GET", link["Location"].rstrip("/") + "/private/secret.txt")
            assert SECRET not in shown.text
        for target in ("search?in={}&q=secret", "events?in={}"):
            from urllib.parse import quote
            answer = None
            if target.startswith("search"):
                answer = ask(guarded, "GET", "/.shareserve/" + target.format(quote(place)), *fields)
                assert "secret.txt" not in answer.text
    untouched(guarded)


def test_archives_hold_only_what_may_be_read(guarded):
    for target in ("/?archive=zip", "/?archive=zip&name=private", "/?archive=zip&name=home&name=private", "/?archive=zip&name=../private"):
        answer = ask(guarded, "GET", target, BOB)
        if answer.status == 200:
            names = zipfile.ZipFile(io.BytesIO(answer.body)).namelist()
            assert not any("secret" in name for name in names), names


def test_locks_of_others_are_not_shown_or_taken(guarded):
    lock = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>anna</owner></lockinfo>'
    anna = "Authorization: Basic " + base64.b64encode(b"anna:pw").decode()
    taken = ask(guarded, "LOCK", "/home/mine.txt", anna, body=lock)
    assert taken.status == 200
    token = taken["Lock-Token"]
    assert ask(guarded, "PUT", "/home/mine.txt", BOB, body="x").status == 423
    assert ask(guarded, "UNLOCK", "/home/mine.txt", f"Lock-Token: {token}", BOB).status in (403, 409, 423)
    assert ask(guarded, "PUT", "/home/mine.txt", f"If: ({token})", BOB, body="x").status in (403, 412, 423)
    assert (guarded.root / "home" / "mine.txt").read_text() == "mine"


LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'


@pytest.mark.parametrize("rights", ["none", "ro", "w"])
def test_a_lock_on_a_folder_reaches_no_further_than_its_owners_rights(serve, rights):
    """Below it, it would keep others from what its owner may not write, and tell of their locks there."""
    server = serve("--auth", f"bob:pw@/:rw,/private:{rights}", "--auth", "anna:pw@/:rw")
    anna = "Authorization: Basic " + base64.b64encode(b"anna:pw").decode()
    (server.root / "private").mkdir()
    (server.root / "other").mkdir()
    assert ask(server, "LOCK", "/private/payroll", anna, "Depth: 0", body=LOCK).status == 201
    found = ask(server, "LOCK", "/", BOB, "Depth: infinity", body=LOCK)
    assert found.status == 403 and b"payroll" not in found.body
    assert ask(server, "PUT", "/private/new", anna, body="x").status == 201
    assert ask(server, "LOCK", "/", BOB, "Depth: 0", body=LOCK).status == 200
    assert ask(server, "LOCK", "/other", BOB, "Depth: infinity", body=LOCK).status == 200
    assert ask(server, "PUT", "/other/new", anna, body="x").status == 423


def test_a_link_does_not_tell_names_where_nothing_is_allowed(serve):
    """A name that is there and one that is not answer alike, by a link as by their own path."""
    server = serve("--auth", "@/:rw", "--auth", "@/a/b:none")
    (server.root / "a" / "b" / "folder").mkdir(parents=True)
    (server.root / "a" / "b" / "file").write_text(SECRET)
    (server.root / "a" / "c").write_text("open")
    (server.root / "link").symlink_to("a")
    (server.root / "inner").symlink_to("a/b")
    assert ask(server, "GET", "/link/c").text == "open"
    requests = [
        ("GET", []), ("HEAD", []), ("PROPFIND", ["Depth: 0"]), ("DELETE", []), ("COPY", ["Destination: /new"]),
        ("MOVE", ["Destination: /new"]), ("PROPPATCH", []), ("MKCOL", []), ("LOCK", []), ("PUT", []),
        ("PATCH", ["X-Update-Range: append", "Content-Type: application/x-sabredav-partialupdate"]),
    ]
    bodies = {
        "PROPPATCH": b"<propertyupdate xmlns='DAV:'><set><prop><p xmlns='urn:x'>1</p></prop></set></propertyupdate>",
        "LOCK": b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>",
        "PUT": b"x", "PATCH": b"x",
    }
    for method, fields in requests:
        for top in ("/link/b", "/inner"):
            answers = {}
            for kind, there, missing in (("itself", "/file", "/nope"), ("folder", "/folder", "/nope"),
                                         ("below", "/folder/x", "/nope/x")):
                answers[kind] = [
                    ask(server, method, top + name, *fields, body=bodies.get(method)).status for name in (there, missing)]
            assert all(there == missing for there, missing in answers.values()), (method, top, answers)
    assert ask(server, "GET", "/link/b/file").status == 404
    for name in ("file", "nope"):
        for top in ("link/b", "a/b", "inner"):
            assert ask(server, "GET", f"/?archive=zip&path={top}/{name}").status == 404, (top, name)
    assert (server.root / "a" / "b" / "file").read_text() == SECRET
    assert sorted(path.name for path in (server.root / "a" / "b").iterdir()) == ["file", "folder"]
