"""A real browser against the real binary. Whatever a page logs as an error, or its policy forbids, fails the test."""

import os
import pathlib
import re
import struct
import zlib

import pytest
from playwright.sync_api import expect, sync_playwright

SCREENSHOTS = pathlib.Path(__file__).resolve().parents[3] / ".test" / "screenshots"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}

# Ways in which a browser refuses its own picker of files or folders; each takes the picker's name.
REFUSALS = {
    "no picker": "name => { delete window[name]; }",
    "a picker that may not show": "name => { window[name] = async () => { throw new DOMException('no', 'SecurityError'); }; }",
    "a picker that gives up at once": "name => { window[name] = async () => { throw new DOMException('no', 'AbortError'); }; }",
}

expect.set_options(timeout=15_000)


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, request):
    """Opens tabs: `opened(url, **context options)`; `page.expected` takes patterns of console lines that may come."""
    contexts, pages = [], []

    def open_page(url=None, context=None, **options):
        if context is None:
            context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **options})
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.problems, page.expected = [], []
        page.on("console", lambda line: line.type == "error" and page.problems.append(line.text))
        page.on("pageerror", lambda error: page.problems.append(f"{error}\n{error.stack}"))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI))")
        pages.append(page)
        if url:
            page.goto(url)
            page.locator(".summary:not(:empty), .state:not([hidden]), .login").first.wait_for()
        return page

    yield open_page
    problems = [
        problem for page in pages for problem in page.problems
        if not any(re.search(pattern, problem) for pattern in page.expected)
    ]
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def shot(request):
    """Keeps a picture of a state, for people to look at."""
    def keep(page, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(250)
        page.screenshot(path=SCREENSHOTS / f"{name}.png")

    return keep


def row(page, name):
    """The row of a file, found by the exact text of its name."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def names(page):
    """The names in the order in which they stand."""
    return page.locator("tbody tr a.open bdi").all_text_contents()


def select(page, *wanted):
    for name in wanted:
        page.get_by_role("checkbox", name=f"Select {name}", exact=True).check()


def act(page, label):
    page.get_by_role("toolbar").get_by_role("button", name=label, exact=True).click()


def make_tree(root, files):
    """Writes `files`, a map of relative paths to bytes or text; a path that ends with a slash is a folder."""
    for path, content in files.items():
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)


def picture(width=320, height=240, hue=0):
    """A PNG with a gradient."""
    lines = b"".join(
        b"\0" + b"".join(bytes(((x + hue) % 256, (y * 2 + hue) % 256, (hue * 3) % 256)) for x in range(width)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))
