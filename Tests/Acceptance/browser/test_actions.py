"""What a person does with files: select, name, move, copy, delete, and change their mind."""

import zipfile

import pytest
from playwright.sync_api import expect

from browser.conftest import act, make_tree, names, row, select
from server import wait_until


def test_selection_by_box_click_shift_and_control(server, opened, shot):
    make_tree(server.root, {f"{letter}.txt": letter for letter in "abcdef"})
    page = opened(server.url + "/")
    blank = {"x": 500, "y": 20}
    row(page, "b.txt").click(position=blank)
    row(page, "d.txt").click(position=blank, modifiers=["Shift"])
    expect(page.get_by_text("3 selected")).to_be_visible()
    row(page, "f.txt").click(position=blank, modifiers=["Control"])
    expect(page.get_by_text("4 selected")).to_be_visible()
    shot(page, "selection")
    page.keyboard.press("Control+a")
    expect(page.get_by_text("6 selected")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[aria-selected=true]")).to_have_count(0)
    select(page, "a.txt", "c.txt")
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("checkbox", name="Select all").check()
    expect(page.get_by_text("6 selected")).to_be_visible()


def test_rename_in_place_selects_the_stem(server, opened, shot):
    make_tree(server.root, {"report.final.pdf": "r", "taken.pdf": "t"})
    page = opened(server.url + "/")
    row(page, "report.final.pdf").click(position={"x": 500, "y": 20})
    page.keyboard.press("F2")
    field = page.get_by_role("textbox", name="New name for report.final.pdf")
    expect(field).to_be_focused()
    assert field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == "report.final"
    shot(page, "rename")
    page.keyboard.type("summary")
    page.keyboard.press("Enter")
    expect(row(page, "summary.pdf")).to_be_visible()
    assert (server.root / "summary.pdf").read_text() == "r"
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "report.final.pdf")).to_be_visible()

    select(page, "report.final.pdf")
    act(page, "Rename")
    page.get_by_role("textbox", name="New name for report.final.pdf").fill("taken.pdf")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“taken.pdf” is already there")
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Keep both").click()
    expect(row(page, "taken (2).pdf")).to_be_visible()
    assert (server.root / "taken.pdf").read_text() == "t"
    page.expected.append("412")


def test_delete_can_be_undone(server, opened, shot):
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "folder/deep.txt": "d"})
    page = opened(server.url + "/")
    select(page, "a.txt", "folder")
    page.keyboard.press("Delete")
    expect(page.get_by_text("2 items deleted")).to_be_visible()
    assert names(page) == ["b.txt"]
    assert not (server.root / "a.txt").exists()
    shot(page, "deleted")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "a.txt")).to_be_visible()
    assert (server.root / "folder/deep.txt").read_text() == "d"
    select(page, "b.txt")
    page.keyboard.press("Shift+Delete")
    ask = page.get_by_role("alertdialog")
    expect(ask).to_be_visible()
    shot(page, "delete-forever")
    ask.get_by_role("button", name="Delete", exact=True).click()
    expect(row(page, "b.txt")).to_have_count(0)


def test_new_folder_and_new_text_file(server, opened, shot):
    page = opened(server.url + "/")
    page.get_by_role("toolbar").get_by_role("button", name="New folder").click()
    shot(page, "new-folder")
    page.get_by_role("dialog").get_by_role("textbox").fill("Ordner ü")
    page.keyboard.press("Enter")
    expect(row(page, "Ordner ü")).to_be_visible()
    assert (server.root / "Ordner ü").is_dir()
    act(page, "New text file")
    page.get_by_role("dialog").get_by_role("textbox").fill("note.txt")
    page.keyboard.press("Enter")
    area = page.get_by_role("textbox", name="note.txt")
    area.fill("hello\nworld")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    assert (server.root / "note.txt").read_text() == "hello\nworld"


def test_what_was_just_made_shows(server, opened):
    (server.root / "a.txt").write_text("a")
    page = opened(server.url + "/")
    page.get_by_role("searchbox", name="Filter this folder").fill("a.t")
    for name in ("other", ".hidden"):
        act(page, "New folder")
        page.get_by_role("dialog").get_by_role("textbox").fill(name)
        page.keyboard.press("Enter")
        expect(row(page, name)).to_be_focused()


