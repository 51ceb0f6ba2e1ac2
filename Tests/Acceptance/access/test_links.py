"""Share links, made by the command line and opened by strangers."""

import base64
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import urllib.parse

import pytest
import requests

from server import binary, free_port, wait_until
from tracing import traced
from wire import Wire, ask


def link(*arguments, **options):
    return subprocess.run([binary(), "link", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def made(*arguments, **options):
    ended = link(*arguments, **options)
    assert ended.returncode == 0, ended.stderr
    shown = ended.stdout.strip().rstrip("/")
    return shown[shown.index("/.shareserve"):]


@pytest.fixture
def shared(serve):
    server = serve("--auth", "anna:x@/:rw")
    (server.root / "album" / "inner").mkdir(parents=True)
    (server.root / "album" / "a.txt").write_text("one")
    (server.root / "album" / "inner" / "b.txt").write_text("two")
    (server.root / "album-2").mkdir()
    (server.root / "album-2" / "secret.txt").write_text("secret")
    (server.root / "secret.txt").write_text("secret")
    return server


def test_a_folder(shared):
    place = made(shared.root / "album", "--root", shared.root)
    assert re.fullmatch(r"/\.shareserve/s/[0-9A-Za-z]+-[0-9a-f]{32}", place)
    assert ask(shared, "GET", f"{place}/a.txt").text == "one"
    assert ask(shared, "GET", f"{place}/inner/b.txt").text == "two"
    listing = ask(shared, "GET", f"{place}/").text
    assert "a.txt" in listing and "secret" not in listing
    assert ask(shared, "PROPFIND", f"{place}/", "Depth: 1").status == 207
    assert b"two" in ask(shared, "GET", f"{place}/?archive=tar").body


@pytest.mark.parametrize("way", ["here", pytest.param("another disk", marks=pytest.mark.root)])
def test_it_follows_a_folder_that_is_moved(shared, way):
    """And does not open what takes its name later. A file's stays with the name: who saves one moves the old away."""
    disk = shared.root / "disk"
    disk.mkdir()
    if way == "another disk":
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(disk)], check=True)
    try:
        folder, inner, file = (made(shared.root / path, "--root", shared.root)
                               for path in ("album", "album/inner/b.txt", "album/a.txt"))
        anna = "Authorization: Basic " + base64.b64encode(b"anna:x").decode()
        moved = ask(shared, "MOVE", "/album/", "Destination: /disk/renamed/", anna)
        assert moved.status == 201, moved
        (shared.root / "album").mkdir()
        (shared.root / "album" / "secret.txt").write_text("secret")
        assert ask(shared, "GET", f"{folder}/a.txt").text == "one" and ask(shared, "GET", inner).text == "two"
        assert ask(shared, "GET", f"{folder}/secret.txt").status == 404
        for source, target in (("a.txt", "a.bak"), ("inner/b.txt", "a.txt")):
            moved = ask(shared, "MOVE", f"/disk/renamed/{source}", f"Destination: /disk/renamed/{target}", anna)
            assert moved.status == 201, moved
        assert ask(shared, "GET", file).text == "two"
    finally:
        if way == "another disk":
            subprocess.run(["umount", "-l", str(disk)], check=True)


def given(server, path):
    """The address of a link that the page makes."""
    answer = ask(server, "POST", "/.shareserve/links", "Content-Type: application/json", body=json.dumps({"path": path}))
    assert answer.status == 201, answer
    return json.loads(answer.body)["address"].rstrip("/")


@pytest.fixture
def detour(serve):
    """A share with a folder that a symbolic link leads to."""
    server = serve()
    (server.root / "real" / "album").mkdir(parents=True)
    (server.root / "real" / "album" / "a.txt").write_text("one")
    (server.root / "detour").symlink_to("real")
    return server


def test_a_link_by_way_of_a_symbolic_link_shows_what_that_leads_to(detour):
    place = given(detour, "/detour/album")
    assert ask(detour, "GET", f"{place}/a.txt").text == "one"
    file = given(detour, "/detour/album/a.txt")
    assert ask(detour, "GET", file).text == "one"
    for path in ("/detour/album", "/real/album"):
        found = json.loads(ask(detour, "GET", f"/.shareserve/links?path={path}").body)["items"]
        assert [item["path"] for item in found] == ["/real/album"]
    assert ask(detour, "MOVE", "/real/album", "Destination: /real/moved").status == 201
    assert ask(detour, "GET", f"{place}/a.txt").text == "one"


