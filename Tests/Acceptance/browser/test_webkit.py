"""The page in the engine of Safari, as far as Debian has it: its main ways, and where that engine has its own mind."""

import glob
import os
import pathlib
import subprocess

import pytest

from browser.conftest import make_tree, picture
from browser.test_preview import PDF, wav
from browser.test_transfers import MIB, Proxy, big_file, digest
from browser.webkit import ALT, CTRL, DELETE, DOWN, END, ENTER, ESCAPE, F2, SHIFT, TAB, UP, WATCH, Display, Page
from server import wait_until

INDEX = pathlib.Path(__file__).resolve().parents[3] / "Resources" / "index.html"


@pytest.fixture(scope="module")
def display():
    one = Display()
    yield one
    one.close()


@pytest.fixture(scope="module")
def browser(display, tmp_path_factory):
    one = Page(display, tmp_path_factory.mktemp("webkit"))
    yield one
    one.close()


@pytest.fixture
def page(browser):
    browser.resize(1280, 1000)
    yield browser
    problems = browser.js("const found = sessionStorage.problems; sessionStorage.clear(); return found")
    assert not problems, problems


@pytest.fixture
def watched(serve, folder):
    """Serves the page with a script before its own, which keeps whatever goes wrong."""
    def start(*options):
        assets = folder / "assets"
        assets.mkdir()
        (assets / "watch.js").write_text(WATCH)
        module = '<script type="module"'
        assert module in INDEX.read_text(), "the page's script is where it can be watched"
        (assets / "index.html").write_text(INDEX.read_text().replace(module, '<script src="{{assets}}watch.js"></script>\n' + module))
        return serve("--assets", assets, *options)

    return start


def shown(watched, page, tree):
    """A server with these files, and its page on the screen."""
    server = watched()
    make_tree(server.root, tree)
    page.open(server.url)
    return server


def done(page, name):
    """Waits until an upload is through."""
    page.wait("[...document.querySelectorAll('.transfers li.done')].some(row => row.textContent.includes(arguments[0]))", name)


def test_list_sort_filter_and_history(watched, page):
    shown(watched, page, {"folder/inner.txt": "i"} | {f"file {n}.txt": "x" * n for n in range(100)})
    assert page.names()[:4] == ["folder", "file 0.txt", "file 1.txt", "file 2.txt"]
    page.screenshot("list")
    page.button("Size")
    page.button("Size")
    page.wait("document.querySelector('th.size').ariaSort === 'descending'")
    assert page.names()[:3] == ["folder", "file 99.txt", "file 98.txt"]
    page.press("/")
    page.type("97")
    page.wait("document.querySelectorAll('tbody tr').length === 1")
    assert page.names() == ["file 97.txt"]
    page.press(ESCAPE)
    page.at_row("folder")
    page.press(ENTER)
    page.row("inner.txt")
    page.back()
    page.row("file 99.txt")
    page.forward()
    page.row("inner.txt")
    page.press(ALT, UP)
    page.row("file 99.txt")
    page.at_row("folder")


def test_ten_thousand_entries(watched, page):
    server = watched()
    for number in range(10_000):
        (server.root / f"name {number:05}.txt").touch()
    page.open(server.url)
    page.shows("10,000 files")
    assert page.js("return document.querySelectorAll('*').length") < 2000
    page.press(END)
    page.wait("document.activeElement.querySelector('bdi')?.textContent === 'name 09999.txt'")
    place = page.js("const {top, bottom} = document.activeElement.getBoundingClientRect(); return [top, bottom, innerHeight]")
    assert 0 <= place[0] < place[1] <= place[2]


def test_keys_and_dialogs_create_rename_move_and_delete(watched, page):
    server = shown(watched, page, {"a.txt": "a", "b.txt": "b", "c.txt": "c"})
    page.button("New folder")
    page.wait("document.activeElement.matches('dialog input')")
    page.type("Neu")
    page.press(ENTER)
    page.at_row("Neu")
    page.press(F2)
    page.wait("document.activeElement.matches('.rename')")
    page.type("target")
    page.press(ENTER)
    page.at_row("target")
    page.press(ESCAPE)
    page.select("a.txt", "b.txt")
    page.shows("2 selected")
    page.button("Move to…")
    page.button("target")
    page.button("Move here")
    page.shows("2 items moved to “target”")
    assert (server.root / "target/b.txt").read_text() == "b"
    page.button("Undo")
    page.row("b.txt")
    page.press(CTRL, "a")
    page.shows("4 selected")
    page.press(ESCAPE)
    page.select("a.txt")
    page.press(SHIFT, DOWN)
    page.shows("2 selected")
    page.press(DELETE)
    page.shows("2 items deleted")
    page.wait("document.querySelectorAll('tbody tr').length === 2")
    assert page.names() == ["target", "c.txt"] and not (server.root / "a.txt").exists()
    page.button("Undo")
    page.row("a.txt")
    assert (server.root / "a.txt").read_text() == "a"


