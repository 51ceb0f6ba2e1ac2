"""What happens meanwhile: others change the folder, a proxy says no, a picture comes too late; and where the focus is after that."""

import os
import re

import pytest
from playwright.sync_api import expect

from browser.conftest import act, make_tree, picture, row, select
from browser.test_transfers import LOST, files_input, panel
from server import wait_until

HAS_FOCUS = "() => document.activeElement !== document.body && !document.activeElement.disabled"


def followed(opened, url):
    """A page that hears of changes by now."""
    page = opened()
    with page.expect_response("**/.shareserve/events?*"):
        page.goto(url)
    page.locator(".summary:not(:empty)").wait_for()
    return page


def test_a_name_being_typed_stays_a_field_when_others_delete(server, opened):
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "c.txt": "c"})
    page = followed(opened, server.url + "/")
    row(page, "c.txt").focus()
    page.keyboard.press("F2")
    page.keyboard.type("half")
    (server.root / "a.txt").unlink()
    expect(row(page, "a.txt")).to_have_count(0)
    field = page.get_by_role("textbox", name="New name for c.txt")
    expect(field).to_be_focused()
    page.keyboard.type(" and half")
    page.keyboard.press("Enter")
    expect(row(page, "half and half.txt")).to_be_focused()
    assert sorted(path.name for path in server.root.iterdir() if path.name != ".shareserve") == ["b.txt", "half and half.txt"]


def test_a_change_while_the_folder_is_read_shows(server, opened):
    make_tree(server.root, {"folder/old.txt": "old"})
    page = opened(server.url + "/")
    held, events = [], []
    page.route("**/folder/?json", lambda route: held.append((route, route.fetch())))
    page.on("response", lambda answer: "events?in=%2Ffolder%2F" in answer.url and events.append(answer))
    page.get_by_role("link", name="folder", exact=True).click()
    wait_until(lambda: page.wait_for_timeout(20) or (held and events), "the folder is read and followed")
    (server.root / "folder/new.txt").write_text("new")
    page.wait_for_timeout(800)
    route, answer = held.pop()
    route.fulfill(response=answer)
    expect(row(page, "new.txt")).to_be_visible()


def test_a_change_before_the_page_listens_shows(server, opened):
    (server.root / "old.txt").write_text("old")
    page = opened()

    def meanwhile(route):
        (server.root / "new.txt").write_text("new")
        route.continue_()

    page.route("**/.shareserve/events?*", meanwhile)
    page.goto(server.url + "/")
    expect(row(page, "new.txt")).to_be_visible()
    expect(row(page, "old.txt")).to_be_visible()


def test_a_change_while_the_folder_is_read_again_shows(server, opened):
    (server.root / "gone").write_text("x")
    page = followed(opened, server.url + "/")
    held = []
    page.route("**/?json", lambda route: route.continue_() if held else held.append((route, route.fetch())))
    # So many that enough of them are reported together, however slowly they are written.
    for number in range(400):
        (server.root / f"one {number}").write_text("x")
    wait_until(lambda: page.wait_for_timeout(20) or held, "the folder is read again")
    (server.root / "gone").unlink()
    (server.root / "new").write_text("x")
    page.wait_for_timeout(1000)
    route, answer = held[0]
    route.fulfill(response=answer)
    expect(row(page, "one 0")).to_be_visible()
    page.wait_for_timeout(500)
    expect(row(page, "new")).to_be_visible()
    expect(row(page, "gone")).to_have_count(0)


def half_read(server, opened):
    """A page with the first rows of the root, and the request for all of them, which waits."""
    page, held = opened(), []
    page.route("**/?json", lambda route: route.continue_() if held else held.append(route))
    page.goto(server.url + "/")
    wait_until(lambda: page.wait_for_timeout(20) or held, "the rest is asked for")
    return page, held[0]


def test_all_of_a_folder_are_also_those_still_to_come(server, opened):
    """The page brings the first rows, the rest comes later; what is done with all of them must not be done with some."""
    make_tree(server.root, {f"{number:04}.txt": "x" for number in range(600)} | {".hidden": "x"})
    page, rest = half_read(server, opened)
    expect(row(page, "0000.txt")).to_be_visible()
    page.keyboard.press("Control+a")
    page.get_by_role("checkbox", name="Select 0003.txt", exact=True).uncheck()
    expect(page.get_by_text("600 selected")).to_have_count(0)
    act(page, "Delete")
    # Pressed again, as by a user who is not sure that it worked: it happens once.
    act(page, "Delete")
    page.wait_for_timeout(300)
    assert (server.root / "0000.txt").exists()
    rest.continue_()
    # "511 files", on its way there, would do otherwise.
    expect(page.get_by_text(re.compile(r"(?<!\d)1 file\b"))).to_be_visible()
    assert sorted(path.name for path in server.root.iterdir() if path.name != ".shareserve") == [".hidden", "0003.txt"]