def test_no_link_by_way_of_a_symbolic_link_to_what_may_not_be_read(serve, folder):
    (folder / "inbox").mkdir()
    (folder / "open").mkdir()
    (folder / "inbox" / "a.txt").write_text("one")
    (folder / "open" / "detour").symlink_to("../inbox")
    server = serve("--auth", "@/open:rw", "--auth", "@/inbox:w", root=folder)
    for path in ("/open/detour", "/open/detour/a.txt"):
        answer = ask(server, "POST", "/.shareserve/links", "Content-Type: application/json", body=json.dumps({"path": path}))
        assert answer.status in (403, 404), answer


@pytest.mark.root
def test_it_follows_a_folder_to_another_disk_by_way_of_a_symbolic_link(detour):
    disk = detour.root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(disk)], check=True)
    try:
        (disk / "film").mkdir()
        (disk / "film" / "a.txt").write_text("one")
        place = given(detour, "/disk/film")
        assert ask(detour, "MOVE", "/disk/film", "Destination: /detour/film").status == 201
        assert ask(detour, "GET", f"{place}/a.txt").text == "one"
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_the_running_server_is_found(shared):
    shown = link(shared.root / "album" / "a.txt", "--expires", "2d").stdout.strip()
    assert shown.startswith(f"{shared.url}/.shareserve/s/")
    assert ask(shared, "GET", shown[len(shared.url):]).text == "one"


def test_the_whole_address_is_printed_of_a_server_with_a_file_of_settings(serve, folder):
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"tls-self-signed": True, "path-prefix": "/files/", "redirect-http": free_port()}))
    server = serve("--config", settings)
    (server.root / "a.txt").write_text("one")
    shown = link(server.root / "a.txt").stdout.strip()
    assert re.fullmatch(rf"https://[^/]+:{server.port}/files/\.shareserve/s/[^/]+/a\.txt", shown), shown


def test_a_pipe_where_settings_were_does_not_hold_a_link_up(serve, folder):
    """Nobody writes to it: who opened it and waited would do so for ever, and be root at that."""
    settings = folder / "settings.json"
    settings.write_text("{}")
    server = serve("--config", settings)
    (server.root / "a.txt").write_text("one")
    settings.unlink()
    os.mkfifo(settings)
    assert link(server.root / "a.txt").stdout.startswith(f"{server.url}/.shareserve/s/")


def test_the_address_is_that_of_the_server_that_knows_the_link(serve, shared):
    """A directory below the shared one keeps links of its own, for a server of its own."""
    album, place = shared.root / "album", shared.root / "album" / "a.txt"
    assert link(place, "--root", album).stdout.startswith("/.shareserve/s/")
    inner = serve(root=album)
    for server in (inner, shared):
        shown = link(place, "--root", server.root).stdout.strip()
        assert shown.startswith(f"{server.url}/") and ask(server, "GET", shown[len(server.url):]).text == "one"


def test_what_makes_another_link_is_no_server(serve, folder):
    (folder / "share").mkdir()
    (folder / "share" / "a.txt").write_text("one")
    words = [binary(), "link", "--password", folder / "share" / "a.txt", "--root", folder / "share"]
    asking = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        opened = pathlib.Path(f"/proc/{asking.pid}/fd")
        wait_until(lambda: str(folder / "share") in map(os.path.realpath, opened.iterdir()), "the directory is open")
        server = serve()
        assert link(server.root / "a.txt").stdout.startswith(f"{server.url}/")
    finally:
        asking.kill()
        asking.communicate()


@pytest.mark.root
def test_root_makes_links_of_another_users_server(serve, folder):
    root = folder / "share"
    root.mkdir()
    (root / "a.txt").write_text("one")
    os.chown(root, 65534, 65534)
    server = serve("--user", "nobody", root=root)
    place = made(root / "a.txt")
    assert {path.stat().st_uid for path in [root / ".shareserve", *(root / ".shareserve").iterdir()]} == {65534}
    assert ask(server, "GET", f"{place}/").text == "one"


def test_no_uploads_into_a_file(shared):
    ended = link(shared.root / "secret.txt", "--upload", "--root", shared.root)
    assert ended.returncode == 64 and "secret.txt" in ended.stderr


@pytest.mark.parametrize("options, start", [(["--path-prefix", "/files"], "http"), (["--path-prefix", "/my files"], "http"), (["--tls-self-signed"], "https")])
def test_the_whole_address_is_printed(serve, options, start):
    server = serve(*options)
    (server.root / "a.txt").write_text("one")
    shown = link(server.root / "a.txt").stdout.strip()
    assert shown.startswith(f"{server.url}/.shareserve/s/") and shown.startswith(start + "://")


