"""Looking into files without leaving, changing text, and nothing of it ever run."""

import struct

import pytest
from playwright.sync_api import expect

from browser.conftest import PHONE, make_tree, picture, row
from server import wait_until


def wav(seconds=1):
    """Silence."""
    data = b"\x80" * (8000 * seconds)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + struct.pack("<I", len(data)) + data


PDF = (b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
       b"3 0 obj<</Type/Page/MediaBox[0 0 200 200]/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")


def test_pictures_zoom_and_arrow_keys_walk_on(server, opened, shot):
    make_tree(server.root, {"1.png": picture(hue=1), "2.png": picture(hue=99), "3.txt": "three", "folder/": None})
    page = opened(server.url + "/")
    page.get_by_role("link", name="1.png", exact=True).click()
    dialog = page.get_by_role("dialog", name="1.png")
    image = dialog.get_by_role("img", name="1.png")
    expect(image).to_be_visible()
    wait_until(lambda: image.evaluate("image => image.naturalWidth") == 320, "the picture loads")
    shot(page, "preview-picture")
    width = image.bounding_box()["width"]
    dialog.get_by_role("button", name="Zoom in").click()
    assert image.bounding_box()["width"] > width * 1.3
    image.dblclick()
    assert abs(image.bounding_box()["width"] - width) < 2
    image.hover()
    page.mouse.wheel(0, -400)
    wait_until(lambda: image.bounding_box()["width"] > width * 1.3, "the wheel zooms")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("img", name="2.png")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("textbox", name="3.txt")).to_have_value("three")
    assert page.url.endswith("#view=3.txt")
    page.reload()
    expect(page.get_by_role("textbox", name="3.txt")).to_have_value("three")
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_what_closes_it_is_in_reach_under_a_long_name(server, opened):
    name = "IMG_20260101_123456789_HDR_" + "x" * 150 + ".png"
    make_tree(server.root, {name: picture()})
    page = opened(server.url + "/", **PHONE)
    page.get_by_role("link", name=name).tap()
    close = page.get_by_role("dialog").get_by_role("button", name="Close")
    box = close.bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= PHONE["viewport"]["width"], box
    close.tap()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_beginning_of_a_large_text_stays_one_when_it_grows(server, opened):
    make_tree(server.root, {"log.txt": "a line of a log\n" * 200_000})
    page = opened(server.url + "/")
    fetched = []
    page.on("request", lambda request: request.url.endswith("/log.txt") and request.method == "GET" and fetched.append(request.all_headers().get("range")))
    page.get_by_role("link", name="log.txt", exact=True).click()
    expect(page.get_by_role("textbox", name="log.txt")).to_be_visible()
    with page.expect_request(lambda request: request.method == "HEAD" and request.url.endswith("/log.txt")):
        with (server.root / "log.txt").open("a") as file:
            file.write("one more\n")
    page.wait_for_timeout(1_000)
    assert len(fetched) == 1 and fetched[0], fetched