def test_what_waits_for_all_is_not_done_with_others_chosen_meanwhile(server, opened):
    make_tree(server.root, {f"{number:04}.txt": "x" for number in range(600)})
    page, rest = half_read(server, opened)
    expect(row(page, "0000.txt")).to_be_visible()
    page.keyboard.press("Control+a")
    act(page, "Delete")
    row(page, "0002.txt").click(position={"x": 500, "y": 20})
    expect(page.get_by_text("1 selected")).to_be_visible()
    rest.continue_()
    expect(page.get_by_text("600 files")).to_be_visible()
    page.wait_for_timeout(300)
    assert len([path for path in server.root.iterdir() if path.name != ".shareserve"]) == 600


def test_the_box_for_all_takes_what_the_filter_shows_and_is_still_to_come(server, opened):
    make_tree(server.root, {f"{number:04}.{kind}": "x" for number in range(300) for kind in ["txt", "jpg"]})
    page, rest = half_read(server, opened)
    page.get_by_role("searchbox").fill("JPG")
    expect(row(page, "0000.txt")).to_have_count(0)
    page.get_by_role("checkbox", name="Select all").check()
    rest.continue_()
    expect(page.get_by_text("300 selected")).to_be_visible()


def test_nothing_is_done_with_all_of_a_folder_that_does_not_come(server, opened):
    make_tree(server.root, {f"{number:04}.txt": "x" for number in range(600)})
    page, rest = half_read(server, opened)
    page.expected = ["ERR_FAILED"]
    expect(row(page, "0000.txt")).to_be_visible()
    page.keyboard.press("Control+a")
    act(page, "Delete")
    rest.abort()
    expect(page.get_by_text("The server does not answer").first).to_be_visible()
    page.wait_for_timeout(300)
    assert len([path for path in server.root.iterdir() if path.name != ".shareserve"]) == 600


def test_changes_show_in_the_folder_that_replaced_the_one_shown(server, opened):
    make_tree(server.root, {"folder/old.txt": "old", "other/new.txt": "new"})
    page = followed(opened, server.url + "/folder/")
    os.rename(server.root / "folder", server.root / "away")
    os.rename(server.root / "other", server.root / "folder")
    with page.expect_response("**/.shareserve/events?*"):
        expect(row(page, "new.txt")).to_be_visible()
    (server.root / "away/hidden.txt").write_text("x")
    (server.root / "folder/newer.txt").write_text("x")
    expect(row(page, "newer.txt")).to_be_visible()


def test_many_changes_with_long_names_show(server, opened):
    page = followed(opened, server.url + "/")
    page.expected = ["414"]
    for number in range(48):
        (server.root / (f"{number:02}" + "名" * 84)).touch()
    expect(page.get_by_text("48 files")).to_be_visible()


def test_changes_show_again_after_a_proxy_said_no(server, opened):
    """A proxy answers for a server that starts, and a browser then asks no more for what it follows."""
    make_tree(server.root, {"a.txt": "a"})
    page = opened()
    page.expected = ["502"]
    page.clock.install()
    refused = []
    page.route("**/.shareserve/events?*", lambda route: (refused.append(route), route.fulfill(status=502)))
    page.goto(server.url + "/")
    wait_until(lambda: page.wait_for_timeout(20) or refused, "the stream is refused")
    page.unroute_all()
    (server.root / "b.txt").write_text("b")
    with page.expect_response("**/.shareserve/events?*"):
        page.clock.fast_forward(16_000)
    expect(row(page, "b.txt")).to_be_visible()
    (server.root / "c.txt").write_text("c")
    expect(row(page, "c.txt")).to_be_visible()