def test_a_link_holds_however_its_address_is_spelled(serve):
    server = serve("--path-prefix", "/files")
    (server.root / "secret.txt").write_text("secret")
    (server.root / "album").mkdir()
    (server.root / "album" / "a.txt").write_text("one")
    token = made(server.root / "album", "--root", server.root).rpartition("/s/")[2]
    for way in ["/files/.shareserve/s/", "/%66iles/.shareserve/s/", "/files/%2eshareserve/%73/"]:
        assert ask(server, "GET", f"{way}{token}/a.txt").text == "one"
        assert ask(server, "GET", f"{way}{token}/../secret.txt").status == 400
        assert ask(server, "GET", f"{way}{token}/secret.txt").status == 404
        assert ask(server, "PUT", f"{way}{token}/b.txt", body="x").status in (401, 403)


@pytest.mark.parametrize("way", [
    "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/inner/../../secret.txt", "-2/secret.txt", "/album/a.txt",
    "/.shareserve/trash", "/.shareserve/links", "/.shareserve/metrics", "/.shareserve/s/x", "/secret.txt",
])
@pytest.mark.parametrize("method", ["GET", "PROPFIND", "DELETE", "PUT"])
def test_nothing_beside_it(shared, way, method):
    place = made(shared.root / "album", "--root", shared.root)
    answer = ask(shared, method, f"{place}{way}", body="x" if method == "PUT" else None)
    assert answer.status in (400, 401, 403, 404, 405, 409), answer.status
    assert "secret" not in answer.text.replace("secret.txt", "")
    assert (shared.root / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("method, destination", [("COPY", "/secret-copy"), ("MOVE", "/moved"), ("COPY", "/album/x")])
def test_destinations_stay_inside(shared, method, destination):
    place = made(shared.root / "album", "--root", shared.root, "--upload")
    answer = ask(shared, method, f"{place}/a.txt", f"Destination: {destination}")
    assert answer.status in (400, 403, 404, 502)
    assert (shared.root / "album" / "a.txt").exists() and not (shared.root / destination[1:]).exists()


def test_a_file_shows_no_siblings(shared):
    place, name = made(shared.root / "album" / "a.txt", "--root", shared.root).rsplit("/", 1)
    assert name == "a.txt"
    assert ask(shared, "GET", place).text == "one"
    assert ask(shared, "GET", f"{place}/a.txt").text == "one"
    for way, disposition in [("", "inline"), ("/", "inline"), ("/?download", "attachment"), ("/a.txt", "inline")]:
        answer = ask(shared, "GET", f"{place}{way}")
        assert answer["Content-Disposition"] == f'{disposition}; filename="a.txt"', "whoever saves it gets the file's own name"
    for way in ("/b.txt", "/inner/b.txt", "/?json", "/?archive=zip"):
        assert "two" not in ask(shared, "GET", f"{place}{way}").text


def test_what_saves_a_file_by_its_address_has_its_name(serve, folder):
    server = serve()
    (server.root / "ein Bild #1.png").write_text("one")
    with_page = requests.post(f"{server.url}/.shareserve/links", json={"path": "/ein Bild #1.png"}, timeout=20).json()["address"]
    for index, address in enumerate([link(server.root / "ein Bild #1.png").stdout.strip(), server.url + with_page]):
        place = folder / str(index)
        place.mkdir()
        subprocess.run(["wget", "-q", address], cwd=place, check=True, timeout=60)
        assert [path.name for path in place.iterdir()] == ["ein Bild #1.png"]


def test_upload_only_where_allowed(shared):
    reading = made(shared.root / "album", "--root", shared.root)
    assert ask(shared, "PUT", f"{reading}/new", body="x").status in (403, 404)
    writing = made(shared.root / "album", "--root", shared.root, "--upload")
    assert ask(shared, "PUT", f"{writing}/new", body="x").status == 201
    assert ask(shared, "PUT", f"{writing}/a.txt", body="x").status == 403
    assert ask(shared, "DELETE", f"{writing}/a.txt").status == 403
    assert (shared.root / "album" / "a.txt").read_text() == "one"


def test_the_end(shared):
    place = made(shared.root / "album", "--root", shared.root, "--expires", "2s")
    assert ask(shared, "GET", f"{place}/a.txt").status == 200
    deadline = time.monotonic() + 10
    while ask(shared, "GET", f"{place}/a.txt").status == 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ask(shared, "GET", f"{place}/a.txt").status == 404


def test_list_and_revoke(shared):
    place = made(shared.root / "album", "--root", shared.root)
    lines = link("--list", shared.root).stdout.splitlines()
    assert len(lines) == 1 and "/album" in lines[0]
    name = lines[0].split("\t")[0]
    assert name in place and place.rpartition("-")[2] not in lines[0]
    assert link("--revoke", name, shared.root).returncode == 0
    assert ask(shared, "GET", f"{place}/a.txt").status == 404
    assert link("--revoke", name, shared.root).returncode == 64


def test_without_a_server_it_is_told_that_its_address_is_missing(folder):
    alone = link(folder, "--root", folder)
    assert alone.returncode == 0 and alone.stdout.startswith("/.shareserve/s/") and "--url" in alone.stderr
    whole = link(folder, "--root", folder, "--url", "http://host")
    assert whole.stdout.startswith("http://host/.shareserve/s/") and whole.stderr == ""


@pytest.mark.root
def test_links_that_may_not_be_looked_at_are_not_none(folder):
    """Another user's state is not an empty list; a share that has no state has none."""
    made(folder, "--root", folder, "--url", "http://host")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def listed():
        return subprocess.run(
            [*nobody, binary(), "link", "--list", "--root", folder, folder], capture_output=True, text=True, timeout=60)

    refused = listed()
    assert refused.returncode == 66 and "Permission denied" in refused.stderr and refused.stdout == ""
    shutil.rmtree(folder / ".shareserve")
    assert listed().returncode == 0


def test_downloads_are_counted(shared):
    place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "2")
    assert [ask(shared, "GET", place).status for _ in range(4)] == [200, 200, 410, 410]


