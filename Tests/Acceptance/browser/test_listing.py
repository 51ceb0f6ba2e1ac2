"""What a person sees of a folder, and how they find their way."""

import os
import re

from playwright.sync_api import expect

from browser.conftest import act, make_tree, names, picture, row, select


def test_first_paint_needs_three_requests(server, opened):
    make_tree(server.root, {f"file {n}.txt": "x" for n in range(100)})
    page = opened()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.url + "/")
    expect(row(page, "file 1.txt")).to_be_visible()
    page.wait_for_timeout(500)
    assert len(asked) <= 3, asked


def test_the_first_view_is_small(server, opened):
    """Page, style and every script that comes unasked, unpacked: the rest waits until it is used."""
    make_tree(server.root, {f"file {n}.txt": "x" for n in range(10)})
    page = opened(extra_http_headers={"Accept-Encoding": "identity"})
    came = []
    page.on("requestfinished", lambda request: came.append(request))
    page.goto(server.url + "/")
    expect(row(page, "file 1.txt")).to_be_visible()
    page.wait_for_timeout(500)
    sizes = {request.url: len(request.response().body()) for request in came}
    assert any(url.endswith("/app.js") for url in sizes), sizes
    assert not any(name in url for url in sizes for name in ("transfer", "preview", "text.js", "dialogs", "languages")), sizes
    assert sum(sizes.values()) < 100_000, sizes


def test_rows_show_name_size_and_date_in_natural_order(server, opened, shot):
    make_tree(server.root, {"file 10.txt": b"x" * 1500, "file 2.txt": "yy", "b/": None, "A/": None, ".DS_Store": "", "._x": "", ".hidden": "h"})
    page = opened(server.url + "/")
    assert names(page) == ["A", "b", "file 2.txt", "file 10.txt"]
    expect(row(page, "file 10.txt")).to_contain_text("1.5 kB")
    expect(row(page, "file 10.txt").get_by_role("gridcell").locator("time")).to_have_attribute("datetime", re.compile("Z$"))
    shot(page, "list")


def test_a_time_that_is_no_date_takes_no_row_away(memory, serve, opened):
    """Some file systems keep any number, and whoever uploads may say one."""
    server = serve(root=memory)
    make_tree(server.root, {"a.txt": "a", "b.txt": "b", "c.txt": "c", "d.txt": "d"})
    os.utime(server.root / "b.txt", (2**53, 2**53))
    os.utime(server.root / "c.txt", (-(2**53), -(2**53)))
    page = opened(server.url + "/")
    expect(row(page, "d.txt")).to_be_visible()
    assert names(page) == ["a.txt", "b.txt", "c.txt", "d.txt"]
    expect(page.get_by_role("button", name="Upload files")).to_be_visible()


def test_columns_sort_and_say_so(server, opened):
    make_tree(server.root, {"a.txt": b"x" * 30, "b.txt": b"x" * 10, "c.txt": b"x" * 20, "z/": None})
    page = opened(server.url + "/")
    header = page.get_by_role("columnheader", name="Size")
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "ascending")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    assert names(page) == ["z", "b.txt", "c.txt", "a.txt"]
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    assert names(page) == ["z", "a.txt", "c.txt", "b.txt"]
    page.reload()
    expect(header).to_have_attribute("aria-sort", "descending")


def test_folders_have_addresses_that_go_back_and_forward(server, opened):
    make_tree(server.root, {"a b/c%#?&/deep.txt": "d", "top.txt": "t"})
    page = opened(server.url + "/")
    page.get_by_role("link", name="a b", exact=True).click()
    page.get_by_role("link", name="c%#?&", exact=True).click()
    expect(row(page, "deep.txt")).to_be_visible()
    assert page.url == server.url + "/a%20b/c%25%23%3F%26/"
    trail = page.get_by_role("navigation", name="Breadcrumbs")
    expect(trail.get_by_role("link")).to_have_count(3)
    expect(trail.get_by_role("link", name="c%#?&")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(row(page, "c%#?&")).to_be_visible()
    page.go_forward()
    expect(row(page, "deep.txt")).to_be_visible()
    page.reload()
    expect(row(page, "deep.txt")).to_be_visible()
    trail.get_by_role("link").first.click()
    expect(row(page, "top.txt")).to_be_visible()


def test_hostile_names_are_only_text(server, opened, shot):
    wild = ["<img src=x onerror=alert(1)>.txt", "a'b\"c.txt", "&lt;b&gt;.txt", "line\nbreak.txt", "\u202egnp.exe", "日本語.txt", "مرحبا.txt",
            "Привет.txt", "ελληνικά.txt", "e\u0301.txt", "%41.txt", "x..txt", "{{boot}}"]
    make_tree(server.root, {name: name for name in wild} | {"</script><script>alert(1)</script>/x": "x"})
    (server.root / b"caf\xe9.txt".decode("utf-8", "surrogateescape")).write_text("latin")
    page = opened(server.url + "/")
    expect(page.locator("tbody tr")).to_have_count(len(wild) + 2)
    expect(row(page, wild[0])).to_be_visible()
    assert "\u202e" not in "".join(names(page))
    shot(page, "names")
    with page.expect_download() as download:
        select(page, wild[0])
        act(page, "Download")
    assert open(download.value.path()).read() == wild[0]


def test_filter_narrows_and_escape_clears(server, opened, shot):
    make_tree(server.root, {"apple.txt": "", "Bäume.txt": "", "cherry.txt": "", "sub/apple deep.txt": ""})
    page = opened(server.url + "/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("baum")
    assert names(page) == ["Bäume.txt"]
    page.keyboard.type("xx")
    expect(page.get_by_role("heading", name="No name matches")).to_be_visible()
    shot(page, "no-match")
    page.keyboard.press("Escape")
    assert len(names(page)) == 4


def test_search_looks_below_and_can_be_cancelled(server, opened, shot):
    make_tree(server.root, {f"d{n}/e/needle {n}.txt": "x" for n in range(20)})
    page = opened(server.url + "/")
    page.get_by_role("searchbox").fill("needle")
    page.get_by_role("button", name="Search subfolders").first.click()
    expect(page.get_by_text("20 found for")).to_be_visible()
    expect(row(page, "needle 7.txt")).to_contain_text("/d7/e/")
    shot(page, "search")
    page.locator(".searching").get_by_role("button", name="Close").click()
    expect(row(page, "d3")).to_be_visible()

    # A search that does not end by itself ends when it is told to.
    page.route("**/.shareserve/search*", lambda route: None)
    page.get_by_role("searchbox").fill("needle")
    page.get_by_role("searchbox").press("Enter")
    page.locator(".searching").get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("0 found for")).to_be_visible()


def test_back_comes_to_the_search(server, opened):
    make_tree(server.root, {f"d{n}/needle {n}/inside.txt": "x" for n in range(3)})
    page = opened(server.url + "/")
    page.get_by_role("searchbox").fill("needle")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_text("3 found for")).to_be_visible()
    page.get_by_role("link", name="needle 1", exact=True).click()
    expect(row(page, "inside.txt")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("3 found for")).to_be_visible()
    expect(row(page, "needle 2")).to_be_visible()


