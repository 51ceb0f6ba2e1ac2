"""Names that are no text: bytes of another encoding, which the page can show only in part, and must not lose."""

import os

import pytest
import requests
from playwright.sync_api import expect

from .conftest import act, make_tree, names, row, select

FOLDER, FILE = b"caf\xe9", b"na\xefve.txt"


@pytest.fixture(params=[[], ["--path-prefix", "/files"]], ids=["plain", "prefix"])
def old(request, serve):
    """A share with a folder and a file whose names are Latin-1."""
    server = serve(*request.param)
    server.folder = os.path.join(os.fsencode(server.root), FOLDER)
    os.mkdir(server.folder)
    make_tree(server.root, {os.fsdecode(FOLDER) + "/" + name: name for name in ("plain.txt", "sub/needle.txt")})
    with open(os.path.join(server.folder, FILE), "w") as file:
        file.write("old")
    return server


@pytest.fixture
def inside(old, opened):
    """The page in that folder, by a click on its name."""
    page = opened(old.url + "/")
    # What happens before it hears of changes shows with the next one only.
    with page.expect_response(lambda response: "/events?" in response.url and "caf" in response.url):
        page.get_by_role("link", name="caf\ufffd", exact=True).click()
    expect(row(page, "plain.txt")).to_be_visible()
    assert page.url == old.url + "/caf%E9/"
    return page


@pytest.mark.parametrize("name", ["na\ufffdve.txt", "plain.txt"])
def test_download(inside, name):
    select(inside, name)
    with inside.expect_download() as download:
        act(inside, "Download")
    assert open(download.value.path()).read() == ("plain.txt" if name == "plain.txt" else "old")


@pytest.mark.parametrize("name", ["na\ufffdve.txt", "plain.txt"])
def test_delete_and_undo(inside, old, name):
    before = sorted(os.listdir(old.folder))
    select(inside, name)
    inside.get_by_role("button", name="Delete", exact=True).click()
    expect(row(inside, name)).to_have_count(0)
    assert len(os.listdir(old.folder)) == 2
    inside.get_by_role("button", name="Undo").click()
    expect(row(inside, name)).to_be_visible()
    assert sorted(os.listdir(old.folder)) == before


def test_search_below(inside):
    inside.get_by_role("searchbox").fill("needle")
    inside.get_by_role("searchbox").press("Enter")
    expect(inside.get_by_text("1 found for")).to_be_visible()
    inside.get_by_role("link", name="needle.txt", exact=True).click()
    expect(inside.get_by_role("dialog").get_by_role("textbox")).to_have_value("sub/needle.txt")


def test_what_others_change_shows(inside, old):
    with open(os.path.join(old.folder, b"new.txt"), "w") as file:
        file.write("new")
    expect(row(inside, "new.txt")).to_be_visible()


@pytest.mark.parametrize("name", ["na\ufffdve.txt", "plain.txt"])
def test_link(inside, name):
    select(inside, name)
    act(inside, "Share link")
    dialog = inside.get_by_role("dialog")
    dialog.get_by_role("button", name="Create link").click()
    link = dialog.locator("a[href*='/.shareserve/s/']")
    expect(link).to_be_visible()
    assert requests.get(link.get_attribute("href"), timeout=20).text == ("plain.txt" if name == "plain.txt" else "old")


def test_folder_link(old, opened):
    page = opened(old.url + "/")
    select(page, "caf\ufffd")
    act(page, "Share link")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create link").click()
    visitor = opened(dialog.locator("a[href*='/.shareserve/s/']").get_attribute("href"))
    expect(row(visitor, "plain.txt")).to_be_visible()
    select(visitor, "na\ufffdve.txt")
    with visitor.expect_download() as download:
        act(visitor, "Download")
    assert open(download.value.path()).read() == "old"
    assert len(names(visitor)) == 3


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_of_dots_is_not_said_to_hold_a_slash(server, opened, name):
    page = opened(server.url + "/")
    page.keyboard.press("Shift+N")
    page.get_by_role("dialog").get_by_role("textbox").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("This won't do")
