"""Sizes, colours, contrasts and directions: what people with other eyes, hands, screens and scripts need."""

import pathlib
import re

import axe_playwright_python
import pytest
import requests
from playwright.sync_api import expect

from browser.conftest import PHONE, act, make_tree, names, picture, row, select

TREE = {"Ordner/": None, "Bilder/sonne.png": picture(), "letter.txt": "x" * 2000, "音乐.mp3": "m", "archive.zip": "z" * 70000,
        "holiday picture.png": picture(hue=40), "مرحبا.txt": "m"}

# Every element that can be pressed, with its size, unless it is hidden from all users or a link within text.
TARGETS = """() => [...document.querySelectorAll('button, a[href], input:not([type=file]), select, [role=menuitem]')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.skip, .markdown'))
  .map((one) => { const box = (one.closest('label.tick, label.choice') ?? one).getBoundingClientRect();
    return [one.getAttribute('aria-label') ?? one.textContent.trim(), Math.round(box.width), Math.round(box.height)]; })
  .filter(([, width, height]) => width > 2 && (width < 44 || height < 44))"""

NAMELESS = """() => [...document.querySelectorAll('button, a[href], input, select, textarea, dialog, img:not([alt]), nav, [role=grid], [role=toolbar]')]
  .filter((one) => !(one.getAttribute('aria-label') || one.labels?.length || one.getAttribute('aria-labelledby') || one.textContent.trim()))
  .map((one) => one.outerHTML.slice(0, 200))"""

CONTRAST = """() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = (one) => { for (let e = one; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const poor = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const one = node.parentElement;
    if (!node.textContent.trim() || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || one.closest('script, :disabled')) continue;
    const style = getComputedStyle(one);
    const [a, b] = [light(rgba(style.color)), light(ground(one))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push([node.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return poor; }"""

NO_SIDEWAYS = "() => document.documentElement.scrollWidth <= innerWidth + 1 && innerWidth <= outerWidth + 1"


@pytest.fixture
def share(server):
    make_tree(server.root, TREE)
    return server


def check(page):
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NO_SIDEWAYS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_targets_names_and_contrast(share, opened, shot, scheme, device):
    page = opened(share.url + "/", color_scheme=scheme, **(PHONE if device == "phone" else {}))
    check(page)
    assert page.evaluate(TARGETS) == []
    shot(page, f"{device}-{scheme}")
    page.get_by_role("button", name="Show as grid").click()
    expect(page.locator(".thumb.loaded").first).to_be_visible()
    check(page)
    shot(page, f"{device}-{scheme}-grid")
    page.get_by_role("button", name="Show as list").click()
    select(page, "letter.txt")
    check(page)
    assert page.evaluate(TARGETS) == []
    shot(page, f"{device}-{scheme}-selection")
    act(page, "Rename")
    page.keyboard.press("Escape")
    act(page, "Move to…")
    check(page)
    shot(page, f"{device}-{scheme}-picker")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More", exact=True).click()
    check(page)
    shot(page, f"{device}-{scheme}-more")


def test_zoomed_to_200_percent(share, opened, shot):
    page = opened(share.url + "/", viewport={"width": 640, "height": 400}, device_scale_factor=2)
    check(page)
    expect(row(page, "letter.txt")).to_be_visible()
    shot(page, "zoom-200")
    page = opened(share.url + "/", viewport={"width": 320, "height": 480})
    check(page)
    shot(page, "narrow-320")


def test_forced_colours_and_reduced_motion(share, opened, shot):
    page = opened(share.url + "/", forced_colors="active", reduced_motion="reduce")
    select(page, "letter.txt")
    outline = row(page, "letter.txt").evaluate("row => getComputedStyle(row).outlineStyle")
    assert outline == "solid"
    assert page.evaluate("document.getAnimations().length") == 0
    shot(page, "forced-colours")


def test_focus_shows(share, opened):
    page = opened(share.url + "/")
    seen = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.ariaLabel"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert {"Skip to the files", "Upload files", "New folder"} <= seen


