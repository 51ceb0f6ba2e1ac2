"""What goes wrong around the page: parts of it, files and folders that go or change while it is open, and little room."""

import re

import pytest
from playwright.sync_api import expect

from browser.conftest import PHONE, act, make_tree, names, picture, row, select
from browser.test_folders import drop
from browser.test_transfers import LOST, MIB, big_file, files_input, panel
from server import wait_until


def test_uploads_do_without_a_lost_script_for_digests(server, opened, folder):
    """The script of a worker comes by the same line as all else; one loss must not hold up all that follows."""
    make_tree(server.root, {"there.txt": "same size"})
    for name, text in {"one.txt": "one", "two.txt": "two", "there.txt": "other one", "last.txt": "last"}.items():
        (folder / name).write_text(text)
    page = opened(server.url + "/")
    page.expected += LOST
    page.route("**/hash.js", lambda route: route.abort())
    files_input(page).set_input_files([str(folder / "one.txt"), str(folder / "two.txt")])
    expect(panel(page).locator(".done")).to_have_count(2)
    expect(panel(page).get_by_text("verified")).to_have_count(0)
    # Without digests nothing shows that it is the same file: the page asks.
    files_input(page).set_input_files(str(folder / "there.txt"))
    page.get_by_role("dialog").get_by_role("button", name="Keep both").click()
    expect(row(page, "there (2).txt")).to_be_visible()
    page.unroute("**/hash.js")
    files_input(page).set_input_files(str(folder / "last.txt"))
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()


def test_a_folder_that_vanishes_during_an_upload_is_made_again(server, opened, folder):
    make_tree(folder / "trip", {f"day/{n}.txt": f"day {n}" for n in range(6)})
    page, sent = opened(server.url + "/"), []
    page.expected += ["40[59]"]

    def vanish(route):
        if route.request.method == "PUT":
            sent.append(route.request.url)
            if len(sent) == 4:
                (server.root / "trip").rename(folder / "gone")
        route.continue_()

    page.route("**/trip/**", vanish)
    drop(page, folder / "trip")
    expect(panel(page).get_by_text("6 files uploaded")).to_be_visible()
    there = {path.name for path in (server.root / "trip/day").iterdir()}
    assert there and there <= {f"{n}.txt" for n in range(6)}, there
    assert len(sent) <= 12, sent


def test_a_file_where_a_folder_should_be_stops_all_its_files_at_once(server, opened, folder):
    make_tree(folder / "trip", {f"{n}.txt": f"day {n}" for n in range(8)})
    big_file(folder / "trip", 2 * MIB)
    make_tree(server.root, {"trip": "a file"})
    page, sent = opened(server.url + "/"), []
    page.expected += ["40[45]"]
    page.on("request", lambda request: request.method in {"MKCOL", "PUT", "POST"} and sent.append(request.method))
    drop(page, folder / "trip")
    expect(panel(page).get_by_text("9 files could not be uploaded")).to_be_visible()
    expect(panel(page).locator(".failed", has_text="“trip” is already there")).to_have_count(9)
    # None of their bytes are sent, and no other names are tried.
    assert set(sent) == {"MKCOL"}


@pytest.mark.parametrize("size", [5, 2 * MIB])
def test_a_file_that_changed_while_it_waited_is_to_be_chosen_again(server, opened, folder, size):
    path = folder / "new.txt"
    path.write_bytes(b"x" * size)
    page, held = opened(server.url + "/"), []
    page.expected += LOST
    page.route("**/?json", lambda route: route.continue_() if held else held.append(route))
    files_input(page).set_input_files(str(path))
    wait_until(lambda: page.wait_for_timeout(20) or held, "the list is asked for")
    path.write_text("something else")
    held[0].continue_()
    expect(panel(page).locator(".failed", has_text="choose the file again to go on")).to_be_visible()
    files_input(page).set_input_files(str(path))
    expect(row(page, "new.txt")).to_be_visible()
    assert (server.root / "new.txt").read_text() == "something else"


