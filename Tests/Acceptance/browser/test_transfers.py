"""Uploads that survive: every way in, conflicts, and every way in which a connection or a server can end."""

import base64
import hashlib
import json
import os
import pathlib
import socket
import threading
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import expect

from browser.conftest import act, make_tree, names, picture, row
from server import wait_until

MIB = 1 << 20


class Proxy:
    """Stands between browser and server: passes on at `rate` bytes a second, and cuts connections when told."""

    def __init__(self, port):
        self.target, self.rate, self.down, self.sockets = port, None, False, set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.passed = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.down:
                    raise ConnectionRefusedError
                upstream = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.sockets |= {client, upstream}
            threading.Thread(target=self.pump, args=(client, upstream, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(upstream, client, False), daemon=True).start()

    def pump(self, source, sink, upwards):
        pause = threading.Event()
        try:
            while data := source.recv(65536):
                if upwards:
                    self.passed += len(data)
                    if self.rate:
                        pause.wait(len(data) / self.rate)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self):
        for one in list(self.sockets):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.sockets.clear()

    def close(self):
        self.down = True
        self.listener.close()
        self.cut()


@pytest.fixture
def proxy(server):
    one = Proxy(server.port)
    yield one
    one.close()


def files_input(page):
    return page.locator("input[type=file]").first


def panel(page):
    return page.get_by_role("region", name="transfer").or_(page.locator(".transfers"))


