"""Nothing is lost by a key too many, by names that are no text, or by what others do in the same second."""

import os
import re

import pytest
from playwright.sync_api import expect

from browser.conftest import make_tree, names, picture, row, select
from browser.test_folders import drop
from browser.test_meanwhile import followed
from server import wait_until


@pytest.mark.parametrize("name, content", [
    ("long.log", "".join(f"line {number}\n" for number in range(300_000)).encode()), ("latin.txt", "Grüße aus Köln\r\n".encode("latin-1")),
    ("wide.txt", "\ufeffhello\r\n".encode("utf-16-le")),
])
def test_what_is_shown_read_only_is_not_saved_by_a_key(server, opened, name, content):
    (server.root / name).write_bytes(content)
    page = opened(server.url + "/")
    page.get_by_role("link", name=name).click()
    area = page.get_by_role("textbox", name=name)
    expect(area).to_have_js_property("readOnly", True)
    sent = []
    page.on("request", lambda request: request.method == "PUT" and sent.append(request.url))
    area.click()
    page.keyboard.press("Control+s")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert not sent and (server.root / name).read_bytes() == content


def editing(server, opened, text):
    """A page that shows a.txt and hears of changes, and the field."""
    (server.root / "a.txt").write_text(text)
    page = followed(opened, server.url + "/")
    page.get_by_role("link", name="a.txt").click()
    area = page.get_by_role("textbox", name="a.txt")
    expect(area).to_have_value(text)
    return page, area


def test_what_is_typed_while_others_text_is_read_stays(server, opened):
    page, area = editing(server, opened, "one\n")
    held = []
    page.route("**/a.txt", lambda route: held.append(route) if route.request.method == "GET" else route.continue_())
    (server.root / "a.txt").write_text("theirs\n")
    wait_until(lambda: page.wait_for_timeout(20) or held, "their text is asked for")
    area.press("Control+End")
    area.press_sequentially("mine")
    held[0].continue_()
    expect(page.get_by_role("alert").filter(has_text="Somebody else changed this file")).to_be_visible()
    expect(area).to_have_value("one\nmine")
    assert (server.root / "a.txt").read_text() == "theirs\n"


def test_text_that_others_saved_in_another_encoding_is_not_saved_over(server, opened):
    page, area = editing(server, opened, "cafe\n")
    page.expected = ["412"]
    theirs = "café für alle\n".encode("latin-1")
    with page.expect_response("**/a.txt"):
        (server.root / "a.txt").write_bytes(theirs)
    area.press("Control+End")
    area.press_sequentially("mine")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("alert").filter(has_text="Somebody else changed this file")).to_be_visible()
    assert (server.root / "a.txt").read_bytes() == theirs


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf", "\ufefb".encode(), b"\xef\xbb\xbf\xef\xbb\xbf"], ids=["none", "mark", "lam-alef", "two"])
def test_a_byte_order_mark_stays_as_it_is(server, opened, begin):
    """A letter may begin like one; and what others save may have one or not."""
    (server.root / "a.txt").write_bytes(begin + b"one\r\ntwo\r\n")
    page = followed(opened, server.url + "/")
    page.get_by_role("link", name="a.txt").click()
    area = page.get_by_role("textbox", name="a.txt")
    for word, before in ((b" mine", begin), (b" again", b"" if begin else b"\xef\xbb\xbf")):
        if before != begin:
            (server.root / "a.txt").write_bytes(before + b"one\r\ntwo, theirs\r\n")
            expect(area).to_have_value(re.compile("theirs"))
        old = (server.root / "a.txt").read_bytes()
        area.press("Control+End")
        area.press("ArrowLeft")
        area.press_sequentially(word.decode())
        page.keyboard.press("Control+s")
        wait_until(lambda: page.wait_for_timeout(20) or (server.root / "a.txt").read_bytes() != old, "it is saved")
        assert (server.root / "a.txt").read_bytes() == old[:-2] + word + b"\r\n"


@pytest.mark.parametrize("way", ["Control+x", "Control+c"])
def test_names_that_are_no_text_stay_apart_in_another_folder(server, opened, way):
    root = os.fsencode(server.root)
    os.mkdir(root + b"/target")
    for name in (b"\xe4rger.txt", b"\xf6rger.txt"):
        with open(root + b"/" + name, "wb") as file:
            file.write(name)
    page = opened(server.url + "/")
    for box in page.locator("tbody tr.file input").all():
        box.check()
    page.keyboard.press(way)
    page.get_by_role("link", name="target", exact=True).click()
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    page.keyboard.press("Control+v")
    expect(page.locator("tbody tr.file")).to_have_count(2)
    there = {name: open(root + b"/target/" + name, "rb").read() for name in os.listdir(root + b"/target")}
    assert there == {name: name for name in (b"\xe4rger.txt", b"\xf6rger.txt")}
    assert len(os.listdir(root)) == (2 if way == "Control+x" else 4)