def test_a_large_file_finds_a_free_name_where_nobody_may_look(serve, opened, folder):
    server = serve("--auth", "@/:w")
    make_tree(server.root, {"video.bin": "somebody else's"})
    path, _ = big_file(folder, 2 * MIB)
    page = opened()
    page.expected += ["403", "409", "412"]
    page.goto(server.url + "/")
    files_input(page).set_input_files(str(path))
    expect(panel(page).locator(".done")).to_be_visible()
    assert (server.root / "video.bin").read_text() == "somebody else's"
    assert (server.root / "video (2).bin").read_bytes() == path.read_bytes()


def test_the_address_of_what_was_found_leads_to_it_again(server, opened):
    make_tree(server.root, {"notes.txt": "mine", "other/notes.txt": "theirs"})
    page = opened(server.url + "/")
    page.get_by_role("searchbox").fill("notes")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("row").filter(has_text="/other/").get_by_role("link").click()
    expect(page.get_by_role("textbox", name="notes.txt")).to_have_value("theirs")
    page.reload()
    expect(page.get_by_role("textbox", name="notes.txt")).to_have_value("theirs")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    assert names(page) == ["notes.txt"] and page.url == server.url + "/other/"
    # And Back leads to what was searched.
    page.go_back()
    expect(page.get_by_role("row")).to_have_count(3)


def test_files_are_kept_while_a_part_of_the_page_does_not_come(server, opened, folder):
    (folder / "a.txt").write_text("a")
    page = opened(server.url + "/")
    page.expected += LOST
    page.route("**/transfer.js", lambda route: route.abort())
    files_input(page).set_input_files(str(folder / "a.txt"))
    toast = page.locator(".toast", has_text="The server does not answer")
    expect(toast).to_be_visible()
    page.unroute("**/transfer.js")
    toast.get_by_role("button", name="Retry").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()


