"""`--hidden` and `--allow-extensions` over every door: what must not exist is neither told, read nor made, as source or as target."""

import io
import json
import os
import pathlib
import tarfile
import zipfile

import pytest
import requests

from web.test_events import events, tells, wait_for
from web.test_tus import BYTES, VERSION, metadata

HIDDEN = ["a.secret", "private", "private/inner.txt", "sub/b.secret", "sub/private/deep/inner.txt", "private/", "way", "wayin/inner.txt"]
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
LOCK = ('<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
        "<D:locktype><D:write/></D:locktype></D:lockinfo>")
PATCH = ('<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x xmlns="u:">1</x></D:prop></D:set></D:propertyupdate>')
SYNC = ('<?xml version="1.0"?><D:sync-collection xmlns:D="DAV:"><D:sync-token/><D:sync-level>infinite</D:sync-level>'
        "<D:prop><D:getetag/></D:prop></D:sync-collection>")


def everything(root):
    """All that lies in the share but the server's own state: paths with what they hold."""
    return {
        str(path.relative_to(root)): os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*")) if not path.relative_to(root).parts[0].startswith(".shareserve")
    }


def plant(root):
    for path in ["a.secret", "plain.txt", "sub/b.secret", "sub/private/deep/inner.txt", "sub/seen.txt", "private/inner.txt"]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("needle " + path)
    # Links count as their targets.
    (root / "way").symlink_to("a.secret")
    (root / "wayin").symlink_to("private")


@pytest.fixture
def hiding(serve):
    server = serve("--hidden", "*.secret", "--hidden", "private", "--trash", "3")
    plant(server.root)
    return server


def ask(server, method, path, headers=None, **options):
    return requests.request(method, f"{server.url}/{path}", headers=headers, timeout=20, allow_redirects=False, **options)


def send_form(server, folder, name):
    return requests.post(f"{server.url}/{folder}", files=[("files", (name, b"x"))], timeout=20)


def interface(server, method, rest, document=None):
    return requests.request(method, f"{server.url}/.shareserve/{rest}", json=document, timeout=20)


READS = {
    "GET": lambda server, path: ask(server, "GET", path),
    "GET by a browser": lambda server, path: ask(server, "GET", path, BROWSER),
    "GET of a range": lambda server, path: ask(server, "GET", path, {"Range": "bytes=0-1"}),
    "HEAD": lambda server, path: ask(server, "HEAD", path),
    "as JSON": lambda server, path: ask(server, "GET", path + "?json"),
    "as HTML": lambda server, path: ask(server, "GET", path + "?html"),
    "as a download": lambda server, path: ask(server, "GET", path + "?download"),
    "as ZIP": lambda server, path: ask(server, "GET", path + "?archive=zip"),
    "as tar": lambda server, path: ask(server, "GET", path + "?archive=tar"),
    "percent-encoded": lambda server, path: ask(server, "GET", "".join(f"%{byte:02x}" if byte != 47 else "/" for byte in path.encode())),
    "PROPFIND": lambda server, path: ask(server, "PROPFIND", path, {"Depth": "0"}),
    "PROPFIND below": lambda server, path: ask(server, "PROPFIND", path, {"Depth": "1"}),
    "REPORT": lambda server, path: ask(server, "REPORT", path, data=SYNC),
    "search": lambda server, path: interface(server, "GET", f"search?in=/{path}&q=n"),
    "events": lambda server, path: interface(server, "GET", f"events?in=/{path}"),
}


@pytest.mark.parametrize("door", READS)
def test_hidden_names_are_not_read(hiding, door):
    for path in HIDDEN:
        answer = READS[door](hiding, path)
        assert answer.status_code == 404, (path, answer.status_code)
        assert b"needle" not in answer.content


def archived(server, kind):
    content = ask(server, "GET", f"?archive={kind}").content
    if kind == "zip":
        return "\n".join(zipfile.ZipFile(io.BytesIO(content)).namelist())
    return "\n".join(tarfile.open(fileobj=io.BytesIO(content)).getnames())


