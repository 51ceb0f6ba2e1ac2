"""What a person has, has chosen or has typed is not lost, whatever is pressed, refused or looked at meanwhile."""

import os
import re

import pytest
import requests
from playwright.sync_api import expect

from browser.conftest import act, make_tree, picture, row, select
from server import wait_until

# What a browser tells a page when it comes into sight again.
COME_BACK = "document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))"
# A close request that no key announces: Android's Back, or a screen reader's own way.
DISMISS = "document.querySelector('dialog[open]').close()"


def files_input(page):
    return page.locator("input[type=file]").first


def sent(name, content):
    return {"name": name, "mimeType": "text/plain", "buffer": content}


def log_in(page):
    page.get_by_label("User").fill("anna")
    page.get_by_label("Password").fill("secret")
    page.get_by_role("button", name="Log in").click()


def test_dismissing_the_question_about_a_taken_name_replaces_nothing(server, opened):
    make_tree(server.root, {"a.txt": "old", "folder/a.txt": "new"})
    page = opened(server.url + "/")
    page.expected.append("412")
    files_input(page).set_input_files([sent("a.txt", b"sent")])
    dialog = page.get_by_role("dialog", name="“a.txt” is already there")
    expect(dialog).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    for _ in range(4):
        page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    page.evaluate(DISMISS)
    expect(page.locator(".transfers li.skipped")).to_be_visible()
    assert (server.root / "a.txt").read_text() == "old"
    page.get_by_role("link", name="folder", exact=True).click()
    select(page, "a.txt")
    page.keyboard.press("Control+x")
    page.get_by_role("navigation").get_by_role("link").first.click()
    expect(row(page, "folder")).to_be_visible()
    page.keyboard.press("Control+v")
    expect(dialog).to_be_visible()
    page.evaluate(DISMISS)
    expect(dialog).to_have_count(0)
    page.wait_for_timeout(300)
    assert (server.root / "a.txt").read_text() == "old"
    assert (server.root / "folder/a.txt").read_text() == "new"


def test_a_log_in_form_stays_while_it_is_filled_in(serve, opened):
    server = serve("--auth", "anna:secret@/:rw")
    page = opened()
    page.expected.append("401")
    page.goto(server.url + "/")
    page.get_by_label("User").fill("anna")
    with page.expect_response("**/?json"):
        page.evaluate(COME_BACK)
    page.wait_for_timeout(300)
    expect(page.get_by_label("User")).to_have_value("anna")


def test_a_log_in_form_stays_when_others_change_the_folder(serve, opened):
    server = serve("--auth", "anna:secret@/:rw", "--auth", "@/:ro")
    make_tree(server.root, {"a.txt": "a", "folder/": None})
    page = opened(server.url + "/")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Log in").click()
    page.get_by_label("User").fill("anna")
    (server.root / "b.txt").write_text("b")
    expect(page.locator(".summary")).to_contain_text("2 files")
    expect(page.get_by_label("User")).to_have_value("anna")
    page.get_by_role("navigation").get_by_role("link").first.click()
    expect(row(page, "b.txt")).to_be_visible()
    expect(page.get_by_label("User")).to_have_count(0)


def test_all_that_was_gathered_under_several_filters_is_deleted(serve, opened):
    server = serve("--trash", "3")
    make_tree(server.root, {"apple.txt": "a", "pear.txt": "p", "plum.txt": "p", ".hidden": "h"})
    page = opened(server.url + "/")
    field = page.get_by_role("searchbox", name="Filter this folder")
    for name in ("apple.txt", "pear.txt"):
        field.fill(name[:4])
        select(page, name)
    expect(page.locator(".count")).to_have_text("2 selected")
    field.fill("plum")
    expect(page.get_by_role("checkbox", name="Select all")).not_to_be_checked()
    act(page, "Delete")
    expect(page.get_by_text("2 items deleted")).to_be_visible()
    assert sorted(path.name for path in server.root.glob("*.txt")) == ["plum.txt"]
    field.fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+H")
    select(page, ".hidden", "plum.txt")
    page.get_by_role("grid").get_by_role("button", name="Name").focus()
    page.keyboard.press("Shift+H")
    expect(page.locator(".count")).to_have_text("1 selected")