def test_a_click_says_what_hinders_it(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    page.expected += LOST
    page.route("**/preview.js", lambda route: route.abort())
    page.get_by_role("link", name="a.txt").click()
    expect(page.locator(".toast", has_text="The server does not answer")).to_be_visible()
    # After an upgrade of the server, addresses with the old hash no longer exist.
    page.unroute("**/preview.js")
    page.route("**/preview.js", lambda route: route.fulfill(status=404))
    page.get_by_role("link", name="a.txt").click()
    expect(page.get_by_text("Load the page again")).to_be_visible()


def test_what_is_needed_later_comes_before_the_network_goes(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page, came = opened(server.url + "/"), set()
    page.on("requestfinished", lambda request: came.add(request.url.rpartition("/")[2]))
    wait_until(lambda: page.wait_for_timeout(50) or came >= {"transfer.js", "tus.js", "dialogs.js", "preview.js", "text.js"}, "all has come")


def test_many_small_files_are_told_of_once_and_only_those_that_were_sent(server, opened, folder):
    make_tree(server.root, {"0.txt": "0"})
    for number in range(60):
        (folder / f"{number}.txt").write_text(str(number))
    page = opened(server.url + "/")
    page.evaluate("""() => {
        window.told = []
        new MutationObserver(list => { for (const one of list) for (const node of one.addedNodes) told.push(node.firstChild.textContent) })
            .observe(document.querySelector(".toasts"), {childList: true})
    }""")
    # All are sent before the first is verified.
    held = []
    page.route("**/hash.js", lambda route: held.append(route))
    files_input(page).set_input_files([str(folder / f"{number}.txt") for number in range(1, 60)])
    expect(panel(page).locator("li.verifying")).to_have_count(59)
    held[0].continue_()
    expect(panel(page).get_by_text("59 files uploaded")).to_be_visible()
    # What is skipped is not counted.
    files_input(page).set_input_files(str(folder / "0.txt"))
    expect(panel(page).get_by_text("identical, already there")).to_be_visible()
    expect(panel(page).get_by_text("59 files uploaded")).to_be_visible()
    expect(page.locator(".toast")).to_have_count(1)
    assert page.evaluate("told") == ["59 files uploaded"]


def test_a_long_text_is_said_to_be_cut(server, opened):
    make_tree(server.root, {"long.log": "x" * 2_100_000})
    page = opened(server.url + "/#view=long.log")
    expect(page.get_by_role("dialog").locator(".notice")).to_have_text("Read-only · 200 kB / 2.1 MB")


@pytest.mark.parametrize("trash", [True, False])
def test_undo_of_a_move_brings_back_what_was_replaced_or_says_so(serve, opened, trash):
    server = serve(*["--trash", "3"] if trash else [])
    make_tree(server.root, {"a.txt": "new", "target/a.txt": "old"})
    page = opened(server.url + "/")
    page.expected += ["412"]
    select(page, "a.txt")
    act(page, "Move to…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="target").click()
    dialog.get_by_role("button", name="Move here").click()
    dialog.get_by_role("button", name="Replace").click()
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "a.txt")).to_be_visible()
    assert (server.root / "a.txt").read_text() == "new"
    if trash:
        wait_until(lambda: page.wait_for_timeout(20) or (server.root / "target/a.txt").exists(), "it is there again")
        assert (server.root / "target/a.txt").read_text() == "old"
    else:
        expect(page.get_by_text("“a.txt” · This can't be undone.")).to_be_visible()


@pytest.mark.parametrize("trash", [True, False])
def test_a_folder_that_is_replaced_for_good_is_said_to_be(serve, opened, trash):
    server = serve(*["--trash", "3"] if trash else [])
    make_tree(server.root, {"o/new.txt": "new", "z/o/other.txt": "old"})
    page = opened(server.url + "/")
    page.expected += ["412"]
    row(page, "o").drag_to(row(page, "z"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“o” is already there")
    expect(dialog.get_by_text("Replace deletes all that is in there.")).to_have_count(0 if trash else 1)
    dialog.get_by_role("button", name="Replace").click()
    expect(page.get_by_text("1 item moved to “z”")).to_be_visible()
    assert (server.root / "z/o/new.txt").exists() and not (server.root / "z/o/other.txt").exists()
    expect(page.get_by_role("button", name="Undo")).to_have_count(1 if trash else 0)
    if trash:
        page.get_by_role("button", name="Undo").click()
        wait_until(lambda: page.wait_for_timeout(20) or (server.root / "z/o/other.txt").exists(), "it is there again")
        assert (server.root / "o/new.txt").exists()


def inside(page, *elements):
    """Whether all of these stand within the width of the window, and none covers another one."""
    boxes = [one.bounding_box() for one in elements]
    width = page.evaluate("document.documentElement.clientWidth")
    return all(0 <= box["x"] and box["x"] + box["width"] <= width + .5 for box in boxes) and not any(
        a["x"] < b["x"] + b["width"] - 1 and b["x"] < a["x"] + a["width"] - 1 and a["y"] < b["y"] + b["height"] - 1 and b["y"] < a["y"] + a["height"] - 1
        for at, a in enumerate(boxes) for b in boxes[:at])


def test_what_is_found_on_a_small_phone_keeps_its_name_in_one_line(server, opened):
    make_tree(server.root, {"documents/of last year/annual report.txt": "x"})
    page = opened(server.url + "/#search=annual", **{**PHONE, "viewport": {"width": 360, "height": 740}})
    name = page.locator("tbody a.open bdi")
    expect(name).to_have_text("annual report.txt")
    assert name.evaluate("name => name.getClientRects().length === 1 && name.offsetHeight < 2 * parseFloat(getComputedStyle(name).lineHeight)")


@pytest.mark.parametrize("locale, words", [("en-GB", "Delete"), ("de-DE", "Löschen")])
@pytest.mark.parametrize("width", [320, 360, 390])
def test_small_phones_have_all_in_reach(server, opened, shot, width, locale, words):
    make_tree(server.root, {f"file {n}.txt": "x" for n in range(12)})
    page = opened(server.url + "/", locale=locale, **{**PHONE, "viewport": {"width": width, "height": 740}})
    page.locator("thead input").check()
    bar = page.get_by_role("toolbar")
    assert inside(page, bar.locator(".count"), bar.get_by_role("button", name=words, exact=True))
    shot(page, f"small-{width}-{locale[:2]}")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))")
    body = page.locator(".dialog-body")
    expect(body).to_be_visible()
    assert body.evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_trash_shows_long_paths_beside_its_buttons(serve, opened, shot, width):
    server = serve("--trash", "3")
    place = "/".join(["a folder with quite a name"] * 4)
    make_tree(server.root, {place + "/report.txt": "x"})
    page = opened(f"{server.url}/{place}/".replace(" ", "%20"), **(PHONE if width == 390 else {}))
    select(page, "report.txt")
    act(page, "Delete")
    expect(row(page, "report.txt")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Trash").click()
    line = page.get_by_role("dialog").locator(".rows li")
    assert inside(page, line.locator("bdi"), line.get_by_role("button", name="Restore"), line.get_by_role("button", name="Delete forever"))
    shot(page, f"trash-{width}")


@pytest.mark.parametrize("width", [660, 768, 890])
def test_the_path_shows_on_tablets(server, opened, shot, width):
    make_tree(server.root, {"Pictures of all/Summer/": None})
    page = opened(server.url + "/Pictures%20of%20all/Summer/", viewport={"width": width, "height": 900})
    crumbs = page.get_by_role("navigation", name="Breadcrumbs")
    shot(page, f"tablet-{width}")
    assert crumbs.bounding_box()["width"] > 150
    assert inside(page, crumbs.get_by_role("link", name="Summer"), page.get_by_role("searchbox"))


def test_names_show_more_of_themselves(server, opened, shot):
    name = "Quarterly report of the southern region 2026 (final).txt"
    make_tree(server.root, {name: "x"})
    page = opened(server.url + "/", **PHONE)
    text = row(page, name).locator("a.open bdi")
    assert 30 < text.bounding_box()["height"] < 42, "two lines"
    expect(page.get_by_title(name, exact=True)).to_be_visible()
    shot(page, "long-name-phone")


def test_a_deep_folder_shows_the_ends_of_its_lines(server, opened, shot, folder):
    place = "/".join(["a folder with quite a name"] * 4)
    make_tree(folder / "deep", {f"{place}/{name}": "x" for name in ("(one) of them.txt", "two!.txt", "three…", "[four]")})
    page = opened(server.url + "/")
    drop(page, folder / "deep")
    expect(panel(page).locator(".done")).to_have_count(4)
    shot(page, "deep")
    for what in panel(page).locator(".what").all():
        ends, box = what.locator("bdi").bounding_box(), what.bounding_box()
        assert abs(ends["x"] + ends["width"] - box["x"] - box["width"]) < 1, "the end is in sight"
        assert what.evaluate("one => getComputedStyle(one).textAlign") == "left"


def test_names_of_blanks_are_none_and_what_has_no_width_shows(server, opened):
    make_tree(server.root, {"a.txt": "a", "zero\u200bwidth.txt": "z"})
    page = opened(server.url + "/")
    expect(row(page, "zero\ufffdwidth.txt")).to_be_visible()
    act(page, "New folder")
    field = page.get_by_role("dialog").get_by_role("textbox")
    field.fill("   ")
    field.press("Enter")
    page.wait_for_timeout(300)
    expect(field).to_be_visible()
    field.fill(" some words ")
    field.press("Enter")
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / " some words ").is_dir(), "words are a name")
    select(page, "a.txt")
    page.keyboard.press("F2")
    page.get_by_role("textbox", name="New name for a.txt").fill("  ")
    page.keyboard.press("Enter")
    expect(row(page, "a.txt")).to_be_visible()
    assert {path.name for path in server.root.iterdir()} >= {"a.txt", " some words "} and len(list(server.root.iterdir())) == 3


