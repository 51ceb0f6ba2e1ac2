"""The log-in page and share links, as the page uses them."""

import base64
import io
import json
import os
import re
import subprocess
import time
import zipfile

import pytest
import requests

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)", "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def boot(page):
    return json.loads(re.search(r'id="boot">(.*?)</script>', page, re.S).group(1))


def test_log_in_without_scripts(serve):
    server = serve("--auth", "anna:secret@/:rw")
    (server.root / "a b").mkdir()
    session = requests.Session()
    session.headers.update(BROWSER)
    page = session.get(server.url + "/a%20b/?x=<y>", timeout=20)
    assert page.status_code == 401 and boot(page.text)["status"] == 401
    assert boot(page.text)["listing"] is None and boot(page.text)["info"]["addresses"] == []
    assert 'name="password"' in page.text and "Basic" not in page.headers.get("WWW-Authenticate", "")
    assert "'unsafe-inline'" not in page.headers["Content-Security-Policy"]
    action = re.search(r'action="([^"]*)"', page.text).group(1)
    wrong = session.post(server.url + action, data={"user": "anna", "password": "no", "return": "/a%20b/"}, timeout=20)
    assert wrong.status_code == 401 and "The user or the password is wrong." in wrong.text
    right = session.post(server.url + action, data={"user": "anna", "password": "secret", "return": "/a%20b/"}, timeout=20)
    assert right.status_code == 200 and boot(right.text)["path"] == "/a b/" and boot(right.text)["info"]["user"] == "anna"
    assert boot(right.text)["info"]["canLogOut"]


@pytest.mark.root
def test_an_upload_that_cannot_be_read_is_no_end_of_events(serve, folder):
    """As of an earlier start as another user."""
    uploads = folder / "share" / ".shareserve" / "uploads"
    uploads.mkdir(parents=True, mode=0o700)
    for path in (uploads, uploads.parent, uploads.parent.parent):
        os.chown(path, 65534, 65534)
    record = uploads / ("a" * 32 + ".record")
    record.write_text("x")
    record.chmod(0o600)
    server = serve("--user", "nobody")
    with requests.get(server.url + "/.shareserve/events", stream=True, timeout=20) as stream:
        lines = stream.iter_lines(chunk_size=1)
        next(lines)
        time.sleep(3)
        (server.root / "new").write_text("new")
        assert any(line.startswith(b"event: changed") or b"changed" in line for line in lines)


@pytest.mark.root
def test_nothing_changes_where_the_locks_cannot_be_read(serve, folder):
    """The server's own folder is another user's, of an earlier start."""
    share = folder / "share"
    (share / ".shareserve").mkdir(parents=True, mode=0o700)
    (share / "file").write_text("old")
    for path in (share, share / "file"):
        os.chown(path, 65534, 65534)
    server = serve("--user", "nobody")
    assert requests.get(server.url + "/file", timeout=20).text == "old"
    lock = b'<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
    change = b'<propertyupdate xmlns="DAV:"><set><prop><a xmlns="u">1</a></prop></set></propertyupdate>'
    for method, target, body in (
        ("PUT", "/file", b"x"), ("PUT", "/new", b"x"), ("DELETE", "/file", None), ("MKCOL", "/folder", None), ("LOCK", "/file", lock),
        ("LOCK", "/new", lock), ("PROPPATCH", "/file", change),
    ):
        assert requests.request(method, server.url + target, data=body, timeout=20).status_code == 403, method
    assert requests.request("PROPFIND", server.url + "/", headers={"Depth": "1"}, timeout=20).status_code == 207
    assert "it must be a directory" not in server.logged()
    assert sorted(os.listdir(share)) == [".shareserve", "file"] and (share / "file").read_text() == "old"
    os.chown(share / ".shareserve", 65534, 65534)
    assert requests.put(server.url + "/file", b"new", timeout=20).status_code == 204


def test_drop_box(serve):
    server = serve("--auth", "@/:w")
    (server.root / "secret").write_text("x")
    page = requests.get(server.url + "/", headers=BROWSER, timeout=20)
    assert page.status_code == 200 and "secret" not in page.text and boot(page.text)["rights"] == ["create"]
    hidden = requests.get(server.url + "/?json", timeout=20)
    assert hidden.status_code in (403, 404) or hidden.json()["entries"] == []
    assert requests.post(server.url + "/", files={"files": ("new", b"n")}, timeout=20).status_code == 201
    for target, status in (("/folder", 201), ("/folder", 405), ("/folder/deep", 201), ("/secret", 405), ("/no/folder", 409)):
        assert requests.request("MKCOL", server.url + target, timeout=20).status_code == status, target
    for query in ("?archive=zip", "?archive=tar", "?html"):
        answer = requests.get(server.url + "/" + query, timeout=20)
        assert b"secret" not in answer.content
    answer = requests.get(server.url + "/.shareserve/search?q=secret", timeout=20)
    assert b"secret" not in answer.content.replace(b'"q"', b"")


