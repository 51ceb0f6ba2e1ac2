"""The rest of the page: what others do shows at once, codes and links, languages, size."""

import base64
import json
import pathlib
import re
import subprocess

import pytest
import requests
from playwright.sync_api import expect

from browser.conftest import PHONE, act, make_tree, names, row, select
from server import wait_until

RESOURCES = pathlib.Path(__file__).resolve().parents[3] / "Resources"


def test_changes_by_others_show_without_a_reload(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    page.wait_for_timeout(500)
    (server.root / "b.txt").write_text("bb")
    expect(row(page, "b.txt")).to_be_visible()
    (server.root / "b.txt").write_text("b" * 2000)
    expect(row(page, "b.txt")).to_contain_text("2 kB")
    (server.root / "a.txt").unlink()
    expect(row(page, "a.txt")).to_have_count(0)
    (server.root / "folder").mkdir()
    page.get_by_role("link", name="folder", exact=True).click()
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    page.wait_for_timeout(500)
    (server.root / "folder/inner.txt").write_text("i")
    expect(row(page, "inner.txt")).to_be_visible()


def test_qr_code_of_the_address(server, opened, shot, folder):
    (server.root / "folder ü").mkdir()
    page = opened(server.url + "/folder%20%C3%BC/")
    page.get_by_role("button", name="QR code").click()
    dialog = page.get_by_role("dialog", name="QR code")
    shown = dialog.get_by_role("textbox", name="Address").input_value()
    assert shown.endswith("/folder%20%C3%BC/")
    shot(page, "qr")
    dialog.get_by_role("img").screenshot(path=folder / "code.png")
    read = subprocess.run(["zbarimg", "--quiet", "--raw", folder / "code.png"], capture_output=True, text=True, check=True)
    assert read.stdout.strip() == shown


def test_share_links_are_made_listed_and_revoked(server, opened, shot):
    make_tree(server.root, {"folder/inner.txt": "inner", "beside.txt": "b"})
    page = opened(server.url + "/", permissions=["clipboard-read", "clipboard-write"])
    select(page, "folder")
    act(page, "Share link")
    dialog = page.get_by_role("dialog", name="Share “folder”")
    dialog.get_by_role("combobox", name="Expires").select_option(label="1 day")
    dialog.get_by_role("button", name="Create link").click()
    link = dialog.get_by_role("list", name="Links").get_by_role("link")
    expect(link).to_be_visible()
    shot(page, "links")
    address = link.get_attribute("href")
    guest = opened(address)
    expect(row(guest, "inner.txt")).to_be_visible()
    assert names(guest) == ["inner.txt"]
    dialog.get_by_role("button", name="Revoke link").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Revoke link").click()
    expect(link).to_have_count(0)
    guest.expected.append(".")
    guest.reload()
    expect(row(guest, "inner.txt")).to_have_count(0)


def test_log_in_and_out(serve, opened, shot):
    server = serve("--auth", "anna:secret@/:rw")
    make_tree(server.root, {"a.txt": "a"})
    page = opened()
    page.expected.append("401")
    page.goto(server.url + "/")
    page.get_by_label("User").fill("anna")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("wrong").or_(page.get_by_role("alert").filter(has_text=re.compile(".")))).not_to_have_count(0)
    shot(page, "log-in")
    page.get_by_label("Password").fill("secret")
    page.get_by_role("button", name="Log in").click()
    expect(row(page, "a.txt")).to_be_visible()
    page.get_by_role("button", name=re.compile("Log out")).first.click()
    expect(page.get_by_label("Password")).to_be_visible()


WORDS = {"de-DE": ("Dateien hochladen", "Neuer Ordner"), "zh-CN": ("上传文件", "新建文件夹"), "fr-FR": ("Upload files", "New folder")}


