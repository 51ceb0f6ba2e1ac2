"""What strangers try on people: files that are pages, pages of other sites, and a log-in in between."""

import http.server
import threading

import pytest
import requests
from playwright.sync_api import expect

from browser.conftest import picture

EVIL = """<!DOCTYPE html><title>quiet</title><img src=/pixel.png><script>document.title = 'ran'; fetch('/victim', {method: 'DELETE'})</script>
<img src=x onerror="document.title='ran'"><svg onload="document.title='ran'"></svg><a id=a href="javascript:document.title='ran'">x</a>
<form id=f action=/ method=post enctype=multipart/form-data><input name=files></form><iframe src=/ ></iframe>
<meta http-equiv=refresh content="0;url=javascript:document.title='ran'">"""
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><title>quiet</title><rect width="9" height="9" fill="red"/>
<script>fetch('/victim', {method: 'DELETE'})</script></svg>"""


@pytest.mark.parametrize("name", ["evil.html", "evil.htm", "evil.svg", "evil.xhtml", "evil.xml", "evil.txt", "evil.unknown", "evil.png", "evil.js"])
def test_a_file_that_is_a_page_runs_nothing(server, opened, name):
    (server.root / "victim").write_text("x")
    (server.root / "pixel.png").write_bytes(picture(2, 2))
    xhtml = EVIL.replace("<!DOCTYPE html>", "").replace("<title>", '<html xmlns="http://www.w3.org/1999/xhtml"><title>')
    (server.root / name).write_text({"svg": SVG, "xml": SVG, "xhtml": xhtml}.get(name.rpartition(".")[2], EVIL))
    page = opened()
    page.expected = [".*"]
    deleted = []
    page.on("request", lambda request: request.method == "DELETE" and deleted.append(request.url))
    try:
        page.goto(f"{server.url}/{name}")
    except Exception as error:
        # What a browser cannot show, it offers to save.
        assert "Download is starting" in str(error) or "ERR_ABORTED" in str(error)
    page.wait_for_timeout(700)
    assert page.title() != "ran"
    assert not deleted and (server.root / "victim").exists()


def test_pictures_and_text_still_show(server, opened):
    (server.root / "a.png").write_bytes(picture(64, 48))
    (server.root / "a.txt").write_text("plain words")
    page = opened()
    page.goto(f"{server.url}/a.png")
    assert page.evaluate("document.images[0].naturalWidth") == 64
    page.goto(f"{server.url}/a.txt")
    expect(page.locator("body")).to_have_text("plain words")


class Elsewhere:
    """Another site, on another port of this machine."""

    def __init__(self, content):
        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://localhost:{self.server.server_port}/"


ATTACKS = [
    "fetch('{url}/victim', {method: 'DELETE'})", "fetch('{url}/victim', {method: 'PUT', body: 'evil'})",
    "fetch('{url}/evil', {method: 'PUT', body: 'evil', mode: 'no-cors'})",
    "fetch('{url}/', {method: 'POST', mode: 'no-cors', credentials: 'include', body: (() => { const f = new FormData(); f.append('files', new Blob(['evil']), 'evil'); return f })()})",
    "fetch('{url}/.shareserve/trash', {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body: '{\"paths\":[\"/victim\"]}'})",
    "fetch('{url}/.shareserve/links', {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body: '{\"path\":\"/\"}'})",
    "navigator.sendBeacon('{url}/', (() => { const f = new FormData(); f.append('files', new Blob(['evil']), 'evil'); return f })())",
    "fetch('{url}/victim').then((r) => r.text()).then((t) => { document.title = t })",
    "fetch('{url}/?json').then((r) => r.text()).then((t) => { document.title = t })",
]


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_pages_of_other_sites_change_and_learn_nothing(server, opened, attack):
    (server.root / "victim").write_text("mine")
    site = Elsewhere("<!DOCTYPE html><title>other</title><script>" + attack.replace("{url}", server.url) + "</script>")
    page = opened()
    page.expected = [".*"]
    page.goto(site.url)
    page.wait_for_timeout(700)
    assert page.title() == "other"
    assert [path.name for path in server.root.iterdir() if path.name != ".shareserve"] == ["victim"]
    assert (server.root / "victim").read_text() == "mine"


def test_a_form_of_another_site(server, opened):
    site = Elsewhere(
        f'<!DOCTYPE html><form method=post enctype="multipart/form-data" action="{server.url}/">'
        "<textarea name=files>evil</textarea></form><script>document.forms[0].submit()</script>")
    page = opened()
    page.expected = [".*"]
    page.goto(site.url)
    page.wait_for_timeout(700)
    assert "other site" in page.content() or "another site" in page.content()
    assert [path.name for path in server.root.iterdir() if path.name != ".shareserve"] == []


def test_nobody_frames_us(server, opened):
    (server.root / "a.html").write_text("<title>x</title>framed words")
    site = Elsewhere(f'<!DOCTYPE html><iframe src="{server.url}/"></iframe><iframe src="{server.url}/a.html"></iframe>')
    page = opened()
    page.expected = [".*"]
    page.goto(site.url)
    page.wait_for_timeout(700)
    assert not any("framed words" in (frame.content() if frame != page.main_frame else "") for frame in page.frames)


def test_log_in_and_out(serve, opened, shot):
    server = serve("--auth", "anna:secret@/:rw")
    (server.root / "a.txt").write_text("a")
    page = opened()
    page.expected = ["401"]
    page.goto(server.url + "/")
    shot(page, "log-in")
    page.locator("input[name=user]").fill("anna")
    page.locator("input[name=password]").fill("wrong")
    page.locator("input[name=password]").press("Enter")
    expect(page.locator("input[name=password]")).to_be_visible()
    expect(page.locator("body")).to_contain_text("wrong", ignore_case=True)
    shot(page, "log-in-wrong")
    page.locator("input[name=user]").fill("anna")
    page.locator("input[name=password]").fill("secret")
    page.locator("input[name=password]").press("Enter")
    expect(page.get_by_role("link", name="a.txt", exact=True)).to_be_visible()
    assert page.evaluate("document.cookie") == ""
    page.reload()
    expect(page.get_by_role("link", name="a.txt", exact=True)).to_be_visible()


def test_log_in_without_scripts(serve, opened):
    server = serve("--auth", "anna:secret@/:rw")
    (server.root / "deep").mkdir()
    (server.root / "deep" / "a.txt").write_text("a")
    page = opened(java_script_enabled=False)
    page.expected = ["401"]
    page.goto(server.url + "/deep/")
    page.locator("input[name=user]").fill("anna")
    page.locator("input[name=password]").fill("secret")
    page.locator("input[name=password]").press("Enter")
    page.wait_for_url("**/deep/")
    expect(page.get_by_role("link", name="a.txt")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_links_password_is_asked_for_in_a_page(serve, opened, shot, scripts):
    server = serve()
    (server.root / "album").mkdir()
    (server.root / "album" / "a.txt").write_text("one")
    (server.root / "alone.txt").write_text("alone")
    made = lambda path: requests.post(
        f"{server.url}/.shareserve/links", json={"href": path, "password": "secret", "upload": path[-1] == "/"}, timeout=20).json()["address"]
    album, alone = made("/album/"), made("/alone.txt")
    page = opened(java_script_enabled=scripts)
    page.expected = ["401"]
    page.goto(server.url + album)
    expect(page.locator("input[name=user]")).to_have_count(0)
    page.locator("input[name=password]").fill("guess")
    page.locator("input[name=password]").press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Password is wrong" if scripts else "The password is wrong.")
    shot(page, f"link-password-{scripts}")
    page.locator("input[name=password]").fill("secret")
    page.locator("input[name=password]").press("Enter")
    expect(page.get_by_role("link", name="a.txt", exact=True)).to_be_visible()
    sent = {"name": "b.txt", "mimeType": "text/plain", "buffer": b"sent"}
    if scripts:
        page.locator("input[type=file]").first.set_input_files([sent])
    else:
        page.locator("input[type=file]").set_input_files([sent])
        page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("link", name="b.txt", exact=True)).to_be_visible()
    assert (server.root / "album" / "b.txt").read_text() == "sent"
    assert page.evaluate("document.cookie") == ""
    # Its own password, for its own cookie.
    page.goto(server.url + alone)
    page.locator("input[name=password]").fill("secret")
    page.locator("input[name=password]").press("Enter")
    expect(page.locator("body")).to_contain_text("alone")
    page.goto(server.url + album)
    expect(page.get_by_role("link", name="a.txt", exact=True)).to_be_visible()


def test_forms_without_scripts_work_where_browsers_name_their_origin_alone(serve, opened, folder):
    # They send no `Sec-Fetch-Site` to a plain name that isn't the machine's own. The server is its own proxy here, so
    # that it has such a name wherever this runs.
    server = serve("--auth", "anna:secret@/:rw")
    (folder / "sent.txt").write_text("sent")
    page = opened(java_script_enabled=False, proxy={"server": server.url})
    page.expected = ["401"]
    page.goto("http://nas.example/")
    page.locator("input[name=user]").fill("anna")
    page.locator("input[name=password]").fill("secret")
    with page.expect_navigation():
        page.get_by_role("button", name="Log in").click()
    page.locator("input[type=file]").set_input_files(str(folder / "sent.txt"))
    with page.expect_navigation():
        page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("link", name="sent.txt")).to_be_visible()
    assert (server.root / "sent.txt").read_text() == "sent"