def test_a_server_that_is_gone_shows_while_nobody_does_anything(server, opened):
    (server.root / "a.txt").write_text("a")
    page = followed(opened, server.url + "/")
    page.expected = ["ERR_"]
    said = page.get_by_role("alert").filter(has_text="The server does not answer")
    page.evaluate("""() => new MutationObserver(([{ target }]) => { window.flashed ||= !target.hidden })
        .observe(document.querySelector('.banner'), { attributes: true })""")
    # A short end is none.
    server.stop()
    server.restart()
    (server.root / "b.txt").write_text("b")
    expect(row(page, "b.txt")).to_be_visible()
    assert not page.evaluate("window.flashed")
    server.kill()
    expect(said).to_be_visible()
    expect(row(page, "b.txt")).to_be_visible()
    # It stays as it is for who is about to press its button.
    said.get_by_role("button", name="Read again").focus()
    page.wait_for_event("requestfailed", lambda request: "json" in request.url)
    expect(said.get_by_role("button", name="Read again")).to_be_focused()
    (server.root / "c.txt").write_text("c")
    server.restart()
    expect(said).to_be_hidden()
    expect(row(page, "c.txt")).to_be_visible()


def test_a_proxys_error_takes_nothing_off_the_list(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    page.expected = ["502"]
    select(page, "a.txt")
    page.route("**/?json", lambda route: route.fulfill(status=502))
    page.keyboard.press("Shift+R")
    expect(page.get_by_role("alert").filter(has_text="The server does not answer")).to_be_visible()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.unroute_all()
    page.get_by_role("alert").get_by_role("button", name="Read again").click()
    expect(page.get_by_role("alert").filter(has_text="The server does not answer")).to_have_count(0)


def test_a_folder_that_cannot_be_sent_says_so(server, opened, folder):
    """Where the folder shown is gone, no other can be made in it."""
    make_tree(server.root, {"gone/": None})
    make_tree(folder, {"mine/a.txt": "a", "mine/b.txt": "b"})
    page = followed(opened, server.url + "/gone/")
    page.expected = ["404", "409"]
    (server.root / "gone").rmdir()
    expect(page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    page.locator("input[webkitdirectory]").set_input_files(str(folder / "mine"))
    expect(panel(page).locator("li.failed")).to_have_count(2)
    expect(panel(page).get_by_role("heading", name="2 files could not be uploaded")).to_be_visible()


def test_a_picture_that_fails_late_takes_nothing_away(server, opened):
    make_tree(server.root, {"a.png": picture(), "b.txt": "words of b"})
    page = opened(server.url + "/")
    page.expected = ["ERR_FAILED"]
    held = []
    page.route("**/a.png*", lambda route: held.append(route))
    page.get_by_role("link", name="a.png", exact=True).click()
    wait_until(lambda: page.wait_for_timeout(20) or held, "the picture is asked for")
    page.keyboard.press("ArrowRight")
    words = page.get_by_role("textbox", name="b.txt")
    expect(words).to_have_value("words of b")
    held[0].abort()
    page.wait_for_timeout(400)
    expect(words).to_be_visible()
    held.clear()
    page.get_by_role("button", name="Previous").click()
    wait_until(lambda: page.wait_for_timeout(20) or held, "the picture is asked for again")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    held[0].abort()
    page.wait_for_timeout(400)


def test_more_than_one_request_may_name_is_deleted_and_restored(serve, opened):
    """1.2 MB of paths, where the interface takes a MiB at once."""
    server = serve("--trash", "7")
    place = server.root / ("p" * 250) / ("q" * 250)
    make_tree(place, {f"{number:04} " + "n" * 240: "" for number in range(1_600)})
    page = opened(f"{server.url}/{place.relative_to(server.root)}/")
    expect(page.get_by_text("1,600 files")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.get_by_text("1,600 items deleted")).to_be_visible(timeout=60_000)
    assert list(place.iterdir()) == []
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1,600 files")).to_be_visible(timeout=60_000)
    assert len(list(place.iterdir())) == 1_600


def ask_about(page, way):
    """The question whether `a` may replace what is at `target/a`."""
    page.expected += ["412"]
    if way == "move":
        row(page, "a").drag_to(row(page, "target"))
    elif way == "copy":
        select(page, "a")
        page.keyboard.press("Control+c")
        page.get_by_role("link", name="target", exact=True).click()
        act(page, "Paste")
    else:
        row(page, "a").focus()
        page.keyboard.press("F2")
        page.keyboard.press("Control+a")
        page.keyboard.type("b")
        page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="is already there")
    expect(dialog.get_by_role("button", name="Replace")).to_be_visible()
    return dialog


@pytest.mark.parametrize("way", ["move", "copy", "rename"])
def test_a_file_that_came_after_the_question_is_asked_about_too(server, opened, way):
    there = server.root / ("b" if way == "rename" else "target/a")
    make_tree(server.root, {"a": "mine", "b": "old", "target/a": "old"})
    page = opened(server.url + "/")
    dialog = ask_about(page, way)
    expect(dialog).to_contain_text("3 bytes")
    there.write_text("somebody else's")
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog).to_contain_text("15 bytes")
    assert there.read_text() == "somebody else's"
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog).to_have_count(0)
    wait_until(lambda: page.wait_for_timeout(20) or there.read_text() == "mine", "what was shown is replaced")


