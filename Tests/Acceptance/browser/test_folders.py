"""Folders that are sent: their handles stay with the browser, and after a reload the rest goes on by itself."""

import os

import pytest
from playwright.sync_api import expect

from browser.conftest import REFUSALS, act, make_tree, row
# LOST covers the 405 that says "this folder is there already".
from browser.test_transfers import LOST, MIB, Proxy, panel
from server import wait_until

# Hands the next drop to the test instead of the page.
GRAB = """() => addEventListener('drop', async event => {
  event.stopImmediatePropagation();
  event.preventDefault();
  window.chosen = await event.dataTransfer.items[0].getAsFileSystemHandle();
}, { capture: true, once: true })"""

KEPT = """() => new Promise((resolve, reject) => {
  const opening = indexedDB.open('shareserve');
  opening.onupgradeneeded = () => opening.result.createObjectStore('handles');
  opening.onerror = reject;
  opening.onsuccess = () => {
    const asked = opening.result.transaction('handles').objectStore('handles').count();
    asked.onsuccess = () => { opening.result.close(); resolve(asked.result + Object.keys(JSON.parse(localStorage['shareserve.uploads'] ?? '{}')).length); };
  };
})"""


def drop(page, *paths):
    """Drops real files and folders from the disk, as a person would."""
    line = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        line.send("Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 400, "data": data})
    line.detach()


def choose(page, path):
    """Chooses a folder by the button. Only the dialog is not there, which no program can answer: the handle is a real one."""
    page.evaluate(GRAB)
    drop(page, path)
    page.wait_for_function("window.chosen")
    page.evaluate("() => { window.showDirectoryPicker = async () => chosen; }")
    act(page, "Upload folder")


SEND = {"drop": drop, "button": choose}


def holiday(folder):
    """A tree with an empty folder, more than a hundred small files in one, and three large ones."""
    tree = folder / "holiday"
    make_tree(tree, {"empty/inner/": None, **{f"many/note {number}.txt": f"note {number}" for number in range(130)}})
    for number in range(3):
        path = tree / f"films/day {number}.mov"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(8 * MIB))
    return tree


def contents(root):
    return {str(path.relative_to(root)): path.is_file() and path.read_bytes() for path in root.rglob("*")}


def is_there(server, tree):
    there = server.root / tree.name
    return there.is_dir() and contents(there) == contents(tree)


@pytest.fixture
def slow(server):
    """A proxy before the server, slow enough for a reload in the middle."""
    proxy = Proxy(server.port)
    # For each connection: three are open at once.
    proxy.rate = MIB // 2
    yield proxy
    proxy.close()


def begin(opened, slow, way, tree, passed=4 * MIB):
    """Sends a folder until so many bytes have passed; gives the page, and where uploads go on from then."""
    page = opened(slow.url + "/")
    page.expected += LOST
    page.on("dialog", lambda dialog: dialog.accept())
    start = slow.passed
    SEND[way](page, tree)
    wait_until(lambda: slow.passed - start > passed, "bytes pass", 60)
    offsets = {}
    page.on("request", lambda request: request.method == "PATCH" and offsets.setdefault(request.url, int(request.headers["upload-offset"])))
    return page, offsets


@pytest.mark.parametrize("way", SEND)
def test_a_folder_goes_on_by_itself_after_a_reload(server, opened, folder, slow, way):
    """Files begun, files that still waited, small ones and empty folders: nobody chooses anything again."""
    tree = holiday(folder)
    page, offsets = begin(opened, slow, way, tree)
    assert not is_there(server, tree)
    page.reload()
    slow.rate = None
    wait_until(lambda: is_there(server, tree), "the whole tree arrives", 90)
    expect(panel(page).get_by_text("Uploading")).to_have_count(0, timeout=60_000)
    expect(panel(page).get_by_text("choose the file again")).to_have_count(0)
    wait_until(lambda: page.evaluate(KEPT) == 0, "nothing is kept of a folder that is done")
    assert sum(offsets.values()) > 3 * MIB, "from the last byte, not from the first"