def big_file(folder, size, name="video.bin"):
    """Random bytes; gives its path and its digest."""
    content = os.urandom(MIB) * (size // MIB)
    path = folder / name
    path.write_bytes(content)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path, hashlib.sha256(content).hexdigest()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


LOST = ["ERR_", "Failed to load resource"]


def test_several_files_by_the_picker_are_verified_and_keep_their_time(server, opened, folder, shot):
    paths = []
    for number in range(5):
        path = folder / f"file {number}.txt"
        path.write_text("content " * (number + 1))
        os.utime(path, (1_500_000_000 + number, 1_500_000_000 + number))
        paths.append(path)
    large, sum_of_large = big_file(folder, 3 * MIB)
    # A scan with the day of its picture.
    os.utime(large, (-86_400, -86_400))
    page = opened(server.url + "/")
    with page.expect_file_chooser() as chooser:
        act(page, "Upload files")
    chooser.value.set_files([*map(str, paths), str(large)])
    expect(panel(page).get_by_text("uploaded and verified")).to_have_count(6)
    expect(row(page, "file 4.txt")).to_be_visible()
    shot(page, "uploaded")
    for number, path in enumerate(paths):
        stored = server.root / path.name
        assert stored.read_bytes() == path.read_bytes()
        assert int(stored.stat().st_mtime) == 1_500_000_000 + number
    assert digest(server.root / "video.bin") == sum_of_large
    assert int((server.root / "video.bin").stat().st_mtime) == -86_400


def test_a_folder_by_the_picker(server, opened, folder):
    tree = folder / "holiday"
    make_tree(tree, {f"day {n}/picture.txt": str(n) for n in range(12)} | {"notes.txt": "n"})
    page = opened(server.url + "/")
    page.locator("input[webkitdirectory]").set_input_files(str(tree))
    wait_until(lambda: (server.root / "holiday/day 11/picture.txt").exists() and (server.root / "holiday/notes.txt").exists(), "the tree arrives")
    expect(row(page, "holiday")).to_be_visible()


DROP = """async ([files, selector, kind]) => {
  const target = document.querySelector(selector) ?? document.body;
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name, { lastModified: 1500000000000 }));
  const fire = (type) => target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
  fire('dragenter'); fire('dragover');
  if (kind === 'drop') fire('drop');
}"""


def test_drop_anywhere_and_on_a_folder(server, opened, shot):
    make_tree(server.root, {"target/": None})
    page = opened(server.url + "/")
    page.evaluate(DROP, [[["a.txt", "a"]], "main", "over"])
    overlay = page.locator(".drop-overlay")
    expect(overlay).to_be_visible()
    expect(overlay).to_contain_text("Home")
    page.evaluate(DROP, [[["a.txt", "a"]], "tr.folder a", "over"])
    expect(overlay).to_contain_text("target")
    shot(page, "drop")
    page.evaluate(DROP, [[["a.txt", "a"]], "tr.folder a", "drop"])
    expect(overlay).to_be_hidden()
    wait_until(lambda: (server.root / "target/a.txt").exists(), "a drop on a folder goes into it")
    page.evaluate(DROP, [[["b.txt", "b"], ["c.txt", "c"]], "main", "drop"])
    expect(row(page, "c.txt")).to_be_visible()


def test_dropped_trees_keep_empty_folders_and_more_than_a_hundred_entries(server, opened):
    page = opened(server.url + "/")
    page.evaluate("""() => {
      const file = (name) => ({ isFile: true, isDirectory: false, name, file: (done) => done(new File([name], name)) });
      const folder = (name, children) => ({ isFile: false, isDirectory: true, name, createReader: () => {
        let rest = [...children];
        return { readEntries: (done) => { done(rest.slice(0, 100)); rest = rest.slice(100); } };
      } });
      const tree = folder('tree', [folder('empty', []), folder('many', Array.from({ length: 250 }, (_, i) => file(`f${i}.txt`))), file('top.txt')]);
      const event = new Event('drop', { bubbles: true, cancelable: true });
      event.dataTransfer = { types: ['Files'], items: [{ kind: 'file', webkitGetAsEntry: () => tree, getAsFile: () => null }] };
      document.querySelector('main').dispatchEvent(event);
    }""")
    wait_until(lambda: (server.root / "tree/many").is_dir() and len(list((server.root / "tree/many").iterdir())) == 250, "all entries arrive", 60)
    wait_until(lambda: (server.root / "tree/empty").is_dir() and (server.root / "tree/top.txt").exists(), "the empty folder is made")


def test_paste_of_files_pictures_and_text(server, opened):
    page = opened(server.url + "/")
    paste = """([name, type, text]) => {
      const data = new DataTransfer();
      if (name) data.items.add(new File([text], name, { type })); else data.setData('text/plain', text);
      document.body.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, clipboardData: data }));
    }"""
    page.evaluate(paste, ["image.png", "image/png", "not really"])
    page.evaluate(paste, [None, None, "a password that was copied for another place"])
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    page.evaluate(paste, [None, None, "words from elsewhere"])
    expect(page.get_by_role("alertdialog")).to_contain_text("words from elsewhere")
    page.get_by_role("alertdialog").get_by_role("button", name="Paste").click()
    wait_until(lambda: len(list(server.root.glob("Pasted*"))) == 2, "both are stored")
    text = next(server.root.glob("Pasted text*.txt"))
    assert text.read_text() == "words from elsewhere"


def test_conflict_asks_and_is_not_lost_by_a_click_beside_it(server, opened, folder, shot):
    make_tree(server.root, {"a.png": picture(hue=9), "b.txt": "old b", "c.txt": "old c"})
    (folder / "a.png").write_bytes(picture(hue=90) + b"x")
    for name in "bc":
        (folder / f"{name}.txt").write_text(f"new content of {name}")
    page = opened(server.url + "/")
    files_input(page).set_input_files([str(folder / name) for name in ["a.png", "b.txt", "c.txt"]])
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("a.png")
    expect(dialog.get_by_role("img").or_(dialog.locator("img"))).to_have_count(2)
    shot(page, "conflict")
    page.mouse.click(5, 5)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Keep both").click()
    expect(dialog).to_contain_text("b.txt")
    dialog.get_by_role("checkbox", name="Do this for all conflicts").check()
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog).to_have_count(0)
    expect(row(page, "a (2).png")).to_be_visible()
    wait_until(lambda: (server.root / "c.txt").read_text() == "new content of c", "the answer holds for all")
    assert (server.root / "b.txt").read_text() == "new content of b"
    assert (server.root / "a.png").read_bytes() == picture(hue=9)


def test_identical_files_are_skipped_with_a_word(server, opened, folder):
    (folder / "same.bin").write_bytes(b"same" * 1000)
    (server.root / "same.bin").write_bytes(b"same" * 1000)
    before = (server.root / "same.bin").stat().st_mtime_ns
    page = opened(server.url + "/")
    files_input(page).set_input_files(str(folder / "same.bin"))
    expect(panel(page).get_by_text("identical, already there")).to_be_visible()
    assert (server.root / "same.bin").stat().st_mtime_ns == before


def test_bars_speed_pause_resume_and_cancel(server, opened, proxy, folder, shot):
    proxy.rate = 2 * MIB
    one, sum_of_one = big_file(folder, 8 * MIB, "one.bin")
    two, _ = big_file(folder, 8 * MIB, "two.bin")
    page = opened(proxy.url + "/")
    page.expected += LOST
    files_input(page).set_input_files([str(one), str(two)])
    expect(panel(page).get_by_text("/s").first).to_be_visible()
    expect(panel(page).get_by_role("progressbar")).to_have_count(3)
    page.wait_for_function("document.title.includes('%') && document.querySelector('link[rel=icon]').href.startsWith('data:image/svg+xml,%3Csvg')")
    shot(page, "uploading")
    page.get_by_role("button", name="Pause: one.bin").click()
    expect(panel(page).get_by_text("Paused")).to_be_visible()
    page.get_by_role("button", name="Cancel: two.bin").click()
    expect(panel(page).get_by_text("two.bin")).to_have_count(0)
    shot(page, "paused")
    assert not (server.root / "two.bin").exists()
    proxy.rate = None
    page.get_by_role("button", name="Resume: one.bin").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert digest(server.root / "one.bin") == sum_of_one
    wait_until(lambda: "%" not in page.title(), "the title is itself again")


