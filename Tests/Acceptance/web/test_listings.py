"""A folder in all its forms: text, JSON, the page, and a table without scripts."""

import contextlib
import html.parser
import json
import os
import re
import socket
import subprocess
import time
import urllib.parse

import pytest
import requests

from wire import ConnectionClosed, Wire, ask

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
EVIL = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "a\"b'c&d", "new\nline", "\x1b[31mred", "txt.\u202egpj", "\x9b31mred", "line\u2028end"]


def test_forms_by_accept(server):
    (server.root / "b.txt").write_text("b")
    (server.root / "sub").mkdir()
    plain = requests.get(server.url + "/", timeout=20)
    assert plain.text == "sub/\nb.txt\n" and plain.headers["Content-Type"].startswith("text/plain")
    assert "Accept" in plain.headers["Vary"]
    listing = requests.get(server.url + "/", headers={"Accept": "application/json"}, timeout=20).json()
    assert listing == requests.get(server.url + "/?json", timeout=20).json()
    assert [(entry["name"], entry["type"]) for entry in listing["entries"]] == [("sub", "directory"), ("b.txt", "file")]
    assert listing["entries"][1]["size"] == 1
    assert listing["entries"][1]["etag"] == requests.head(server.url + "/b.txt", timeout=20).headers["ETag"]
    for accept in [
        BROWSER["Accept"], "text/html, text/plain, text/sgml, text/css, */*;q=0.01",  # lynx
        "text/html, text/*;q=0.5, image/*, application/*",  # w3m
    ]:
        assert "<!doctype html>" in requests.get(server.url + "/", headers={"Accept": accept}, timeout=20).text
    axios = requests.get(server.url + "/", headers={"Accept": "application/json, text/plain, */*"}, timeout=20)
    assert axios.json() == listing
    # A client that follows links gets them unless it asks for another type, and no link that makes it fetch everything
    # twice.
    wget = {accept: requests.get(server.url + "/", headers={"User-Agent": "Wget/1.25", "Accept": accept}, timeout=20).text
            for accept in ("*/*", "text/html", "text/plain")}
    assert wget["*/*"] == wget["text/html"] and 'href="sub/"' in wget["*/*"] and "archive" not in wget["*/*"]
    assert wget["text/plain"] == plain.text
    for agent in ("lftp/4.9.2", "Kodi/21.0 (X11; Linux x86_64)", "HTTPDirFS-1.2.6", "wget2/1.99.1", "ELinks/0.13",
                  "Links (2.28; Linux 6.1 x86_64)", "Mozilla/4.5 (compatible; HTTrack 3.0x; Windows 98)",
                  "KodifromDebian/20.1 (X11; Linux x86_64)", "NetSurf/3.10 (Linux)", "Python/3.11 aiohttp/3.9.5"):
        page = requests.get(server.url + "/", headers={"User-Agent": agent}, timeout=20).text
        # Kodi and HTTPDirFS recognize members by their names only.
        assert 'href="sub/"' in page and 'href="b.txt"' in page and "archive" not in page, agent


def test_sizes_for_programs_that_read_listings(server):
    """As Apache writes them: Kodi takes no others, and a number of bytes only with a blank behind it."""
    sizes = {0: "0 ", 999: "999 ", 1_000: "1.0K", 1_536: "1.5K", 10_189: "10K", 1_047_000: "1.0M", 300_000_000: "286M", 5 << 40: "5.0T"}
    for size in sizes:
        with open(server.root / f"f{size}", "wb") as file:
            file.truncate(size)
    page = requests.get(server.url + "/", headers={"User-Agent": "Kodi/21.0"}, timeout=20).text
    for size, shown in sizes.items():
        row = re.escape(f'<a href="f{size}">f{size}</a></td><td align="right">') + r"\d{4}-\d\d-\d\d \d\d:\d\d  </td>"
        assert re.search(f'{row}<td align="right">{shown}</td>', page), (size, page)