def test_an_upload_in_pieces_to_a_drop_box_is_no_error_for_a_digest_that_it_may_not_have(serve):
    server = serve("--auth", "@/:w")
    tus = {"Tus-Resumable": "1.0.0"}
    name = base64.b64encode(b"new").decode()
    made = requests.post(server.url + "/.shareserve/uploads", timeout=20, headers={
        **tus, "Upload-Length": "5", "Upload-Metadata": f"path Lw==,filename {name}"})
    last = requests.patch(server.url + made.headers["Location"], b"hello", timeout=20, headers={
        **tus, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream", "Want-Repr-Digest": "sha-256=1"})
    assert last.status_code == 204 and "Repr-Digest" not in last.headers
    assert (server.root / "new").read_bytes() == b"hello"


def test_archives_and_searches_show_what_may_be_read(serve):
    server = serve("--auth", "@/:ro,/private:none")
    for name in ("open/a.txt", "private/b.txt"):
        (server.root / name).parent.mkdir()
        (server.root / name).write_text("x")
    names = zipfile.ZipFile(io.BytesIO(requests.get(server.url + "/?archive=zip", timeout=20).content)).namelist()
    assert names == ["open/", "open/a.txt"]
    assert requests.get(server.url + "/?archive=zip&name=private", timeout=20).status_code in (403, 404)
    found = requests.get(server.url + "/.shareserve/search?q=.txt", timeout=20).json()["entries"]
    assert [entry["path"] for entry in found] == ["/open/a.txt"]


def test_links(server):
    (server.root / "shared").mkdir()
    (server.root / "shared/in.txt").write_text("in")
    (server.root / "out.txt").write_text("out")
    links = server.url + "/.shareserve/links"
    made = requests.post(links, json={"path": "/shared/", "expires": 3600, "upload": True}, timeout=20)
    assert made.status_code == 201, made.text
    item = made.json()
    address = item["address"]
    assert item["path"] == "/shared" and item["upload"] and address.startswith("/.shareserve/s/")
    assert requests.get(server.url + address + "in.txt", timeout=20).text == "in"
    page = requests.get(server.url + address, headers=BROWSER, timeout=20)
    assert page.status_code == 200, page.text[:300]
    assert boot(page.text)["base"] == address.rstrip("/") and boot(page.text)["listing"]["entries"][0]["name"] == "in.txt"
    assert not boot(page.text)["info"]["links"] and not boot(page.text)["info"]["trash"]
    assert requests.get(server.url + boot(page.text)["assets"] + "app.js", timeout=20).status_code == 200
    assert requests.get(server.url + address + "../out.txt", timeout=20).status_code == 404
    assert requests.get(server.url + address + ".shareserve/links", timeout=20).status_code in (403, 404)
    assert requests.post(server.url + address, files={"files": ("up", b"up")}, timeout=20).status_code == 201
    assert (server.root / "shared/up").read_bytes() == b"up"
    listed = requests.get(links, params={"path": "/shared"}, timeout=20).json()["items"]
    assert [entry["id"] for entry in listed] == [item["id"]] and listed[0]["address"] is None
    assert requests.delete(links, params={"id": item["id"]}, timeout=20).status_code == 204
    assert requests.get(server.url + address + "in.txt", timeout=20).status_code in (401, 403, 404, 410)


@pytest.mark.parametrize("wish, status", [
    ({"path": "/nothing"}, 404), ({"path": "/../"}, 400), ({"path": "/", "expires": -1}, 400),
    ({"path": "/", "maxDownloads": 0}, 400), ({"path": "/", "expires": 1e300}, 400), ({}, 400),
])
def test_links_that_cannot_be(server, wish, status):
    assert requests.post(server.url + "/.shareserve/links", json=wish, timeout=20).status_code == status


def test_bodies_wait_for_the_password_check(serve):
    """A slow hash is checked on the pool; the body that comes meanwhile must not be lost."""
    hashed = subprocess.run(["openssl", "passwd", "-6", "secret"], capture_output=True, text=True).stdout.strip()
    server = serve("--auth", f"anna:{hashed}@/:rw")
    for number, password in enumerate(["secret", "wrong", "secret"]):
        content = bytes([number]) * 50_000
        fields = {"Connection": "close"}
        answer = requests.put(
            f"{server.url}/{number}", data=content, auth=("anna", password), headers=fields, timeout=20)
        if password == "wrong":
            assert answer.status_code in (401, 429) and not (server.root / str(number)).exists()
        else:
            assert answer.status_code == 201 and (server.root / str(number)).read_bytes() == content


def test_bodies_wait_for_the_password_check_over_http2(serve, folder):
    hashed = subprocess.run(["openssl", "passwd", "-6", "secret"], capture_output=True, text=True).stdout.strip()
    server = serve("--auth", f"anna:{hashed}@/:rw", "--tls-self-signed")
    source = folder / "source"
    for number, size in enumerate([5, 50_000, 3_000_000]):
        content = bytes([65 + number]) * size
        source.write_bytes(content)
        done = subprocess.run(
            ["curl", "-sk", "--http2", "-u", "anna:secret", "-T", source, "-w", "%{http_version} %{http_code}",
             f"{server.url}/{number}"], capture_output=True, text=True, timeout=60)
        assert done.stdout.endswith("2 201"), done
        assert (server.root / str(number)).read_bytes() == content


def test_uploads_are_resumable_over_http2(serve, folder):
    server = serve("--tls-self-signed")
    source = folder / "source"
    source.write_bytes(b"x" * 100_000)
    done = subprocess.run(
        ["curl", "-sk", "--http2", "-D", "-", "-T", source, "-H", "Upload-Complete: ?1", "-H",
         "Upload-Draft-Interop-Version: 8", f"{server.url}/x"], capture_output=True, text=True, timeout=60)
    assert "HTTP/2 104" in done.stdout and "HTTP/2 201" in done.stdout, done.stdout
    assert (server.root / "x").stat().st_size == 100_000