def test_cut_and_paste_copy_and_paste(server, opened):
    make_tree(server.root, {"a.txt": "a", "target/": None})
    page = opened(server.url + "/")
    row(page, "a.txt").click(position={"x": 500, "y": 20})
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    expect(row(page, "a (2).txt")).to_be_visible()
    row(page, "a.txt").click(position={"x": 500, "y": 20})
    page.keyboard.press("Control+x")
    page.get_by_role("link", name="target", exact=True).click()
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    act(page, "Paste")
    expect(row(page, "a.txt")).to_be_visible()
    assert (server.root / "target/a.txt").read_text() == "a" and not (server.root / "a.txt").exists()


def test_a_deletion_of_many_can_be_undone_for_as_long_as_it_takes(server, opened):
    """The server keeps each from its own deletion on: the first for the time that all others take, and take to come back."""
    count = 250
    make_tree(server.root, {f"{number:03}.txt": "x" for number in range(count)})
    page, kept = opened(server.url + "/"), []
    page.on("response", lambda answer: answer.url.endswith("/trash") and kept.extend(answer.json()["items"]))
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(f"{count} files")).to_be_visible()
    assert len(kept) == count and all(item["expires"] - item["deleted"] > 70_000 for item in kept)
    assert len(list(server.root.glob("*.txt"))) == count


@pytest.mark.parametrize("way", ["delete", "move"])
def test_undo_brings_back_a_file_and_then_its_folder_as_they_were(server, opened, way):
    """Chosen in a search, where both are found."""
    make_tree(server.root, {"one/one.txt": "1", "one/two.txt": "2", "target/": None})
    page = opened(server.url + "/")
    page.get_by_role("searchbox").fill("one")
    page.get_by_role("searchbox").press("Enter")
    select(page, "one.txt", "one")
    if way == "delete":
        page.keyboard.press("Delete")
        expect(page.get_by_text("2 items deleted")).to_be_visible()
    else:
        act(page, "Move to…")
        page.get_by_role("dialog").get_by_role("button", name="target").click()
        page.get_by_role("dialog").get_by_role("button", name="Move here").click()
        expect(page.get_by_text("2 items moved to “target”")).to_be_visible()
    assert not (server.root / "one").exists()
    page.get_by_role("button", name="Undo").click()
    wait_until(lambda: page.wait_for_timeout(50) or (server.root / "one/one.txt").exists() and (server.root / "one/two.txt").exists(), "both are back")
    page.wait_for_timeout(300)
    there = {str(path.relative_to(server.root)) for path in server.root.rglob("*") if ".shareserve" not in path.parts}
    assert there == {"one", "one/one.txt", "one/two.txt", "target"}


def test_leaving_asks_while_files_are_copied(server, opened):
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "target/": None})
    page, held, asked = opened(server.url + "/"), [], []
    page.route("**/b.txt", lambda route: held.append(route))
    select(page, "a.txt", "b.txt")
    page.keyboard.press("Control+c")
    page.get_by_role("link", name="target", exact=True).click()
    act(page, "Paste")
    wait_until(lambda: page.wait_for_timeout(20) or held, "the second is being copied")
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    wait_until(lambda: page.wait_for_timeout(20) or asked, "the question comes")
    assert asked == ["beforeunload"]
    held[0].continue_()
    expect(page.get_by_text("2 items copied to “target”")).to_be_visible()
    page.goto(server.url + "/")
    assert len(asked) == 1


def test_all_conflicts_read_their_folder_once_or_not_at_all(server, opened):
    """So many files as are there already: who wants them all skipped waits for one list."""
    files = {f"{number}.txt": "new" for number in range(6)}
    make_tree(server.root, files | {f"target/{name}": "old" for name in files})
    page = opened(server.url + "/")
    page.expected += ["412"]
    lists = []
    page.on("request", lambda request: request.url.endswith("/target/?json") and lists.append(request.url))
    page.keyboard.press("Control+a")
    page.get_by_role("checkbox", name="Select target").uncheck()
    for answer, content in (("Skip", "old"), ("Replace", "new")):
        lists.clear()
        act(page, "Copy to…")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="target").click()
        expect(dialog.get_by_role("status")).to_contain_text("target")
        dialog.get_by_role("button", name="Copy here").click()
        dialog.get_by_role("checkbox", name="Do this for all conflicts").check()
        dialog.get_by_role("button", name=answer).click()
        wait_until(lambda: page.wait_for_timeout(500) or (server.root / "target/5.txt").read_text() == content, "all are done")
        assert len(lists) <= 2, lists