@pytest.mark.parametrize("properties", ["yes", "no"])
def test_lftp_mirrors_whole_files(server, folder, properties):
    """It reads sizes from the listing, and its mirror ends where those say that a file does."""
    sub = server.root / "sub"
    sub.mkdir()
    contents = {"small": b'{"a":1}', "large": os.urandom(3_000_000), "empty": b""}
    for name, content in contents.items():
        (sub / name).write_bytes(content)
    done = lftp(server, f"set http:use-propfind {properties}; mirror / {folder / 'copy'}")
    assert done.returncode == 0, done.stderr
    copied = {path.name: path.read_bytes() for path in (folder / "copy" / "sub").iterdir()}
    assert copied == contents, done.stderr
    rows = [line.split() for line in lftp(server, "ls sub/").stdout.splitlines() if not line.endswith("..")]
    assert {row[-1]: row[1] for row in rows} == {"small": "7", "large": "2.9M", "empty": "0"}, rows
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row[2]) and re.fullmatch(r"\d\d:\d\d", row[3]) for row in rows), rows


def lftp(server, commands):
    return subprocess.run(["lftp", "-c", f"open {server.url}; {commands}"], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("form", [{}, {"Accept": "application/json"}, {"Accept": "text/html"}, {"User-Agent": "Wget/1.25"}])
def test_a_listing_has_no_tag_and_is_there(server, form):
    """RFC 9110 §13.1."""
    (server.root / "sub").mkdir()
    date = "Sat, 01 Jan 2000 00:00:00 GMT"
    for method in ("GET", "HEAD"):
        for field, value, status in [
            ("If-Match", '"zz"', 412), ("If-Match", "*", 200), ("If-None-Match", "*", 304), ("If-None-Match", '"zz"', 200),
            ("If-None-Match", "JoplinIgnore-123", 200), ("If-Modified-Since", date, 200), ("If-Unmodified-Since", date, 200),
        ]:
            answer = requests.request(method, server.url + "/sub/", headers={**form, field: value}, timeout=20)
            assert answer.status_code == status, (method, field, value)
            assert "ETag" not in answer.headers and ("Accept" in answer.headers.get("Vary", "") or status == 412)
    # What is refused without conditions is refused as before. §13.2.1
    assert requests.get(server.url + "/sub/?html&from=x", headers={"If-None-Match": "*"}, timeout=20).status_code == 400
    assert requests.get(server.url + "/none/", headers={"If-None-Match": "*"}, timeout=20).status_code == 404


def test_slash(server):
    (server.root / "sub").mkdir()
    assert requests.get(server.url + "/sub", timeout=20, allow_redirects=False).status_code == 200
    answer = requests.get(server.url + "/sub?x=1", headers=BROWSER, timeout=20, allow_redirects=False)
    assert answer.status_code in (301, 302, 303, 307, 308) and answer.headers["Location"] == "/sub/?x=1"
    # Never an address of another host.
    answer = requests.get(server.url + "//sub", headers=BROWSER, timeout=20, allow_redirects=False)
    assert answer.headers["Location"].startswith("/sub")


def test_hostile_names_are_text_everywhere(server):
    for name in EVIL:
        if "/" not in name:
            (server.root / name).write_text("x")
    os.makedirs(os.path.join(os.fsencode(server.root), b"caf\xe9"))
    names = [entry["name"] for entry in requests.get(server.url + "/?json", timeout=20).json()["entries"]]
    assert set(names) >= {name for name in EVIL if "/" not in name}
    href = next(e["href"] for e in requests.get(server.url + "/?json", timeout=20).json()["entries"] if "href" in e)
    assert href == "/caf%E9/" and requests.get(server.url + href, timeout=20).status_code == 200
    for query in ("/", "/?html"):
        page = requests.get(server.url + query, headers=BROWSER, timeout=20)
        assert "<img src=x" not in page.text and "<script>alert" not in page.text and "\u202e" not in page.text.split('id="boot"')[0]
        policy = page.headers["Content-Security-Policy"]
        assert "'unsafe-inline'" not in policy and "frame-ancestors 'none'" in policy
    lines = requests.get(server.url + "/", timeout=20).content.split(b"\n")
    assert b"%1B%5B31mred" in lines and b"new%0Aline" in lines and b"caf%E9/" in lines
    assert b"%C2%9B31mred" in lines and b"txt.%E2%80%AEgpj" in lines and b"line%E2%80%A8end" in lines


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.links.append(dict(attributes)["href"])


def test_table_without_scripts_leads_everywhere(server):
    names = [name for name in EVIL if "/" not in name] + ["plain", "a b"]
    for name in names:
        (server.root / name).write_text(name)
    for query in ("/", "/?html"):
        found = Links()
        found.feed(requests.get(server.url + query, headers=BROWSER, timeout=20).text)
        for name in names:
            assert "/" + urllib.parse.quote(name) in [urllib.parse.unquote(link) and link for link in found.links] or any(
                urllib.parse.unquote(link) == "/" + name for link in found.links), name


def test_page_says_what_it_needs(server):
    (server.root / "x").write_text("x")
    page = requests.get(server.url + "/", headers=BROWSER | {"Accept-Language": "xx, en;q=0.5"}, timeout=20).text
    boot = json.loads(re.search(r'id="boot">(.*?)</script>', page, re.S).group(1))
    assert boot["listing"]["entries"][0]["name"] == "x" and boot["base"] == ""
    script = requests.get(server.url + boot["assets"] + "app.js", timeout=20)
    assert script.status_code == 200 and "immutable" in script.headers["Cache-Control"]
    assert requests.get(server.url + "/.shareserve/assets/0000/app.js", timeout=20).status_code == 404


def test_missing_page_for_people(server):
    answer = requests.get(server.url + "/nothing", headers=BROWSER, timeout=20)
    assert answer.status_code == 404 and "<!doctype html>" in answer.text
    assert requests.get(server.url + "/nothing", timeout=20).headers["Content-Type"].startswith("text/plain")


def test_index_file(serve):
    server = serve("--index", "index.html")
    (server.root / "index.html").write_text("<h1>mine</h1>")
    (server.root / "sub").mkdir()
    answer = requests.get(server.url + "/", headers=BROWSER, timeout=20)
    assert "mine" in answer.text and answer.headers["Content-Type"].startswith("text/html")
    assert "mine" not in requests.get(server.url + "/sub/", headers=BROWSER, timeout=20).text
    assert requests.get(server.url + "/?json", timeout=20).json()["entries"]


def test_100_000_names(many):
    begun = time.monotonic()
    answer = requests.get(many.url + "/many/?json", headers={"Accept-Encoding": "identity"}, stream=True, timeout=60)
    answer.raw.read(4096)
    first = time.monotonic() - begun
    rest = answer.raw.read()
    assert len(rest) > 5_000_000
    assert first < 1.0
    assert len(requests.get(many.url + "/many/", timeout=60).text.splitlines()) == 100_000
    page = requests.get(many.url + "/many/", headers=BROWSER, timeout=60)
    assert len(page.content) < 400_000
    assert requests.get(many.url + "/many/?html", timeout=60).text.count("<tr>") == 100_002


@pytest.mark.memory
def test_100_000_names_in_little_memory(many):
    for query in ("", "?json", "?html"):
        for encoding in ("identity", "gzip"):
            requests.get(many.url + "/many/" + query, headers={"Accept-Encoding": encoding}, timeout=60)
    assert many.peak_memory() < 64 << 20


def test_search(server):
    for name in ("a/Bericht 2024.txt", "a/b/bericht.pdf", "c/other", "Größe.txt"):
        (server.root / name).parent.mkdir(parents=True, exist_ok=True)
        (server.root / name).write_text("x")
    (server.root / "a" / "round").symlink_to("..")
    for number in range(20):
        (server.root / f"link {number}").symlink_to("a")

    def found(**query):
        answer = requests.get(server.url + "/.shareserve/search", params=query, timeout=20)
        return sorted(entry["path"] for entry in answer.json()["entries"])

    assert found(q="BERICHT") == ["/a/Bericht 2024.txt", "/a/b/bericht.pdf"]
    assert found(q="bericht", **{"in": "/a/b/"}) == ["/a/b/bericht.pdf"]
    assert found(q="GRÖSSE") in ([], ["/Größe.txt"]) and found(q="größe") == ["/Größe.txt"]
    assert found(q="nothing at all") == []
    assert requests.get(server.url + "/.shareserve/search?q=", timeout=20).status_code == 400
    for outside in ("/../", "/a/../../", "../../etc"):
        status = requests.get(server.url + "/.shareserve/search", params={"q": "x", "in": outside}, timeout=20).status_code
        assert status in (400, 404), outside


def test_reserved_addresses_are_never_files(server):
    requests.put(server.url + "/x", data=b"x", timeout=20)
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PROPFIND", "MKCOL", "MOVE", "PATCH"):
        answer = requests.request(method, server.url + "/.shareserve/nothing", timeout=20)
        assert answer.status_code in (403, 404, 405), method
    health = requests.get(server.url + "/.shareserve/health", timeout=20)
    assert health.text.strip() == "ok" and health.headers["Cache-Control"] == "no-store"
    assert requests.get(server.url + "/.shareserve/info", timeout=20).json()["version"]


def test_locks_are_shown(server):
    (server.root / "a").write_text("x")
    (server.root / "b").write_text("x")
    body = """<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope>
        <locktype><write/></locktype><owner><href>Anna &lt;b&gt;</href></owner></lockinfo>"""
    assert requests.request("LOCK", server.url + "/a", data=body, timeout=20).status_code == 200
    entries = {e["name"]: e for e in requests.get(server.url + "/?json", timeout=20).json()["entries"]}
    assert "Anna" in entries["a"]["locked"]["owner"] and "locked" not in entries["b"]
    page = requests.get(server.url + "/", headers=BROWSER, timeout=20).text
    boot = json.loads(re.search(r'id="boot">(.*?)</script>', page, re.S).group(1))
    assert [e["name"] for e in boot["listing"]["entries"] if "locked" in e] == ["a"]
    answer = requests.put(server.url + "/a", data=b"y", timeout=20)
    assert answer.status_code == 423
    answer = requests.post(server.url + "/", files=[("conflict", (None, "replace")), ("files", ("a", b"y"))], timeout=20)
    assert answer.status_code == 423 and (server.root / "a").read_text() == "x"


def test_who_follows_links_comes_to_a_folder_with_its_slash(serve):
    """Theirs are bare names, which count from there."""
    server = serve("--path-prefix", "/files")
    (server.root / "sub").mkdir()
    made = requests.post(server.url + "/.shareserve/links", json={"path": "/sub"}, timeout=20)
    for address in (server.url, server.url + "/sub", server.url.removesuffix("/files") + made.json()["address"].rstrip("/")):
        answer = requests.get(address, headers={"User-Agent": "Wget/1.25"}, timeout=20)
        assert answer.history[0].status_code == 307 and answer.url == address + "/" and answer.status_code == 200


def test_a_short_listing_has_the_fields_of_a_long_one(server):
    for accepted, coding in [("gzip", None), ("gzip, identity;q=0", "gzip"), ("identity", None)]:
        answer = ask(server, "GET", "/?json", f"Accept-Encoding: {accepted}")
        assert answer["Content-Encoding"] == coding and "Accept-Encoding" in answer["Vary"], accepted


@pytest.mark.parametrize("form", ["json", "html"])
def test_who_takes_a_listing_slowly_gets_all_of_it(serve, form):
    """Also while others look for a place."""
    server = serve("--max-connections", "8", "--event-loops", "1")
    for number in range(900):
        (server.root / f"{number:0250}").touch()
    whole = ask(server, "GET", f"/?{form}").body
    slow = socket.socket()
    slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 600)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    slow.settimeout(20)
    slow.connect(("127.0.0.1", server.port))
    with slow, contextlib.ExitStack() as others:
        slow.sendall(f"GET /?{form} HTTP/1.1\r\nHost: {server.authority}\r\n\r\n".encode())
        got = b""
        for _ in range(40):
            got += slow.recv(2048)
            other = others.enter_context(Wire(server))
            with contextlib.suppress(ConnectionClosed):
                other.ask("GET", "/nothing")
            time.sleep(0.05)
        head, _, body = got.partition(b"\r\n\r\n")
        while len(body) < len(whole):
            piece = slow.recv(65536)
            assert piece, f"ends after {len(body)} of {len(whole)} bytes"
            body += piece
    assert body == whole
