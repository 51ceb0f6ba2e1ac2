"""Pages of other sites, foreign host names, and what every answer tells a browser."""

import signal
import socket
import subprocess

import pytest

import fronts
from server import wait_until
from wire import ask

FOREIGN = [
    ["Origin: http://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"],
    ["Referer: http://evil.example/"], ["Origin: http://127.0.0.1:1"],
]


@pytest.mark.parametrize("fields", FOREIGN, ids=lambda fields: fields[0])
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "MKCOL", "MOVE", "COPY", "LOCK", "PROPPATCH", "PATCH"])
def test_other_sites_change_nothing(server, method, fields):
    (server.root / "a").write_text("old")
    body = "new" if method in ("PUT", "POST", "PATCH") else None
    answer = ask(server, method, "/a", "Destination: /b", *fields, body=body)
    assert answer.status == 403, answer.text
    assert [path.name for path in server.root.iterdir() if path.name != ".shareserve"] == ["a"]
    assert (server.root / "a").read_text() == "old"


def test_form_of_another_site(server):
    body = '--x\r\nContent-Disposition: form-data; name="files"; filename="evil"\r\n\r\nx\r\n--x--\r\n'
    answer = ask(server, "POST", "/", "Content-Type: multipart/form-data; boundary=x", "Origin: http://evil.example", body=body)
    assert answer.status == 403
    assert not (server.root / "evil").exists()


def test_own_pages_may(server):
    own = f"Origin: {server.url}"
    assert ask(server, "PUT", "/a", own, body="x").status == 201
    assert ask(server, "DELETE", "/a", own, "Sec-Fetch-Site: same-origin").status == 204


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
                                  "evil.local", "evil.lan", "evil."])
@pytest.mark.parametrize("method", ["GET", "PUT", "PROPFIND", "OPTIONS", "DELETE"])
def test_rebinding(server, host, method):
    (server.root / "a").write_text("x")
    answer = ask(server, method, "/a", f"Host: {host}", host=False, body="x" if method == "PUT" else None)
    assert answer.status == 421
    assert "--allowed-host" in answer.text
    assert (server.root / "a").read_text() == "x"


BROWSERS = ["Accept-Language: de", "User-Agent: Mozilla/5.0 (X11; Linux x86_64)", "Origin: http://evil",
            "Cookie: a=b", "Sec-Fetch-Site: same-origin"]


@pytest.mark.parametrize("field", BROWSERS)
@pytest.mark.parametrize("host", ["evil", "evil:8080"])
def test_rebinding_of_a_bare_name(server, host, field):
    answer = ask(server, "GET", "/", f"Host: {host}", field, host=False)
    assert answer.status == 421
    assert "--allowed-host" in answer.text


@pytest.mark.parametrize("host", ["nas", "nas:8080", "shareserve"])
def test_bare_names_are_for_programs(server, host):
    assert ask(server, "GET", "/", f"Host: {host}", "User-Agent: curl/8.0", host=False).status == 200
    assert ask(server, "PUT", "/a", f"Host: {host}", host=False, body="x").status == 201
    # rclone and wget -r send a Referer.
    fields = (f"Host: {host}", "User-Agent: rclone/v1.60.1", f"Referer: http://{host}/")
    assert ask(server, "PROPFIND", "/", "Depth: 1", *fields, host=False).status == 207


def test_allowed_hosts(serve):
    server = serve("--allowed-host", "files.example.com", "--allowed-host", ".example.net")
    for host in ("files.example.com", "FILES.example.com:8080", "a.example.net", "localhost", "127.0.0.1", "[::1]:80"):
        assert ask(server, "GET", "/", f"Host: {host}", host=False).status == 200, host
    assert ask(server, "GET", "/", "Host: example.com", host=False).status == 421


def test_own_names(server):
    full = socket.gethostname()
    short = full.partition(".")[0]
    for host in (full, short, short.upper(), f"{short}.local", f"{short}.lan", "localhost", "a.localhost"):
        assert ask(server, "GET", "/", f"Host: {host}", host=False).status == 200, host
        assert ask(server, "GET", "/", f"Host: {host}.evil", host=False).status == 421, host


def test_names_of_the_certificate(serve, folder):
    cert, key = folder / "cert.pem", folder / "key.pem"

    def certify(*names):
        alternatives = ",".join(f"DNS:{name}" for name in names)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=subject.example", "-addext", f"subjectAltName={alternatives}",
             "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)

    def status(host):
        return ask(server, "GET", "/", f"Host: {host}", host=False, tls=True).status

    certify("nas.example.com", "*.wild.example")
    server = serve("--tls-cert", cert, "--tls-key", key)
    assert status("nas.example.com:8443") == 200 and status("a.wild.example") == 200 and status("localhost") == 200
    for host in ("subject.example", "example.com", "wild.example", "a.b.wild.example", "new.example.com"):
        assert status(host) == 421, host
    certify("new.example.com")
    server.signal(signal.SIGHUP)
    wait_until(lambda: status("new.example.com") == 200, "the new certificate's name is known")
    assert status("nas.example.com") == 421


