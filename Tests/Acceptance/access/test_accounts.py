"""Who may do what, asked over real connections by real clients."""

import base64
import contextlib
import http.client
import os
import re
import signal
import statistics
import subprocess
import threading
import time

import pytest
import requests
from requests.auth import HTTPDigestAuth

from server import SANITIZED, binary, wait_until
from wire import Wire, ask


def basic(user, password):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def hashed(user, password, *options):
    made = subprocess.run(
        [binary(), "hash-password", *options, user], input=password + "\n", capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@pytest.fixture
def guarded(serve):
    server = serve("--auth", "@/public:ro,/inbox:w", "--auth", "anna:p@ss:w@rd@/:rw", "--auth", "bob:pw@/home:rw,/home/fixed:ro")
    for name in ("public", "inbox", "home", "home/fixed", "private"):
        (server.root / name).mkdir()
        (server.root / name / "a.txt").write_text(name)
    return server


def test_basic_in_either_encoding(serve):
    """RFC 7617 has UTF-8 where the server says so; Python's requests and .NET write ISO 8859-1 all the same."""
    server = serve("--auth", "jörg:pä:ß@/:rw")
    (server.root / "a").write_text("one")
    assert requests.get(server.url + "/a", auth=("jörg", "pä:ß"), timeout=20).text == "one"
    assert requests.get(server.url + "/a", auth=("jörg".encode(), "pä:ß".encode()), timeout=20).text == "one"
    assert requests.get(server.url + "/a", auth=("jörg", "pö:ß"), timeout=20).status_code == 401


@pytest.mark.parametrize("user, password, status", [
    ("jörg", "pä:ß", 200), ("anna", "pä:ß", 200), ("jörg", "pö:ß", 401), ("jürg", "pä:ß", 401)])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_digest_in_either_encoding(serve, user, password, status, encoding):
    """KDE's programs hash in ISO 8859-1, and prefer Digest: in Dolphin no other password would do."""
    server = serve("--auth", "jörg:pä:ß@/:rw", "--auth", "anna:pä:ß@/:rw")
    (server.root / "a").write_text("one")
    curl = ["curl", "-s", "--digest", "-o", os.devnull, "-w", "%{http_code}", "-u", f"{user}:{password}".encode(encoding)]
    assert subprocess.run([*curl, server.url + "/a"], check=True, capture_output=True).stdout == str(status).encode()


@pytest.mark.parametrize("method, target, fields", [
    ("PROPFIND", "/home/", ["Depth: 0"]), ("PUT", "/home/new", ["Content-Length: 0"]), ("GET", "/home/a.txt", []),
    ("GET", "/home/", ["Referer: http://127.0.0.1/home/"])])
def test_programs_of_kde_log_in(guarded, method, target, fields):
    """They say that they are browsers which want pages, whatever they ask for; Dolphin is one."""
    kio = ["User-Agent: Mozilla/5.0 (X11; Linux x86_64) KIO/5.103 kioclient/5.27.5",
           "Accept: text/html, text/*;q=0.9, image/jpeg;q=0.9, image/png;q=0.9, image/*;q=0.9, */*;q=0.8"]
    answer = ask(guarded, method, target, *kio, *fields)
    offered = {value.split()[0] for name, value in answer.fields if name.lower() == "www-authenticate"}
    assert answer.status == 401 and offered == {"Digest", "Basic"}, offered
    # Clients that ask for no page and have none open are not taken for browsers either.
    assert "Digest" in ask(guarded, "PROPFIND", target, "User-Agent: Mozilla/5.0", "Accept: text/html")["WWW-Authenticate"]


def test_who_sends_a_body_reads_that_it_may_not(guarded):
    """KDE's programs take an end of the connection within their own body for a broken one."""
    size = 3 << 20
    with Wire(guarded) as wire:
        wire.request("PUT", "/home/large", f"Content-Length: {size}")
        assert wire.response().status == 401
        for _ in range(3):
            wire.socket.settimeout(0.5)
            with pytest.raises(TimeoutError):
                wire.socket.recv(1)
            wire.send(bytes(size // 3))
        assert wire.is_closed(1)
    # The end of the server does not wait for it.
    with Wire(guarded) as wire:
        wire.request("PUT", "/home/large", f"Content-Length: {size}")
        assert wire.response().status == 401
        guarded.process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        while guarded.process.poll() is None and time.monotonic() - begun < 20:
            with contextlib.suppress(OSError):
                wire.send(b"x")
            time.sleep(0.3)
        assert time.monotonic() - begun < 10
    guarded.start()
    # A client that waits for 100 is refused, and the connection is closed.
    with Wire(guarded) as wire:
        wire.request("PUT", "/home/large", f"Content-Length: {size}", "Expect: 100-continue")
        assert wire.response().status == 401
        assert wire.is_closed(1)


def test_a_hash_of_an_encoding_of_old(serve, folder):
    """As `htpasswd` makes it of what a terminal in ISO 8859-1 sends."""
    made = subprocess.run(
        ["openssl", "passwd", "-6", "-salt", "abcdefgh", "-stdin"], input="pä".encode("latin-1") + b"\n",
        capture_output=True, check=True)
    rules = folder / "rules"
    rules.write_text(f"anna:{made.stdout.decode().strip()}@/:rw\n")
    server = serve("--auth-file", str(rules))
    (server.root / "a").write_text("one")
    assert requests.get(server.url + "/a", auth=("anna", "pä"), timeout=20).text == "one"
    assert requests.get(server.url + "/a", auth=("anna", "pä".encode()), timeout=20).status_code == 401


RIGHTS = [
    # method, target, further fields, nobody, bob, anna
    ("GET", "/public/a.txt", [], 200, 200, 200),
    ("GET", "/private/a.txt", [], 401, 404, 200),
    ("GET", "/home/a.txt", [], 401, 200, 200),
    ("GET", "/inbox/a.txt", [], 401, 404, 200),
    ("PUT", "/public/new", [], 401, 403, 201),
    ("PUT", "/inbox/new", [], 201, 201, 201),
    ("PUT", "/inbox/a.txt", [], 401, 403, 204),
    ("PUT", "/home/new", [], 401, 201, 201),
    ("PUT", "/home/fixed/new", [], 401, 403, 201),
    ("DELETE", "/home/a.txt", [], 401, 204, 204),
    ("DELETE", "/home", [], 401, 403, 204),
    ("MKCOL", "/private/new", [], 401, 403, 201),
    ("MOVE", "/home/a.txt", ["Destination: /private/x"], 401, 403, 201),
    ("MOVE", "/home/a.txt", ["Destination: /home/x"], 401, 201, 201),
    ("COPY", "/private/a.txt", ["Destination: /home/x"], 401, 404, 201),
    ("COPY", "/public/a.txt", ["Destination: /private/x"], 401, 403, 201),
    ("COPY", "/public/a.txt", ["Destination: /home/x"], 401, 201, 201),
    ("PROPFIND", "/private", ["Depth: 1"], 401, 404, 207),
    ("GET", "/?archive=zip", [], 200, 200, 200),
    ("GET", "/.shareserve/info", [], 200, 200, 200),
]


@pytest.mark.parametrize("who", range(3), ids=["nobody", "bob", "anna"])
@pytest.mark.parametrize("rule", RIGHTS, ids=lambda rule: f"{rule[0]}{rule[1]}")
def test_rights_on_every_door(guarded, rule, who):
    method, target, fields = rule[:3]
    credentials = [[], [basic("bob", "pw")], [basic("anna", "p@ss:w@rd")]][who]
    body = "x" if method == "PUT" else None
    answer = ask(guarded, method, target, *fields, *credentials, body=body)
    expected = rule[3 + who]
    # What may not be seen may be refused as forbidden or as missing.
    assert answer.status == expected or {answer.status, expected} <= {403, 404}, answer.text
    if answer.status == 401:
        assert "Basic" in answer["WWW-Authenticate"] and "Digest" in answer["WWW-Authenticate"]


def test_a_stranger_refused_within_is_asked_to_log_in(guarded):
    """Whoever is nobody yet may be somebody: refused by whatever door, the answer is 401, as long as that may help."""
    form = (b'--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\nx\r\n--b--\r\n')
    name = base64.b64encode(b"public/x").decode()
    for method, target, fields, body in [
        ("POST", "/public/", ["Content-Type: multipart/form-data; boundary=b"], form),
        ("POST", "/.shareserve/uploads", [
            "Tus-Resumable: 1.0.0", "Upload-Length: 1", f"Upload-Metadata: filename {name}"], None),
        ("POST", "/.shareserve/links", ["Content-Type: application/json"], '{"path":"/public","upload":true}'),
        ("PATCH", "/public/a.txt", ["X-Update-Range: append"], "x"),
    ]:
        answer = ask(guarded, method, target, *fields, body=body)
        assert answer.status == 401, (method, target, answer.status, answer.text)
        assert "Basic" in answer["WWW-Authenticate"] and "Digest" in answer["WWW-Authenticate"]
        known = ask(guarded, method, target, *fields, basic("bob", "pw"), body=body)
        assert known.status == 403 and "WWW-Authenticate" not in known, (method, target, known.status, known.text)
    # Another site's page is not asked to log in; and where no account may do more, nobody is.
    assert ask(guarded, "PUT", "/public/x", "Origin: http://evil.example", body="x").status == 403


def test_a_refusal_that_no_account_lifts(serve):
    server = serve("--no-delete", "--auth", "@/:rw", "--auth", "anna:pw@/:rw")
    (server.root / "a.txt").write_text("a")
    assert ask(server, "DELETE", "/a.txt").status == 403


def test_nothing_of_others_shows(guarded):
    for target in ("/", "/?json", "/.shareserve/search?in=/&q=a"):
        shown = ask(guarded, "GET", target, basic("bob", "pw")).text
        assert "private" not in shown and "inbox/a.txt" not in shown, target
    listing = ask(guarded, "PROPFIND", "/", "Depth: 1", basic("bob", "pw")).text
    assert "private" not in listing and "/home" in listing
    archive = ask(guarded, "GET", "/?archive=tar", basic("bob", "pw")).body
    assert b"private" not in archive and b"home/a.txt" in archive


def test_a_copy_says_that_it_leaves_a_drop_box_out(serve):
    """The box is listed; what others have brought there stays with them."""
    server = serve("--auth", "anna:pw@/:rw,/public/box:w,/public/secret:none")
    for name in ("box", "secret"):
        (server.root / "public" / name).mkdir(parents=True)
        (server.root / "public" / name / "a.txt").write_text(name)
    (server.root / "public" / "b.txt").write_text("b")
    answer = ask(server, "COPY", "/public/", "Destination: /copy/", basic("anna", "pw"))
    assert answer.status == 207 and "/box" in answer.text and "403" in answer.text
    assert "secret" not in answer.text
    assert [path.name for path in (server.root / "copy").rglob("*")] == ["b.txt"]


@pytest.mark.parametrize("kind", ["yescrypt", "sha512", "bcrypt", "digest"])
def test_hashes(serve, kind):
    server = serve("--auth", hashed("anna", "sécret", "--kind", kind) + "@/:rw")
    assert ask(server, "GET", "/", basic("anna", "sécret")).status == 200
    assert ask(server, "GET", "/", basic("anna", "secret")).status == 401
    assert ask(server, "GET", "/", basic("anna", "")).status == 401
    if kind == "digest":
        session = requests.get(server.url, auth=HTTPDigestAuth("anna", "sécret"), timeout=20)
        assert session.status_code in (200, 401)


@pytest.mark.parametrize("proof", ["cookie", "digest"])
def test_two_processes_are_one(serve, folder, proof):
    """Behind a load balancer: a log-in at one process holds at the other, after a restart too, and so does a log-out."""
    one = serve("--auth", "anna:pw@/:rw")
    other = serve("--auth", "anna:pw@/:rw", root=one.root)
    if proof == "digest":
        session = requests.Session()
        session.auth = HTTPDigestAuth("anna", "pw")
        for number in range(6):
            answer = session.get(f"{(one, other)[number % 2].url}/", timeout=20)
            assert answer.status_code == 200
            assert len(answer.history) == (1 if number == 0 else 0), "asked again"
        return
    form = {"user": "anna", "password": "pw"}
    cookie = requests.post(f"{one.url}/.shareserve/login", data=form, timeout=20).headers["Set-Cookie"].split(";")[0]
    assert ask(other, "GET", "/", f"Cookie: {cookie}").status == 200
    one.kill()
    one.restart()
    assert ask(one, "GET", "/", f"Cookie: {cookie}").status == 200
    assert ask(other, "POST", "/.shareserve/logout", f"Cookie: {cookie}", body="").status == 204
    assert ask(other, "GET", "/", f"Cookie: {cookie}").status == 401
    wait_until(lambda: ask(one, "GET", "/", f"Cookie: {cookie}").status == 401, "the log-out is known", 5)


def test_guessers_leave_room(serve):
    """Many wrong log-ins at once cost neither the threads nor the memory that others need."""
    server = serve("--auth", "@/public:ro", "--auth", hashed("anna", "secret", "--kind", "yescrypt") + "@/:rw")
    (server.root / "public").mkdir()
    (server.root / "public" / "a.txt").write_text("a")
    ask(server, "GET", "/public/")
    before = server.status_field("VmRSS")
    wires = [Wire(server) for _ in range(400)]
    for index, wire in enumerate(wires):
        wire.request("GET", "/private", basic(f"user{index}", "wrong"))
    for number in range(20):
        assert ask(server, "PUT", "/public/x", body="x").status == 401
        assert ask(server, "PROPFIND", "/public/", "Depth: 1").status == 207
    statuses = {wire.response().status for wire in wires}
    assert 401 in statuses and statuses <= {401, 429, 503}
    # An instrumented build has other figures.
    assert SANITIZED or server.peak_memory() - before < 64 << 20
    for wire in wires:
        wire.close()


def test_crypt_is_paid_once(serve):
    server = serve("--auth", hashed("anna", "secret", "--kind", "yescrypt") + "@/:rw")
    with Wire(server) as wire:
        wire.ask("GET", "/", basic("anna", "secret"))
        before = server.cpu_seconds()
        for _ in range(200):
            assert wire.ask("GET", "/", basic("anna", "secret")).status == 200
        assert server.cpu_seconds() - before < 2


@pytest.mark.parametrize("option", ["--basic", "--digest", "--anyauth"])
def test_curl(guarded, folder, option):
    (folder / "up").write_text("content")
    up = subprocess.run(
        ["curl", "-sS", "--fail", option, "-u", "anna:p@ss:w@rd", "-T", folder / "up", f"{guarded.url}/private/"],
        capture_output=True, timeout=60)
    assert up.returncode == 0, up.stderr
    assert (guarded.root / "private" / "up").read_text() == "content"
    wrong = subprocess.run(
        ["curl", "-sS", option, "-u", "anna:wrong", "-o", "/dev/null", "-w", "%{http_code}", f"{guarded.url}/private/"],
        capture_output=True, timeout=60)
    assert wrong.stdout == b"401"


def test_requests_digest(guarded):
    session = requests.Session()
    session.auth = HTTPDigestAuth("bob", "pw")
    for number in range(5):
        assert session.put(f"{guarded.url}/home/{number}", data=b"x", timeout=20).status_code == 201
        assert session.get(f"{guarded.url}/home/{number}?a=b", timeout=20).status_code == 200


def challenge(server):
    fields = [value for name, value in ask(server, "GET", "/private").fields if name.lower() == "www-authenticate"]
    return next(value for value in fields if "SHA-256" in value)


def test_digest_replay_is_refused(guarded):
    import hashlib

    def h(text):
        return hashlib.sha256(text.encode()).hexdigest()

    nonce = re.search('nonce="([^"]+)"', challenge(guarded))[1]
    response = h(f"{h('anna:shareserve:p@ss:w@rd')}:{nonce}:00000001:c:auth:{h('GET:/private/a.txt')}")
    line = (f'Authorization: Digest username="anna", realm="shareserve", nonce="{nonce}", uri="/private/a.txt", '
            f'algorithm=SHA-256, qop=auth, nc=00000001, cnonce="c", response="{response}"')
    assert ask(guarded, "GET", "/private/a.txt", line).status == 200
    again = ask(guarded, "GET", "/private/a.txt", line)
    assert again.status == 401 and "stale=true" in again["WWW-Authenticate"]
    assert ask(guarded, "DELETE", "/private/a.txt", line).status == 401
    assert ask(guarded, "GET", "/private/other", line).status == 401


def test_guessing_is_slowed_down(serve):
    server = serve("--auth", "anna:secret@/:rw")
    seen = [ask(server, "GET", "/", basic("anna", f"wrong{number}")) for number in range(15)]
    assert seen[0].status == 401 and seen[-1].status == 429
    assert int(seen[-1]["Retry-After"]) >= 1
    assert ask(server, "GET", "/").status == 401


def test_unknown_users_take_as_long(serve):
    """Whoever asks pays for one hash of each kind that some account has; medians are compared, generously."""
    server = serve(
        "--auth", hashed("anna", "secret", "--kind", "yescrypt") + "@/:rw",
        "--auth", hashed("bert", "secret", "--kind", "bcrypt") + "@/:rw", "--auth", "carl:secret@/:rw")
    taken = {"anna": [], "bert": [], "carl": [], "nobody": []}
    for turn in range(7):
        for number, user in enumerate(taken):
            # Each from its own address, so that none is blocked for too many guesses.
            connection = http.client.HTTPConnection(
                "127.0.0.1", server.port, timeout=20, source_address=(f"127.0.{turn + 1}.{number + 1}", 0))
            connection.connect()
            start = time.monotonic()
            connection.request("GET", "/", headers=dict([basic(user, f"wrong{turn}").split(": ")]))
            assert connection.getresponse().status == 401
            taken[user].append(time.monotonic() - start)
            connection.close()
    medians = {user: statistics.median(times) for user, times in taken.items()}
    assert max(medians.values()) < 3 * min(medians.values()), medians


def test_log_in_page(serve):
    server = serve("--auth", "anna:secret@/:rw")
    (server.root / "a").mkdir()
    browser = {"User-Agent": "Mozilla/5.0", "Accept": "text/html"}
    refused = requests.get(f"{server.url}/a/", headers=browser, timeout=20)
    assert refused.status_code == 401
    assert "Basic" not in refused.headers["WWW-Authenticate"]
    session = requests.Session()
    session.headers.update(browser)
    wrong = session.post(
        f"{server.url}/.shareserve/login", data={"user": "anna", "password": "x", "return": "/a/"}, timeout=20)
    assert wrong.status_code == 401 and not session.cookies
    # For the page's own script, too: a 401 says what it asks for. RFC 9110 §15.5.2
    wrong = requests.post(f"{server.url}/.shareserve/login", data={"user": "anna", "password": "x"}, timeout=20)
    assert wrong.status_code == 401 and "Basic" not in wrong.headers["WWW-Authenticate"]
    assert requests.put(f"{server.url}/.shareserve/login", timeout=20).headers["Allow"] == "GET, HEAD, POST"
    right = session.post(
        f"{server.url}/.shareserve/login", data={"user": "anna", "password": "secret", "return": "/a/"},
        allow_redirects=False, timeout=20)
    assert right.status_code == 303 and right.headers["Location"] == "/a/"
    cookie = right.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert session.get(f"{server.url}/a/", timeout=20).status_code == 200
    kept = dict(session.cookies)
    assert session.post(f"{server.url}/.shareserve/logout", allow_redirects=False, timeout=20).status_code == 303
    assert requests.get(f"{server.url}/a/", headers=browser, cookies=kept, timeout=20).status_code == 401


def test_the_password_file_is_read_again(serve, folder):
    path = folder / "passwords"
    path.write_text(hashed("anna", "one", "--kind", "sha512") + "\n")
    server = serve("--auth-file", path)
    assert ask(server, "GET", "/", basic("anna", "one")).status == 200
    path.write_text(hashed("anna", "two", "--kind", "sha512") + "\n")
    server.signal(signal.SIGHUP)
    wait_until(lambda: ask(server, "GET", "/", basic("anna", "two")).status == 200, "the new password opens")
    assert ask(server, "GET", "/", basic("anna", "one")).status == 401
    wait_until(lambda: "reloaded the rules" in server.logged(), "it says what was read")
    for content, told in [(b"nonsense\n", "not reloaded"), (b"\nbob:p\xe4\n", "line 2 is not UTF-8")]:
        path.write_bytes(content)
        server.signal(signal.SIGHUP)
        wait_until(lambda: told in server.logged(), "the bad file is told")
        assert ask(server, "GET", "/", basic("anna", "two")).status == 200


def test_sighup_without_anything_to_read(serve):
    server = serve("--auth", "anna:one@/:rw")
    server.signal(signal.SIGHUP)
    wait_until(lambda: "there is nothing to reload" in server.logged(), "it says so")
    assert ask(server, "GET", "/", basic("anna", "one")).status == 200


def test_who_is_out_hears_no_more(serve, folder):
    """An event stream ends when the rules change; who is still in begins another."""
    path = folder / "passwords"
    path.write_text("anna:one@/:rw\nbob:two@/:ro\n")
    server = serve("--auth-file", path)
    with Wire(server) as wire:
        wire.request("GET", "/.shareserve/events?in=/", basic("bob", "two"), "Connection: close")
        assert wire.read(12) == b"HTTP/1.1 200"
        path.write_text("anna:one@/:rw\n")
        server.signal(signal.SIGHUP)
        wait_until(lambda: ask(server, "GET", "/", basic("bob", "two")).status == 401, "he is out")
        wire.rest()
    assert ask(server, "GET", "/.shareserve/events?in=/", basic("bob", "two")).status == 401
    with Wire(server) as wire:
        wire.request("GET", "/.shareserve/events?in=/", basic("anna", "one"))
        assert wire.read(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("way", ["here", "at another process"])
def test_who_logs_out_hears_no_more(serve, way):
    """An event stream ends with its session, and no sooner: the neighbours' go on."""
    server = serve("--auth", "anna:one@/:rw", "--auth", "bob:two@/:rw")
    door = serve("--auth", "anna:one@/:rw", "--auth", "bob:two@/:rw", root=server.root) if way != "here" else server

    def session(user, password):
        form = {"user": user, "password": password}
        answer = requests.post(f"{server.url}/.shareserve/login", data=form, timeout=20)
        return "Cookie: " + answer.headers["Set-Cookie"].split(";")[0]

    annas, bobs = session("anna", "one"), session("bob", "two")
    with Wire(server) as hers, Wire(server) as his:
        for wire, cookie in ((hers, annas), (his, bobs)):
            wire.request("GET", "/.shareserve/events?in=/", cookie, "Connection: close")
            assert wire.read(12) == b"HTTP/1.1 200"
        assert ask(door, "POST", "/.shareserve/logout", annas, body="").status == 204
        assert b"retry" in hers.rest()
        (server.root / "later").write_text("x")
        told = b""
        while b"later" not in told:
            told += his.read(1)
    assert ask(server, "GET", "/.shareserve/events?in=/", annas).status == 401


def test_many_wrong_at_once_do_not_stop_the_others(serve):
    server = serve("--auth", hashed("anna", "secret", "--kind", "bcrypt") + "@/:rw", "--auth", "@/open:ro")
    (server.root / "open").mkdir()
    (server.root / "open" / "a").write_text("x")
    statuses = []

    def guess(number):
        statuses.append(ask(server, "GET", "/", basic("anna", f"wrong{number}")).status)

    threads = [threading.Thread(target=guess, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    assert ask(server, "GET", "/open/a").status == 200
    for thread in threads:
        thread.join()
    assert set(statuses) <= {401, 429} and 429 in statuses


BOB, EVE = basic("bob", "bob"), basic("eve", "eve")
LOCK = ('<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>')


def test_who_brings_a_file_where_nothing_shows_may_see_that_it_came(serve):
    """Programs look before they write, and at what they have written; nobody else learns of it, and nobody reads it."""
    server = serve("--auth", "bob:bob@/inbox:w", "--auth", "eve:eve@/inbox:w")
    inbox = server.root / "inbox"
    inbox.mkdir()
    (inbox / "others").write_text("before")
    look = ("PROPFIND", "/inbox/a", "Depth: 0")
    for name, status in (("a", 404), ("others", 403)):
        assert ask(server, "HEAD", f"/inbox/{name}", BOB).status == status
        assert ask(server, "PROPFIND", f"/inbox/{name}", "Depth: 0", BOB).status == status
        assert ask(server, "GET", f"/inbox/{name}", BOB).status == status
    for body, status in ((b"", 201), (b"content", 204)):
        assert ask(server, "PUT", "/inbox/a", BOB, body=body).status == status
        head = ask(server, "HEAD", "/inbox/a", BOB)
        assert head.status == 200 and int(head["Content-Length"]) == len(body)
        found = ask(server, *look, BOB)
        assert found.status == 207 and f"<D:getcontentlength>{len(body)}<".encode() in found.body
        assert ask(server, "GET", "/inbox/a", BOB).status == 403
        assert ask(server, "GET", "/inbox/a", "Range: bytes=0-", BOB).status == 403
        assert ask(server, "COPY", "/inbox/a", "Destination: /inbox/b", BOB).status == 403
        for stranger in (EVE, "X: y"):
            assert ask(server, "HEAD", "/inbox/a", stranger).status in (401, 403)
            assert ask(server, *look, stranger).status in (401, 403)
    # The file has content now: it can be neither replaced nor locked, and no other file of the name is shown.
    assert ask(server, "PUT", "/inbox/a", BOB, body=b"more").status == 403
    assert ask(server, "LOCK", "/inbox/a", BOB, body=LOCK).status == 403
    assert ask(server, "DELETE", "/inbox/a", BOB).status == 403
    # The folder lists it to bob, who uploaded it, and nothing else to anyone.
    listed = [ask(server, "PROPFIND", "/inbox/", "Depth: 1", who).body for who in (BOB, EVE)]
    assert [body.count(b"<D:response>") for body in listed] == [2, 1] and b"/inbox/a<" in listed[0]
    assert "/a" not in ask(server, "GET", "/inbox/?json", BOB).text
    (inbox / "new").write_text("content")
    (inbox / "new").rename(inbox / "a")
    assert ask(server, "HEAD", "/inbox/a", BOB).status == 403
    # An empty file of someone else may be about to be written.
    (inbox / "empty").write_text("")
    assert ask(server, "PUT", "/inbox/empty", BOB, body=b"mine").status == 403
    assert ask(server, "LOCK", "/inbox/empty", BOB, body=LOCK).status == 403
    assert ask(server, "HEAD", "/inbox/empty", BOB).status == 403
    # As mounted drives write.
    locked = ask(server, "LOCK", "/inbox/b", BOB, body=LOCK)
    token = locked["Lock-Token"]
    assert locked.status == 201 and ask(server, "HEAD", "/inbox/b", BOB).status == 200
    assert ask(server, "PUT", "/inbox/b", EVE, body=b"eve's").status == 403
    assert ask(server, "PUT", "/inbox/b", BOB, f"If: ({token})", body=b"bob's").status == 204
    assert ask(server, "UNLOCK", "/inbox/b", BOB, f"Lock-Token: {token}").status == 204
    assert (inbox / "b").read_text() == "bob's"
    assert ask(server, "HEAD", "/inbox/b/", BOB).status in (403, 404)


def test_what_is_noted_of_a_file_is_not_shown_to_who_brought_it(serve):
    server = serve("--auth", "bob:bob@/inbox:w", "--auth", "eve:eve@/:rw")
    (server.root / "inbox").mkdir()
    assert ask(server, "PUT", "/inbox/a", BOB, body=b"content").status == 201
    secret = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">secret</x></prop></set></propertyupdate>'
    assert ask(server, "PROPPATCH", "/inbox/a", EVE, body=secret).status == 207
    owned = LOCK.replace("</D:lockinfo>", "<D:owner>secret</D:owner></D:lockinfo>")
    assert ask(server, "LOCK", "/inbox/a", EVE, body=owned).status == 200
    for body in (None, '<propfind xmlns="DAV:"><prop><x xmlns="urn:x"/><lockdiscovery/></prop></propfind>'):
        found = ask(server, "PROPFIND", "/inbox/a", "Depth: 0", BOB, body=body)
        assert found.status == 207 and b"secret" not in found.body, found.body
        found = ask(server, "PROPFIND", "/inbox/", "Depth: 1", BOB, body=body)
        assert b"/inbox/a<" in found.body and b"secret" not in found.body, found.body


def test_conditions_tell_nothing_of_what_may_not_be_read(serve):
    server = serve("--auth", "bob:bob@/inbox:w")
    (server.root / "inbox").mkdir()
    (server.root / "inbox" / "a").write_text("another's")
    for fields in (["If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"],
                   ["If-Unmodified-Since: Thu, 01 Jan 2099 00:00:00 GMT"], []):
        assert ask(server, "PUT", "/inbox/a", BOB, *fields, body=b"x").status == 403
    for fields in (["If-None-Match: *"], ['If-Match: "x"']):
        assert ask(server, "PUT", "/inbox/a", BOB, *fields, body=b"x").status == 412
    # Nor is anything told about folders that do not exist, except that they do not.
    assert ask(server, "HEAD", "/inbox/none/deep/a", BOB).status == 404


def test_what_is_copied_to_where_nothing_shows_has_come(serve):
    server = serve("--auth", "bob:bob@/inbox:w,/open:rw")
    for folder in ("inbox", "open"):
        (server.root / folder).mkdir()
    for method, name in (("COPY", "a"), ("MOVE", "b")):
        (server.root / "open" / name).write_text("content")
        assert ask(server, method, f"/open/{name}", f"Destination: /inbox/{name}", BOB).status == 201
        assert ask(server, "HEAD", f"/inbox/{name}", BOB).status == 200
        assert ask(server, "GET", f"/inbox/{name}", BOB).status == 403


def test_a_link_out_of_a_folder_that_shows_nothing_tells_nothing(serve):
    server = serve("--auth", "@/:w,/private:none", "--hidden", "out-of-sight")
    for folder in ("drop", "private", "out-of-sight"):
        (server.root / folder).mkdir()
    for folder in ("private", "out-of-sight"):
        (server.root / folder / "there").write_text("x")
        (server.root / "drop" / folder).symlink_to(f"../{folder}")
    for name in ("there", "missing"):
        (server.root / "drop" / name).symlink_to(f"../private/{name}")
    for method in ("GET", "HEAD", "PROPFIND"):
        for place in ("", "private/", "out-of-sight/"):
            told = [ask(server, method, f"/drop/{place}{name}", "Depth: 0").status for name in ("there", "missing")]
            assert told[0] == told[1], (method, place, told)


def test_visitors_are_told_apart_by_their_addresses(serve):
    server = serve("--auth", "@/:w", "--trusted-proxy", "127.0.0.0/8")
    one, other = "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2"
    assert ask(server, "PUT", "/a", one, body=b"content").status == 201
    assert ask(server, "HEAD", "/a", one).status == 200
    assert ask(server, "HEAD", "/a", other).status == 403
    # Several clients may have one address: a file with content is not listed to any of them.
    assert ask(server, "PUT", "/empty", one, body=b"").status == 201
    listed = ask(server, "PROPFIND", "/", "Depth: 1", one).body
    assert b"/empty<" in listed and b"/a<" not in listed


def test_who_may_not_make_a_name_is_not_told_to_make_its_folder(serve):
    server = serve("--auth", "bob:bob@/public:ro")
    (server.root / "public").mkdir()
    for method in ("PUT", "MKCOL"):
        assert ask(server, method, "/public/x/y", BOB).status == 403, method


def test_a_rule_for_a_place_that_is_not_there_is_told(serve):
    server = serve("--auth", "anna:x@/:rw,/secrt:none", "--auth", "@/open:ro", wait=False)
    wait_until(lambda: server.logged().count("at which nothing is") == 2, "both are told")
    assert "/secrt" in server.logged()
