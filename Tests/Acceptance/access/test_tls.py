"""TLS as clients meet it: certificates of each kind, renewal, versions, client certificates, the redirect."""

import hashlib
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from server import binary, free_port, wait_until
from wire import ConnectionClosed, Wire, ask


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def certificate(folder, name, kind="ec", authority=None, common="localhost"):
    """Makes a key and a certificate, signed by itself or by an authority; gives their paths."""
    key, request, made = (folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
    kinds = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["rsa:2048"]}
    options = ["-nodes", "-newkey", *kinds[kind], "-keyout", key, "-subj", f"/CN={common}",
               "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    if authority is None:
        openssl("req", "-x509", "-days", "2", *options, "-out", made)
    else:
        openssl("req", "-new", *options, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", authority[0], "-CAkey", authority[1], "-CAcreateserial", "-days", "2",
                "-out", made)
    return made, key


def trusting(path):
    context = ssl.create_default_context(cafile=str(path))
    context.check_hostname = False
    return context


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_files(serve, folder, kind):
    made, key = certificate(folder, "a", kind)
    server = serve("--tls-cert", made, "--tls-key", key)
    assert server.url.startswith("https://")
    content = os.urandom(3_000_000)
    with Wire(server, tls=trusting(made)) as wire:
        assert wire.ask("PUT", "/a", body=content).status == 201
        assert wire.ask("GET", "/a").body == content
        assert wire.ask("GET", "/a", "Range: bytes=5-9").body == content[5:10]
        assert wire.ask("PROPFIND", "/", "Depth: 1").status == 207
    seen = subprocess.run(
        ["curl", "-sS", "--fail", "--cacert", made, f"https://localhost:{server.port}/a"], capture_output=True, timeout=60)
    assert seen.returncode == 0, seen.stderr
    assert seen.stdout == content


@pytest.mark.parametrize("method, body", [("GET", b""), ("PROPFIND", b""), ("PUT", b"x" * 300_000)])
def test_without_tls_the_answer_says_what_to_do(serve, method, body):
    server = serve("--tls-self-signed")
    with Wire(server) as wire:
        wire.request(method, "/file", body=body)
        answer = wire.response()
        assert answer.status == 400 and "https://" in answer.text
        assert wire.socket.recv(1) == b""
    assert not list(server.root.glob("file"))
    assert ask(server, "GET", "/", tls=True).status == 200


def test_neither_tls_nor_http_is_not_answered(serve):
    server = serve("--tls-self-signed", "--head-timeout", "2")
    for words in (b"\0\1\2", b"\x16\x03\x01 this is no greeting", b"\xff" * 100):
        with Wire(server) as wire:
            wire.socket.sendall(words + b"\r\n" * 50)
            seen = b""
            try:
                while part := wire.socket.recv(1000):
                    seen += part
            except ConnectionResetError:
                pass
            assert b"HTTP" not in seen
    assert ask(server, "GET", "/", tls=True).status == 200


def test_many_connections(serve, folder):
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)
    (server.root / "a").write_text("x" * 100_000)
    wires = [Wire(server, tls=trusting(made)) for _ in range(50)]
    for wire in wires:
        wire.request("GET", "/a")
    assert all(len(wire.response().body) == 100_000 for wire in wires)
    for wire in wires:
        wire.close()


def test_self_signed(serve):
    server = serve("--tls-self-signed")
    line = next(line for line in server.printed if "SHA-256" in line)
    shown = line.rpartition(" ")[2].replace(":", "").lower()

    def served():
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            with ssl._create_unverified_context().wrap_socket(plain) as secure:
                return secure.getpeercert(binary_form=True)

    assert hashlib.sha256(served()).hexdigest() == shown
    described = subprocess.run(
        ["openssl", "x509", "-inform", "DER", "-noout", "-text"], input=served(), capture_output=True, timeout=60)
    assert b"DNS:localhost" in described.stdout and b"IP Address:127.0.0.1" in described.stdout
    before = served()
    server.stop()
    server.restart()
    assert served() == before, "the certificate is kept"
    names = ask(server, "GET", "/?json", tls=ssl._create_unverified_context())
    assert ".shareserve" not in names.text