def test_escape_and_back_close_it(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    page.get_by_role("link", name="a.txt", exact=True).click()
    expect(page.get_by_role("textbox", name="a.txt")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row(page, "a.txt")).to_be_focused()
    page.get_by_role("link", name="a.txt", exact=True).click()
    expect(page.get_by_role("textbox", name="a.txt")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row(page, "a.txt")).to_be_visible()


def test_text_is_saved_over_the_version_read_only(server, opened, shot):
    make_tree(server.root, {"code.py": "print(1)\r\nprint(2)\r\n"})
    page = opened(server.url + "/")
    page.expected.append("412")
    page.get_by_role("link", name="code.py", exact=True).click()
    area = page.get_by_role("textbox", name="code.py")
    expect(area).to_have_js_property("spellcheck", False)
    expect(area).to_have_value("print(1)\nprint(2)\n")
    area.fill("print(1)\nprint(3)\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert (server.root / "code.py").read_bytes() == b"print(1)\r\nprint(3)\r\n"
    (server.root / "code.py").write_text("somebody else\n")
    area.fill("mine\n")
    page.get_by_role("button", name="Save", exact=True).click()
    notice = page.get_by_role("alert").filter(has_text="Somebody else changed this file")
    expect(notice).to_be_visible()
    assert (server.root / "code.py").read_text() == "somebody else\n"
    shot(page, "editor-conflict")
    notice.get_by_role("button", name="Save mine as a copy").click()
    wait_until(lambda: (server.root / "code (2).py").exists(), "the copy is written")
    assert (server.root / "code.py").read_text() == "somebody else\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_of_two_bytes_a_letter_is_read(server, opened, encoding):
    content = "\ufeffÄpfel\r\nBirnen 梨".encode(encoding)
    (server.root / "a.txt").write_bytes(content)
    page = opened(server.url + "/")
    page.get_by_role("link", name="a.txt").click()
    area = page.get_by_role("textbox", name="a.txt")
    expect(area).to_have_value("Äpfel\nBirnen 梨")
    assert area.evaluate("area => area.readOnly")
    expect(page.get_by_text("Read-only")).to_be_visible()


def save_a_copy(page, path):
    """Of the text that is open, which others have changed meanwhile."""
    page.expected += ["412"]
    page.get_by_role("textbox", name=path.name).fill("mine")
    path.write_text("theirs")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Save mine as a copy").click()


def test_who_saves_a_copy_goes_on_with_the_copy(server, opened):
    (server.root / "a.txt").write_text("first")
    page = opened(server.url + "/")
    page.get_by_role("link", name="a.txt").click()
    save_a_copy(page, server.root / "a.txt")
    area = page.get_by_role("textbox", name="a (2).txt")
    expect(area).to_have_value("mine")
    expect(page.get_by_role("heading", name="a (2).txt")).to_be_visible()
    area.fill("mine, again")
    page.keyboard.press("Control+s")
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / "a (2).txt").read_text() == "mine, again", "the copy is saved")
    expect(page.get_by_text("Somebody else changed this file")).to_have_count(0)
    assert (server.root / "a.txt").read_text() == "theirs"


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "found by saving"])
def test_text_whose_file_is_gone_can_be_saved_again(server, opened, is_told):
    (server.root / "a.txt").write_text("first")
    page = opened()
    page.expected += ["404", "412", "ERR_FAILED"]
    if not is_told:
        page.route("**/.shareserve/events?*", lambda route: route.abort())
    with page.expect_request("**/.shareserve/events?*"):
        page.goto(server.url + "/#view=a.txt")
    area = page.get_by_role("textbox", name="a.txt")
    area.fill("mine")
    (server.root / "a.txt").rename(server.root / "b.txt")
    if not is_told:
        page.keyboard.press("Control+s")
    notice = page.get_by_role("dialog").get_by_role("alert")
    expect(notice).to_contain_text("It is not there any more")
    expect(notice.get_by_role("button")).to_have_text(["Save"])
    expect(area).to_have_value("mine")
    notice.get_by_role("button", name="Save").click()
    expect(notice).to_be_hidden()
    assert (server.root / "a.txt").read_text() == "mine" and (server.root / "b.txt").read_text() == "first"
    area.fill("mine again")
    page.get_by_role("button", name="Save", exact=True).click()
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / "a.txt").read_text() == "mine again", "it is saved over what was saved")
    expect(notice).to_be_hidden()


def test_a_copy_of_what_a_search_found_is_saved_beside_it(server, opened):
    make_tree(server.root, {"a.txt": "another", "sub/a.txt": "first", "sub/a (2).txt": "taken"})
    page = opened(server.url + "/#search=a.txt")
    page.locator("tbody tr").filter(has_text="/sub/").get_by_role("link", name="a.txt").click()
    save_a_copy(page, server.root / "sub/a.txt")
    area = page.get_by_role("textbox", name="a (3).txt")
    expect(area).to_have_value("mine")
    area.fill("mine, again")
    page.keyboard.press("Control+s")
    wait_until(lambda: page.wait_for_timeout(20) or (server.root / "sub/a (3).txt").read_text() == "mine, again", "the copy is saved")
    there = {str(path.relative_to(server.root)): path.read_text() for path in server.root.rglob("a*.txt")}
    assert there == {"a.txt": "another", "sub/a.txt": "theirs", "sub/a (2).txt": "taken", "sub/a (3).txt": "mine, again"}