def test_uploads_and_the_question_about_taken_names(watched, page, folder):
    server = watched()
    files = folder / "files"
    make_tree(files, {f"{name}.txt": f"new content of {name}" for name in "abc"})
    large, sum_of_large = big_file(folder, 3 * MIB)
    page.open(server.url)
    page.choose(*files.iterdir(), large)
    done(page, "video.bin")
    page.shows("4 files uploaded")
    assert digest(server.root / "video.bin") == sum_of_large
    assert int((server.root / "video.bin").stat().st_mtime) == 1_600_000_000
    make_tree(server.root, {"b.txt": "old b", "c.txt": "old c"})
    page.reload()
    page.row("b.txt")
    page.choose(files / "b.txt", files / "c.txt")
    page.shows("“b.txt” is already there")
    page.screenshot("conflict")
    page.press(ESCAPE)
    page.press(ESCAPE)
    page.button("Keep both")
    page.shows("“c.txt” is already there")
    page.button("Replace")
    done(page, "c.txt")
    page.row("b (2).txt")
    assert (server.root / "b.txt").read_text() == "old b"
    wait_until(lambda: (server.root / "c.txt").read_text() == "new content of c", "the other is replaced")


def test_without_a_picker_for_scripts_the_fields_open(watched, page):
    server = watched()
    page.open(server.url)
    page.js("addEventListener('click', ({target}) => { if (target.type === 'file') window.asked = target.ariaLabel }, true)")
    for label in ["Upload files", "Upload folder"]:
        page.button(label)
        page.wait("window.asked === arguments[0]", label)


def test_an_upload_is_cancelled_and_another_outlives_the_server(watched, page, folder):
    server = watched()
    proxy = Proxy(server.port)
    one, sum_of_one = big_file(folder, 12 * MIB, "one.bin")
    two, _ = big_file(folder, 12 * MIB, "two.bin")
    page.open(proxy.url)
    proxy.rate = MIB
    start = proxy.passed
    page.choose(one, two)
    page.wait("document.querySelector('.transfers .how')?.textContent.includes('%')")
    page.button("Cancel: two.bin")
    page.wait("!document.querySelector('.transfers').textContent.includes('two.bin')")
    wait_until(lambda: proxy.passed - start > 3 * MIB, "bytes pass", 60)
    server.kill()
    page.shows("Waiting for the connection")
    page.screenshot("waiting")
    server.start()
    proxy.rate = None
    page.js("dispatchEvent(new Event('online'))")
    done(page, "one.bin")
    assert digest(server.root / "one.bin") == sum_of_one
    assert not (server.root / "two.bin").exists()
    proxy.close()


def test_the_field_for_a_file_chosen_again_lasts(watched, page, folder):
    """WebKit forgets a field that nothing holds, and with it what is being chosen there."""
    server = watched()
    proxy = Proxy(server.port)
    path, _ = big_file(folder, 8 * MIB, "one.bin")
    page.open(proxy.url)
    proxy.rate = MIB
    start = proxy.passed
    page.choose(path)
    wait_until(lambda: proxy.passed - start > 2 * MIB, "bytes pass", 60)
    page.reload()
    page.shows("choose the file again")
    page.js("HTMLInputElement.prototype.click = function () { window.asked = new WeakRef(this) }")
    page.button("Resume: one.bin")
    page.wait("Boolean(window.asked)")
    assert page.call("POST", "/execute/async", {"args": [], "script": """(async ended => {
        for (let round = 0; round < 50; round += 1) {
            // Rubbish, for the collector to come.
            Array.from({length: 100_000}, (_, i) => ({i}))
            await new Promise(done => setTimeout(done))
        }
        ended(Boolean(asked.deref()))
    })(arguments[0])"""})
    proxy.close()


def test_pictures_sound_film_and_markdown(watched, page):
    server = watched()
    make_tree(server.root, {"a.png": picture(), "b.wav": wav(), "d.md": "# Title\n\n- [page](https://example.org/)\n"})
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=2:size=160x120:rate=5", server.root / "c.webm"], check=True)
    page.open(server.url)
    page.follow("a.png")
    page.wait("document.querySelector('.stage img')?.naturalWidth === 320")
    page.button("Next")
    page.wait("document.querySelector('audio')?.duration === 1")
    page.button("Next")
    page.wait("document.querySelector('video')?.duration > 1.5")
    page.js("document.querySelector('video').currentTime = 1")
    page.wait("document.querySelector('video').currentTime === 1 && !document.querySelector('video').seeking")
    page.screenshot("film")
    page.button("Next")
    page.wait("document.querySelector('.markdown h1')?.textContent === 'Title' && document.querySelector('.markdown a')")
    page.back()
    page.wait("!document.querySelector('dialog[open]')")