def test_search_says_when_there_is_more_than_it_shows(server, opened, shot):
    (server.root / "many").mkdir()
    for number in range(10_001):
        (server.root / f"many/needle {number}").touch()
    page = opened(server.url + "/#search=needle%20")
    said = page.locator(".searching")
    expect(said).to_contain_text("10,000 found for “needle”", timeout=60_000)
    expect(said).to_contain_text("More names match: narrow the search")
    shot(page, "search-more")
    page.get_by_role("searchbox").fill("needle 77")
    page.get_by_role("searchbox").press("Enter")
    expect(said).to_contain_text("111 found for “needle 77”")
    expect(said).not_to_contain_text("More names match")


def test_typing_finds_by_name(server, opened):
    make_tree(server.root, {name: "" for name in ["alpha.txt", "beta.txt", "bravo.txt", "charlie.txt"]})
    page = opened(server.url + "/")
    row(page, "alpha.txt").click(position={"x": 400, "y": 20})
    page.keyboard.type("br")
    expect(row(page, "bravo.txt")).to_be_focused()
    expect(row(page, "bravo.txt")).to_have_attribute("aria-selected", "true")


def test_dotfiles_stay_behind_a_switch(server, opened):
    make_tree(server.root, {".secret": "", "plain.txt": ""})
    page = opened(server.url + "/")
    assert names(page) == ["plain.txt"]
    expect(page.get_by_text("1 hidden")).to_be_visible()
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Hidden files").click()
    assert sorted(names(page)) == [".secret", "plain.txt"]
    page.reload()
    expect(row(page, ".secret")).to_be_visible()


def test_tiles_show_pictures_when_they_come_into_view(server, opened, shot):
    pictures = [picture(hue=n * 7) for n in range(20)]
    make_tree(server.root, {f"picture {n}.png": pictures[n % 20] for n in range(200)} | {"folder/": None, "text.txt": "t"})
    page = opened()
    asked = []
    page.on("request", lambda request: request.resource_type == "image" and asked.append(request.url))
    page.goto(server.url + "/")
    page.get_by_role("button", name="Show as grid").click()
    expect(page.locator(".thumb.loaded").first).to_be_visible()
    page.wait_for_timeout(500)
    assert 5 < len(set(asked)) < 190
    shot(page, "grid")
    page.mouse.wheel(0, 20000)
    expect(page.get_by_role("link", name="picture 199.png")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Show as list")).to_be_visible()


def test_states_say_what_to_do(serve, opened, shot):
    server = serve()
    make_tree(server.root, {"empty/": None})
    page = opened(server.url + "/empty/")
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    shot(page, "empty")
    page.expected.append("404")
    page.goto(server.url + "/nothing/here/")
    expect(page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    shot(page, "not-found")
    page.get_by_role("main").get_by_role("button", name="Home").click()
    expect(row(page, "empty")).to_be_visible()
    page.expected += ["Failed to load", "ERR_"]
    server.kill()
    page.get_by_role("link", name="empty", exact=True).click()
    expect(page.get_by_role("heading", name="The server does not answer")).to_be_visible()
    shot(page, "offline")


def test_read_only_share_offers_nothing_to_change(serve, opened, shot):
    server = serve("--read-only")
    make_tree(server.root, {"a.txt": "a"})
    page = opened(server.url + "/")
    expect(page.get_by_role("button", name="Upload files")).to_have_count(0)
    select(page, "a.txt")
    expect(page.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Download", exact=True)).to_be_visible()
    shot(page, "read-only")


def test_search_shows_what_lies_far_apart(server, opened):
    """Between two finds the server has long nothing to say but that it is still there."""
    for part in "abc":
        make_tree(server.root, {f"{part}/needle {part}.txt": "n", **{f"{part}/{n}/{n}.txt": "x" for n in range(400)}})
    page = opened(server.url + "/")
    page.get_by_role("searchbox").fill("needle")
    page.get_by_role("button", name="Search subfolders").click()
    expect(page.get_by_text("3 found for “needle”")).to_be_visible()
    assert sorted(names(page)) == ["needle a.txt", "needle b.txt", "needle c.txt"]