def test_lines_that_nobody_changed_keep_their_ends(server, opened):
    make_tree(server.root, {"progress.log": b"10%\r20%\r30%\ndone\n", "mixed.txt": b"one\r\ntwo\nthree\r\n"})
    page = opened(server.url + "/")
    page.get_by_role("link", name="progress.log").click()
    expect(page.get_by_role("textbox", name="progress.log")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("link", name="mixed.txt").click()
    text = page.get_by_role("textbox", name="mixed.txt")
    text.press("Control+End")
    text.press_sequentially("four\n")
    text.press("Control+s")
    expect(page.get_by_text("Saved")).to_be_visible()
    assert (server.root / "mixed.txt").read_bytes() == b"one\r\ntwo\nthree\r\nfour\r\n"
    text.press("Control+Home")
    text.press_sequentially("zero\n")
    text.press("Control+s")
    wait_until(lambda: (server.root / "mixed.txt").read_bytes() == b"zero\r\none\r\ntwo\nthree\r\nfour\r\n", "the second text is saved")


def test_files_that_a_sessions_end_stopped_are_asked_about_and_sent_again(serve, opened):
    server = serve("--auth", "anna:secret@/:rw")
    page = opened()
    page.expected += ["401", "403"]
    page.goto(server.url + "/")
    log_in(page)
    expect(page.get_by_text("This folder is empty")).to_be_visible()
    page.context.clear_cookies()
    files_input(page).set_input_files([sent("a.txt", b"sent")])
    expect(page.locator(".transfers li.failed")).to_be_visible()
    page.evaluate(COME_BACK)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    log_in(page)
    wait_until(lambda: page.wait_for_timeout(50) or asked == ["beforeunload"], "the page asks")
    expect(page.get_by_label("User")).to_have_count(0)
    page.get_by_role("button", name="Retry all").click()
    expect(page.locator(".transfers li.done")).to_be_visible()
    assert (server.root / "a.txt").read_text() == "sent"
    page.reload()
    assert asked == ["beforeunload"]


def test_leaving_asks_while_files_are_paused(serve, opened):
    server = serve("--limit-rate", "1M")
    page = opened(server.url + "/")
    page.expected.append("ERR_")
    files_input(page).set_input_files([sent("a.bin", os.urandom(4 << 20))])
    page.get_by_role("button", name="Pause all").click()
    expect(page.get_by_role("button", name="Resume all")).to_be_visible()
    page.wait_for_timeout(300)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    wait_until(lambda: page.is_closed() or asked or page.context.pages[0].wait_for_timeout(50), "the question comes")
    assert asked == ["beforeunload"]


def test_saving_twice_meets_no_change_by_others(server, opened):
    make_tree(server.root, {"a.txt": "one"})
    page = opened(server.url + "/")
    page.route("**/a.txt", lambda route: (page.wait_for_timeout(300) if route.request.method == "PUT" else None, route.continue_()))
    page.get_by_role("link", name="a.txt").click()
    text = page.get_by_role("textbox", name="a.txt")
    text.press("Control+End")
    for word in (" two", " three"):
        text.press_sequentially(word)
        text.press("Control+s")
    wait_until(lambda: page.wait_for_timeout(50) or (server.root / "a.txt").read_text() == "one two three", "both are saved")
    page.wait_for_timeout(800)
    expect(page.get_by_text("Somebody else changed this file")).to_have_count(0)


def test_replace_is_offered_to_who_may_overwrite(serve, opened):
    server = serve("--no-overwrite")
    make_tree(server.root, {"a.txt": "old"})
    page = opened(server.url + "/")
    page.expected.append("412")
    files_input(page).set_input_files([sent("a.txt", b"sent")])
    dialog = page.get_by_role("dialog", name="“a.txt” is already there")
    expect(dialog.get_by_role("button", name="Keep both")).to_be_visible()
    expect(dialog.get_by_role("button", name="Replace")).to_have_count(0)


def test_no_text_is_begun_that_could_not_be_saved(serve, opened):
    page = opened(serve("--no-overwrite").url + "/")
    expect(page.get_by_role("toolbar").get_by_role("button", name="New folder")).to_be_visible()
    expect(page.get_by_role("toolbar").get_by_role("button", name="New text file")).to_have_count(0)
    page.keyboard.press("Shift+T")
    page.keyboard.press("Shift+N")
    expect(page.get_by_role("dialog")).to_have_attribute("aria-label", "New folder")


def test_links_have_a_number_of_downloads_or_none(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/", permissions=["clipboard-read", "clipboard-write"])
    select(page, "a.txt")
    act(page, "Share link")
    dialog = page.get_by_role("dialog", name="Share “a.txt”")
    for number in ("0", "1.5", "-3"):
        dialog.get_by_label("Most downloads").fill(number)
        dialog.get_by_role("button", name="Create link").click()
        assert dialog.get_by_label("Most downloads").evaluate("field => !field.validity.valid")
    dialog.get_by_label("Most downloads").fill("2")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("list", name="Links").get_by_role("listitem")).to_have_count(1)
    expect(dialog.get_by_text("2 downloads left")).to_be_visible()


def test_a_counted_link_is_not_used_up_by_looking(server, opened):
    make_tree(server.root, {"album/a.png": picture(), "album/b.png": picture(hue=40), "album/read.txt": "words"})
    made = requests.post(server.url + "/.shareserve/links", json={"href": "/album/", "maxDownloads": 1}, timeout=20).json()

    def left():
        return requests.get(server.url + "/.shareserve/links?path=/album/", timeout=20).json()["items"][0]["downloadsLeft"]

    page = opened()
    page.expected += ["410"]
    page.goto(server.url + made["address"][made["address"].index("/.shareserve"):])
    page.get_by_role("button", name="Show as grid").click()
    expect(row(page, "a.png")).to_be_visible()
    page.get_by_role("link", name="a.png", exact=True).click()
    stage = page.locator("dialog .stage")
    expect(stage).to_contain_text("A preview counts as a download.")
    page.wait_for_timeout(500)
    assert left() == 1 and page.locator("img").count() == 0
    stage.get_by_role("button", name="Preview").click()
    expect(stage.locator("img")).to_have_js_property("naturalWidth", 320)
    assert left() == 0
    page.keyboard.press("ArrowRight")
    expect(stage).to_contain_text("This link has no downloads left")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="read.txt")).to_be_visible()
    expect(stage).to_contain_text("This link has no downloads left")