def test_who_only_asks_uses_no_download_and_hears_that_there_is_none(shared):
    place = made(shared.root / "album", "--root", shared.root, "--max-downloads", "1")
    assert {ask(shared, "HEAD", f"{place}/{what}").status for what in ("a.txt", "?archive=zip", "")} == {200}
    assert ask(shared, "GET", f"{place}/a.txt").status == 200
    assert [ask(shared, "HEAD", f"{place}/{what}").status for what in ("a.txt", "?archive=zip", "")] == [410, 410, 200]


def test_downloads_are_counted_however_they_are_asked_for(shared):
    for field in ("Range: bytes=1-", "Range: bytes=-100000", "Range: x", "Range: bytes=00-"):
        place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "1")
        assert ask(shared, "GET", place, field).status in (200, 206)
        assert ask(shared, "GET", place).status == 410
        assert ask(shared, "GET", place, "Range: bytes=1-").status == 206, "a download that broke off goes on"
        assert ask(shared, "GET", place, "Range: bytes=1-1,0-").status == 410, "with the whole behind a piece"


def test_an_index_is_no_download_that_nobody_counts(serve):
    server = serve("--auth", "anna:x@/:rw", "--index", "index.html")
    (server.root / "album").mkdir()
    (server.root / "album" / "index.html").write_text("the index")
    counted = made(server.root / "album", "--root", server.root, "--max-downloads", "1")
    for accept in ("*/*", "text/html"):
        assert "the index" not in ask(server, "GET", f"{counted}/", f"Accept: {accept}").text
    assert [ask(server, "GET", f"{counted}/index.html").status for _ in range(2)] == [200, 410]
    assert ask(server, "GET", f"{made(server.root / 'album', '--root', server.root)}/").text == "the index"


def test_a_player_that_first_asks_whether_ranges_are_served_gets_the_rest(shared):
    """Safari and iOS ask for two bytes of a film, and then for all."""
    place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "1")
    content = (shared.root / "album" / "a.txt").read_text()
    assert len(content) > 2

    def state():
        """It changes for each use that is counted or given back: meanwhile, others would be refused."""
        # Spare files are made while the first requests are answered.
        kept = [path for path in (shared.root / ".shareserve").rglob("*") if "spare" not in path.parts]
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in kept}

    before = state()
    for field in ("Range: bytes=0-1", "Range: bytes=0-0", "Range: bytes=0-1"):
        assert ask(shared, "GET", place, field).status == 206
    assert state() == before
    assert ask(shared, "GET", place, "Range: bytes=0-").text == content
    assert state() != before
    # It is what looks again after a pause, and nobody else.
    after = state()
    assert [ask(shared, method, place, *fields).status for method, *fields in [
        ("GET", "Range: bytes=0-1"), ("HEAD",), ("GET", "Range: bytes=1-")]] == [206, 410, 206]
    assert state() == after
    assert ask(shared, "GET", place, "Range: bytes=0-").status == 410
    place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "1")
    assert ask(shared, "GET", place, "Range: bytes=0-1", 'If-Range: "another"').text == content
    assert ask(shared, "GET", place).status == 410
    for field in ["Accept-Encoding: gzip, identity;q=0", "Accept-Encoding: gzip, *;q=0"]:
        place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "1")
        assert ask(shared, "GET", place, "Range: bytes=0-1", field).status == 200
        assert ask(shared, "GET", place).status == 410
    place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "1")
    assert ask(shared, "GET", place, "Range: bytes=1-1").status == 206
    assert ask(shared, "GET", place).status == 410