LISTINGS = {
    "text": lambda server: ask(server, "GET", "").text + ask(server, "GET", "sub/").text,
    "JSON": lambda server: ask(server, "GET", "?json").text + ask(server, "GET", "sub/?json").text,
    "HTML": lambda server: ask(server, "GET", "?html").text + ask(server, "GET", "sub/?html").text,
    "the page": lambda server: ask(server, "GET", "", BROWSER).text + ask(server, "GET", "sub/", BROWSER).text,
    "ZIP": lambda server: archived(server, "zip"),
    "tar": lambda server: archived(server, "tar"),
    "tar.gz": lambda server: archived(server, "tar.gz"),
    "search": lambda server: interface(server, "GET", "search?in=/&q=e").text,
    "PROPFIND": lambda server: ask(server, "PROPFIND", "", {"Depth": "infinity"}).text + ask(server, "PROPFIND", "sub/", {"Depth": "1"}).text,
    "REPORT": lambda server: ask(server, "REPORT", "", {"Depth": "1"}, data=SYNC).text,
}


@pytest.mark.parametrize("kind", LISTINGS)
def test_hidden_names_are_not_listed(hiding, kind):
    text = LISTINGS[kind](hiding)
    assert "seen.txt" in text or "plain.txt" in text or kind == "REPORT"
    for name in ["secret", "private", "inner.txt", "deep", "wayin"]:
        assert name not in text, name


def test_hidden_names_are_no_part_of_a_selection(hiding):
    for name in ["a.secret", "private", "way", "wayin"]:
        assert ask(hiding, "GET", f"?archive=zip&name=plain.txt&name={name}").status_code == 404
        assert json.loads(ask(hiding, "GET", f"?json&name=plain.txt&name={name}").text)["entries"][0]["name"] == "plain.txt"
        assert name not in ask(hiding, "GET", f"?json&name={name}").text.partition('"entries"')[2]


def tus(server, path, name):
    return requests.post(f"{server.url}/.shareserve/uploads", headers=VERSION | {
        "Upload-Length": "1", "Upload-Metadata": metadata(path="/" + path, filename=name)}, timeout=20)


def split(path):
    folder, _, name = path.rstrip("/").rpartition("/")
    return (folder + "/" if folder else ""), name


# Each gets the server and a path of which the name, or the name of a folder, is not allowed.
WRITES = {
    "PUT": lambda server, path: ask(server, "PUT", path, data=b"x"),
    "PUT of what is new": lambda server, path: ask(server, "PUT", path, {"If-None-Match": "*"}, data=b"x"),
    "PUT of what is there": lambda server, path: ask(server, "PUT", path, {"If-Match": "*"}, data=b"x"),
    "PATCH": lambda server, path: ask(server, "PATCH", path, {"X-Update-Range": "append", "Content-Type": "application/x-sabredav-partialupdate"}, data=b"x"),
    "LOCK": lambda server, path: ask(server, "LOCK", path, {"Timeout": "Second-60"}, data=LOCK),
    "COPY to": lambda server, path: ask(server, "COPY", "plain.txt", {"Destination": f"{server.url}/{path}"}),
    "COPY over": lambda server, path: ask(server, "COPY", "plain.txt", {"Destination": f"{server.url}/{path}", "Overwrite": "T"}),
    "MOVE to": lambda server, path: ask(server, "MOVE", "plain.txt", {"Destination": f"{server.url}/{path}", "Overwrite": "F"}),
    "MOVE over": lambda server, path: ask(server, "MOVE", "plain.txt", {"Destination": f"{server.url}/{path}", "Overwrite": "T"}),
    "tus": lambda server, path: tus(server, *split(path)),
    "the draft's PUT": lambda server, path: ask(server, "PUT", path, {"Upload-Complete": "?1", "Upload-Draft-Interop-Version": "8"}, data=b"x"),
    "the draft's POST": lambda server, path: ask(server, "POST", split(path)[0], {
        "Upload-Complete": "?0", "Upload-Draft-Interop-Version": "8", "Content-Disposition": f'attachment; filename="{split(path)[1]}"'}, data=b"x"),
    "a form": lambda server, path: send_form(server, *split(path)),
    "a form with the path in the name": lambda server, path: send_form(server, "", path.rstrip("/")),
}