def test_move_and_copy_by_a_folder_picker(server, opened, shot):
    make_tree(server.root, {"a.txt": "a", "one/two/": None})
    page = opened(server.url + "/")
    select(page, "a.txt")
    act(page, "Copy to…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="one").click()
    shot(page, "picker")
    dialog.get_by_role("button", name="two").click()
    expect(dialog.get_by_text("No folders in here")).to_be_visible()
    dialog.get_by_role("button", name="Copy here").click()
    expect(page.get_by_text("1 item copied to “two”")).to_be_visible()
    assert (server.root / "one/two/a.txt").read_text() == "a"
    act(page, "Move to…")
    dialog.get_by_role("button", name="one").click()
    expect(dialog.get_by_role("status")).to_contain_text("one")
    dialog.get_by_role("button", name="Move here").click()
    expect(row(page, "a.txt")).to_have_count(0)
    assert (server.root / "one/a.txt").exists()
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "a.txt")).to_be_visible()


def test_a_folder_is_said_not_to_go_into_itself(server, opened):
    make_tree(server.root, {"one/two/": None, "other/": None})
    page = opened(server.url + "/")
    select(page, "one")
    act(page, "Copy to…")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="other")).to_be_visible()
    expect(dialog.get_by_role("button", name="one")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+x")
    page.get_by_role("link", name="one", exact=True).click()
    expect(row(page, "two")).to_be_visible()
    act(page, "Paste")
    expect(page.get_by_text("A folder can't go into itself")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link").first.click()
    page.get_by_role("link", name="other", exact=True).click()
    act(page, "Paste")
    expect(row(page, "one")).to_be_visible()
    assert (server.root / "other/one/two").is_dir() and not (server.root / "one").exists()


def test_drag_to_a_folder_moves(server, opened):
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "target/": None})
    page = opened(server.url + "/")
    select(page, "a.txt", "b.txt")
    row(page, "a.txt").drag_to(row(page, "target"))
    expect(row(page, "a.txt")).to_have_count(0)
    wait_until(lambda: (server.root / "target/b.txt").exists(), "both files are moved")
    page.get_by_role("link", name="target", exact=True).click()
    expect(row(page, "b.txt")).to_be_visible()
    row(page, "b.txt").drag_to(page.get_by_role("navigation").get_by_role("link").first)
    wait_until(lambda: (server.root / "b.txt").exists(), "a file is dropped on the breadcrumbs")


DRAGGED = """row => {
  const dataTransfer = new DataTransfer();
  row.dispatchEvent(new DragEvent('dragstart', { bubbles: true, dataTransfer }));
  return dataTransfer.types.map((type) => [type, dataTransfer.getData(type)]);
}"""

# Which of the events the page takes as its own.
DROPPED = """(row, data) => {
  const dataTransfer = new DataTransfer();
  for (const [type, text] of data) dataTransfer.setData(type, text);
  return ['dragover', 'drop'].filter((type) => !row.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer })));
}"""


def test_only_rows_of_this_share_can_be_dropped(serve, opened, folder):
    """Another server's window has other files, perhaps with the same paths."""
    (folder / "other").mkdir()
    server, other, below = serve(), serve(root=folder / "other"), serve(root=folder / "other", *["--path-prefix", "/below"])
    for root in (server.root, other.root):
        make_tree(root, {"a.txt": "a", "b.txt": "b", "target/": None})
    page = opened(server.url + "/")
    page.expected += ["404"]
    sent = []
    page.on("request", lambda request: request.method == "MOVE" and sent.append(request.url))
    for stranger in (opened(other.url + "/"), opened(below.url + "/")):
        data = row(stranger, "a.txt").evaluate(DRAGGED)
        assert data and row(page, "target").evaluate(DROPPED, data) == []
    # Another window of the same share is none, and neither is what nobody here has written.
    [[kind, _]] = data = row(opened(server.url + "/"), "b.txt").evaluate(DRAGGED)
    assert row(page, "target").evaluate(DROPPED, [[kind, '{"']]) == ["dragover", "drop"]
    assert row(page, "target").evaluate(DROPPED, data) == ["dragover", "drop"]
    expect(row(page, "b.txt")).to_have_count(0)
    wait_until(lambda: (server.root / "target/b.txt").exists(), "the own row is moved")
    assert (server.root / "a.txt").exists() and server.url + "/a.txt" not in sent


