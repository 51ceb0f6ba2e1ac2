"""A hundred thousand files: first rows at once, few elements, answers without waiting."""

import os
import time

import pytest
from playwright.sync_api import expect

from browser.conftest import names, row
from server import SANITIZED, wait_until

COUNT = 100_000


@pytest.fixture
def big(serve, folder):
    root = folder / "share"
    root.mkdir()
    place = os.open(root, os.O_RDONLY)
    for number in range(COUNT):
        os.mknod(f"file {number}.txt", dir_fd=place)
    os.close(place)
    (root / "folder").mkdir()
    return serve()


def test_a_hundred_thousand_entries(big, opened, shot):
    page = opened()
    page.add_init_script("""
      new MutationObserver(() => { if (document.querySelector('tbody tr')) window.firstRow ??= performance.now(); })
        .observe(document, { childList: true, subtree: true });
    """)
    started = time.monotonic()
    page.goto(big.url + "/")
    expect(page.locator("tbody tr").first).to_be_visible()
    first = page.evaluate("window.firstRow - performance.getEntriesByType('navigation')[0].responseEnd")
    expect(page.get_by_text("100,000 files")).to_be_visible(timeout=60_000)
    whole = time.monotonic() - started
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    assert names(page)[:3] == ["folder", "file 0.txt", "file 1.txt"]
    page.wait_for_timeout(2000)

    def timed(change):
        return page.evaluate(f"""async () => {{
          const start = performance.now();
          {change}
          const work = performance.now() - start;
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          return work; }}""")

    figures = {
        "size": timed("document.querySelector('th.size button').click();"),
        "name": timed("document.querySelector('th.name button').click();"),
        "descending": timed("document.querySelector('th.name button').click();"),
        "filter": timed("const box = document.querySelector('.filter'); box.value = '9999'; box.dispatchEvent(new Event('input'));"),
    }
    expect(page.get_by_text("19 files")).to_be_visible()
    assert "file 99999.txt" in names(page)
    timed("const box = document.querySelector('.filter'); box.value = ''; box.dispatchEvent(new Event('input'));")
    jumps = []
    for part in (0.25, 0.5, 1):
        jumps.append(timed(f"scrollTo(0, document.body.scrollHeight * {part});"))
        page.wait_for_timeout(100)
        assert page.locator("tbody tr").count() < 200
    expect(row(page, "file 0.txt")).to_be_visible()
    shot(page, "hundred-thousand")
    # Rows four times as high are together higher than the tallest element: the last can be reached all the same.
    page.evaluate("document.documentElement.style.fontSize = '64px'")
    wait_until(lambda: page.evaluate("document.querySelector('tbody').offsetHeight") == 15_000_000, "the rows are higher than drawn")
    page.locator("tbody tr").first.focus()
    for key, name in {"Home": "folder", "End": "file 0.txt", "ArrowUp": "file 1.txt", "PageUp": None}.items():
        page.keyboard.press(key)
        expect(page.locator("tbody tr:focus")).to_be_in_viewport(ratio=0.9)
        if name:
            expect(page.locator("tbody tr:focus a.open")).to_have_text(name)
    page.evaluate("document.documentElement.style.fontSize = ''")
    nodes = page.evaluate("document.querySelectorAll('*').length")
    heap = page.evaluate("performance.memory?.usedJSHeapSize ?? 0") / 1e6
    print(f"first rows {first:.0f} ms, whole {whole:.1f} s, {figures}, scroll {max(jumps):.0f} ms, {nodes} elements, heap {heap:.0f} MB")
    assert nodes < 5000
    if not SANITIZED:
        # The goal is 100 ms on a machine with nothing else to do; a busy one gets four times that.
        assert max(figures.values()) < 400, figures