def test_archives_of_chosen_members_are_counted(shared):
    place = made(shared.root / "album", "--root", shared.root, "--max-downloads", "2")
    names = b"name=a.txt"
    form = "Content-Type: application/x-www-form-urlencoded"
    first = ask(shared, "POST", f"{place}/?archive=zip", form, body=names)
    assert first.status == 200 and b"a.txt" in first.body
    # A client that has begun one selection may not continue with another, or with all.
    assert ask(shared, "GET", f"{place}/?archive=zip", "Range: bytes=1-").status == 206
    assert ask(shared, "GET", f"{place}/?archive=zip", "Range: bytes=2-").status == 206, "this one goes on"
    assert ask(shared, "POST", f"{place}/?archive=zip", form, "Range: bytes=1-", body=names).status == 410


def test_what_is_refused_is_no_download(shared):
    place = made(shared.root / "album", "--root", shared.root, "--max-downloads", "2")
    form = "Content-Type: application/x-www-form-urlencoded"
    tag = ask(shared, "GET", f"{place}/a.txt")["ETag"]
    for _ in range(3):
        for target, body, status in [("?archive=rar", b"", 400), ("?archive=zip", b"path=nope", 404),
                                     ("?archive=zip", b"path=../x", 400), ("?archive=zip", b"x=1", 400)]:
            assert ask(shared, "POST", f"{place}/{target}", form, body=body).status == status
        assert ask(shared, "GET", f"{place}/?archive=rar").status == 400
        assert ask(shared, "GET", f"{place}/a.txt", f"If-None-Match: {tag}").status == 304
        assert ask(shared, "GET", f"{place}/a.txt", 'If-Match: "other"').status == 412
        assert ask(shared, "GET", f"{place}/inner/b.txt", "Range: bytes=100-").status == 416
    assert ask(shared, "GET", f"{place}/inner/b.txt").text == "two"
    assert ask(shared, "GET", f"{place}/inner/b.txt").status == 410
    assert ask(shared, "POST", f"{place}/?archive=zip", form, body=b"path=a.txt").status == 410


def test_who_was_refused_can_not_go_on_with_what_was_not_counted(shared):
    place = made(shared.root / "album" / "a.txt", "--root", shared.root, "--max-downloads", "1")
    tag = ask(shared, "HEAD", place)["ETag"]
    assert ask(shared, "GET", place, f"If-None-Match: {tag}").status == 304
    assert ask(shared, "GET", place, "Range: bytes=1-").status == 206
    assert ask(shared, "GET", place).status == 410


def test_many_at_once_get_no_more_than_there_are(shared):
    """However many are refused beside them and give theirs back."""
    place = made(shared.root / "album", "--root", shared.root, "--max-downloads", "5")
    form = "Content-Type: application/x-www-form-urlencoded"

    def download(number):
        if number % 2:
            return ask(shared, "POST", f"{place}/?archive=zip", form, body=b"path=nope").status
        return ask(shared, "GET", f"{place}/a.txt").status

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(download, range(80)))
    assert set(statuses) <= {200, 404, 410}
    got = statuses.count(200)
    while ask(shared, "GET", f"{place}/a.txt").status == 200:
        got += 1
    assert got == 5


def test_downloads_that_break_off_at_the_end_are_not_counted(serve):
    server = serve("--fsync")
    (server.root / "a.txt").write_text("one")
    place = made(server.root / "a.txt", "--root", server.root, "--max-downloads", "100")
    slow = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=20000"]
    with traced(server, "-o", os.devnull, *slow):
        wires = [Wire(server).request("GET", place) for _ in range(8)]
        # Some are being counted by now, and the others wait for that.
        time.sleep(0.05)
        for wire in wires:
            wire.reset()
        server.signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    assert "Cannot schedule tasks" not in server.logged()
    assert "100 left" in link("--list", "--root", server.root).stdout


def test_who_guesses_at_a_link_keeps_nobody_out(shared):
    place = made(shared.root / "album", "--root", shared.root)
    statuses = {ask(shared, "GET", f"{place[:-32]}{number:032x}/a.txt").status for number in range(60)}
    assert statuses == {404, 429}
    assert ask(shared, "GET", f"{place}/a.txt").text == "one"
    # Any page can make its visitors request links: they can still log in.
    anna = "Authorization: Basic " + base64.b64encode(b"anna:x").decode()
    assert ask(shared, "GET", "/secret.txt", anna).text == "secret"