def test_with_accounts_any_host_may_ask(serve):
    server = serve("--auth", "anna:x@/:rw")
    assert ask(server, "GET", "/", "Host: evil.example", host=False).status == 401


@pytest.mark.parametrize("origin", ["app://obsidian.md", "capacitor://localhost", "http://localhost"])
def test_cors(serve, origin):
    server = serve("--auth", "anna:x@/:rw", "--cors", origin)
    preflight = ask(
        server, "OPTIONS", "/a", f"Origin: {origin}", "Access-Control-Request-Method: PROPFIND",
        "Access-Control-Request-Headers: authorization,depth,if-match")
    assert preflight.status == 204
    assert preflight["Access-Control-Allow-Origin"] == origin
    assert "PROPFIND" in preflight["Access-Control-Allow-Methods"]
    assert "authorization" in preflight["Access-Control-Allow-Headers"]
    answer = ask(server, "GET", "/a", f"Origin: {origin}")
    assert answer.status == 401 and answer["Access-Control-Allow-Origin"] == origin
    assert "ETag" in answer["Access-Control-Expose-Headers"]
    other = ask(server, "OPTIONS", "/a", "Origin: http://evil.example", "Access-Control-Request-Method: PUT")
    assert other.status in (204, 403) and "Access-Control-Allow-Origin" not in other


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.xhtml", "a.xml", "a.js", "a.txt", "a.png", "a.bin", "a.pdf", "a.mht"])
def test_files_run_nothing(server, name):
    (server.root / name).write_text("<script>alert(1)</script>")
    for answer in (ask(server, "GET", f"/{name}"), ask(server, "GET", f"/{name}", "Range: bytes=0-3"), ask(server, "HEAD", f"/{name}")):
        policy = answer["Content-Security-Policy"]
        assert "sandbox" in policy or name == "a.pdf"
        assert "allow-scripts" not in policy and ("default-src 'none'" in policy or "script-src 'none'" in policy)
        assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("target", ["/", "/missing", "/?json", "/.shareserve/info", "/%2F"])
@pytest.mark.parametrize("accept", ["*/*", "text/html"])
def test_every_answer_is_careful(server, target, accept):
    answer = ask(server, "GET", target, f"Accept: {accept}")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    # Not `no-referrer`, which takes the origin from our own forms too.
    assert answer["Referrer-Policy"] == "same-origin"


def test_behind_a_trusted_proxy(serve):
    server = serve("--auth", "anna:x@/:rw", "--trusted-proxy", "127.0.0.0/8", "--hsts", "1000")
    answer = ask(
        server, "POST", "/.shareserve/login", "X-Forwarded-Proto: https", "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-Host: files.example", "Origin: https://files.example", "Content-Type: application/x-www-form-urlencoded",
        body="user=anna&password=x")
    assert answer.status == 204 and "; Secure" in answer["Set-Cookie"]
    assert answer["Strict-Transport-Security"] == "max-age=1000"


@pytest.mark.parametrize("front", ["nginx", "haproxy"])
def test_clients_say_nothing_of_themselves_through_a_proxy(serve, folder, front):
    server = serve("--trusted-proxy", "127.0.0.1", "--hsts", "1000")
    proxy = fronts.nginx(server, folder) if front == "nginx" else fronts.haproxy([server], folder)
    try:
        for field in "X-Forwarded-Host: localhost", "Forwarded: for=192.0.2.1;host=localhost;proto=https":
            answer = ask(proxy, "GET", "/", "Host: evil.example", "User-Agent: Mozilla/5.0", field, host=False)
            assert answer.status == 421, field
        answer = ask(proxy, "GET", "/", "X-Forwarded-Proto: https", "Forwarded: for=192.0.2.1;proto=https")
        assert answer.status == 200 and "Strict-Transport-Security" not in answer
    finally:
        proxy.close()
    assert "192.0.2.1" not in server.logged()


def test_nothing_is_believed_from_others(serve):
    server = serve("--trusted-proxy", "10.0.0.0/8", "--hsts", "1000")
    answer = ask(server, "GET", "/", "Host: evil.example", "X-Forwarded-Host: localhost", "X-Forwarded-Proto: https", host=False)
    assert answer.status == 421 and "Strict-Transport-Security" not in answer