CHANGES = WRITES | {
    "MKCOL": lambda server, path: ask(server, "MKCOL", path),
    "DELETE": lambda server, path: ask(server, "DELETE", path),
    "PROPPATCH": lambda server, path: ask(server, "PROPPATCH", path, data=PATCH),
    "COPY from": lambda server, path: ask(server, "COPY", path, {"Destination": server.url + "/taken.txt"}),
    "MOVE from": lambda server, path: ask(server, "MOVE", path, {"Destination": server.url + "/taken.txt"}),
    "COPY of a folder to": lambda server, path: ask(server, "COPY", "sub/", {"Destination": f"{server.url}/{path}"}),
    "MOVE of a folder to": lambda server, path: ask(server, "MOVE", "sub/", {"Destination": f"{server.url}/{path}"}),
    "deleting by the page": lambda server, path: interface(server, "POST", "trash", {"paths": ["/" + path]}),
    "deleting by address": lambda server, path: interface(server, "POST", "trash", {"paths": [], "hrefs": ["/" + path]}),
    "a link": lambda server, path: interface(server, "POST", "links", {"path": "/" + path}),
}

NEW = ["new.secret", "private/new.txt", "sub/new.secret", "sub/private/new.txt", "new.secret/", "wayin/new.txt"]


@pytest.mark.parametrize("door", CHANGES)
def test_hidden_names_are_not_changed_or_made(hiding, door):
    before = everything(hiding.root)
    for path in HIDDEN + NEW:
        answer = CHANGES[door](hiding, path)
        refused = answer.status_code in range(400, 500) or bool(answer.json().get("failures"))
        assert refused, (path, answer.status_code, answer.text[:200])
        assert "needle" not in answer.text
    assert everything(hiding.root) == before


def test_hidden_names_are_not_told_about(hiding):
    answer, stream = events(hiding)
    (hiding.root / "b.secret").write_text("x")
    (hiding.root / "private/more.txt").write_text("x")
    (hiding.root / "private" / "folder").mkdir()
    (hiding.root / "told.txt").write_text("x")
    told = []

    def until(event, data):
        told.append(json.dumps(data))
        return tells("told.txt")(event, data)

    wait_for(stream, until)
    assert "secret" not in "".join(told) and "private" not in "".join(told)
    answer.close()


def test_what_was_deleted_before_it_was_hidden_stays_out_of_the_trash(serve):
    server = serve("--trash", "3")
    plant(server.root)
    for path in ["a.secret", "private/inner.txt", "plain.txt"]:
        assert ask(server, "DELETE", path).status_code == 204
    ids = {item["path"]: item["id"] for item in interface(server, "GET", "trash").json()["items"]}
    server.stop()
    again = serve("--hidden", "*.secret", "--hidden", "private", "--trash", "3", root=server.root)
    assert [item["path"] for item in interface(again, "GET", "trash").json()["items"]] == ["/plain.txt"]
    for path in ["/a.secret", "/private/inner.txt"]:
        answer = interface(again, "POST", "trash/restore", {"ids": [ids[path]]})
        assert answer.status_code in range(400, 500) or not answer.json().get("items"), answer.text
        assert not pathlib.Path(str(again.root) + path).exists()


def test_an_upload_begun_before_its_name_was_hidden_is_not_finished(serve):
    server = serve()
    made = tus(server, "", "a.secret")
    assert made.status_code == 201
    server.stop()
    again = serve("--hidden", "*.secret", root=server.root)
    address = requests.compat.urljoin(again.url, made.headers["Location"])
    answer = requests.patch(address, headers=BYTES | {"Upload-Offset": "0"}, data=b"x", timeout=20)
    assert answer.status_code in range(400, 500) and not (again.root / "a.secret").exists()


