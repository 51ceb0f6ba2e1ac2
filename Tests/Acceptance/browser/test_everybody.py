"""The main actions for every hand and eye: names in five scripts, keys alone, twice the size, colours of one's own."""

import pytest
from playwright.sync_api import expect

from browser.conftest import act, make_tree, names, picture, row, select
from browser.test_looks import NAMELESS, NO_SIDEWAYS
from server import wait_until

# A name in each script, and what a user types to find it.
SCRIPTS = {
    "Çà et là – Ærøskøbing.txt": "ça et la",
    "Привет, мир ё.txt": "ПРИВЕТ",
    "مرحبا بالعالم ١٢.txt": "بالعالم",
    "שלום עולם.txt": "עולם",
    "日本語と漢字 2.txt": "漢字",
    "नमस्ते दुनिया 🎉.txt": "दुनिया",
}


def sorted_by_the_browser(page, some):
    return page.evaluate(
        "all => all.sort(new Intl.Collator(document.documentElement.lang, { numeric: true, sensitivity: 'base' }).compare)", list(some))


def test_names_in_five_scripts(server, opened, folder, shot):
    make_tree(server.root, {name: f"this is {name}" for name in SCRIPTS})
    page = opened(server.url + "/")
    order = sorted_by_the_browser(page, SCRIPTS)
    assert names(page) == order
    page.get_by_role("columnheader", name="Name").get_by_role("button").click()
    assert names(page) == order[::-1]
    shot(page, "five-scripts")
    for name, words in SCRIPTS.items():
        page.get_by_role("searchbox").fill(words)
        expect(page.locator("tbody tr")).to_have_count(1)
        assert names(page) == [name]
        page.get_by_role("searchbox").press("Enter")
        expect(page.locator(".searching")).to_contain_text(f"1 found for “{words}”")
        page.locator(".searching").get_by_role("button", name="Close").click()
        expect(page.locator("tbody tr")).to_have_count(len(SCRIPTS))

        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("textbox", name=name, exact=True)).to_have_value(f"this is {name}")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)

        select(page, name)
        with page.expect_download() as download:
            act(page, "Download")
        assert download.value.suggested_filename == name
        assert open(download.value.path(), encoding="utf-8").read() == f"this is {name}"

        act(page, "Rename")
        field = page.get_by_role("textbox", name=f"New name for {name}", exact=True)
        assert field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == name.removesuffix(".txt")
        new = "2 " + name
        field.fill(new)
        field.press("Enter")
        expect(row(page, new)).to_be_focused()
        assert (server.root / new).read_text() == f"this is {name}" and not (server.root / name).exists()
        page.keyboard.press("Escape")

        (folder / name).write_text(f"sent as {name}")
        page.locator("input[type=file]").first.set_input_files(str(folder / name))
        expect(row(page, name)).to_be_visible()
        wait_until(lambda: (server.root / name).exists(), "the upload arrives")
        assert (server.root / name).read_text() == f"sent as {name}"
        select(page, new)
        page.keyboard.press("Delete")
        expect(row(page, new)).to_have_count(0)
    assert sorted(names(page)) == sorted(SCRIPTS)


def focused(page):
    return page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent.trim()")