def test_an_answer_for_all_replaces_nothing_that_came_after_it(server, opened):
    make_tree(server.root, {"a": "mine", "b": "mine", "target/a": "old", "target/b": "old"})
    page, held = opened(server.url + "/"), []
    page.expected += ["412"]
    # Who answers for all has seen the folder as it was.
    page.route("**/b", lambda route: route.continue_() if held else (held.append(route), (server.root / "target/b").write_text("somebody else's"), route.continue_()))
    select(page, "a", "b")
    row(page, "a").drag_to(row(page, "target"))
    dialog = page.get_by_role("dialog", name="is already there")
    dialog.get_by_role("checkbox", name="Do this for all conflicts").check()
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog).to_contain_text("15 bytes")
    assert (server.root / "target/a").read_text() == "mine" and (server.root / "target/b").read_text() == "somebody else's"
    dialog.get_by_role("button", name="Skip").click()
    expect(page.get_by_text("1 item moved to “target”")).to_be_visible()
    assert (server.root / "b").read_text() == "mine"


@pytest.mark.parametrize("way", ["move", "copy"])
def test_a_folder_that_came_after_the_question_is_not_replaced_by_a_file(server, opened, way):
    make_tree(server.root, {"a": "mine", "target/a": "old"})
    page = opened(server.url + "/")
    dialog = ask_about(page, way)
    (server.root / "target/a").unlink()
    make_tree(server.root, {"target/a/precious.txt": "precious"})
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog.get_by_role("button", name="Replace")).to_have_count(0)
    dialog.get_by_role("button", name="Keep both").click()
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / "target/a (2)").exists(), "it is beside it")
    assert (server.root / "target/a/precious.txt").read_text() == "precious"


@pytest.mark.parametrize("way", ["move", "copy"])
def test_what_came_into_a_folder_after_the_question_is_asked_about_too(server, opened, way):
    make_tree(server.root, {"a/mine.txt": "mine", "target/a/deep/old.txt": "old"})
    page = opened(server.url + "/")
    dialog = ask_about(page, way)
    (server.root / "target/a/deep/precious.txt").write_text("precious")
    with page.expect_response(lambda answer: answer.request.method == "PROPFIND"):
        dialog.get_by_role("button", name="Replace").click()
    expect(dialog.get_by_role("button", name="Replace")).to_be_visible()
    assert (server.root / "target/a/deep/precious.txt").read_text() == "precious"
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog).to_have_count(0)
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / "target/a/mine.txt").exists(), "what was shown is replaced")
    assert not (server.root / "target/a/deep").exists()


def test_a_row_at_the_edge_has_a_menu_too(server, opened):
    """A scroll closes menus: so opening one must not scroll."""
    make_tree(server.root, {f"file {number}.txt": "x" for number in range(60)})
    page = opened(server.url + "/")
    page.mouse.click(500, page.viewport_size["height"] - 6, button="right")
    page.wait_for_timeout(400)
    expect(page.get_by_role("menu")).to_be_visible()