def test_unsaved_changes_are_not_lost_by_closing(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    page.get_by_role("link", name="a.txt", exact=True).click()
    page.get_by_role("textbox", name="a.txt").fill("changed")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    wait_until(lambda: page.wait_for_timeout(20) or asked == ["beforeunload"], "the browser asks")
    page.keyboard.press("Escape")
    ask = page.get_by_role("alertdialog")
    expect(ask).to_contain_text("Unsaved changes")
    ask.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("textbox", name="a.txt")).to_have_value("changed")
    page.keyboard.press("Escape")
    ask.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    assert asked == ["beforeunload"]


def test_markdown_is_rendered_without_scripts(server, opened, shot):
    make_tree(server.root, {"read me.md": "\n".join([
        "# Title", "", "Some *soft* and **strong** `code` [page](https://example.org/) [bad](javascript:alert(1)) <img src=x onerror=alert(1)>",
        "", "- one", "- two", "  - inner", "", "| a | b |", "|---|---|", "| 1 | 2 |", "", "```", "<script>alert(1)</script>", "```", "", "> quoted"])})
    page = opened(server.url + "/")
    page.get_by_role("link", name="read me.md", exact=True).click()
    text = page.get_by_role("article")
    expect(text.get_by_role("heading", name="Title")).to_be_visible()
    expect(text.get_by_role("table")).to_be_visible()
    expect(text.get_by_role("link")).to_have_count(1)
    expect(text.locator("img, script")).to_have_count(0)
    expect(text).to_contain_text("<img src=x onerror=alert(1)>")
    shot(page, "markdown")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("textbox", name="read me.md")).to_be_visible()


def test_sound_film_and_what_cannot_be_shown(server, opened, shot):
    make_tree(server.root, {"a.wav": wav(), "b.bin": bytes(range(256)), "c.html": "<script>document.title = 'owned'</script>",
                            "d.svg": "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><script>alert(1)</script><rect width='40' height='40'/></svg>"})
    page = opened(server.url + "/")
    page.get_by_role("link", name="a.wav", exact=True).click()
    media = page.locator("audio")
    wait_until(lambda: media.evaluate("media => media.duration") == 1, "the sound can be played and sought")
    shot(page, "preview-sound")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("No preview for this kind of file")).to_be_visible()
    shot(page, "preview-none")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("textbox", name="c.html")).to_have_value("<script>document.title = 'owned'</script>")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("img", name="d.svg")).to_be_visible()
    assert "owned" not in page.title()


def test_pdf_is_shown_by_the_browsers_own_reader(server, opened, shot):
    make_tree(server.root, {"paper.pdf": PDF})
    page = opened(server.url + "/")
    page.get_by_role("link", name="paper.pdf", exact=True).click()
    expect(page.locator("dialog iframe[title='paper.pdf']").or_(page.get_by_text("No preview for this kind of file"))).to_be_visible()
    page.wait_for_timeout(800)
    shot(page, "preview-pdf")


def test_user_files_never_run_as_this_origin(server, opened):
    make_tree(server.root, {"evil.html": "<script>localStorage.owned = 1; document.title = 'owned'</script>x",
                            "evil.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>localStorage.owned = 1</script></svg>"})
    page = opened(server.url + "/")
    page.expected.append(".")
    for name in ["evil.html", "evil.svg"]:
        page.goto(f"{server.url}/{name}")
        page.wait_for_timeout(300)
    page.goto(server.url + "/")
    assert page.evaluate("localStorage.owned") is None