def test_links_made_on_the_own_machine_lead_others_here(serve, opened):
    server = serve(bind=("0.0.0.0",))
    make_tree(server.root, {"a.txt": "a"})
    page = opened(f"http://localhost:{server.port}/", permissions=["clipboard-read", "clipboard-write"])
    if not page.evaluate("JSON.parse(document.getElementById('boot').textContent).info.addresses?.some(one => !/localhost|127\\./.test(one))"):
        pytest.skip("this machine has no address but its own")
    select(page, "a.txt")
    act(page, "Share link")
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_role("list", name="Links").get_by_role("link")
    expect(link).to_be_visible()
    assert "localhost" not in link.get_attribute("href")


@pytest.mark.parametrize("rights", ["w", "ro"])
def test_ways_to_share_are_shown_to_who_has_them(serve, opened, rights):
    server = serve("--auth", f"anna:secret@/:{rights}")
    page = opened()
    page.expected += ["401", "403"]
    page.goto(server.url + "/")
    log_in(page)
    page.get_by_role("button", name=re.compile("Log out")).first.wait_for()
    page.get_by_role("button", name="More", exact=True).click()
    share = page.get_by_role("menuitem", name="Share this folder")
    if rights == "w":
        expect(page.get_by_role("menuitem", name="QR code")).to_be_visible()
        expect(share).to_have_count(0)
    else:
        share.click()
        expect(page.get_by_label("Most downloads")).to_be_visible()
        expect(page.get_by_label("Allow uploads")).to_have_count(0)


def test_a_refused_name_stays_where_it_was_typed(server, opened):
    make_tree(server.root, {"a.txt": "a", "taken/": None})
    page = opened(server.url + "/")
    page.expected.append("status of 4")
    act(page, "New folder")
    dialog = page.get_by_role("dialog", name="New folder")
    for name, refusal in (("2024/12", "A name can't hold “/”"), ("taken", "“taken” is already there"), ("x" * 300, "longer")):
        dialog.get_by_role("textbox", name="Name").fill(name)
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text(refusal)
        expect(dialog.get_by_role("textbox", name="Name")).to_have_value(name)
    dialog.get_by_role("textbox", name="Name").fill("free")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(row(page, "free")).to_be_visible()
    row(page, "a.txt").click(position={"x": 500, "y": 20})
    page.keyboard.press("F2")
    field = page.get_by_role("textbox", name="New name for a.txt")
    field.fill("a/b.txt")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status", name="Messages")).to_contain_text("A name can't hold")
    expect(field).to_be_focused()
    expect(field).to_have_value("a/b.txt")
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    assert (server.root / "a.txt").exists()


