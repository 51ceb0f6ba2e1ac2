"""What lasts: uploads over a full disk, a lost line and a reload, with the file's own handle; listings of any size and direction."""

import os
import socket
import subprocess

import pytest
from playwright.sync_api import expect

from browser.conftest import PHONE, REFUSALS, act, row, select
from browser.test_transfers import LOST, MIB, Proxy, big_file, digest, files_input, panel
from server import wait_until


@pytest.fixture
def small_disk(folder):
    """A file system of 16 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a tmpfs")
    place = folder / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_a_full_disk_is_named_and_the_upload_goes_on_when_there_is_room(serve, opened, folder, small_disk, shot, device):
    server = serve("--min-free-space", "0", root=small_disk)
    proxy = Proxy(server.port)
    proxy.rate = 2 * MIB
    path, expected = big_file(folder, 8 * MIB)
    page = opened(proxy.url + "/", **(PHONE if device == "phone" else {}))
    page.expected += LOST
    start = proxy.passed
    files_input(page).set_input_files(str(path))
    wait_until(lambda: proxy.passed - start > 3 * MIB, "bytes pass", 60)
    filler = small_disk / "filler"
    with filler.open("wb") as file, pytest.raises(OSError):
        for _ in range(64):
            file.write(bytes(MIB))
            file.flush()
    failed = panel(page).locator("li.failed")
    expect(failed).to_be_visible(timeout=60_000)
    expect(failed).to_contain_text("space")
    shot(page, f"disk-full-{device}")
    filler.unlink()
    sent = proxy.passed
    proxy.rate = None
    panel(page).get_by_role("button", name="Retry: video.bin").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    assert digest(small_disk / "video.bin") == expected
    assert proxy.passed - sent < 7 * MIB, "what was sent is kept"
    proxy.close()


HANDLE = """async size => {
  const folder = await navigator.storage.getDirectory();
  const handle = window.film = await folder.getFileHandle('film.bin', { create: true });
  const writer = await handle.createWritable();
  await writer.write(new Uint8Array(size).map((_, i) => i * 7));
  await writer.close();
}"""

DROPPED = """async () => {
  DataTransferItem.prototype.getAsFileSystemHandle = async () => film;
  const data = new DataTransfer();
  data.items.add(await film.getFile());
  document.querySelector('main').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.mark.parametrize("way", ["drop", "button"])
def test_a_file_goes_on_by_itself_after_a_reload(server, opened, way):
    """Its handle waits in the browser's own database: nobody has to choose it again."""
    proxy = Proxy(server.port)
    proxy.rate = 4 * MIB
    page = opened(proxy.url + "/")
    page.expected += LOST
    page.evaluate(HANDLE, 16 * MIB)
    start = proxy.passed
    if way == "drop":
        page.evaluate(DROPPED)
    else:
        # Only the dialog is not there: no program can answer it.
        page.evaluate("() => { window.showOpenFilePicker = async () => [film]; }")
        act(page, "Upload files")
    wait_until(lambda: proxy.passed - start > 6 * MIB, "bytes pass", 60)
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    proxy.rate = None
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    assert (server.root / "film.bin").read_bytes() == bytes(i * 7 % 256 for i in range(256)) * (16 * MIB // 256)
    assert proxy.passed - start < 26 * MIB
    proxy.close()


def test_files_go_on_together_when_the_browser_asks_first(server, opened):
    """A browser that was closed meanwhile wants a word of the person before the handles open again: one button for all."""
    proxy = Proxy(server.port)
    proxy.rate = 4 * MIB
    page = opened(proxy.url + "/")
    page.expected += LOST
    page.evaluate("""async size => {
      const folder = await navigator.storage.getDirectory();
      window.films = await Promise.all(['one.bin', 'two.bin'].map(async name => {
        const handle = await folder.getFileHandle(name, { create: true }), writer = await handle.createWritable();
        await writer.write(new Uint8Array(size).fill(7));
        await writer.close();
        return handle; }));
      window.showOpenFilePicker = async () => films; }""", 8 * MIB)
    start = proxy.passed
    act(page, "Upload files")
    wait_until(lambda: proxy.passed - start > 4 * MIB, "bytes pass", 60)
    page.on("dialog", lambda dialog: dialog.accept())
    asked = []
    page.on("filechooser", lambda chooser: asked.append(chooser))
    page.add_init_script("""FileSystemHandle.prototype.queryPermission = async () => 'prompt';
      FileSystemHandle.prototype.requestPermission = async () => 'granted';""")
    page.reload()
    expect(panel(page).locator("li.missing").get_by_text("Paused")).to_have_count(2)
    proxy.rate = None
    panel(page).get_by_role("button", name="Resume all").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_have_count(2, timeout=60_000)
    assert asked == []
    for name in ("one.bin", "two.bin"):
        assert (server.root / name).read_bytes() == b"\7" * 8 * MIB
    proxy.close()


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_plain_field_stands_in_for_the_picker(server, opened, folder, refusal):
    (folder / "a.txt").write_text("a")
    page = opened(server.url + "/")
    page.evaluate(REFUSALS[refusal], "showOpenFilePicker")
    with page.expect_file_chooser() as chooser:
        act(page, "Upload files")
    chooser.value.set_files(str(folder / "a.txt"))
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()


def test_who_closes_the_picker_is_not_asked_again(server, opened):
    page = opened(server.url + "/")
    page.evaluate("""() => { window.showOpenFilePicker = () => new Promise((_, reject) =>
      setTimeout(() => { reject(new DOMException('no', 'AbortError')); window.answered = true; }, 900)); }""")
    asked = []
    page.on("filechooser", lambda chooser: asked.append(chooser))
    act(page, "Upload files")
    wait_until(lambda: page.evaluate("window.answered"), "the picker is closed")
    page.wait_for_timeout(300)
    assert asked == []
    expect(page.locator(".toast")).to_have_count(0)


def test_the_screen_stays_on_while_something_is_sent(server, opened, folder):
    proxy = Proxy(server.port)
    proxy.rate = 4 * MIB
    path, _ = big_file(folder, 6 * MIB)
    page = opened()
    page.add_init_script("""window.locks = [];
      navigator.wakeLock.request = async kind => { locks.push(kind); return { release: async () => locks.push('released') }; };""")
    page.goto(proxy.url + "/")
    files_input(page).set_input_files(str(path))
    expect(panel(page).get_by_text("%").first).to_be_visible()
    wait_until(lambda: page.evaluate("locks") == ["screen"], "the lock is asked for")
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    wait_until(lambda: page.evaluate("locks") == ["screen", "released"], "the lock is given back")
    proxy.close()


def test_waits_without_a_line_and_goes_on_with_one(server, opened, folder, shot):
    proxy = Proxy(server.port)
    proxy.rate = 4 * MIB
    path, expected = big_file(folder, 12 * MIB)
    page = opened(proxy.url + "/")
    page.expected += LOST
    files_input(page).set_input_files(str(path))
    start = proxy.passed
    wait_until(lambda: proxy.passed - start > 4 * MIB, "bytes pass", 60)
    page.context.set_offline(True)
    proxy.cut()
    expect(panel(page).get_by_text("Waiting for the connection")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="The server does not answer")).to_be_visible()
    shot(page, "offline")
    proxy.rate = None
    page.context.set_offline(False)
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible(timeout=60_000)
    assert digest(server.root / "video.bin") == expected
    proxy.close()


def test_a_put_by_somebody_else_shows_while_it_comes(server, opened):
    page = opened(server.url + "/")
    page.wait_for_timeout(500)
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(b"PUT /film.mp4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + bytes(500_000))
        expect(page.get_by_text("Somebody is uploading “film.mp4”")).to_be_visible()
        assert "#" not in page.locator("tbody").inner_text()
        line.sendall(bytes(500_000))
        expect(row(page, "film.mp4")).to_be_visible()
    expect(page.get_by_text("Somebody is uploading")).to_have_count(0)


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_a_language_from_right_to_left_is_one_file(serve, opened, folder, shot, device):
    (folder / "assets/languages").mkdir(parents=True)
    (folder / "assets/languages/ar.txt").write_text("dir=rtl\nUpload files=رفع الملفات\nSize=الحجم\n")
    server = serve("--assets", str(folder / "assets"))
    (server.root / "letter.txt").write_text("x")
    (server.root / "مرحبا بالعالم.txt").write_text("x")
    page = opened(server.url + "/", locale="ar", **(PHONE if device == "phone" else {}))
    assert page.evaluate("[document.documentElement.dir, document.documentElement.lang]") == ["rtl", "ar"]
    expect(page.get_by_role("button", name="رفع الملفات").first).to_be_visible()
    width = page.viewport_size["width"]
    assert row(page, "letter.txt").get_by_role("checkbox").bounding_box()["x"] > width * 0.8
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    shot(page, f"arabic-{device}")


def test_without_scripts_a_large_folder_is_read_page_by_page(server, opened):
    for number in range(2300):
        (server.root / f"file {number}.txt").touch()
    page = opened(java_script_enabled=False)
    page.goto(server.url + "/")
    seen = []
    for link in ("List this folder", "Next", "Next"):
        with page.expect_navigation():
            page.get_by_role("link", name=link).click()
        seen += page.locator("tbody a").all_text_contents()
    expect(page.get_by_role("link", name="Next")).to_have_count(0)
    expect(page.get_by_role("link", name="Previous")).to_be_visible()
    assert sorted(seen) == sorted(f"file {number}.txt" for number in range(2300))


def test_a_large_folder_shows_its_first_rows_before_it_is_read(server, opened):
    for number in range(1500):
        (server.root / f"file {number}.txt").touch()
    page = opened()
    page.route("**/?json", lambda route: None)
    page.goto(server.url + "/")
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.get_by_text("Loading…")).to_be_visible()
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    expect(page.get_by_text("1,500 files")).to_be_visible()


@pytest.mark.root
def test_what_no_trash_can_keep_is_not_deleted_without_a_question(server, opened):
    disk = server.root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], check=True)
    try:
        (disk / "only copy.txt").write_text("precious")
        page = opened(server.url + "/disk/")
        select(page, "only copy.txt")
        page.keyboard.press("Delete")
        expect(page.locator(".toast").filter(has_text="Delete forever")).to_be_visible()
        assert (disk / "only copy.txt").read_text() == "precious"
        page.keyboard.press("Shift+Delete")
        page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
        expect(row(page, "only copy.txt")).to_have_count(0)
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
