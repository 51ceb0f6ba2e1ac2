"""The page under another name, and with other files."""

import requests

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_title_header_footer(serve):
    server = serve("--title", "<My> files", "--header", "Hello & welcome", "--footer", "Bye")
    page = requests.get(server.url + "/", headers=BROWSER, timeout=20).text
    assert "<title>&lt;My&gt; files</title>" in page and "<My>" not in page
    info = requests.get(server.url + "/.shareserve/info", timeout=20).json()
    assert (info["title"], info["header"], info["footer"]) == ("<My> files", "Hello & welcome", "Bye")


def test_assets_of_ones_own(serve, folder):
    assets = folder / "assets"
    (assets / "fonts").mkdir(parents=True)
    (assets / "index.html").write_text('<!doctype html><title>{{title}}</title><p>mine</p><script src="{{assets}}x.js"></script>')
    (assets / "x.js").write_text("1")
    (assets / "fonts/f.woff2").write_bytes(b"f")
    server = serve("--assets", assets)
    page = requests.get(server.url + "/", headers=BROWSER, timeout=20).text
    assert "mine" in page
    place = page.split('src="')[1].split("x.js")[0]
    assert requests.get(server.url + place + "x.js", timeout=20).text == "1"
    assert requests.get(server.url + place + "fonts/f.woff2", timeout=20).content == b"f"
    assert requests.get(server.url + place + "../../index.html", timeout=20).status_code == 404


def test_below_a_prefix(serve):
    server = serve("--path-prefix", "/files")
    (server.root / "sub").mkdir()
    (server.root / "sub/a b").write_text("x")
    base = server.url.removesuffix("/files") + "/files"
    page = requests.get(base + "/sub", headers=BROWSER, timeout=20)
    assert page.url.endswith("/files/sub/") and 'href="/files/sub/a%20b"' in page.text and '"base":"/files"' in page.text
    assert requests.get(base + "/.shareserve/info", timeout=20).status_code == 200
    made = requests.post(
        base + "/.shareserve/uploads", timeout=20,
        headers={"Tus-Resumable": "1.0.0", "Upload-Length": "1", "Upload-Metadata": "filename eA=="})
    assert made.headers["Location"].startswith("/files/.shareserve/uploads/")
    assert requests.get(server.url.removesuffix("/files") + "/sub/", timeout=20).status_code == 404