def test_right_to_left(share, opened, shot):
    page = opened(share.url + "/")
    page.evaluate("document.documentElement.dir = 'rtl'")
    page.evaluate("dispatchEvent(new Event('resize'))")
    check(page)
    box = row(page, "letter.txt").get_by_role("checkbox").bounding_box()
    assert box["x"] > 1000
    shot(page, "right-to-left")


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_the_end_of_a_long_path_shows(server, opened, shot, direction):
    deep = "/".join(f"folder number {n}" for n in range(9))
    make_tree(server.root, {f"{deep}/a.txt": "a"})
    page = opened(f"{server.url}/{deep}/", **PHONE)
    page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
    trail = page.get_by_role("navigation", name="Breadcrumbs")
    expect(trail.get_by_role("link", name="folder number 8")).to_be_in_viewport(ratio=0.99)
    assert page.evaluate(NO_SIDEWAYS)
    shot(page, f"long-path-{direction}")
    trail.get_by_role("link").nth(5).click()
    expect(row(page, "folder number 5")).to_be_visible()
    expect(trail.get_by_role("link", name="folder number 4")).to_be_in_viewport(ratio=0.99)
    trail.get_by_role("link").first.click()
    expect(row(page, "folder number 0")).to_be_visible()
    box = trail.get_by_role("link").first.bounding_box()
    assert (box["x"] < 40) == (direction == "ltr"), "what has room begins where lines begin"


def test_long_press_selects_and_tap_opens(share, opened):
    page = opened(share.url + "/", **PHONE)
    box = row(page, "letter.txt").bounding_box()
    session = page.context.new_cdp_session(page)
    at = {"x": box["x"] + 180, "y": box["y"] + 20}
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    page.wait_for_timeout(700)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.get_by_text("1 selected")).to_be_visible()
    row(page, "Ordner").tap(position={"x": 180, "y": 20})
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Clear selection").tap()
    row(page, "Ordner").tap(position={"x": 180, "y": 20})
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    assert page.get_by_role("button", name="Take a photo").first.is_visible()


AXE = next(pathlib.Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(share, opened, scheme):
    page = opened(share.url + "/", color_scheme=scheme, bypass_csp=True)
    page.evaluate(AXE)

    def clean(state):
        page.wait_for_timeout(250)
        found = page.evaluate("async () => (await axe.run()).violations.map((one) => [one.id, one.nodes.map((node) => node.html)])")
        assert found == [], state

    clean("list")
    select(page, "letter.txt")
    clean("selection")
    page.get_by_role("button", name="Show as grid").click()
    clean("tiles")
    page.get_by_role("button", name="Show as list").click()
    page.get_by_role("button", name="More", exact=True).click()
    clean("menu")
    page.keyboard.press("Escape")
    for key, state in {"Shift+M": "folder picker", "?": "keys", "Shift+N": "new folder", "Shift+Q": "code"}.items():
        row(page, "letter.txt").focus()
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        clean(state)
        page.keyboard.press("Escape")
    for name in ["letter.txt", "holiday picture.png"]:
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        clean(name)
        page.keyboard.press("Escape")
    page.locator("input[type=file]").first.set_input_files({"name": "new.txt", "mimeType": "text/plain", "buffer": b"new"})
    expect(page.get_by_text("uploaded and verified")).to_be_visible()
    clean("transfers")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_without_scripts(serve, opened, scheme):
    server = serve("--auth", "anna:secret@/:rw", "--auth", "@/open:rw")
    make_tree(server.root, {"open/letter.txt": "x", "open/folder/": None})
    page = opened(bypass_csp=True, color_scheme=scheme)
    # axe takes the background of a page without colours of its own for white.
    for place in ["/open/", "/open/nothing/", "/", *(["/open/?html"] if scheme == "light" else [])]:
        text = requests.get(server.url + place, headers={"Accept": "text/html"}).text
        assert "<noscript>" in text or place.endswith("html")
        page.set_content(re.sub("</?noscript>|<script type=.module.*?</script>", "", text))
        page.evaluate(AXE)
        found = page.evaluate("async () => (await axe.run()).violations.map((one) => [one.id, one.nodes.map((node) => node.html)])")
        assert found == [], place