def begin(opened, proxy, path):
    """Opens the page through the proxy and begins to upload; also gives how much had passed the proxy by then."""
    proxy.rate = 6 * MIB
    page = opened(proxy.url + "/")
    page.expected += LOST
    files_input(page).set_input_files(str(path))
    return page, proxy.passed


def test_goes_on_from_the_last_byte_after_lost_connections(server, opened, proxy, folder):
    size = 24 * MIB
    path, expected = big_file(folder, size)
    page, start = begin(opened, proxy, path)
    for step in (1, 2, 3):
        wait_until(lambda: proxy.passed - start > step * 4 * MIB, "bytes pass", 60)
        proxy.down = True
        proxy.cut()
        expect(panel(page).get_by_text("Waiting for the connection")).to_be_visible()
        proxy.down = False
        page.evaluate("dispatchEvent(new Event('online'))")
    proxy.rate = None
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    assert digest(server.root / "video.bin") == expected
    # Had it begun anew each time, nearly twice the bytes would have passed.
    assert proxy.passed - start < size * 1.6


@pytest.mark.parametrize("module", ["transfer.js", "tus.js"])
def test_files_are_sent_or_refused_with_a_word_when_a_part_of_the_page_is_lost(server, opened, folder, module):
    """The line that carries the page may fail as well; who has chosen files does not see that by himself."""
    path = folder / "chosen.bin"
    path.write_bytes(b"chosen")
    losses = 3

    def lose(route):
        nonlocal losses
        losses -= 1
        route.abort() if losses >= 0 else route.continue_()

    page = opened(server.url + "/")
    page.expected += LOST
    page.route(f"**/{module}", lose)
    files_input(page).set_input_files(str(path))
    expect(page.locator(".toast.bad")).to_be_visible()
    # One more is lost, and asked for again.
    files_input(page).set_input_files(str(path))
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert (server.root / "chosen.bin").read_bytes() == b"chosen" and losses < 0


def test_goes_on_after_the_server_was_killed(server, opened, proxy, folder):
    path, expected = big_file(folder, 24 * MIB)
    page, start = begin(opened, proxy, path)
    wait_until(lambda: proxy.passed - start > 8 * MIB, "bytes pass", 60)
    server.kill()
    expect(panel(page).get_by_text("Waiting for the connection")).to_be_visible()
    server.start()
    proxy.rate = None
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    assert digest(server.root / "video.bin") == expected


def test_goes_on_after_a_reload_when_the_file_is_chosen_again(server, opened, proxy, folder, shot):
    size = 24 * MIB
    path, expected = big_file(folder, size)
    page, start = begin(opened, proxy, path)
    wait_until(lambda: proxy.passed - start > 12 * MIB, "bytes pass", 60)
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(panel(page).get_by_text("choose the file again")).to_be_visible()
    shot(page, "choose-again")
    proxy.rate = None
    files_input(page).set_input_files(str(path))
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    assert digest(server.root / "video.bin") == expected
    assert proxy.passed - start < size * 1.6


@pytest.mark.parametrize("answer", ["Replace", "Keep both", "Skip"])
def test_a_large_file_asks_when_its_name_was_taken_while_it_was_sent(server, opened, proxy, folder, answer):
    """Nothing is sent again, and nothing replaced that the question was not about."""
    size = 12 * MIB
    path, expected = big_file(folder, size)
    theirs = server.root / "video.bin"
    page, start = begin(opened, proxy, path)
    wait_until(lambda: proxy.passed - start > 4 * MIB, "bytes pass", 60)
    theirs.write_text("theirs")
    proxy.rate = None
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“video.bin” is already there")
    if answer == "Replace":
        theirs.write_text("theirs, again")
        dialog.get_by_role("button", name="Replace").click()
        expect(dialog).to_contain_text("13 byte")
    dialog.get_by_role("button", name=answer).click()
    expect(panel(page).get_by_text("skipped" if answer == "Skip" else "uploaded and verified")).to_be_visible()
    stored = {file.name: digest(file) for file in server.root.glob("*.bin")}
    if answer == "Replace":
        assert stored == {"video.bin": expected}
    else:
        assert theirs.read_text() == "theirs"
        assert stored.get("video (1).bin") == (expected if answer == "Keep both" else None)
    assert proxy.passed - start < size * 1.3
    assert not list((server.root / ".shareserve/uploads").glob("*.part"))
    assert page.evaluate("localStorage.getItem('shareserve.uploads') ?? '{}'") == "{}"