def test_processes_that_begin_together_have_one_certificate(serve):
    # Each has looked for a certificate before the other has stored its own.
    names = "rename,renameat,renameat2"
    slow = ("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={names}", "-e", f"inject={names}:delay_enter=1000000")
    servers = [serve("--tls-self-signed", wrapper=slow, wait=False) for _ in range(2)]
    for server in servers:
        wait_until(lambda: server.urls, "an address is printed")
    assert len({ssl.get_server_certificate(("127.0.0.1", server.port)) for server in servers}) == 1


def test_renewal(serve, folder):
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)
    old = trusting(made)
    kept = Wire(server, tls=old)
    assert kept.ask("GET", "/").status == 200
    new_made, new_key = certificate(folder, "b")
    os.replace(new_key, key)
    os.replace(new_made, made)

    def is_new():
        try:
            return ask(server, "GET", "/", tls=trusting(made)).status == 200
        except ssl.SSLError:
            return False

    wait_until(is_new, "the new certificate is served")
    assert kept.ask("GET", "/").status == 200, "open connections go on"
    made.write_text("broken")
    wait_until(lambda: "could not reload" in server.logged(), "the broken file is told")
    assert ask(server, "GET", "/", tls=ssl._create_unverified_context()).status == 200


def test_sighup_renews_at_once(serve, folder):
    """The files are watched besides, but who says so waits for nothing."""
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)
    new_made, new_key = certificate(folder, "b")
    os.replace(new_key, key)
    os.replace(new_made, made)
    server.signal(signal.SIGHUP)
    wait_until(lambda: "reloaded" in server.logged(), "it says that something was read")
    assert ask(server, "GET", "/", tls=trusting(made)).status == 200
    assert "reloaded the certificate" in server.logged() and "reloaded the rules" not in server.logged()


def test_sighup_with_a_broken_certificate(serve, folder):
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)
    made.write_text("broken")
    server.signal(signal.SIGHUP)
    wait_until(lambda: "could not reload the certificate" in server.logged(), "the broken file is told")
    assert "reloaded" not in server.logged()
    assert ask(server, "GET", "/", tls=ssl._create_unverified_context()).status == 200


def test_a_key_that_became_a_pipe_keeps_nobody_waiting(serve, folder):
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)
    key.unlink()
    os.mkfifo(key)
    server.signal(signal.SIGHUP)
    wait_until(lambda: "a.key: it is not a regular file" in server.logged(), "the pipe is told")
    assert ask(server, "GET", "/", tls=trusting(made)).status == 200
    assert server.stop() == 0


def test_a_key_through_a_pipe_is_read_once(serve, folder):
    made, key = certificate(folder, "a")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_bytes(key.read_bytes()), daemon=True).start()
    server = serve("--tls-cert", made, "--tls-key", pipe)
    server.signal(signal.SIGHUP)
    wait_until(lambda: "reloaded the certificate" in server.logged(), "the certificate is read again")
    assert ask(server, "GET", "/", tls=trusting(made)).status == 200
    assert "could not reload" not in server.logged()
    assert server.stop() == 0


def test_a_disk_that_hangs_while_the_key_is_read_keeps_no_signal_waiting(serve, folder):
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)

    def states(field):
        return [re.search(rf"^{field}:\s+(\S+)", (task / "status").read_text(), re.MULTILINE)[1]
                for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir()]

    slow = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", os.devnull, "-P", key, "-e", "trace=open,openat",
         "-e", "inject=open,openat:delay_enter=60000000", "-p", str(server.pid)])
    try:
        wait_until(lambda: "0" not in states("TracerPid"), "every thread is traced")
        server.signal(signal.SIGHUP)
        wait_until(lambda: "t" in states("State"), "the key is being opened")
        server.signal(signal.SIGTERM)
        wait_until(lambda: "shutting down" in server.logged(), "the signal is obeyed")
    finally:
        slow.kill()
        slow.wait()
    assert server.process.wait(20) == 0