def test_a_link_shows_nothing_hidden(hiding):
    link = interface(hiding, "POST", "links", {"path": "/sub", "upload": True}).json()["address"]
    address = requests.compat.urljoin(hiding.url, link).rstrip("/")
    for door in ["", "?json", "?html"]:
        text = requests.get(address + "/" + door, timeout=20).text
        assert "seen.txt" in text and "secret" not in text and "private" not in text
    for path in ["b.secret", "private/deep/inner.txt"]:
        assert requests.get(f"{address}/{path}", timeout=20).status_code == 404
    assert requests.put(f"{address}/new.secret", data=b"x", timeout=20).status_code in range(400, 500)
    assert not (hiding.root / "sub/new.secret").exists()


def test_a_folder_is_copied_without_what_is_hidden_in_it(hiding):
    assert ask(hiding, "COPY", "sub/", {"Destination": hiding.url + "/copy"}).status_code == 201
    assert sorted(everything(hiding.root / "copy")) == ["seen.txt"]


@pytest.fixture
def picky(serve):
    server = serve("--allow-extensions", "txt,PNG,tar.gz")
    for path in ["plain.txt", "old.exe", "sub/a.txt"]:
        (server.root / path).parent.mkdir(exist_ok=True)
        (server.root / path).write_text("needle")
    return server


@pytest.mark.parametrize("door", WRITES)
def test_other_extensions_are_refused(picky, door):
    before = everything(picky.root)
    for path in ["new.exe", "sub/new.exe", "new", "new.txt.exe", "txt", ".txt", "new.gz", "new.txt%00.exe", "sub/new.TXT~"]:
        answer = WRITES[door](picky, path)
        assert answer.status_code in range(400, 500), (path, answer.status_code)
    assert everything(picky.root) == before


@pytest.mark.parametrize("door", [door for door in WRITES if door not in ("PATCH", "PUT of what is there")])
def test_who_sends_another_extension_is_told_which_are_allowed(picky, door):
    answer = WRITES[door](picky, "new.exe")
    assert answer.status_code == 403
    assert "A new file's name must end in .txt, .png or .tar.gz here." in answer.text


@pytest.mark.parametrize("door", WRITES)
def test_allowed_extensions_are_taken(picky, door):
    for path in ["new.txt", "sub/new.TXT", "picture.png", "all.tar.gz"]:
        answer = WRITES[door](picky, path)
        wanted = 404 if door == "PATCH" else 412 if door == "PUT of what is there" else None
        assert answer.status_code == wanted if wanted else answer.status_code < 300, (path, answer.status_code, answer.text)
        if "MOVE" in door:
            (picky.root / "plain.txt").write_text("needle")


def test_what_is_there_is_read_moved_and_deleted_whatever_it_is_called(picky):
    assert ask(picky, "GET", "old.exe").text == "needle" and "old.exe" in ask(picky, "GET", "").text
    assert ask(picky, "MOVE", "old.exe", {"Destination": picky.url + "/sub/new.exe"}).status_code == 403
    assert ask(picky, "MKCOL", "folder.exe").status_code == 201
    assert ask(picky, "MOVE", "old.exe", {"Destination": picky.url + "/old.txt"}).status_code == 201
    assert ask(picky, "MOVE", "sub/", {"Destination": picky.url + "/folder.exe/sub"}).status_code == 201
    assert ask(picky, "DELETE", "old.txt").status_code == 204


@pytest.mark.parametrize("environment", [False, True], ids=["option", "variable"])
def test_several_patterns_may_stand_together(serve, environment):
    """As every other list: what was meant to be hidden must not show for a comma."""
    patterns = "*.tmp, .git,a?b"
    server = serve(environment={"SHARESERVE_HIDDEN": patterns}) if environment else serve("--hidden", patterns)
    for name in ["x.tmp", ".git", "a,b", "shown"]:
        (server.root / name).write_text("x")
    assert requests.get(server.url, timeout=20).text.split() == ["shown"]