def test_context_menu_and_row_button_offer_the_actions(server, opened, shot):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    row(page, "a.txt").click(button="right")
    menu = page.get_by_role("menu")
    for label in ["Open", "Download", "Rename", "Cut", "Copy", "Move to…", "Copy to…", "Delete"]:
        expect(menu.get_by_role("menuitem", name=label, exact=True)).to_be_visible()
    shot(page, "menu")
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    page.get_by_role("button", name="Actions for a.txt").click()
    menu.get_by_role("menuitem", name="Rename").click()
    expect(page.get_by_role("textbox", name="New name for a.txt")).to_be_focused()


@pytest.mark.parametrize("height", [420, 682])
def test_a_second_click_on_more_closes_its_menu(serve, opened, height):
    """Where the menu is higher than the room below, no item may come to lie under the pointer."""
    page = opened(serve("--trash", "7").url + "/")
    page.set_viewport_size({"width": 1366, "height": height})
    chosen = []
    page.on("filechooser", lambda chooser: chosen.append(chooser))
    box = page.get_by_role("button", name="More", exact=True).bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, delay=50)
    expect(page.get_by_role("button", name="More", exact=True)).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    last = page.get_by_role("menu").get_by_role("menuitem").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport(ratio=1)
    assert page.get_by_role("menu").bounding_box()["y"] >= box["y"] + box["height"]
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    assert not chosen and page.get_by_role("dialog").count() == 0


def test_question_mark_shows_the_keys(server, opened, shot):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("F2")
    shot(page, "keys")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_keyboard_alone(server, opened):
    make_tree(server.root, {"folder/inner.txt": "i", "a.txt": "a", "b.txt": "b"})
    page = opened(server.url + "/")
    page.keyboard.press("ArrowDown")
    expect(row(page, "folder")).to_be_focused()
    page.keyboard.press("Enter")
    expect(row(page, "inner.txt")).to_be_visible()
    page.keyboard.press("Alt+ArrowUp")
    expect(row(page, "folder")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.keyboard.press("Delete")
    expect(page.get_by_text("2 items deleted")).to_be_visible()
    assert names(page) == ["folder"]


def test_downloads_have_the_same_bytes(server, opened):
    make_tree(server.root, {"a.bin": bytes(range(256)) * 50, "sub/b.txt": "b"})
    page = opened(server.url + "/")
    select(page, "a.bin")
    with page.expect_download() as one:
        act(page, "Download")
    assert open(one.value.path(), "rb").read() == bytes(range(256)) * 50
    select(page, "sub")
    with page.expect_download() as both:
        act(page, "Download")
    with zipfile.ZipFile(both.value.path()) as archive:
        assert archive.read("sub/b.txt") == b"b" and archive.read("a.bin") == bytes(range(256)) * 50


def test_more_than_an_address_holds_comes_as_one_download(server, opened):
    tree = {f"holiday {n:04} – ünter der Brücke.jpg": str(n) for n in range(600)}
    make_tree(server.root, {**tree, "0 left out": "x", "plus + & = %41": "odd"})
    page = opened(server.url + "/")
    page.keyboard.press("Control+a")
    page.get_by_role("checkbox", name="Select 0 left out", exact=True).uncheck()
    # In a separate tab, which closes when the download starts: a refusal does not replace the page.
    with page.context.expect_event("download") as download:
        act(page, "Download")
    with zipfile.ZipFile(download.value.path()) as archive:
        found = {name: archive.read(name).decode() for name in archive.namelist()}
    assert found == {**tree, "plus + & = %41": "odd"}
    assert page.url == server.url + "/" and row(page, "0 left out").is_visible()


def test_what_was_found_in_several_folders_comes_as_one_download(server, opened):
    make_tree(server.root, {f"in ä/d{n}/needle {n}.txt": str(n) for n in range(3)})
    page = opened(server.url + "/in%20%c3%a4/")
    page.get_by_role("searchbox").fill("needle")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text("3 found for")).to_be_visible()
    select(page, "needle 0.txt")
    select(page, "needle 2.txt")
    with page.expect_download() as download:
        act(page, "Download")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "d0/needle 0.txt": b"0", "d2/needle 2.txt": b"2"}