def test_one_question_lets_a_folder_go_on(server, opened, folder, slow, shot):
    """A browser that was closed meanwhile asks before it opens the folder again: once, not for each file."""
    tree = holiday(folder)
    page, offsets = begin(opened, slow, "drop", tree)
    page.add_init_script("""window.asked = [];
      FileSystemHandle.prototype.queryPermission = async function () { return asked.includes(this.name) ? 'granted' : 'prompt'; };
      FileSystemHandle.prototype.requestPermission = async function () { asked.push(this.name); return 'granted'; };""")
    page.reload()
    expect(panel(page).locator("li")).to_have_count(1)
    expect(panel(page).locator("li bdi")).to_have_text("holiday")
    shot(page, "folder-waits")
    slow.rate = None
    page.get_by_role("button", name="Resume: holiday").click()
    wait_until(lambda: is_there(server, tree), "the whole tree arrives", 90)
    assert page.evaluate("asked") == ["holiday"]
    assert sum(offsets.values()) > 3 * MIB


def test_who_says_no_keeps_the_folder_waiting(server, opened, folder, slow):
    tree = holiday(folder)
    page, _ = begin(opened, slow, "drop", tree)
    page.add_init_script("""window.answer = 'denied';
      FileSystemHandle.prototype.queryPermission = async () => 'prompt';
      FileSystemHandle.prototype.requestPermission = async () => { window.told = true; return answer; };""")
    page.reload()
    slow.rate = None
    page.get_by_role("button", name="Resume: holiday").click()
    page.wait_for_function("window.told")
    expect(page.get_by_role("button", name="Resume: holiday")).to_be_visible()
    assert not is_there(server, tree)
    page.evaluate("answer = 'granted'")
    page.get_by_role("button", name="Resume: holiday").click()
    wait_until(lambda: is_there(server, tree), "the whole tree arrives", 90)


def test_a_folder_that_is_given_up_is_forgotten(server, opened, folder, slow):
    """On the server too: nothing waits there for bytes that never come."""
    tree = holiday(folder)
    page, _ = begin(opened, slow, "drop", tree)
    page.add_init_script("FileSystemHandle.prototype.queryPermission = async () => 'prompt';")
    page.reload()
    uploads = server.root / ".shareserve/uploads"
    assert [*uploads.rglob("*.part")]
    page.get_by_role("button", name="Cancel: holiday").click()
    expect(panel(page)).to_be_hidden()
    wait_until(lambda: page.evaluate(KEPT) == 0, "nothing is kept")
    wait_until(lambda: not [*uploads.rglob("*.part")], "the server drops what had come")
    page.reload()
    expect(page.locator(".summary")).not_to_be_empty()
    expect(panel(page)).to_be_hidden()


def test_what_was_cancelled_stays_away_after_a_reload(server, opened, folder, slow):
    tree = folder / "films"
    make_tree(tree, {f"{name}.mov": os.urandom(8 * MIB) for name in ("one", "two")})
    page, _ = begin(opened, slow, "drop", tree, 2 * MIB)
    page.get_by_role("button", name="Cancel: films/one.mov").click()
    expect(panel(page).get_by_text("films/one.mov")).to_have_count(0)
    page.reload()
    slow.rate = None
    expect(row(page, "films")).to_be_visible()
    wait_until(lambda: contents(server.root / "films") == {"two.mov": (tree / "two.mov").read_bytes()}, "the other arrives", 60)
    wait_until(lambda: page.evaluate(KEPT) == 0, "nothing is kept")
    assert not (server.root / "films/one.mov").exists()


def test_two_tabs_do_not_send_the_same_folder(server, opened, folder, slow):
    """The second waits; when the first is closed it goes on."""
    tree = holiday(folder)
    page, _ = begin(opened, slow, "drop", tree, 2 * MIB)
    second = opened(slow.url + "/", context=page.context)
    second.expected += LOST
    second.wait_for_timeout(1500)
    expect(panel(second)).to_be_hidden()
    page.close()
    slow.rate = None
    wait_until(lambda: is_there(server, tree), "the second goes on", 90)