def test_a_key_that_is_held_walks_on(watched, page):
    """WebKit lets a page change its address a hundred times in ten seconds."""
    shown(watched, page, {f"{n:03}.bin": "x" for n in range(150)})
    page.follow("000.bin")
    page.wait("document.querySelector('.stage .state')")
    page.call("POST", "/execute/async", {"args": [], "script": """(async ended => {
        for (let i = 0; i < 149; i += 1) {
            document.querySelector('.preview').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))
            await new Promise(done => setTimeout(done))
        }
        ended()
    })(arguments[0])"""})
    page.wait("document.querySelector('#preview-title').textContent === '149.bin'")


def test_text_is_saved_only_over_what_was_read(watched, page):
    server = shown(watched, page, {"a.txt": "one\r\ntwo\r\n"})
    page.follow("a.txt")
    page.click("document.querySelector('textarea')")
    page.press(CTRL, "a")
    page.type("mine")
    page.press(ENTER)
    page.press(CTRL, "s")
    page.shows("Saved")
    assert (server.root / "a.txt").read_bytes() == b"mine\r\n"
    page.type("!")
    (server.root / "a.txt").write_text("somebody else")
    page.button("Save")
    page.shows("Somebody else changed this file")
    page.button("Save mine as a copy")
    wait_until(lambda: (server.root / "a (2).txt").exists(), "the copy is written")
    assert (server.root / "a.txt").read_text() == "somebody else"


def test_what_is_said_to_be_copied_is_copied(watched, page):
    """WebKit lets a page write to the clipboard only at once after a click, and not when an answer has come."""
    shown(watched, page, {"a.txt": "a"})
    page.select("a.txt")
    page.button("Share link")
    page.button("Create link")
    link = page.wait("document.querySelector('dialog .rows a')?.href")
    page.button("Copy address")
    page.shows("Address copied")
    page.click("document.querySelector('dialog input')")
    page.press(CTRL, "v")
    page.wait("document.querySelector('dialog input').value === arguments[0]", link)
    page.js("navigator.clipboard.writeText = () => Promise.reject(new Error); document.execCommand = () => false")
    page.js("document.querySelectorAll('.toast').forEach(one => one.remove())")
    page.button("Create link")
    page.wait("document.querySelectorAll('dialog .rows li').length === 2")
    assert not page.js("return document.querySelector('.toasts').textContent")


def test_logging_in(watched, page):
    server = watched("--auth", "anna:secret@/:rw")
    make_tree(server.root, {"a.txt": "a"})
    page.open(server.url)
    page.click("document.querySelector('[name=user]')")
    page.type("anna")
    page.press(TAB)
    page.type("wrong")
    page.press(ENTER)
    page.shows("User or password is wrong")
    page.type("secret")
    page.press(ENTER)
    page.row("a.txt")


@pytest.mark.parametrize("mode", ["list", "grid"])
def test_a_window_made_narrow_shows_the_names(watched, page, mode):
    shown(watched, page, {"a rather long name for a file.txt": "a", "p.png": picture()})
    if mode == "grid":
        page.button("Show as grid")
    page.resize(420, 900)
    page.wait("innerWidth < 600")
    page.wait("document.querySelector('a.open bdi').getBoundingClientRect().width > 100")
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(f"narrow-{mode}")
    page.resize(1280, 1000)
    page.wait("document.querySelector('td.modified').checkVisibility() === arguments[0]", mode == "list")


def test_dark(watched, display, folder):
    server = watched()
    home = folder / "home"
    home.mkdir()
    dark = Page(display, home, GTK_THEME="Adwaita:dark")
    try:
        dark.open(server.url)
        assert dark.js("return getComputedStyle(document.documentElement).backgroundColor") == "rgb(18, 21, 26)"
        dark.screenshot("dark")
    finally:
        dark.close()


@pytest.mark.parametrize("place", ["", "#view=a.pdf", "#view=a.txt", "#search=a"])
def test_the_console_stays_empty(watched, display, folder, place):
    """Not in a driven window: that one writes no console. Frames that are refused, and policies misread, show nowhere else."""
    server = watched()
    make_tree(server.root, {"a.pdf": PDF, "a.txt": "a"})
    browser, = glob.glob("/usr/lib/*/webkit2gtk-4.1/MiniBrowser")
    log, home = folder / "console", folder / "home"
    home.mkdir()
    with log.open("wb") as console:
        process = subprocess.Popen(
            [browser, "--enable-write-console-messages-to-stdout=true", f"{server.url}/{place}"],
            env=display.environment(home), stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)
    try:
        wait_until(lambda: "the page shows" in log.read_text(), "the page shows", 60)
        if place.endswith("pdf"):
            # The PDF viewer always writes something to the log, and so does a policy that blocks it.
            wait_until(lambda: any(word in log.read_text() for word in ["webkit-pdfjs-viewer:", "Refused"]), "the reader shows", 60)
    finally:
        os.killpg(process.pid, 15)
        process.wait()
    said = [line for line in log.read_text().splitlines() if "CONSOLE" in line and "the page shows" not in line]
    assert not [line for line in said if not line.startswith("webkit-pdfjs-viewer:")], "\n".join(said)