def test_a_file_that_vanishes_from_a_dropped_folder_keeps_no_other_away(server, opened, folder):
    tree = folder / "tree"
    make_tree(tree, {f"{number}.txt": str(number) for number in range(6)} | {"sub/deep.txt": "deep"})
    page = opened(server.url + "/")
    page.expected = ["405"]
    # Its folder is read, and it is gone when its turn comes.
    page.evaluate("""() => {
        const given = DataTransferItem.prototype.webkitGetAsEntry
        const goesOn = new Promise(resolve => { window.goOn = resolve })
        DataTransferItem.prototype.webkitGetAsEntry = function() {
            const entry = given.call(this), create = entry.createReader
            entry.createReader = () => {
                const reader = create.call(entry), read = reader.readEntries
                reader.readEntries = (done, failed) => read.call(reader, async batch => {
                    window.isRead = true
                    await goesOn
                    done(batch)
                }, failed)
                return reader
            }
            return entry
        }
    }""")
    drop(page, tree)
    wait_until(lambda: page.evaluate("() => window.isRead"), "its folder is read")
    (tree / "3.txt").unlink()
    page.evaluate("() => goOn()")
    wait_until(lambda: (server.root / "tree/sub/deep.txt").exists() and len(list((server.root / "tree").glob("*.txt"))) == 5, "the others arrive")
    expect(page.locator(".toast").filter(has_text="3.txt")).to_be_visible()


def test_back_from_a_folder_that_is_slow_to_come_stays_back(server, opened):
    make_tree(server.root, {"a.txt": "a", "slow/b.txt": "b"})
    page = opened(server.url + "/")
    held = []
    page.route("**/slow/?json", lambda route: held.append(route))
    page.get_by_role("link", name="slow").click()
    wait_until(lambda: page.wait_for_timeout(20) or held, "the folder is asked for")
    page.go_back()
    held[0].continue_()
    page.wait_for_timeout(400)
    assert page.url == server.url + "/" and set(names(page)) == {"a.txt", "slow"}


def test_a_picture_that_was_replaced_shows_as_it_is(server, opened):
    def width():
        return page.locator(".stage img").evaluate("image => image.complete && image.naturalWidth")
    (server.root / "a.png").write_bytes(picture(320, 240))
    page = followed(opened, server.url + "/")
    for wide in (320, 200):
        page.get_by_role("link", name="a.png").click()
        wait_until(lambda: width() == wide, "the picture loads")
        page.keyboard.press("Escape")
        shown = row(page, "a.png").inner_text()
        (server.root / "a.png").write_bytes(picture(200, 100, hue=90))
        os.utime(server.root / "a.png", (1_700_000_000, 1_700_000_000))
        if wide == 320:
            wait_until(lambda: row(page, "a.png").inner_text() != shown, "the row changes")


def test_a_look_at_what_was_found_leaves_the_search_as_it_is(server, opened):
    make_tree(server.root, {f"d{number}/note {number}.txt": f"n{number}" for number in range(40)})
    page = opened(server.url + "/")
    page.get_by_role("searchbox").fill("note")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text("40 found for")).to_be_visible()
    select(page, "note 3.txt", "note 5.txt")
    searches = []
    page.on("request", lambda request: "search" in request.url and searches.append(request.url))
    page.get_by_role("link", name="note 7.txt").click()
    expect(page.get_by_role("textbox", name="note 7.txt")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_timeout(400)
    expect(page.get_by_text("2 selected")).to_be_visible()
    assert not searches


def test_a_range_of_rows_begins_at_the_row_that_was_clicked(server, opened):
    make_tree(server.root, {f"f{number}.txt": "x" for number in range(8)})
    page = followed(opened, server.url + "/")
    row(page, "f3.txt").click(position={"x": 500, "y": 20})
    (server.root / "a-new.txt").write_text("n")
    expect(row(page, "a-new.txt")).to_be_visible()
    row(page, "f5.txt").click(position={"x": 500, "y": 20}, modifiers=["Shift"])
    assert page.locator("tr[aria-selected=true] bdi").all_inner_texts() == ["f3.txt", "f4.txt", "f5.txt"]