@pytest.mark.parametrize("kind", ["secure", "plain"])
def test_what_one_tab_has_paused_no_other_goes_on_with(server, opened, folder, slow, kind):
    """Until it is closed. Plain http has neither locks nor files that outlive the page."""
    path = folder / "one.mov"
    path.write_bytes(os.urandom(8 * MIB))
    page = opened()
    page.expected += LOST
    page.on("dialog", lambda dialog: dialog.accept())
    if kind == "plain":
        page.context.add_init_script("delete Navigator.prototype.locks; delete DataTransferItem.prototype.getAsFileSystemHandle")
    page.goto(slow.url + "/")
    drop(page, path)
    wait_until(lambda: page.wait_for_timeout(20) or slow.passed > 2 * MIB, "bytes pass")
    page.get_by_role("button", name="Pause: one.mov").click()
    second = opened(slow.url + "/", context=page.context)
    second.expected += LOST
    second.wait_for_timeout(2500)
    expect(panel(second)).to_be_hidden()
    page.close()
    slow.rate = None
    second.reload()
    if kind == "plain":
        expect(panel(second)).to_contain_text("choose the file again to go on")
    else:
        wait_until(lambda: second.wait_for_timeout(20) or (server.root / "one.mov").exists(), "it goes on")
        assert (server.root / "one.mov").read_bytes() == path.read_bytes()


def test_a_browser_without_handles_sends_dropped_folders_too(server, opened, folder):
    tree = holiday(folder)
    page = opened()
    page.add_init_script("delete DataTransferItem.prototype.getAsFileSystemHandle; delete window.showDirectoryPicker;")
    page.goto(server.url + "/")
    drop(page, tree)
    wait_until(lambda: is_there(server, tree), "the whole tree arrives", 90)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_plain_field_stands_in_for_the_folder_picker(server, opened, folder, refusal):
    make_tree(folder / "plain", {"sub/a.txt": "a"})
    page = opened(server.url + "/")
    page.evaluate(REFUSALS[refusal], "showDirectoryPicker")
    with page.expect_file_chooser() as chooser:
        act(page, "Upload folder")
    chooser.value.set_files(str(folder / "plain"))
    wait_until(lambda: (server.root / "plain/sub/a.txt").exists(), "the folder arrives")


def test_a_dropped_folder_is_whole_with_names_that_handles_leave_out(server, opened, folder):
    """And files beside it keep their own handles."""
    tree = folder / "odd"
    make_tree(tree, {"10:30 notes.txt": "a", "link.url": "b", "draft~": "c", "sub/desktop.ini": "d"})
    (folder / "beside.txt").write_text("beside")
    page = opened(server.url + "/")
    page.expected += LOST
    drop(page, tree, folder / "beside.txt")
    wait_until(lambda: is_there(server, tree), "the whole tree arrives")
    wait_until(lambda: (server.root / "beside.txt").exists(), "the file arrives")
    wait_until(lambda: page.evaluate(KEPT) == 0, "nothing is kept")


def test_the_folder_button_tells_once_what_it_leaves_out(server, opened, folder):
    make_tree(folder / "plain", {"a.txt": "a"})
    page = opened(server.url + "/")
    page.expected += LOST
    choose(page, folder / "plain")
    expect(page.get_by_text("Shortcuts and names")).to_be_visible()
    wait_until(lambda: (server.root / "plain/a.txt").exists(), "the folder arrives")
    wait_until(lambda: page.evaluate(KEPT) == 0, "all of it is verified")
    page.reload()
    choose(page, folder / "plain")
    expect(panel(page).get_by_text("identical, already there")).to_be_visible()
    expect(page.get_by_text("Shortcuts and names")).to_have_count(0)


def test_a_folder_outlives_a_lost_connection_in_its_midst(server, opened, folder):
    """Where no file goes on for it, an empty folder is tried again, and what lies behind it still comes."""
    tree = folder / "holiday"
    make_tree(tree, {f"{name}/": None for name in "abcdef"} | {"last/note.txt": "x"})
    page = opened(server.url + "/")
    page.expected += LOST
    lost = []

    def lose(route):
        if route.request.method == "MKCOL" and len(lost) < 2:
            lost.append(route.request.url)
            route.abort()
        else:
            route.fallback()

    page.route("**/holiday/*/", lose)
    drop(page, tree)
    expect(row(page, "holiday")).to_be_visible()
    # Asking the page lets the routes above run.
    wait_until(lambda: page.evaluate("true") and is_there(server, tree), "the whole tree arrives", 60)
    assert len(lost) == 2
    wait_until(lambda: page.evaluate(KEPT) == 0, "nothing is kept")