def test_the_focus_is_never_lost(serve, opened, folder):
    """Where what was pressed goes away, the row at hand or the dialog has the focus: keys and screen readers go on from there."""
    server = serve("--trash", "7")
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "c.png": picture(), "d.txt": "d", "folder/inner.txt": "i"})
    make_tree(folder, {"sent.txt": "sent"})
    page = opened(server.url + "/")
    keys = page.keyboard

    def kept(after):
        page.wait_for_timeout(300)
        assert page.evaluate(HAS_FOCUS), after

    def press(button):
        button.focus()
        keys.press("Enter")

    select(page, "b.txt")
    press(page.get_by_role("toolbar").get_by_role("button", name="Delete", exact=True))
    expect(row(page, "b.txt")).to_have_count(0)
    kept("delete in the bar")
    press(page.locator(".toast").get_by_role("button", name="Undo"))
    expect(row(page, "b.txt")).to_be_visible()
    kept("undo")
    press(page.get_by_role("button", name="Show as grid"))
    kept("tiles")
    press(page.get_by_role("button", name="Show as list"))
    kept("list")
    row(page, "folder").focus()
    keys.press("Enter")
    expect(row(page, "inner.txt")).to_be_focused()
    press(page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link").first)
    expect(row(page, "folder")).to_be_focused()

    # Arrows go on at the end of the folder, and after the buttons of one kind of file have gone.
    page.get_by_role("link", name="c.png", exact=True).click()
    press(page.get_by_role("button", name="Zoom in"))
    press(page.get_by_role("button", name="Next"))
    expect(page.get_by_role("textbox", name="d.txt")).to_be_visible()
    kept("the last file")
    keys.press("ArrowLeft")
    expect(page.get_by_role("dialog", name="c.png")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    area = page.get_by_role("textbox", name="d.txt")
    area.fill("more of d")
    press(page.get_by_role("button", name="Save"))
    expect(page.get_by_text("Saved")).to_be_visible()
    kept("save")
    keys.press("Escape")
    expect(row(page, "d.txt")).to_be_focused()

    select(page, "a.txt")
    keys.press("Delete")
    expect(row(page, "a.txt")).to_have_count(0)
    press(page.get_by_role("button", name="More", exact=True))
    page.get_by_role("menuitem", name="Trash").press("Enter")
    press(page.get_by_role("dialog").get_by_role("button", name="Restore").first)
    expect(row(page, "a.txt")).to_be_attached()
    kept("restore")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    files_input(page).set_input_files(str(folder / "sent.txt"))
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    press(panel(page).get_by_role("button", name="Close"))
    expect(panel(page)).to_be_hidden()
    kept("the panel's end")


def test_the_focus_stays_in_a_folder_of_which_all_is_deleted(server, opened):
    make_tree(server.root, {"a.txt": "a", "b.txt": "b"})
    page = opened(server.url + "/")
    row(page, "a.txt").focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    page.wait_for_function(HAS_FOCUS)


def test_the_focus_goes_on_from_buttons_that_go(server, opened):
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "folder/b.txt": "b"})
    page = opened(server.url + "/")
    keys = page.keyboard

    def press(button):
        button.focus()
        keys.press("Enter")

    row(page, "b.txt").focus()
    keys.press(" ")
    press(page.get_by_role("button", name="Clear selection"))
    expect(page.locator(".count")).to_have_count(0)
    expect(row(page, "b.txt")).to_be_focused()
    # A filter stays.
    page.get_by_role("searchbox").fill("b")
    select(page, "b.txt")
    press(page.get_by_role("button", name="Clear selection"))
    expect(row(page, "b.txt")).to_be_focused()
    expect(page.get_by_role("searchbox")).to_have_value("b")

    for words, found in [("txt", 3), ("nothing", 0)]:
        page.get_by_role("searchbox").fill(words)
        page.get_by_role("searchbox").press("Enter")
        expect(page.get_by_text(f"{found} found for")).to_be_visible()
        press(page.locator(".searching").get_by_role("button", name="Close"))
        expect(row(page, "folder")).to_be_focused()


def test_the_focus_stays_with_its_upload(server, opened):
    page, held = opened(server.url + "/"), {}
    page.expected += LOST
    page.route("**/*.bin", lambda route: held.update({route.request.url[-5]: route}) if route.request.method == "PUT" else route.continue_())
    files_input(page).set_input_files([{"name": f"{name}.bin", "mimeType": "text/plain", "buffer": b"x"} for name in "ab"])
    button = lambda label: panel(page).get_by_role("button", name=label, exact=True)
    wait_until(lambda: page.wait_for_timeout(20) or len(held) == 2, "both are on their way")
    for first, second, name in [("Pause: b.bin", "Resume: b.bin", "Enter"), ("Pause all", "Resume all", " ")]:
        for here, there in [(first, second), (second, first), (first, second)]:
            button(here).focus()
            page.keyboard.press(name)
            expect(button(there)).to_be_focused()
        if name == "Enter":
            page.keyboard.press("Enter")
    held.clear()
    page.keyboard.press("Enter")
    wait_until(lambda: page.wait_for_timeout(20) or len(held) == 2, "both are sent again")
    button("Pause: b.bin").focus()
    page.keyboard.press("Enter")
    # Finished items move below unfinished ones, so the rows change places.
    held["a"].continue_()
    expect(panel(page).locator("li").last).to_have_class("done")
    page.wait_for_timeout(300)
    expect(button("Resume: b.bin")).to_be_focused()
    # And from a row that needs no buttons any more.
    page.unroute("**/*.bin")
    page.keyboard.press("Enter")
    expect(panel(page).locator(".done")).to_have_count(2)
    page.wait_for_timeout(300)
    assert page.evaluate(HAS_FOCUS)
    assert page.evaluate("document.activeElement.checkVisibility()")