@pytest.mark.parametrize("form", ["text", "combined", "json"])
def test_the_log_tells_no_secrets(serve, form):
    server = serve("--auth", "anna:x@/:rw", "--log-format", form)
    (server.root / "a.txt").write_text("one")
    place = made(server.root / "a.txt", "--root", server.root)
    start, secret = place.rsplit("-", 1)
    assert ask(server, "GET", place, f"Referer: {server.url}{place}/?x").text == "one"
    for spelled in (
            place.replace("/s/", "/%73/"), place.replace("/.share", "/%2Eshare"), place.replace("-", "%2d"),
            place.replace("/s/", "/./s/"), place.replace("/s/", "/%2e/s/"), f"/x/..{place}", place.replace("-", ""),
            place.replace("/s/", "//s/"), place.replace("/s/", "/s//"), place.upper().replace("/S/", "/s/"),
            f"/x?{place}&{place}"):
        assert ask(server, "GET", spelled).status in (200, 400, 401, 404), spelled
    wait_until(lambda: f"{start}-***" in server.logged(), "it is in the log")
    wait_until(lambda: server.logged().count("***") >= 13, "all of them are")
    assert secret not in server.logged().lower()


@pytest.mark.parametrize("form", ["combined", "json"])
def test_the_search_for_secrets_takes_no_time(serve, form):
    """On the event loop, of what anybody may send."""
    server = serve("--auth", "anna:x@/:rw", "--log-format", form)
    for junk in ("/.", "/", "/%2e", "/.shareserve/s", "/.shareserve/s/x"):
        began = time.monotonic()
        assert ask(server, "GET", "/nope", "Referer: " + (junk * 60_000)[:60_000]).status == 401
        assert time.monotonic() - began < 0.5, junk


def test_password(shared):
    place = made(shared.root / "album", "--root", shared.root, "--password", input="secret\n")
    assert ask(shared, "GET", f"{place}/a.txt").status == 401
    assert ask(shared, "GET", f"{place}/a.txt", "Authorization: Basic eDpzZWNyZXQ=").status == 200
    assert ask(shared, "GET", f"{place}/a.txt", "Authorization: Basic eDp3cm9uZw==").status == 401
    # As programs without UTF-8 write it.
    place = made(shared.root / "album", "--root", shared.root, "--password", input="pä\n")
    for encoding in ("utf-8", "latin-1"):
        given = base64.b64encode("x:pä".encode(encoding)).decode()
        assert ask(shared, "GET", f"{place}/a.txt", f"Authorization: Basic {given}").status == 200, encoding


BROWSER = ("User-Agent: Mozilla/5.0", "Accept: text/html,*/*;q=0.8")


def give(server, place, password, *fields, back=""):
    form = urllib.parse.urlencode({"password": password, "return": back})
    return ask(
        server, "POST", f"{place}/.shareserve/login", "Content-Type: application/x-www-form-urlencoded",
        *fields, body=form)


@pytest.mark.parametrize("options", [[], ["--auth", "anna:x@/:rw"], ["--path-prefix", "/my files"]])
def test_browsers_give_a_links_password_in_a_page(serve, options):
    server = serve(*options)
    (server.root / "album").mkdir()
    (server.root / "album" / "a.txt").write_text("one")
    shown = link(server.root / "album", "--root", server.root, "--password", "--upload", input="pä&+%\n").stdout
    place = urllib.parse.urlsplit(shown.strip()).path.rstrip("/")

    asked = ask(server, "GET", f"{place}/a.txt", *BROWSER)
    assert asked.status == 401 and asked["WWW-Authenticate"] == 'Session realm="share link"'
    assert asked["Cache-Control"] == "no-store"
    assert f'action="{place}/.shareserve/login"' in asked.text and f'value="{place}/a.txt"' in asked.text
    assert 'name="user"' not in asked.text
    assets = re.search(r'src="([^"]+app\.js)"', asked.text)[1]
    assert assets.startswith(place) and ask(server, "GET", assets).status == 200
    script = ask(server, "GET", f"{place}/?json", "User-Agent: Mozilla/5.0", "Sec-Fetch-Mode: cors")
    assert script.status == 401 and script["WWW-Authenticate"].startswith("Session") and "<" not in script.text
    # Programs show no page.
    assert ask(server, "GET", f"{place}/a.txt")["WWW-Authenticate"].startswith("Basic")

    wrong = give(server, place, "pä", *BROWSER, back=f"{place}/a.txt")
    assert wrong.status == 401 and "The password is wrong." in wrong.text and f'value="{place}/a.txt"' in wrong.text
    assert wrong["Set-Cookie"] is None
    assert give(server, place, "pä").status == 401
    foreign = give(server, place, "pä&+%", *BROWSER, "Origin: http://evil.example")
    assert foreign.status == 403 and foreign["Set-Cookie"] is None

    right = give(server, place, "pä&+%", *BROWSER, back=f"{place}/a.txt")
    assert right.status == 303 and right["Location"] == f"{place}/a.txt"
    cookie, *attributes = right["Set-Cookie"].split("; ")
    assert set(attributes) == {f"Path={place}", "HttpOnly", "SameSite=Lax"}
    assert give(server, place, "pä&+%", *BROWSER, back="//evil.example/")["Location"] == f"{place}/"
    assert give(server, place, "pä&+%").status == 204
    assert ask(server, "GET", f"{place}/a.txt", *BROWSER, f"Cookie: x=y; {cookie}").text == "one"
    assert ask(server, "PUT", f"{place}/b.txt", f"Cookie: {cookie}", body="new").status == 201
    assert ask(server, "GET", f"{place}/a.txt", f"Cookie: {cookie[:-1]}{'0' if cookie[-1] != '0' else '1'}").status == 401