@pytest.mark.parametrize("locale", WORDS)
def test_language_by_what_the_browser_accepts(server, opened, shot, locale):
    make_tree(server.root, {"Datei.txt": "x" * 12345, "Ordner/": None})
    page = opened(server.url + "/", locale=locale)
    for words in WORDS[locale]:
        expect(page.get_by_role("button", name=words, exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == locale[:2].replace("fr", "en")
    page.locator("tbody input[type=checkbox]").first.check()
    shot(page, f"language-{locale[:2]}")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))")
    page.get_by_role("dialog").wait_for()
    shot(page, f"language-{locale[:2]}-keys")


def test_refusal_in_the_own_language(server, opened):
    """What the server says is English: of a folder that went meanwhile the page says so itself."""
    make_tree(server.root, {"Ordner/": None})
    page = opened(server.url + "/Ordner/", locale="de-DE")
    page.expected.append("status of 40[49]")
    page.get_by_role("toolbar").get_by_role("button", name="Neuer Ordner").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("neu")
    (server.root / "Ordner").rmdir()
    page.get_by_role("dialog").get_by_role("button", name="Anlegen").click()
    expect(page.get_by_text("Es ist nicht mehr da").first).to_be_visible()


def test_what_a_name_must_end_in_is_said_in_every_language(serve, opened):
    server = serve("--allow-extensions", "txt,md")
    page = opened(server.url + "/", locale="de-DE")
    page.expected.append("403")
    page.get_by_role("toolbar").get_by_role("button", name="Neue Textdatei").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("a.exe")
    dialog.get_by_role("button", name="Anlegen").click()
    expect(dialog.get_by_role("alert")).to_have_text(re.compile(r"^Das darfst du hier nicht · \.(txt or \.md|md or \.txt)$"))


@pytest.mark.parametrize("locale, make, words", [("de-DE", "Anlegen", "Das geht so nicht"), ("zh-CN", "创建", "无法完成此操作")])
def test_a_name_that_is_too_long_is_refused_in_the_own_language(server, opened, locale, make, words):
    page = opened(server.url + "/", locale=locale)
    page.expected.append("400")
    page.keyboard.press("Shift+N")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("n" * 300)
    dialog.get_by_role("button", name=make).click()
    expect(dialog.get_by_role("alert")).to_have_text(words)


def test_who_was_logged_out_elsewhere_is_told_to_log_in_again(serve, opened):
    server = serve("--auth", "anna:secret@/:rw")
    (server.root / "a.txt").write_text("a")
    page = opened(server.url + "/", locale="de-DE")
    page.expected.append("401")
    page.get_by_label("Benutzer").fill("anna")
    page.get_by_label("Passwort").fill("secret")
    page.get_by_role("button", name="Anmelden").click()
    page.get_by_role("link", name="a.txt").click()
    page.get_by_role("textbox", name="a.txt").fill("mine")
    page.context.clear_cookies()
    page.get_by_role("button", name="Speichern").click()
    expect(page.get_by_text("Melde dich neu an")).to_be_visible()
    expect(page.get_by_role("textbox", name="a.txt")).to_have_value("mine")


def english():
    """Every text in the sources that `t` is asked for."""
    found = set()
    for path in RESOURCES.rglob("*.js"):
        source = path.read_text()
        for start in re.finditer(r"(?<![\w.])t\(", source):
            at, depth = start.end(), 1
            while depth:
                if source[at] == '"':
                    end = at + 1
                    while source[end] != '"':
                        end += 2 if source[end] == "\\" else 1
                    found.add(json.loads(source[at:end + 1]))
                    at = end
                elif source[at] in "([{":
                    depth += 1
                elif source[at] in ")]}":
                    depth -= 1
                elif source[at] == "," and depth == 1:
                    break
                at += 1
        found |= set(re.findall(r'label: "([^"]+)"', source))
        for block in re.findall(r"const (?:states|known) = \{(.*?)\};?\n", source, re.DOTALL):
            found |= set(re.findall(r'"([A-Z][^"]+)"', block))
    return {text for text in found if re.search("[A-Za-z]{2}", text) and text not in {"MOVE", "COPY", "files", "upload", "upload."}}


