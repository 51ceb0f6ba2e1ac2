"""Uploads that are paused, cancelled or overtaken before they begin, and what stands in their way."""

import pytest
import requests
from playwright.sync_api import expect

from browser.conftest import make_tree, row
from browser.test_folders import drop
from browser.test_transfers import files_input, panel
from server import wait_until


def waiting(opened, server, path, there):
    """A page whose upload of `path` waits for the list of what is there, and what lets it go on."""
    path.write_text("mine")
    make_tree(server.root, {there: "old"})
    page, held = opened(server.url + "/"), []
    page.route("**/?json", lambda route: route.continue_() if held else held.append(route))
    files_input(page).set_input_files(str(path))
    wait_until(lambda: page.wait_for_timeout(20) or held, "the list is asked for")
    return page, held[0].continue_


def press(page, label):
    panel(page).locator("li").get_by_role("button", name=label).click()


def test_what_is_cancelled_before_it_began_is_not_sent(server, opened, folder):
    page, go_on = waiting(opened, server, folder / "new.txt", "other.txt")
    press(page, "Cancel: new.txt")
    go_on()
    (folder / "last.txt").write_text("last")
    files_input(page).set_input_files(str(folder / "last.txt"))
    expect(row(page, "last.txt")).to_be_visible()
    assert not (server.root / "new.txt").exists()


def test_what_is_paused_before_it_began_waits_and_is_asked_about(server, opened, folder):
    page, go_on = waiting(opened, server, folder / "a.txt", "a.txt")
    press(page, "Pause: a.txt")
    go_on()
    page.wait_for_timeout(500)
    expect(panel(page).get_by_text("Paused")).to_be_visible()
    press(page, "Resume: a.txt")
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert (server.root / "a.txt").read_text() == "mine"


def test_what_is_paused_and_resumed_before_it_began_is_sent_once(server, opened, folder):
    page, go_on = waiting(opened, server, folder / "new.txt", "other.txt")
    sent = []
    page.on("request", lambda request: request.method == "PUT" and sent.append(request.url))
    press(page, "Pause: new.txt")
    press(page, "Resume: new.txt")
    go_on()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    page.wait_for_timeout(300)
    assert sent == [server.url + "/new.txt"]


def test_what_is_paused_and_chosen_again_goes_on(serve, opened, folder):
    server = serve("--limit-rate", "2M")
    (folder / "film.bin").write_bytes(bytes(6 << 20))
    page = opened(server.url + "/")
    page.expected.append("ERR_")
    begun = []
    page.on("request", lambda request: request.method == "POST" and begun.append(request.url))
    files_input(page).set_input_files(str(folder / "film.bin"))
    wait_until(lambda: page.wait_for_timeout(20) or list((server.root / ".shareserve/uploads").glob("*.part")), "it is sent")
    press(page, "Pause: film.bin")
    files_input(page).set_input_files(str(folder / "film.bin"))
    expect(panel(page).locator("li.done")).to_be_visible()
    expect(panel(page).locator("li")).to_have_count(1)
    assert len(begun) == 1 and (server.root / "film.bin").read_bytes() == bytes(6 << 20)


def test_who_replaces_one_file_does_not_replace_the_one_beside_it(server, opened, folder):
    """The free name that was chosen for one to keep is taken by somebody else; then the question is about the first name again."""
    (folder / "a.txt").write_text("mine")
    make_tree(server.root, {"a.txt": "old"})
    page = opened(server.url + "/")
    page.expected = ["412"]

    def overtake(route):
        if route.request.method == "PUT" and not (server.root / "a (2).txt").exists():
            (server.root / "a (2).txt").write_text("somebody else's")
        route.continue_()

    page.route("**/a%20(2).txt", overtake)
    files_input(page).set_input_files(str(folder / "a.txt"))
    page.get_by_role("dialog").get_by_role("button", name="Keep both").click()
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / "a (2).txt").exists(), "the name is taken")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“a.txt” is already there")
    dialog.get_by_role("button", name="Replace").click()
    expect(panel(page).get_by_text("uploaded and verified")).to_be_visible()
    assert (server.root / "a (2).txt").read_text() == "somebody else's"
    assert (server.root / "a.txt").read_text() == "mine"


def test_who_replaces_what_is_still_being_sent_does_not_replace_what_somebody_else_put_there(server, opened, folder):
    make_tree(folder, {"a.txt": "mine", "a (2).txt": "mine, too"})
    make_tree(server.root, {"a.txt": "old"})
    page, held = opened(server.url + "/"), []
    page.expected = ["412"]
    page.route("**/a%20(2).txt", lambda route: route.continue_() if held else held.append(route))
    dialog = page.get_by_role("dialog")
    files_input(page).set_input_files(str(folder / "a.txt"))
    dialog.get_by_role("button", name="Keep both").click()
    wait_until(lambda: page.wait_for_timeout(20) or held, "its new name is reserved")
    files_input(page).set_input_files(str(folder / "a (2).txt"))
    expect(dialog).to_contain_text("“a (2).txt” is already there")
    (server.root / "a (2).txt").write_text("somebody else's")
    with page.expect_response(lambda response: response.request.method == "PUT") as answer:
        dialog.get_by_role("button", name="Replace").click()
    assert answer.value.status == 412
    expect(dialog).to_contain_text("“a (2).txt” is already there")
    assert (server.root / "a (2).txt").read_text() == "somebody else's"