def handshake(server, version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
        with context.wrap_socket(plain) as secure:
            return secure.version(), secure.cipher()[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_versions(serve):
    server = serve("--tls-self-signed")
    assert handshake(server, ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"
    version, cipher = handshake(server, ssl.TLSVersion.TLSv1_2)
    assert version == "TLSv1.2" and cipher.startswith("ECDHE") and ("GCM" in cipher or "CHACHA" in cipher)
    for old in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises((ssl.SSLError, OSError)):
            handshake(server, old)


def test_client_certificates(serve, folder):
    authority = certificate(folder, "ca", common="authority")
    made, key = certificate(folder, "client", authority=authority, common="client")
    stranger, stranger_key = certificate(folder, "stranger")
    server = serve("--tls-self-signed", "--client-ca", authority[0])

    def context(*chain):
        made = ssl._create_unverified_context()
        if chain:
            made.load_cert_chain(*map(str, chain))
        return made

    assert ask(server, "GET", "/", tls=context(made, key)).status == 200
    for refused in (context(), context(stranger, stranger_key)):
        with pytest.raises(Exception):
            ask(server, "GET", "/", tls=refused)


def test_redirect(serve):
    port = free_port()
    server = serve("--tls-self-signed", "--redirect-http", port, "--hsts", "600")
    with Wire(("127.0.0.1", port)) as wire:
        answer = wire.ask("GET", "/a%20b?c=d")
    assert answer.status == 308
    assert answer["Location"] == f"https://127.0.0.1:{server.port}/a%20b?c=d"
    with Wire(("127.0.0.1", port)) as wire:
        answer = wire.ask("GET", b"/caf\xe9/\xc3\xa9?q=\xff")
    assert answer["Location"] == f"https://127.0.0.1:{server.port}/caf%E9/%C3%A9?q=%FF"
    with Wire(("127.0.0.1", port)) as wire:
        answer = wire.ask("GET", "/", "Host: evil.example", host=False)
    assert answer.status == 421 and "Location" not in answer
    secure = ask(server, "GET", "/", tls=ssl._create_unverified_context())
    assert secure["Strict-Transport-Security"] == "max-age=600"


def test_redirect_from_a_free_port(serve):
    server = serve("--tls-self-signed", "--redirect-http", "0")
    wait_until(lambda: any(line.startswith("Port ") for line in list(server.printed)), "the port is printed")
    port = next(int(line.split()[1]) for line in list(server.printed) if line.startswith("Port "))
    with Wire(("127.0.0.1", port)) as wire:
        assert wire.ask("GET", "/a")["Location"] == f"https://127.0.0.1:{server.port}/a"


def test_a_busy_port_to_redirect_from_is_named(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [binary(), folder, "--port", "0", "--bind", "127.0.0.1", "--tls-self-signed", "--redirect-http", port],
            capture_output=True, text=True, timeout=20)
    assert ended.returncode == 69
    assert port in ended.stderr and "--redirect-http" in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_connections_from_one_address_count_before_their_handshake(serve):
    server = serve("--tls-self-signed", "--max-connections-per-address", "2")
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(3)]
    # Whichever of them was accepted last.
    refused = wait_until(lambda: select.select(silent, [], [], 0)[0], "one is closed at once", 10)
    assert len(refused) == 1 and refused[0].recv(1) == b""
    for connection in silent:
        connection.close()

    def works():
        try:
            return ask(server, "GET", "/", tls=ssl._create_unverified_context()).status == 200
        except OSError:
            return False

    wait_until(works, "there is room again")


@pytest.mark.parametrize("says_so", [True, False])
def test_nothing_stays_open_for_a_client_that_has_gone(serve, folder, says_so):
    """Not for the seconds either that a client may take to end its side."""
    made, key = certificate(folder, "a")
    server = serve("--tls-cert", made, "--tls-key", key)
    before = server.open_files()
    for _ in range(20):
        with Wire(server, tls=trusting(made)) as wire:
            assert wire.ask("GET", "/", "Connection: close").status == 200
            if says_so:
                wire.socket.unwrap()
    wait_until(lambda: server.open_files() <= before + 2, "the connections are gone", timeout=3)


@pytest.mark.parametrize("options", [
    ["--tls-key", "x"], ["--tls-cert", "/missing"], ["--tls-cert", "/missing", "--tls-self-signed"], ["--client-ca", "x"],
    ["--redirect-http", "8081"],
])
def test_wrong_options(folder, options):
    ended = subprocess.run([binary(), folder, "--port", "0", *options], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 64
    assert len(ended.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_opened_says_why(folder):
    made, _ = certificate(folder, "a")
    for cert, key in [("/missing.pem", "/missing.key"), (made, "/missing.key")]:
        ended = subprocess.run(
            [binary(), folder, "--port", "0", "--tls-cert", cert, "--tls-key", key], capture_output=True, text=True, timeout=20)
        assert ended.returncode == 64
        assert ended.stderr.rstrip().endswith(": No such file or directory"), ended.stderr


def test_a_key_with_a_password_is_told_from_none(folder):
    made, key = certificate(folder, "a")
    openssl("pkcs8", "-topk8", "-in", key, "-out", folder / "closed.key", "-passout", "pass:secret")
    ended = subprocess.run(
        [binary(), folder, "--port", "0", "--tls-cert", made, "--tls-key", folder / "closed.key"], capture_output=True,
        text=True, timeout=20)
    assert ended.returncode == 64
    assert "closed.key is encrypted" in ended.stderr


MARK = b"\xef\xbb\xbf"


def refusal(folder, cert, key):
    """What is said of files that TLS cannot begin with."""
    ended = subprocess.run(
        [binary(), folder, "--port", "0", "--tls-cert", cert, "--tls-key", key], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 64 and len(ended.stderr.splitlines()) == 1, ended.stderr
    return ended.stderr


def test_the_mark_of_an_encoding_is_passed_over(serve, folder):
    authority = certificate(folder, "ca", common="authority")
    made, key = certificate(folder, "a", authority=authority)
    client, client_key = certificate(folder, "client", authority=authority, common="client")
    # A chain of files, each with its own mark.
    (folder / "chain.pem").write_bytes(MARK + made.read_bytes() + MARK + authority[0].read_bytes())
    (folder / "marked.key").write_bytes(MARK + key.read_bytes())
    (folder / "marked-ca.pem").write_bytes(MARK + authority[0].read_bytes())
    server = serve("--tls-cert", folder / "chain.pem", "--tls-key", folder / "marked.key", "--client-ca", folder / "marked-ca.pem")
    context = trusting(authority[0])
    context.load_cert_chain(client, client_key)
    assert ask(server, "GET", "/", tls=context).status == 200


def test_files_of_other_forms_are_told(folder):
    made, key = certificate(folder, "a")
    openssl("x509", "-in", made, "-outform", "DER", "-out", folder / "a.der")
    openssl("pkey", "-in", key, "-outform", "DER", "-out", folder / "key.der")
    openssl("pkcs12", "-export", "-in", made, "-inkey", key, "-out", folder / "a.p12", "-passout", "pass:secret")
    (folder / "wide.pem").write_bytes(made.read_text().encode("utf-16"))
    for name in ("a.der", "a.p12", "wide.pem"):
        said = refusal(folder, folder / name, key)
        assert "no certificate in PEM form (-----BEGIN CERTIFICATE-----)" in said
        assert f"“openssl x509 -in {folder / name} -out cert.pem”" in said
    said = refusal(folder, made, folder / "key.der")
    assert "no private key in PEM form" in said and f"“openssl pkey -in {folder / 'key.der'} -out key.pem”" in said
    # The suggested commands work.
    openssl("x509", "-in", folder / "a.der", "-out", folder / "again.pem")
    openssl("pkey", "-in", folder / "key.der", "-out", folder / "again.key")
    assert (folder / "again.pem").read_bytes() == made.read_bytes() and (folder / "again.key").read_text().startswith("-----")
    # A file of the right form with something else in it.
    assert "openssl" not in refusal(folder, key, key) and "openssl" not in refusal(folder, made, made)
    for cert, other in [(folder, key), (made, folder)]:
        assert refusal(folder, cert, other).endswith(f"cannot read {folder}: Is a directory\n")


def test_keys_that_no_client_takes(folder):
    made, _ = certificate(folder, "a")
    openssl("ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", folder / "coin.key")
    assert "of a kind that browsers do not take" in refusal(folder, made, folder / "coin.key")
    short = ("-newkey", "rsa:512", "-nodes", "-subj", "/CN=localhost", "-days", "2")
    openssl("req", "-x509", *short, "-keyout", folder / "short.key", "-out", folder / "short.pem")
    assert "the RSA key has 512 bits; at least 2048 are needed" in refusal(folder, folder / "short.pem", folder / "short.key")


@pytest.mark.parametrize("kind", ["rsa:1024", "rsa:2048", "ec:P-521", "ed25519"])
def test_what_clients_may_refuse_is_told(serve, folder, kind):
    name, _, curve = kind.partition(":")
    new = ["ec", "-pkeyopt", f"ec_paramgen_curve:{curve}"] if name == "ec" else [kind]
    openssl("req", "-x509", "-newkey", *new, "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", folder / "a.key",
            "-out", folder / "a.pem")
    server = serve("--tls-cert", folder / "a.pem", "--tls-key", folder / "a.key")
    context = ssl._create_unverified_context()
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    assert ask(server, "GET", "/", tls=context).status == 200
    told = "the RSA key has 1024 bits; at least 2048 are needed"
    assert (told in server.logged()) == (kind == "rsa:1024") and server.logged().count("warning") == (kind == "rsa:1024")


def dated(folder, begin, end):
    """A certificate for another time, in `a.pem` with its key in `a.key`."""
    openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", folder / "new.key", "-out",
            folder / "a.csr")
    (folder / "index").write_text("")
    (folder / "ca.conf").write_text(
        f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index\nnew_certs_dir={folder}\nrand_serial=yes\n"
        "default_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n")
    openssl("ca", "-batch", "-config", folder / "ca.conf", "-selfsign", "-keyfile", folder / "new.key", "-in", folder / "a.csr",
            "-startdate", begin, "-enddate", end, "-notext", "-out", folder / "new.pem")
    os.replace(folder / "new.key", folder / "a.key")
    os.replace(folder / "new.pem", folder / "a.pem")


def test_a_certificate_of_another_time_is_told(serve, folder):
    dated(folder, "20190131000000Z", "20200131120000Z")
    server = serve("--tls-cert", folder / "a.pem", "--tls-key", folder / "a.key")
    assert "the certificate expired on 2020-01-31" in server.logged()
    dated(folder, "20990301000000Z", "21000131120000Z")
    wait_until(lambda: "the certificate is not valid before 2099-03-01" in server.logged(), "the new one is told too")


def test_failed_handshakes_are_logged_on_demand(serve):
    for options in (["--verbose"], []):
        server = serve("--tls-self-signed", *options)
        with pytest.raises(ssl.SSLError):
            ask(server, "GET", "/", tls=ssl.create_default_context())
        # In the order of connections, so that the line would have come.
        assert ask(server, "GET", "/", tls=True).status == 200
        if options:
            wait_until(lambda: "a TLS handshake failed" in server.logged(), "the failure is logged")
            line, = (line for line in server.logged().splitlines() if "handshake failed" in line)
            assert "peer=127.0.0.1" in line
        else:
            wait_until(lambda: "GET" in server.logged(), "the request is logged")
            assert "handshake" not in server.logged()


@pytest.mark.timeout(600)
def test_testssl(serve, folder):
    """testssl.sh finds nothing of weight but that this certificate is the test's own."""
    authority = certificate(folder, "ca", common="authority")
    made, key = certificate(folder, "a", authority=authority)
    server = serve("--tls-cert", made, "--tls-key", key, "--hsts", "31536000")
    found = folder / "found.json"
    subprocess.run(
        ["testssl", "--quiet", "--fast", "--protocols", "--server-preference", "--server-defaults", "--vulnerable", "--fs", "--warnings", "off", "--color", "0", "--add-ca", authority[0], "--jsonfile", found,
         f"https://localhost:{server.port}"], capture_output=True, timeout=550)
    findings = json.loads(found.read_text())
    assert len(findings) > 50
    # No OCSP, no DNS record and a short life are what a certificate made for a test has.
    # All ciphers are strong, so clients may choose the one that suits their processor (Mozilla's guidelines say so too).
    # BREACH reads secrets beside reflected text in one compressed answer: no answer of this server holds a secret.
    own = ("cipher_order", "BREACH", "cert_", "DNS_CAArecord", "OCSP", "overall_grade", "grade_cap_reason", "final_score", "certificate_transparency")
    grave = [one for one in findings if one["severity"] in ("MEDIUM", "HIGH", "CRITICAL", "FATAL") and not one["id"].startswith(own)]
    assert not grave, grave
    assert server.alive()


def test_connections_to_the_redirect_count_too(serve):
    port = free_port()
    server = serve("--tls-self-signed", "--redirect-http", port, "--max-connections-per-address", "2")
    first, second = Wire(server, tls=True), Wire(server, tls=True)
    for wire in (first, second):
        # Not idle, or one of them would make way.
        wire.request("PUT", "/file", "Content-Length: 10", "Expect: 100-continue")
        assert wire.response(interim=True).status == 100
    with Wire(("127.0.0.1", port)) as third:
        try:
            assert third.ask("GET", "/a").status == 503
        except (ConnectionClosed, ConnectionError):
            pass
    first.close()
    second.close()