@pytest.mark.parametrize("path", sorted(RESOURCES.glob("languages/*.txt")), ids=lambda path: path.stem)
def test_languages_are_complete(path):
    """Every text has a line of its own: no other text begins with the same longest beginning."""
    words = dict(line.split("=", 1) for line in path.read_text().splitlines())
    used = {}
    for text in sorted(english()):
        key = max((key for key in words if text.startswith(key)), key=len, default=None)
        assert key, text
        assert key not in used, (key, text, used[key])
        used[key] = text
        assert set(re.findall(r"\{\w+\}", text)) >= set(re.findall(r"\{\w+\}", words[key])), key
    assert set(words) - set(used) - {"dir"} == set()


def test_all_assets_together_are_small():
    sizes = {str(path.relative_to(RESOURCES)): path.stat().st_size for path in RESOURCES.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 150_000, sizes


def test_a_drop_box_takes_files_and_shows_none(serve, opened, folder, shot):
    server = serve("--auth", "@/:w")
    make_tree(server.root, {"secret.txt": "s"})
    page = opened()
    page.expected += ["403", "412", "409"]
    page.goto(server.url + "/")
    expect(page.get_by_role("heading", name="You can send files here")).to_be_visible()
    shot(page, "drop-box")
    assert "secret" not in page.content()
    # No text files where they could not be read back.
    expect(page.get_by_role("button", name="New text file")).to_have_count(0)
    (folder / "secret.txt").write_text("another")
    page.locator("input[type=file]").first.set_input_files(str(folder / "secret.txt"))
    expect(page.locator(".transfers .done")).to_be_visible()
    assert (server.root / "secret.txt").read_text() == "s"
    assert (server.root / "secret (2).txt").read_text() == "another"
    page.get_by_role("button", name="New folder").first.click()
    page.get_by_role("dialog").get_by_role("textbox").fill("made here")
    page.get_by_role("dialog").get_by_role("textbox").press("Enter")
    wait_until(lambda: (server.root / "made here").is_dir(), "a folder is made")


def test_uploads_in_progress_by_others_show(server, opened, shot):
    page = opened(server.url + "/")
    page.wait_for_timeout(500)
    metadata = ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in {"path": "/", "filename": "film.mp4"}.items())
    version = {"Tus-Resumable": "1.0.0"}
    made = requests.post(server.url + "/.shareserve/uploads", headers={**version, "Upload-Length": "4000", "Upload-Metadata": metadata})
    address = requests.compat.urljoin(server.url, made.headers["Location"])
    requests.patch(address, data=b"x" * 1000, headers={**version, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"})
    expect(page.get_by_text("Somebody is uploading “film.mp4”: 25%")).to_be_visible()
    shot(page, "others")
    requests.patch(address, data=b"x" * 3000, headers={**version, "Upload-Offset": "1000", "Content-Type": "application/offset+octet-stream"})
    expect(row(page, "film.mp4")).to_be_visible()
    expect(page.get_by_text("Somebody is uploading")).to_have_count(0)


def test_locked_files_say_so(server, opened):
    make_tree(server.root, {"book.odt": "b"})
    body = ('<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>'
            "<D:owner>Anna</D:owner></D:lockinfo>")
    assert requests.request("LOCK", server.url + "/book.odt", data=body, headers={"Timeout": "Second-60"}).status_code == 200
    page = opened(server.url + "/")
    page.expected.append("423")
    expect(row(page, "book.odt")).to_contain_text("Locked by Anna")
    select(page, "book.odt")
    page.keyboard.press("Delete")
    expect(page.get_by_role("status", name="Messages")).to_contain_text(re.compile("lock", re.IGNORECASE))
    assert (server.root / "book.odt").exists()


def test_keys_do_nothing_to_rows_that_have_no_focus(server, opened):
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    for key in ["Delete", "Enter", "F2"]:
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert (server.root / "a.txt").exists()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("prefix, spelled", [("/files", "/files"), ("/my files/ü", "/my%20files/%C3%BC"), ("/files", "/%66iles")])
def test_everything_works_below_a_path_prefix(serve, opened, folder, prefix, spelled):
    server = serve("--path-prefix", prefix, "--title", "Family <b>", "--header", "Welcome & hello", "--footer", "Bye")
    make_tree(server.root, {"sub/a.txt": "a"})
    page = opened(f"http://{server.authority}{spelled}/")
    expect(page.get_by_text("Welcome & hello")).to_be_visible()
    expect(page.get_by_text("Bye")).to_be_visible()
    assert page.title() == "Family <b>"
    page.get_by_role("link", name="sub", exact=True).click()
    expect(row(page, "a.txt")).to_be_visible()
    assert page.url.endswith(spelled + "/sub/")
    (folder / "big.bin").write_bytes(b"b" * 3_000_000)
    (folder / "small.txt").write_text("small")
    page.locator("input[type=file]").first.set_input_files([str(folder / "big.bin"), str(folder / "small.txt")])
    expect(page.locator(".transfers .done")).to_have_count(2)
    assert (server.root / "sub/big.bin").stat().st_size == 3_000_000
    select(page, "small.txt")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(row(page, "small.txt")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "small.txt")).to_be_visible()
    page.get_by_role("link", name="a.txt", exact=True).click()
    expect(page.get_by_role("textbox", name="a.txt")).to_have_value("a")


def test_the_trash_is_listed_and_restored_from(serve, opened, shot):
    server = serve("--trash", "3")
    make_tree(server.root, {"a.txt": "a", "b.txt": "b"})
    (server.root / "c.txt").write_text("c")
    page = opened(server.url + "/")
    assert requests.delete(server.url + "/a.txt").status_code == 204
    expect(row(page, "a.txt")).to_have_count(0)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Trash").click()
    dialog = page.get_by_role("dialog", name="Trash")
    expect(dialog).to_contain_text("a.txt")
    expect(dialog).to_contain_text("Kept for 3 days")
    shot(page, "trash")
    dialog.get_by_role("button", name="Restore").click()
    expect(dialog.get_by_text("The trash is empty")).to_be_visible()
    assert (server.root / "a.txt").read_text() == "a"


def test_what_comes_back_under_another_name_is_said(serve, opened):
    server = serve("--trash", "7")
    make_tree(server.root, {"sub/note.md": "old", "gone.md": "x"})
    for name in ("sub/note.md", "gone.md"):
        assert requests.delete(f"{server.url}/{name}", timeout=20).status_code == 204
    (server.root / "sub/note.md").write_text("new")
    page = opened(server.url + "/")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Trash").click()
    rows = page.get_by_role("dialog", name="Trash").get_by_role("listitem")
    rows.filter(has_text="note.md").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Renamed to “note (1).md”")).to_be_visible()
    # Somebody else was faster.
    item = requests.get(server.url + "/.shareserve/trash", timeout=20).json()["items"][0]
    requests.post(server.url + "/.shareserve/trash/restore", json={"ids": [item["id"]]}, timeout=20)
    rows.filter(has_text="gone.md").get_by_role("button", name="Restore").click()
    expect(page.locator(".toast.bad")).to_contain_text("gone.md: ")


def test_without_scripts_there_is_a_listing_and_a_form(server, opened, folder, shot):
    make_tree(server.root, {"sub/inner.txt": "i", "a.txt": "a"})
    (folder / "sent.txt").write_text("sent")
    page = opened(java_script_enabled=False)
    page.goto(server.url + "/")
    page.get_by_role("link", name="sub").click()
    expect(page.get_by_role("link", name="inner.txt")).to_be_visible()
    page.locator("input[type=file]").set_input_files(str(folder / "sent.txt"))
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("link", name="sent.txt")).to_be_visible()
    assert (server.root / "sub/sent.txt").read_text() == "sent"
    shot(page, "no-script")