def test_a_links_cookie_opens_no_other_place(shared):
    one, other = (made(shared.root / name, "--root", shared.root, "--password", input="same\n") for name in ("album", "album"))
    cookie = "Cookie: " + give(shared, one, "same")["Set-Cookie"].split(";")[0]
    assert ask(shared, "GET", f"{one}/a.txt", cookie).status == 200
    assert ask(shared, "GET", f"{other}/a.txt", cookie).status == 401
    assert ask(shared, "GET", "/album/a.txt", cookie).status == 401
    session = ask(
        shared, "POST", "/.shareserve/login", "Content-Type: application/x-www-form-urlencoded",
        body="user=anna&password=x")["Set-Cookie"].split(";")[0].replace("-session", "-link")
    assert ask(shared, "GET", f"{one}/a.txt", f"Cookie: {session}").status == 401
    # Only the page that asks for the password is open without it.
    for rest in ("info", "events?in=/", "search?q=a", "uploads", "logout", "login/a", "links", "qr?text=a"):
        assert ask(shared, "GET", f"{one}/.shareserve/{rest}").status == 401, rest
    for method in ("PUT", "DELETE", "MKCOL", "PROPFIND"):
        assert ask(shared, method, f"{one}/.shareserve/login").status in (403, 405), method
    plain = made(shared.root / "album", "--root", shared.root)
    assert give(shared, plain, "same").status == 404
    assert link("--revoke", one.rpartition("/")[2].partition("-")[0], shared.root).returncode == 0
    assert ask(shared, "GET", f"{one}/a.txt", cookie).status == 404
    assert give(shared, one, "same").status == 404


def test_guesses_in_a_links_page_are_slowed_down(shared):
    place = made(shared.root / "album", "--root", shared.root, "--password", input="secret\n")
    known = "Cookie: " + give(shared, place, "secret")["Set-Cookie"].split(";")[0]
    assert 429 in [give(shared, place, f"guess {n}").status for n in range(30)]
    assert give(shared, place, "secret").status == 429
    # A client that is logged in stays logged in.
    assert ask(shared, "GET", f"{place}/a.txt", known).status == 200


def test_wrong_use(shared):
    assert link(shared.root / "missing", "--root", shared.root).returncode == 66
    assert link(shared.root / "album", "--root", shared.root, "--expires", "soon").returncode == 64
    assert link("/tmp", "--root", shared.root).returncode == 64


def test_a_revoked_link_hears_no_more(serve):
    server = serve()
    (server.root / "album").mkdir()
    place = made(server.root / "album", "--root", server.root)
    name = place.rpartition("/")[2].partition("-")[0]
    with Wire(server) as wire:
        wire.request("GET", f"{place}/.shareserve/events?in=/", "Connection: close")
        assert wire.read(12) == b"HTTP/1.1 200"
        assert ask(server, "DELETE", f"/.shareserve/links?id={name}").status == 204
        wire.rest()
    assert ask(server, "GET", f"{place}/.shareserve/events?in=/").status == 404


@pytest.mark.parametrize("end", ["by itself", "from the command line"])
def test_a_link_that_ends_is_heard_through_no_more(serve, end):
    server = serve()
    (server.root / "album").mkdir()
    expires = ["--expires", "3s"] if end == "by itself" else []
    place = made(server.root / "album", "--root", server.root, *expires)
    with Wire(server) as wire:
        wire.request("GET", f"{place}/.shareserve/events?in=/", "Connection: close")
        assert wire.read(12) == b"HTTP/1.1 200"
        if not expires:
            name = place.rpartition("/")[2].partition("-")[0]
            assert link("--revoke", name, server.root).returncode == 0
            (server.root / "album" / "secret").write_text("x")
        told = wire.rest()
    assert b"retry" in told and b"secret" not in told
    assert ask(server, "GET", f"{place}/.shareserve/events?in=/").status == 404