def test_a_large_file_whose_name_was_taken_asks_after_a_reload(server, opened, folder):
    path, expected = big_file(folder, 3 * MIB)
    page = opened(server.url + "/")
    page.expected += LOST
    page.on("dialog", lambda dialog: dialog.accept())

    def taken(route):
        (server.root / "video.bin").write_text("theirs")
        route.continue_()

    page.route("**/.shareserve/uploads/*", taken)
    files_input(page).set_input_files(str(path))
    expect(page.get_by_role("dialog")).to_be_visible()
    page.unroute("**/.shareserve/uploads/*")
    page.reload()
    expect(panel(page).get_by_text("choose the file again")).to_be_visible()
    files_input(page).set_input_files(str(path))
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert digest(server.root / "video.bin") == expected


def test_what_this_browser_uploads_is_not_somebodys(server, opened):
    """A page that begins again, or stands beside another one, knows its uploads before they go on."""
    page = opened(server.url + "/")
    record = {"key": "k", "name": "mine.bin", "size": 9, "target": "/", "folder": [], "href": "/mine.bin", "mtime": 1}
    for name in ("mine.bin", "theirs.bin"):
        metadata = "filename " + base64.b64encode(name.encode()).decode()
        fields = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": metadata}
        answer = requests.post(server.url + "/.shareserve/uploads", headers=fields, timeout=20)
        assert answer.status_code == 201
        if name == "mine.bin":
            record["url"] = urlsplit(answer.headers["Location"]).path
    page.evaluate("one => localStorage.setItem('shareserve.uploads', JSON.stringify({k: one}))", record)
    page.reload()
    expect(page.get_by_text("Somebody is uploading “theirs.bin”")).to_be_visible()
    expect(page.get_by_text("Somebody is uploading “mine.bin”")).to_have_count(0)


def test_a_long_queue_keeps_few_elements(server, opened):
    """Lines that are no longer shown are let go, not kept for each file that was ever sent."""
    count = 800
    page = opened(server.url + "/")
    page.evaluate("""count => {
        const data = new DataTransfer(), input = document.querySelector("input[type=file]")
        for (let i = 0; i < count; i += 1) data.items.add(new File(["x"], `${i}.txt`))
        input.files = data.files
        input.dispatchEvent(new Event("change"))
    }""", count)
    expect(panel(page).get_by_text(f"{count} files uploaded")).to_be_visible(timeout=120_000)
    assert len(list(server.root.glob("*.txt"))) == count
    tools = page.context.new_cdp_session(page)

    def elements():
        tools.send("HeapProfiler.collectGarbage")
        return tools.send("Memory.getDOMCounters")["nodes"]

    wait_until(lambda: elements() < 12_000, "the old lines are gone", 30)


def test_leaving_asks_while_something_is_sent(server, opened, proxy, folder):
    proxy.rate = MIB
    path, _ = big_file(folder, 8 * MIB)
    page = opened(proxy.url + "/")
    page.expected += LOST
    files_input(page).set_input_files(str(path))
    expect(panel(page).get_by_text("/s").first).to_be_visible()
    panel(page).get_by_role("progressbar").first.click(force=True)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    wait_until(lambda: page.is_closed() or asked or page.context.pages[0].wait_for_timeout(50), "the question comes")
    assert asked == ["beforeunload"]


def test_retry_after_a_full_disk(serve, opened, folder, shot):
    server = serve()
    page = opened(server.url + "/")
    page.expected += LOST
    (folder / "a.txt").write_text("a")
    refused = {"on": True}
    page.route("**/a.txt", lambda route: route.fulfill(status=507, content_type="text/plain", body="The disk is full: 1 byte is missing.")
               if refused["on"] and route.request.method == "PUT" else route.continue_())
    files_input(page).set_input_files(str(folder / "a.txt"))
    expect(panel(page).get_by_text("The disk is full: 1 byte is missing.")).to_be_visible()
    shot(page, "upload-failed")
    refused["on"] = False
    page.get_by_role("button", name="Retry all").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert (server.root / "a.txt").read_text() == "a"


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(serve, opened, folder):
    server = serve("--max-upload-size", "2M")
    path, _ = big_file(folder, 3 * MIB)
    (folder / "small.txt").write_text("small")
    page = opened(server.url + "/")
    files_input(page).set_input_files([str(path), str(folder / "small.txt")])
    expect(panel(page).get_by_text("Too large for this server")).to_be_visible()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert not (server.root / "video.bin").exists()