def test_a_file_that_is_too_large_is_told_the_size_there_may_be(serve, opened):
    server = serve("--max-upload-size", "1M")
    page = opened(server.url + "/")
    files_input(page).set_input_files([sent("big.txt", bytes(2_000_000))])
    expect(page.locator(".transfers li.failed")).to_contain_text("Too large for this server · 1 MB")


def test_markdown_made_to_be_slow_is_shown(server, opened):
    make_tree(server.root, {"dashes.md": "a | b\n" + "-" * 300_000 + "x\n", "spans.md": "`a` *b* " * 20_000 + "end",
                            "hashes.md": "# " + "#" * 200_000 + "x\n", "links.md": "[" * 100_000 + "\n\n" + "[a](x" * 80_000 + "\n\n" + "[a](x " * 80_000,
                            "quotes.md": ">" * 20_000 + " the end\n> next", "lists.md": "\n".join(" " * level + "- x" for level in range(1_900)) + "\n\nthe end"})
    page = opened(server.url + "/")
    for name in ("dashes.md", "spans.md", "hashes.md", "links.md", "quotes.md", "lists.md"):
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("article")).to_be_visible(timeout=8_000)
        if name in ("quotes.md", "lists.md"):
            expect(page.get_by_role("article")).to_contain_text("the end")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_escape_pressed_again_and_again_loses_no_text(server, opened):
    make_tree(server.root, {"a.txt": "one"})
    page = opened(server.url + "/")
    page.get_by_role("link", name="a.txt").click()
    text = page.get_by_role("textbox", name="a.txt")
    text.press("Control+End")
    text.press_sequentially(" typed")
    for _ in range(8):
        page.keyboard.press("Escape")
        page.wait_for_timeout(100)
        expect(page.locator("dialog.preview")).to_be_visible()
    expect(page.locator("textarea")).to_have_value("one typed")


def test_coming_back_keeps_what_is_selected_and_typed_in_a_search(server, opened):
    make_tree(server.root, {"folder/apple.txt": "a", "folder/plum.txt": "p", "pear.txt": "p"})
    page = opened(server.url + "/")
    field = page.get_by_role("searchbox", name="Filter this folder")
    field.fill("txt")
    page.keyboard.press("Enter")
    expect(page.get_by_text("3 found for “txt”")).to_be_visible()
    select(page, "apple.txt", "pear.txt")
    field.fill("another word")
    (server.root / "new.txt").write_text("new")
    (server.root / "pear.txt").unlink()
    page.evaluate(COME_BACK)
    expect(row(page, "new.txt")).to_be_visible()
    expect(row(page, "pear.txt")).to_have_count(0)
    expect(page.locator(".count")).to_have_text("1 selected")
    expect(field).to_have_value("another word")
    expect(page.get_by_text("3 found for “txt”")).to_be_visible()


@pytest.mark.parametrize("way", ["address", "menu"])
def test_a_log_in_form_is_ready_to_be_typed_in(serve, opened, way):
    server = serve("--auth", "anna:secret@/:rw", *(["--auth", "@/:ro"] if way == "menu" else []))
    make_tree(server.root, {"a.txt": "a"})
    page = opened()
    page.expected.append("401")
    page.goto(server.url + "/")
    if way == "menu":
        page.get_by_role("button", name="More", exact=True).press("Enter")
        page.get_by_role("menuitem", name="Log in").press("Enter")
    expect(page.get_by_label("User")).to_be_focused()
    page.keyboard.type("anna")
    page.keyboard.press("Tab")
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    expect(row(page, "a.txt")).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    if way == "menu":
        return
    # But it does not take the words that are typed into the search.
    field = page.get_by_role("searchbox")
    field.fill("some")
    page.context.clear_cookies()
    page.evaluate(COME_BACK)
    expect(page.get_by_label("User")).to_be_visible()
    page.wait_for_timeout(200)
    page.keyboard.type(" words")
    expect(field).to_have_value("some words")


def test_a_links_password_is_ready_to_be_typed_in(server, opened):
    make_tree(server.root, {"album/a.txt": "a"})
    link = requests.post(f"{server.url}/.shareserve/links", json={"href": "/album/", "password": "secret"}, timeout=20).json()
    page = opened()
    page.expected.append("401")
    page.goto(server.url + link["address"])
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    expect(row(page, "a.txt")).to_be_visible()