def tab_to(page, label, inside="body"):
    """Presses Tab until what has the focus is called `label`, within what `inside` says."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if focused(page) == label and page.locator(inside).filter(has=page.locator(":focus")).count():
            return
    raise AssertionError(f"the Tab key does not lead to “{label}”")


def test_the_main_actions_by_keys_alone(server, opened):
    make_tree(server.root, {"folder/inner.txt": "inner", "a.txt": "aa", "b.png": picture(), "target/": None})
    page = opened(server.url + "/")
    keys = page.keyboard

    # Names: a new folder, a new text that is written and saved, and another name for it.
    keys.press("Shift+N")
    keys.type("made by keys")
    keys.press("Enter")
    expect(row(page, "made by keys")).to_be_focused()
    assert (server.root / "made by keys").is_dir()
    keys.press("Shift+T")
    keys.type("note")
    keys.press("Enter")
    expect(page.get_by_role("textbox", name="note.txt")).to_be_focused()
    keys.type("some words")
    keys.press("Control+s")
    wait_until(lambda: (server.root / "note.txt").read_text() == "some words", "the text is saved")
    expect(page.get_by_text("Saved")).to_be_visible()
    keys.press("Escape")
    expect(row(page, "note.txt")).to_be_focused()
    keys.press("F2")
    keys.type("letter")
    keys.press("Enter")
    expect(row(page, "letter.txt")).to_be_focused()

    # Copied with two keys, moved with the folder picker, both taken back or undone without a mouse.
    keys.press("Control+c")
    keys.press("Control+v")
    expect(row(page, "letter (2).txt")).to_be_visible()
    row(page, "letter.txt").focus()
    keys.press("Shift+M")
    dialog = page.get_by_role("dialog", name="Move to…")
    expect(dialog).to_be_visible()
    tab_to(page, "target")
    keys.press("Enter")
    expect(dialog.get_by_role("status")).to_have_text("target")
    tab_to(page, "Move here")
    keys.press("Enter")
    expect(page.get_by_text("1 item moved")).to_be_visible()
    assert (server.root / "target/letter.txt").exists()
    tab_to(page, "Undo", ".toast:has-text('1 item moved')")
    keys.press("Enter")
    expect(row(page, "letter.txt")).to_be_visible()
    row(page, "letter.txt").focus()
    keys.press("Delete")
    expect(row(page, "letter.txt")).to_have_count(0)
    tab_to(page, "Undo", ".toast:has-text('1 item deleted')")
    keys.press("Enter")
    expect(row(page, "letter.txt")).to_be_visible()

    # Found, sorted, shown as tiles, previewed, and located.
    keys.press("Escape")
    row(page, "a.txt").focus()
    keys.press("/")
    keys.type("LETTER (")
    expect(page.locator("tbody tr")).to_have_count(1)
    keys.press("Escape")
    expect(row(page, "a.txt")).to_be_visible()
    keys.press("Shift+G")
    expect(page.locator(".grid")).to_be_visible()
    keys.press("Home")
    keys.press("ArrowRight")
    expect(page.locator("tbody tr:focus a.open")).to_have_text(names(page)[1])
    keys.press("Shift+G")
    header = page.get_by_role("columnheader", name="Size")
    page.locator("body").evaluate("() => document.activeElement.blur()")
    tab_to(page, "Size")
    keys.press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    row(page, "b.png").focus()
    keys.press("Enter")
    expect(page.get_by_role("dialog", name="b.png")).to_be_visible()
    keys.press("ArrowLeft")
    expect(page.get_by_role("textbox", name=names(page)[-2], exact=True)).to_be_visible()
    keys.press("Escape")
    row(page, "folder").focus()
    keys.press("Shift+F10")
    expect(page.get_by_role("menuitem", name="Open", exact=True)).to_be_focused()
    keys.press("Enter")
    expect(row(page, "inner.txt")).to_be_visible()
    with page.expect_download() as download:
        keys.press("ArrowDown")
        keys.press("Shift+D")
    assert download.value.suggested_filename == "inner.txt"
    keys.press("Backspace")
    expect(row(page, "folder")).to_be_focused()
    with page.expect_file_chooser():
        keys.press("Shift+U")
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    tab_to(page, "Close")
    keys.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


# What lies outside the window, or is covered by something else, though it should be visible and clickable.
OUT_OF_REACH = """() => [...(document.querySelector('dialog[open], .menu') ?? document).querySelectorAll('button, a[href], input:not([type=file]), select, textarea')]
  .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) && !one.closest('.skip'))
  .filter((one) => {
    one.scrollIntoView({ block: 'center', inline: 'center' });
    const { left, top, width, height } = one.getBoundingClientRect(), at = document.elementFromPoint(left + width / 2, top + height / 2);
    return !(at && (one.contains(at) || at.contains(one) || at.closest('label')?.contains(one)));
  }).map((one) => one.ariaLabel || one.textContent.trim() || one.outerHTML)"""


@pytest.mark.parametrize("window", [(1280, 800), (1024, 768)], ids=str)
def test_every_action_at_200_percent(server, opened, folder, shot, window):
    """Zoomed to 200 %, a window has half the pixels each way, each twice the size."""
    make_tree(server.root, {"a.txt": "a", "b.png": picture(), "folder/inner.txt": "i", "c" * 120 + ".txt": "long"})
    page = opened(server.url + "/", viewport={"width": window[0] // 2, "height": window[1] // 2}, device_scale_factor=2)

    def fits(state):
        page.wait_for_timeout(200)
        assert page.evaluate(NO_SIDEWAYS), state
        assert page.evaluate(OUT_OF_REACH) == [], state
        page.evaluate("scrollTo(0, 0)")
        shot(page, f"zoom-200-{window[0]}-{state}")

    fits("list")
    select(page, "a.txt")
    fits("selection")
    for key, state in {"Shift+M": "picker", "Shift+C": "copy", "Shift+L": "links", "Shift+N": "new-folder", "Shift+Q": "code", "?": "keys"}.items():
        row(page, "a.txt").focus()
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        fits(state)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    act(page, "Rename")
    fits("rename")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Actions for a.txt").click()
    fits("menu")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More", exact=True).click()
    fits("more")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show as grid").click()
    fits("grid")
    for name in ["a.txt", "b.png"]:
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        fits(f"preview-{name[0]}")
        page.keyboard.press("Escape")
    (folder / "a.txt").write_text("another a")
    page.locator("input[type=file]").first.set_input_files(str(folder / "a.txt"))
    dialog = page.get_by_role("dialog", name="“a.txt” is already there")
    expect(dialog).to_be_visible()
    fits("conflict")
    dialog.get_by_role("button", name="Keep both").click()
    expect(page.get_by_text("uploaded and verified")).to_be_visible()
    page.wait_for_timeout(200)
    assert page.evaluate(NO_SIDEWAYS)
    shot(page, f"zoom-200-{window[0]}-transfers")
    page.locator(".transfers").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Clear selection").click() if page.locator(".selecting").count() else None
    act(page, "New folder")
    page.get_by_role("dialog").get_by_role("textbox").fill("made at 200 %")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(row(page, "made at 200 %")).to_be_visible()


# Pictures and words against what lies below them, as the forced colours paint them.
UNSEEN = """() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const ground = (one) => { for (let e = one; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return rgba('Canvas'); };
  const far = (a, b) => Math.max(...[0, 1, 2].map((i) => Math.abs(a[i] - b[i])));
  return [...document.querySelectorAll('button, a.open, h2, p, td, th')]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getBoundingClientRect().width > 2 && (one.textContent.trim() || one.querySelector('svg')))
    .filter((one) => far(rgba(getComputedStyle(one).color), ground(one)) < 90)
    .map((one) => one.ariaLabel || one.textContent.trim()); }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_show_every_state(server, opened, folder, shot, scheme):
    make_tree(server.root, {"a.txt": "a", "b.png": picture(), "folder/": None})
    page = opened(server.url + "/", forced_colors="active", color_scheme=scheme)

    def seen(state):
        page.wait_for_timeout(200)
        assert page.evaluate(UNSEEN) == [], state
        assert page.evaluate(NAMELESS) == [], state
        shot(page, f"forced-{scheme}-{state}")

    seen("list")
    # Colours alone convey nothing here: what is selected, focused or pressed has an outline.
    select(page, "a.txt")
    assert row(page, "a.txt").evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    assert row(page, "b.png").evaluate("one => getComputedStyle(one).outlineStyle") == "none"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    select(page, "a.txt")
    page.get_by_role("button", name="Show as grid").click()
    edges, ground = page.locator("tbody tr").first.evaluate("one => [getComputedStyle(one).borderColor, getComputedStyle(document.documentElement).backgroundColor]")
    assert edges == ground, "a tile's edge is the room between tiles, and no frame"
    assert row(page, "a.txt").evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    seen("tiles")
    page.get_by_role("button", name="Show as list").click()
    borders = page.locator(".button:visible").evaluate_all("all => all.map(one => parseFloat(getComputedStyle(one).borderTopWidth))")
    assert borders and min(borders) >= 1
    seen("selection")
    act(page, "Move to…")
    seen("picker")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More", exact=True).click()
    seen("menu")
    page.keyboard.press("Escape")
    (folder / "c.txt").write_text("c")
    page.locator("input[type=file]").first.set_input_files(str(folder / "c.txt"))
    expect(page.get_by_text("uploaded and verified")).to_be_visible()
    seen("transfers")
    page.get_by_role("link", name="a.txt", exact=True).click()
    expect(page.get_by_role("textbox", name="a.txt")).to_be_visible()
    seen("preview")