def test_who_may_only_read_is_offered_no_new_name(serve, opened):
    server = serve("--read-only")
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    select(page, "a.txt")
    expect(page.get_by_role("toolbar").get_by_role("button", name="Download")).to_be_visible()
    expect(page.get_by_role("toolbar").get_by_role("button", name=re.compile("Rename"))).to_have_count(0)


LONG = "Quarterly report of the southern region 2026 (final, signed by all three).txt"


@pytest.mark.parametrize("name", [LONG, "L" * 120 + ".txt"], ids=["words", "one-word"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_question_about_a_taken_name_shows_both_files_whole(server, opened, shot, width, name):
    make_tree(server.root, {name: "old"})
    page = opened(server.url + "/", viewport={"width": width, "height": 640})
    files_input(page).set_input_files({"name": name, "mimeType": "text/plain", "buffer": b"newer"})
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    shot(page, f"taken-{width}-{name[0]}")
    body, sections = dialog.locator(".dialog-body"), dialog.locator(".compare section")
    assert body.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert inside(page, *sections.all())
    first, second = (one.bounding_box()["width"] for one in sections.all())
    assert abs(first - second) < 1
    for text in sections.locator("bdi").all():
        box, frame = text.bounding_box(), text.locator("xpath=ancestor::section").bounding_box()
        assert frame["x"] < box["x"] and box["x"] + box["width"] < frame["x"] + frame["width"]
    # Nor does the title lie over what is below it.
    assert dialog.locator(".dialog-head").evaluate("one => one.scrollHeight <= one.clientHeight")


@pytest.mark.parametrize("mode", ["list", "grid"])
@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_the_panel_of_transfers_covers_no_row_that_is_wanted(server, opened, shot, device, mode):
    make_tree(server.root, {f"file {n:02}.txt": "x" for n in range(60)})
    page = opened(server.url + "/", **(PHONE if device == "phone" else {}))
    foot = lambda: page.evaluate("innerHeight - document.querySelector('.transfers').getBoundingClientRect().bottom")
    # In a short folder it stands at the window's foot, and nothing scrolls.
    page.get_by_role("searchbox").fill("none of these")
    files_input(page).set_input_files({"name": "sent 0.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(panel(page).locator(".done")).to_have_count(1)
    assert 15 < foot() < 17 and page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.get_by_role("searchbox").fill("")
    if mode == "grid":
        page.get_by_role("button", name="Show as grid").click()
    files_input(page).set_input_files([{"name": f"sent {n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(1, 9)])
    expect(panel(page).locator(".done")).to_have_count(9)
    expect(page.locator(".summary")).to_contain_text("69 files")
    # The end of the folder scrolls clear of it,
    page.evaluate("scrollTo(0, 1e6)")
    above = lambda one: one.bounding_box()["y"] + one.bounding_box()["height"] <= panel(page).bounding_box()["y"] + 1
    assert above(row(page, "sent 8.txt")) and above(page.locator(".summary"))
    shot(page, f"panel-end-{device}-{mode}")
    assert 15 < foot() < 17
    # and keys lead to rows in sight.
    page.evaluate("scrollTo(0, 0)")
    row(page, "file 00.txt").focus()
    for key in ["ArrowDown"] * 14 + ["PageDown", "End"]:
        page.keyboard.press(key)
        assert above(page.locator("tbody tr:focus")), key
    below = lambda one: one.bounding_box()["y"] + 1 >= sum(page.locator(".commands").bounding_box()[side] for side in ("y", "height"))
    for key in ["ArrowUp"] * 14 + ["PageUp"]:
        page.keyboard.press(key)
        assert below(page.locator("tbody tr:focus")), key


def test_the_panel_of_transfers_leaves_a_tall_tile_its_top(server, opened, shot):
    """As on a phone that lies on its side."""
    make_tree(server.root, {f"file {n:02}.txt": "x" for n in range(40)})
    page = opened(server.url + "/", viewport={"width": 740, "height": 360})
    page.get_by_role("button", name="Show as grid").click()
    files_input(page).set_input_files([{"name": f"sent {n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(9)])
    expect(panel(page).locator(".done")).to_have_count(9)
    row(page, "file 00.txt").focus()
    for key in ["ArrowDown"] * 4 + ["End"]:
        page.keyboard.press(key)
        assert 0 <= page.locator("tbody tr:focus").bounding_box()["y"] < panel(page).bounding_box()["y"] - 30, key
    shot(page, "panel-landscape")


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_a_tiles_new_name_is_typed_in_sight(server, opened, shot, device):
    make_tree(server.root, {"a.txt": "a", "b.png": picture(), "c/": None})
    page = opened(server.url + "/", **(PHONE if device == "phone" else {}))
    page.get_by_role("button", name="Show as grid").click()
    for name in ["a.txt", "b.png", "c"]:
        tile = row(page, name)
        page.get_by_role("button", name=f"Actions for {name}", exact=True).click()
        page.get_by_role("menuitem", name="Rename").click()
        field = page.get_by_role("textbox", name=f"New name for {name}", exact=True)
        expect(field).to_be_focused()
        shot(page, f"tile-rename-{device}-{name[0]}")
        tile = page.get_by_role("row").filter(has=field)
        assert inside(page, field, tile.get_by_role("checkbox"), tile.get_by_role("button"))
        box, around = field.bounding_box(), tile.bounding_box()
        assert around["x"] <= box["x"] and box["x"] + box["width"] <= around["x"] + around["width"]
        assert around["y"] <= box["y"] and box["y"] + box["height"] <= around["y"] + around["height"]
        field.fill("2 " + name)
        field.press("Enter")
        expect(row(page, "2 " + name)).to_be_focused()


@pytest.mark.parametrize("width", [320, 390])
def test_a_text_that_is_edited_keeps_its_name_in_sight(server, opened, shot, width):
    make_tree(server.root, {"notes for all.md": "# Notes"})
    page = opened(viewport={"width": width, "height": 700})
    page.goto(server.url + "/#view=notes%20for%20all.md")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Edit")).to_be_visible()
    shot(page, f"preview-head-{width}")
    title = dialog.get_by_role("heading", name="notes for all.md")
    assert title.evaluate("one => one.scrollWidth <= one.clientWidth")
    buttons = dialog.locator(".preview-head").get_by_role("button").all()
    assert len(buttons) == 6 and inside(page, title, *buttons)
    assert len({round(one.bounding_box()["y"]) for one in buttons}) == 1, "one line of buttons"


def test_photos_are_taken_with_phones_where_files_may_be_added(serve, opened):
    server = serve("--auth", "@/:rw", "--auth", "@/read:ro")
    make_tree(server.root, {"read/a.txt": "a"})
    page = opened(server.url + "/")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menuitem", name="Upload files")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Take a photo")).to_have_count(0)
    page = opened(server.url + "/", **PHONE)
    expect(page.get_by_role("toolbar").get_by_role("button", name="Take a photo")).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    with page.expect_file_chooser():
        page.get_by_role("menuitem", name="Take a photo").click()
    row(page, "read").locator("a").tap()
    expect(row(page, "a.txt")).to_be_visible()
    expect(page.get_by_role("toolbar").get_by_role("button", name="Take a photo")).to_have_count(0)
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menuitem", name="QR code")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Take a photo")).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1280])
def test_without_scripts_long_names_are_whole(server, opened, shot, width):
    make_tree(server.root, {"a.txt": "a", LONG: "x", "L" * 200 + ".txt": "x"})
    page = opened(java_script_enabled=False, viewport={"width": width, "height": 800})
    page.goto(server.url + "/")
    shot(page, f"no-script-long-{width}")
    for name in [LONG, "L" * 200 + ".txt"]:
        box = page.get_by_role("link", name=name).bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= width, box
    # Names leave space for sizes and dates.
    assert page.get_by_role("row").filter(has=page.get_by_role("link", name="a.txt")).bounding_box()["height"] < 48