def test_visitors_do_not_rule_over_the_links_of_others(serve):
    server = serve("--auth", "anna:x@/:rw", "--auth", "@/album:ro")
    (server.root / "album").mkdir()
    (server.root / "album" / "a.txt").write_text("one")
    place = made(server.root / "album", "--root", server.root)
    name = place.rpartition("/")[2].partition("-")[0]
    assert name not in ask(server, "GET", "/.shareserve/links").text
    assert ask(server, "DELETE", f"/.shareserve/links?id={name}").status in (401, 403, 404)
    assert ask(server, "GET", f"{place}/a.txt").text == "one"


def test_a_visitors_link_ends_with_what_visitors_may(serve, folder):
    (folder / "album").mkdir()
    (folder / "album" / "a.txt").write_text("one")
    first = serve("--auth", "anna:x@/:rw", "--auth", "@/album:ro", root=folder)
    answer = ask(first, "POST", "/.shareserve/links", "Content-Type: application/json", body='{"path":"/album"}')
    assert answer.status == 201
    place = json.loads(answer.body)["address"]
    assert ask(first, "GET", f"{place}a.txt").text == "one"
    second = serve("--auth", "anna:x@/:rw", root=folder)
    assert ask(second, "GET", f"{place}a.txt").status == 404


def test_whose_link_was_ended_is_not_taken_for_one_who_guesses(shared):
    address = made(shared.root / "album")
    page = requests.get(shared.url + address + "/")
    assert page.status_code == 200
    assert link("--revoke", address.split("/")[3].split("-")[0], shared.root).returncode == 0
    for _ in range(30):
        answer = requests.get(shared.url + address + "/.shareserve/info")
        assert answer.status_code == 404 and "Ask the one who sent it" in answer.text


@pytest.mark.parametrize("place", ["album", "."])
def test_guests_are_not_told_the_machines_addresses(shared, place):
    address = made(shared.root / place, "--root", shared.root)
    told = requests.get(shared.url + address.rstrip("/") + "/.shareserve/info").json()
    assert (told["addresses"], told["links"], told["canLogIn"], told["trash"]) == ([], False, False, False)
    assert requests.get(shared.url + "/.shareserve/info", auth=("anna", "x")).json()["addresses"] != []


def test_an_expired_link_can_be_ended(shared):
    """If the clock is set back, it would open once more."""
    made_by = requests.post(shared.url + "/.shareserve/links", json={"path": "/album", "expires": 1}, auth=("anna", "x"))
    assert made_by.status_code == 201
    ended = f"{shared.url}/.shareserve/links?id={made_by.json()['id']}"
    wait_until(lambda: requests.get(shared.url + made_by.json()["address"] + "/").status_code == 404, "it has expired")
    assert requests.delete(ended, auth=("anna", "x")).status_code == 204
    assert requests.delete(ended, auth=("anna", "x")).status_code == 404


def test_nobody_takes_all_links(serve):
    server = serve("--auth", "anna:x@/:rw", "--auth", "@/:ro")
    place = "/".join(["x" * 250] * 15)
    (server.root / place).mkdir(parents=True)

    def make(**options):
        return requests.post(server.url + "/.shareserve/links", json={"path": "/" + place}, **options)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        statuses = [answer.status_code for answer in pool.map(lambda _: make(), range(600))]
    # Half of 4 MiB.
    assert set(statuses) == {201, 429} and 500 < statuses.count(201) < 600
    assert "End some" in make().text
    assert make(auth=("anna", "x")).status_code == 201


@pytest.mark.parametrize("depth", [0, 1])
def test_the_link_to_a_file_answers_with_the_address_that_was_asked_for(shared, depth):
    place = made(shared.root / "album" / "a.txt", "--root", shared.root)
    assert place.endswith("/a.txt")
    answer = ask(shared, "PROPFIND", place, f"Depth: {depth}")
    assert answer.status == 207 and answer.text.count("<D:response>") == 1
    assert f"<D:href>{place}</D:href>" in answer.text and "<D:displayname>a.txt</D:displayname>" in answer.text


@pytest.mark.parametrize("option, value, words", [
    ("--url", "https://", "is not an address"), ("--url", "https:///a", "is not an address"), ("--url", "https://a b", "is not an address"),
    ("--url", "ftp://a", "is not an address"), ("--expires", "999999d", "at most 100 years"), ("--expires", "0", "is not a time")])
def test_what_makes_no_link(shared, option, value, words):
    ended = link(option, value, shared.root / "album")
    assert ended.returncode == 64 and words in ended.stderr and len(ended.stderr.splitlines()) == 1
    assert link("--list", shared.root).stdout == ""