@pytest.mark.parametrize("answer", ["Replace", "Keep both", "Skip"])
def test_others_are_sent_while_a_question_waits(server, opened, folder, answer):
    taken, free = [f"{number} taken.txt" for number in range(5)], [f"{number} free.txt" for number in range(5)]
    make_tree(server.root, {name: "old" for name in taken})
    make_tree(folder, {name: f"mine, {name}" for name in [*taken, *free]})
    page = opened(server.url + "/")
    files_input(page).set_input_files([str(folder / name) for name in [*taken, *free]])
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“0 taken.txt” is already there")
    wait_until(lambda: page.wait_for_timeout(20) or all((server.root / name).exists() for name in free), "all others are sent")
    dialog.get_by_role("button", name=answer).click()
    expect(dialog).to_contain_text("“1 taken.txt” is already there")
    dialog.get_by_role("checkbox", name="Do this for all conflicts").check()
    dialog.get_by_role("button", name=answer).click()
    expect(panel(page).locator("li.skipped" if answer == "Skip" else "li.done")).to_have_count(5 if answer == "Skip" else 10)
    there = {path.name: path.read_text() for path in server.root.glob("*.txt")}
    mine = {name: f"mine, {name}" for name in [*taken, *free]}
    if answer == "Keep both":
        assert there == mine | {name: "old" for name in taken} | {name.replace(".", " (2)."): mine[name] for name in taken}
    else:
        assert there == (mine if answer == "Replace" else mine | {name: "old" for name in taken})


@pytest.mark.parametrize("size", [5, 1 << 20], ids=["small", "resumable"])
def test_a_drop_box_takes_any_number_of_files_of_one_name(serve, opened, folder, size):
    server = serve("--auth", "@/:w")
    make_tree(server.root, {"report.txt": "x", **{f"report ({number}).txt": "x" for number in range(2, 9)}})
    (folder / "report.txt").write_bytes(b"m" * size)
    page = opened()
    page.expected = ["403", "409", "412"]
    page.goto(server.url + "/")
    expect(page.get_by_role("heading", name="You can send files here")).to_be_visible()
    files_input(page).set_input_files(str(folder / "report.txt"))
    expect(panel(page).locator("li.done")).to_have_count(1)
    arrived = [path for path in server.root.glob("report*") if path.read_bytes() == b"m" * size]
    assert len(arrived) == 1 and len(list(server.root.glob("report*"))) == 9


def test_one_folder_that_is_refused_does_not_keep_the_others_away(serve, opened, folder):
    server = serve("--hidden", ".git")
    tree = folder / "project"
    make_tree(tree, {".git/config": "c", "a.txt": "a", "lib/b.txt": "b", "z/empty/": None})
    page = opened(server.url + "/")
    page.expected = ["403", "405"]
    drop(page, tree)
    expect(panel(page).get_by_role("heading", name="1 file could not be uploaded")).to_be_visible()
    expect(panel(page).locator("li.failed")).to_contain_text("project/.git/config")
    there = server.root / "project"
    rest = [there / name for name in ("a.txt", "lib/b.txt", "z/empty")]
    wait_until(lambda: page.wait_for_timeout(20) or all(path.exists() for path in rest), "all others are there")
    assert (there / "a.txt").read_text() == "a" and (there / "lib/b.txt").read_text() == "b" and not (there / ".git").exists()


def trash_rows(page):
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Trash").click()
    return page.get_by_role("dialog", name="Trash").locator("li")


def test_a_trash_of_thousands_is_shown_as_far_as_it_is_scrolled(serve, opened):
    server = serve("--trash", "3")
    count = 1_500
    for at in range(0, count, 100):
        some = [f"{number:04}.txt" for number in range(at, at + 100)]
        make_tree(server.root, {name: "x" for name in some})
        assert requests.post(server.url + "/.shareserve/trash", json={"hrefs": [f"/{name}" for name in some]}, timeout=20).status_code == 200
    page = opened(server.url + "/")
    rows = trash_rows(page)
    expect(rows.first).to_be_visible()
    page.wait_for_timeout(300)
    assert rows.count() < 500

    def is_all_shown():
        rows.last.scroll_into_view_if_needed()
        page.wait_for_timeout(20)
        return rows.count() == count

    wait_until(is_all_shown, "all have come into sight")
    last = rows.last.locator("bdi").inner_text()
    rows.last.get_by_role("button", name="Restore").click()
    expect(rows).to_have_count(count - 1)
    assert [path.name for path in server.root.glob("*.txt")] == [last[1:]]


def test_a_file_in_the_trash_is_not_ended_without_a_question(serve, opened):
    server = serve("--trash", "3")
    for name in ("kept.txt", "ended.txt"):
        assert requests.put(f"{server.url}/{name}", data=b"x").status_code == 201
        assert requests.delete(f"{server.url}/{name}").status_code == 204
    page = opened(server.url + "/")
    rows = trash_rows(page)
    end = rows.filter(has_text="ended.txt").get_by_role("button", name="Delete forever")
    question = page.get_by_role("alertdialog", name="Delete forever")
    end.click()
    expect(question).to_contain_text("ended.txt · This can't be undone.")
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_have_count(0)
    assert len(requests.get(server.url + "/.shareserve/trash", timeout=20).json()["items"]) == 2
    end.click()
    question.get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("kept.txt")


def test_a_double_click_in_the_trash_restores_one_file(serve, opened):
    server = serve("--trash", "3")
    # So many that the dialog keeps its height.
    for number in range(40):
        assert requests.put(f"{server.url}/{number}.txt", data=b"x").status_code == 201
        assert requests.delete(f"{server.url}/{number}.txt").status_code == 204
    page = opened(server.url + "/")
    rows = trash_rows(page)
    expect(rows).to_have_count(40)
    box = rows.first.get_by_role("button", name="Restore").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down(click_count=1)
    page.mouse.up(click_count=1)
    expect(rows).to_have_count(39)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.wait_for_timeout(500)
    expect(rows).to_have_count(39)
