"""The command line: what it prints, where its settings come from, how it ends."""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import time

import pytest
from hyperframe.frame import DataFrame, HeadersFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame

from frames import Frames
from server import binary, free_port, wait_until
from wire import ConnectionClosed, Wire, ask


def run(*arguments, environment=None):
    """Runs the program to its end."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SHARESERVE_")}
    return subprocess.run(
        [str(binary()), *(word if isinstance(word, bytes) else str(word) for word in arguments)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, env=clean | (environment or {}))


def one_line(ended):
    """The one line on standard error."""
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    return lines[0]


def nobody():
    """What makes a command that of an ordinary user."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


def test_version_and_help():
    version = run("--version")
    assert version.returncode == 0 and re.fullmatch(r"\d+\.\d+\.\d+\n", version.stdout)
    shown = run("--help")
    assert shown.returncode == 0
    for option in ["--port", "--bind", "--read-only", "--path-prefix", "--max-upload-size", "--index", "--cors",
                   "--verbose", "--quiet", "--log-format", "--version", "--config"]:
        assert option in shown.stdout


def test_every_option_of_the_help_is_taken():
    options = re.findall(r"^  (?:-\w, )?--([a-z-]+)( <)?", run("--help").stdout, re.MULTILINE)
    given = [f"--{name}" + ("=no-such-value" if takes else "") for name, takes in options if name not in {"version", "help"}]
    assert len(given) > 60
    # Not an unknown option, and not help instead: one of the values is wrong.
    said = one_line(ended := run(*given))
    assert ended.returncode == 64 and "no-such-value" in said, said


def test_a_library_that_changes_the_environment_hides_no_option(folder):
    """As those of faketime do. The share would be the current directory, open to everybody."""
    source, library = folder / "preload.c", folder / "preload.so"
    source.write_text("""
        #include <stdlib.h>
        __attribute__((constructor)) static void change(void) { setenv("A_NEW_VARIABLE", "1", 1); }
        """)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    ended = run("--no-such-option", environment={"LD_PRELOAD": str(library)})
    assert ended.returncode == 64 and "--no-such-option" in one_line(ended)


@pytest.mark.parametrize("options, rights", [
    ([], "read, change and delete the files"), (["--no-delete"], "read and change the files"),
    (["--no-overwrite"], "read, add and delete files"), (["--no-delete", "--no-overwrite"], "read the files and add others"),
    (["--auth", "@/:rw"], "read, change and delete the files"),
    (["--auth", "anna:secret@/:rw", "--auth", "@/:rw"], "read, change and delete the files"),
])
def test_what_everybody_may_do_is_told(serve, options, rights):
    server = serve(*options)
    wait_until(lambda: any(f"can {rights};" in line for line in server.printed), "the line about rights")


@pytest.mark.parametrize("arguments, said", [
    (["--no-such-option"], "--no-such-option"),
    (["--port"], "--port"),
    (["--port", "lots"], "lots"),
    (["--port", "70000"], "70000"),
    (["--port=-1"], "-1"),
    (["--port", "-1"], "port: '-1' is not a number"),
    (["--bind", "fe80::1"], "fe80::1%eth0"),
    (["--bind", "[FE80::1]"], "fe80::1%eth0"),
    (["--max-upload-size", "huge"], "huge"),
    (["--max-upload-size", "99999999999999T"], "99999999999999T"),
    (["--log-format", "xml"], "xml"),
    (["--path-prefix", "/a/../b"], "/a/../b"),
    (["--path-prefix", "/100%"], "/100%"),
    (["--path-prefix", "/a?b"], "/a?b"),
    (["one", "two"], "two"),
    (["--config", "/no/such/file"], "/no/such/file: there is no such file"),
    (["--auth-file", "/no/such/file"], "/no/such/file: there is no such file"),
    (["--config", "/"], "not a regular file"),
    (["link", "--list", "--revoke", "abc", "/"], "exclude each other"),
    (["--bind", "127.0.0.1:80"], "--port"),
    (["--bind", "unix:"], "unix:"),
    (["--cors", "app.example.com"], "https://app.example.com"),
    (["--allowed-host", "https://files.example.com"], "files.example.com"),
    (["--allowed-host", "files.example.com:8080"], "files.example.com:8080"),
    (["--index", "a/index.html"], "a/index.html"),
    (["--hidden", "private/"], "private/"),
    (["--hidden", "*.{tmp,bak}"], "*.{tmp"),
    (["--hidden", ".git,bak}"], "bak}"),
    (["--hidden", "a{b}}{"], "a{b}}{"),
    (["--allow-extensions", "*.jpg"], "*.jpg"),
    (["--allow-extensions", "jpg png"], "jpg,png"),
    (["--allow-extensions", "{jpg,png}"], "{jpg"),
    (["--allow-extensions", "txt,."], "'.'"),
    (["--cors", "https://app.example.com/page"], "/page"),
    (["--cors", "https://*.example.com"], "*.example.com"),
    (["--cors", "https://"], "'https://'"),
    (["--cors", "://app.example.com"], "'://app.example.com'"),
    (["--head-timeout", "0"], "no limit"),
    (["--body-timeout", "0s"], "no limit"),
    (["--read-timeout", "0"], "no limit"),
    (["--upload-expiry", "0"], "no limit"),
    (["--bind", "8080"], "--port"),
    (["--auth", "anna:x@/:rw|bob:y@/b:ro"], "each by itself"),
    (["--auth", "@/|anna:x@/:rw"], "each by itself"),
    (["--auth", b"anna:s\xe9cret@/:rw"], "word 2"),
    ([b"stra\xdfe"], "inside"),
    (["--index", ".."], ".."),
    (["--port", "80\n80"], "80\\n80"),
    (["--no-such\x1b[31m\noption"], "option"),
    (["link", "--url", "files.example.com", "--root", "/", "/"], "https://"),
    (["--auth", "anna:secret@/:rw", "--auth", "bob:secret@/:ro", "--auth", "anna:other@/:rw"], "“anna” has two different"),
    (["--auth", "anna:secret@photos:rw"], "begins with"),
    (["--auth", "anna:secret@"], "begins with"),
    (["--generate-completion-script", "tcsh"], "zsh"),
    (["link", "--generate-completion-script", "bash"], "whole program"),
    (["hash-password", "--generate-completion-script=zsh"], "whole program"),
    (["hash-password", "a:b"], "colon"),
    (["--confine", "--no-confine"], "exclude each other"),
    (["hash-password"], "password"),
    (["link", "--max-downloads", "0", "--root", "/", "/"], "max-downloads"),
    (["-p8080x"], "8080x"),
    (["--bind", "[::1]:80"], "--port"),
    (["--bind", ":80"], "--port"),
    (["--bind", "http://127.0.0.1"], "http://127.0.0.1"),
    (["--max-upload-size", "5 parrots"], "5 parrots"),
    (["--trash", "5h"], "5h"),
    (["--tls-self-signed", "--redirect-http", "8080"], "8080"),
    (["--tls-self-signed", "--redirect-http", "0", "--bind", "unix:socket"], "sockets"),
    ([""], "path"),
    (["--auth", ""], "auth"),
    (["--port", ""], "port"),
    (["link", ""], "empty"),
    (["--allow-extensions", ","], "allow-extensions"),
    (["--bind", " , "], "bind"),
])
def test_bad_option_is_one_line_and_64(arguments, said):
    ended = run(*arguments)
    assert ended.returncode == 64
    assert said in one_line(ended)
    assert "cret" not in ended.stderr


@pytest.mark.parametrize("options", [
    ["--hidden", "{a},b[{}]\\{"], ["--allow-extensions", ".JPG, tar.gz"], ["--idle-timeout", "0"],
    ["--cors", "*", "--cors", "null", "--cors", "https://app.example.com:8443/,app://obsidian.md"],
    ["--auth", "anna:x|y@/:rw", "--auth", "bob:@/x@/:ro"], ["--auth", "anna:x@/a:rw", "--auth", "anna:x@/b:ro"],
])
def test_what_only_looks_wrong_is_taken(serve, options):
    assert serve(*options).urls


def test_missing_directory_is_66(folder):
    ended = run(folder / "nothing here")
    assert ended.returncode == 66
    assert "nothing here" in one_line(ended)


@pytest.mark.parametrize("name, hints", [("8080", True), ("70000", False), ("folder", False)])
def test_a_port_in_place_of_the_directory_is_told(folder, name, hints):
    ended = subprocess.run([str(binary()), name], cwd=folder, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 66
    assert ("--port" in one_line(ended)) == hints


def test_a_name_cannot_steer_the_terminal(folder):
    ended = run(folder / "red\x1b[31m\nand more")
    assert ended.returncode == 66
    assert "\x1b" not in one_line(ended) and "and more" in ended.stderr


def test_a_directory_that_cannot_be_reached_is_66(folder):
    (folder / "closed" / "share").mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "closed").chmod(0)
    ended = subprocess.run(
        [*nobody(), str(binary()), str(folder / "closed" / "share")], capture_output=True, text=True, timeout=20)
    (folder / "closed").chmod(0o755)
    assert ended.returncode == 66
    assert "closed/share" in one_line(ended) and "permission denied" in one_line(ended)


def test_missing_assets_are_named(folder):
    ended = run(folder, "--port", 0, "--assets", folder / "nothing here")
    assert ended.returncode == 66
    assert "nothing here" in one_line(ended) and "assets" in one_line(ended)


def test_a_link_to_nothing_is_66(folder):
    ended = run("link", "--root", folder, folder / "nothing here")
    assert ended.returncode == 66
    assert "nothing here" in one_line(ended)


def test_an_empty_variable_is_no_setting(serve):
    assert serve(environment={"SHARESERVE_CONFIG": "", "SHARESERVE_TITLE": ""}).urls


@pytest.mark.parametrize("name", ["SHARESERVE_AUTH", "SHARESERVE_AUTH_FILE"])
def test_an_empty_variable_does_not_open_the_share(folder, serve, name):
    ended = run(folder, "--port", 0, environment={name: ""})
    assert ended.returncode == 64 and f"{name} is empty" in one_line(ended)
    if name == "SHARESERVE_AUTH":
        assert ask(serve("--auth", "anna:secret@/:rw", environment={name: ""}), "GET", "/").status == 401


@pytest.mark.parametrize("name, value", [
    ("SHARESERVE_HIDDEN", b"priv\xe4t"), ("SHARESERVE_AUTH", b"bob:secret@/priv\xe4t:none,/:rw"),
    ("SHARESERVE_TITLE", b"\xff"),
])
def test_a_variable_that_is_not_utf_8_is_refused(folder, name, value):
    """Mended, it would be for another name, and protect nothing."""
    ended = run(folder, "--port", 0, environment={name: value})
    assert ended.returncode == 64 and one_line(ended) == f"shareserve: {name} is not UTF-8"


def test_another_program_s_variable_may_be_anything(serve):
    server = serve(environment={"OTHER": b"\xff\xfe", "SHARESERVE_HIDDEN": "privät"})
    (server.root / "privät").write_text("x")
    assert ask(server, "GET", "/priv%C3%A4t").status == 404


def test_the_line_of_a_password_file_that_is_not_utf_8_is_named(folder):
    file = folder / "rules"
    file.write_bytes(b"# caf\xc3\xa9\nanna:secret@/:rw\nbob:secret@/priv\xe4t:none,/:rw\n")
    ended = run(folder, "--port", 0, "--auth-file", file)
    assert ended.returncode == 64 and f"{file}: line 3 is not UTF-8" in one_line(ended) and "cret" not in ended.stderr


@pytest.mark.parametrize("option", ["--config", "--auth-file"])
def test_a_pipe_is_no_file_of_settings(folder, option):
    os.mkfifo(folder / "pipe")
    for place in ("/dev/zero", folder / "pipe"):
        ended = run(folder, "--port", 0, option, place)
        assert ended.returncode == 64 and f"{place}: it is not a regular file" in one_line(ended)


@pytest.mark.parametrize("words", [
    ["hash-password", "anna"], ["link", "--root", ".", "--url", "http://host", "."], ["link", "--root", ".", "--list"],
    ["--generate-completion-script", "bash"], ["--help"], ["link", "--help"], ["--version"],
])
def test_what_cannot_be_written_is_74(folder, words):
    """A script would go on with an empty file."""
    def ended(writing):
        return subprocess.run(
            [str(binary()), *words], cwd=folder, input="secret\n", stdout=writing, stderr=subprocess.PIPE, text=True,
            timeout=20)

    if words[-1] == "--list":
        assert ended(subprocess.DEVNULL).returncode == 0
        assert run("link", "--root", folder, "--url", "http://host", folder).returncode == 0
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = ended(full)
    assert result.returncode == 74
    assert result.stderr == "shareserve: cannot write: No space left on device\n"
    # Nobody has seen the link, so it was revoked.
    if "--url" in words:
        assert run("link", "--root", folder, "--list").stdout == ""


def test_an_empty_variable_does_not_hide_the_file(serve, folder):
    file = folder / "settings.json"
    file.write_text(json.dumps({"auth": ["anna:secret@/:rw"], "path-prefix": "/file", "read-only": True}))
    server = serve("--config", file, environment={
        "SHARESERVE_AUTH": "", "SHARESERVE_PATH_PREFIX": "", "SHARESERVE_READ_ONLY": "", "SHARESERVE_NO_SUCH": ""})
    assert server.urls[0].endswith("/file/")
    assert ask(server, "GET", "/file/").status == 401
    assert not any("SHARESERVE" in line for line in server.printed)


@pytest.mark.parametrize("value", [" ", "|", " | "])
def test_a_variable_of_separators_alone_opens_nothing(folder, value):
    ended = run(folder, environment={"SHARESERVE_AUTH": value})
    assert ended.returncode == 64 and "auth: the value is empty" in one_line(ended)


@pytest.mark.parametrize("name", ["title", "hidden", "path-prefix", "auth", "trash", "port"])
@pytest.mark.parametrize("ways", [1, 2], ids=["one word", "two words"])
def test_an_empty_value_does_not_share_another_directory(folder, name, ways):
    """As from a script whose variable is not set: the next word is no value of it."""
    words = [f"--{name}="] if ways == 1 else [f"--{name}", ""]
    ended = run(*words, folder)
    assert ended.returncode == 64 and f"{name}: the value is empty" in one_line(ended)


def test_a_value_may_end_in_what_it_is_told_by(serve):
    """Passwords in Base64 do."""
    server = serve("--auth=anna:aGVsbG8=@/:rw", "--title=a=")
    assert ask(server, "GET", "/", "Authorization: Basic " + base64.b64encode(b"anna:aGVsbG8=").decode()).status == 200


@pytest.mark.parametrize("settings", [{"auth": ""}, {"auth": ["anna:secret@/:rw", ""]}, {"auth-file": ""}, {"port": ""}, {"auth": []}])
def test_an_empty_value_in_the_file_is_refused(folder, settings):
    file = folder / "settings.json"
    file.write_text(json.dumps(settings))
    ended = run(folder, "--config", file)
    assert ended.returncode == 64 and f"'{next(iter(settings))}' is empty" in one_line(ended)


def test_a_file_is_no_directory(folder):
    (folder / "file").write_text("x")
    ended = run(folder / "file")
    assert ended.returncode == 66
    one_line(ended)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_busy_port_is_69_and_named(folder, host):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        taken.bind((host, 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run(folder, "--port", port, "--bind", host)
        assert ended.returncode == 69
        assert str(port) in one_line(ended)


@pytest.mark.parametrize("address", [
    "203.0.113.1", "no-such-name.invalid", "[::1", "/no/such/folder/socket", "/" + "long" * 30,
])
def test_an_address_that_is_not_here_is_69(folder, address):
    ended = run(folder, "--port", 0, "--bind", address)
    assert ended.returncode == 69
    assert address in one_line(ended) and "Error" not in one_line(ended) and "unixDomain" not in one_line(ended)


def test_a_port_below_1024_needs_root(folder):
    if int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) == 0:
        pytest.skip("every port is free to everybody here")
    folder.chmod(0o755)
    ended = subprocess.run(
        [*nobody(), str(binary()), str(folder), "--port", "81"], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 69
    assert "81" in one_line(ended) and "root" in one_line(ended)


def test_every_printed_address_answers(serve):
    server = serve(bind=())
    addresses = [re.match(r"(https?)://(\[[^\]]+\]|[^:/]+):(\d+)/$", url) for url in server.urls]
    assert all(addresses), server.printed
    # The ones that people type come first.
    assert addresses == sorted(addresses, key=lambda match: match.group(2).startswith("["))
    hosts = {match.group(2).strip("[]") for match in addresses}
    assert "127.0.0.1" in hosts
    assert hosts & {"::1"} or not pathlib.Path("/proc/net/if_inet6").read_text()
    for match in addresses:
        with Wire((match.group(2).strip("[]"), int(match.group(3)))) as wire:
            host = f"Host: {match.group(2)}:{match.group(3)}"
            assert wire.ask("GET", "/", host, host=False).status == 200


def test_says_that_nothing_protects_the_share(serve):
    assert any("--read-only" in line and "--auth" in line for line in serve().printed)


def test_port_0_takes_a_free_port(serve):
    first, second = serve(), serve()
    assert first.port != second.port
    assert 0 not in (first.port, second.port)


def test_several_addresses(serve):
    server = serve(bind=("127.0.0.1", "::1"), port=free_port())
    for host in ("127.0.0.1", "::1"):
        with Wire((host, server.port)) as wire:
            assert wire.ask("GET", "/", f"Host: localhost:{server.port}", host=False).status == 200


@pytest.mark.root
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_machine_without_an_address(serve, scheme):
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
        pytest.skip("there can be no network of the test's own here")
    options = ["--tls-self-signed"] if scheme == "https" else []
    server = serve(*options, bind=("0.0.0.0",), port=8123, wrapper=["unshare", "--net"], wait=False)
    wait_until(lambda: len(server.printed) > 2, "the address is told, and who reaches it")
    assert server.printed[1] == "  port 8123; this machine has no address at the moment"


def test_an_address_that_is_named_twice_is_one(serve):
    server = serve(bind=("127.0.0.1", "127.0.0.1,[::1]", "::1"), port=free_port())
    assert len(server.urls) == 2


def test_a_star_is_every_address(serve):
    server = serve(bind=("*",))
    assert ask(server, "GET", "/").status == 200
    assert not any("*" in url for url in server.urls)


def test_a_port_joined_to_its_letter(serve):
    port = free_port()
    assert serve(f"-p{port}").port == port


@pytest.mark.parametrize("size", ["2K", "2Ki", "2kb", "2KiB", "2 KiB", "2048", "2048B"])
def test_a_size_as_people_write_it(serve, size):
    server = serve("--max-upload-size", size)
    assert ask(server, "PUT", "/a", body="x" * 2048).status == 201
    assert ask(server, "PUT", "/b", body="x" * 2049).status == 413


@pytest.mark.parametrize("option, value", [
    ("--idle-timeout", "30sec"), ("--upload-expiry", "2 days"), ("--upload-expiry", "1W"), ("--trash", "7d"),
    ("--trash", "1 week"), ("--trash", "7"),
])
def test_a_time_as_people_write_it(serve, option, value):
    assert ask(serve(option, value), "GET", "/").status == 200


def test_a_socket_in_the_current_folder(folder):
    """The kernel's rules do not keep the server from it."""
    (folder / "share").mkdir()
    (folder / "here").mkdir()
    process = subprocess.Popen(
        [str(binary()), str(folder / "share"), "--bind", "unix:socket"], cwd=folder / "here", stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: (folder / "here" / "socket").exists() or process.poll() is not None, "it listens")
        assert process.poll() is None, process.stderr.read()
    finally:
        process.kill()
        process.communicate()


def test_unix_socket(serve, folder):
    path = folder / "socket"
    serve(bind=("127.0.0.1", str(path)))
    wait_until(path.exists, "the socket is there")
    shown = subprocess.run(["curl", "-sS", "--unix-socket", str(path), "http://localhost/"], capture_output=True)
    assert shown.returncode == 0, shown.stderr


def test_unix_socket_of_a_killed_server_is_taken_over(serve, folder):
    path = folder / "socket"
    first = serve(bind=("127.0.0.1", str(path)))
    first.kill()
    assert path.exists()
    serve(bind=("127.0.0.1", str(path)))
    assert subprocess.run(["curl", "-sS", "--unix-socket", str(path), "http://localhost/"]).returncode == 0


def test_unix_socket_of_a_successor_stays(serve, folder):
    path = folder / "socket"
    first = serve(bind=("127.0.0.1", str(path)))
    path.unlink()
    second = serve(bind=("127.0.0.1", str(path)))
    assert first.stop() == 0
    assert subprocess.run(["curl", "-sS", "--unix-socket", str(path), "http://localhost/"]).returncode == 0
    assert second.stop() == 0
    assert not path.exists()


def test_flag_over_environment_over_file_over_default(serve, folder):
    """`--path-prefix` from each source, with the weaker ones present too."""
    file = folder / "settings.json"
    file.write_text(json.dumps({"path-prefix": "/file", "port": 1, "read-only": True}))
    variables = {"SHARESERVE_PATH_PREFIX": "/environment", "SHARESERVE_CONFIG": str(file)}
    assert serve("--path-prefix", "/flag", environment=variables).urls[0].endswith("/flag/")
    assert serve(environment=variables).urls[0].endswith("/environment/")
    last = serve("--config", file)
    assert last.urls[0].endswith("/file/")
    assert ask(last, "PUT", "/file/x", body="x").status == 403


def test_environment_gives_port_and_flags(serve, folder):
    server = serve(environment={"SHARESERVE_READ_ONLY": "true"})
    assert ask(server, "PUT", "/x", body="x").status == 403
    ended = run(folder, environment={"SHARESERVE_PORT": "many"})
    assert ended.returncode == 64 and "many" in one_line(ended)


def test_misspelt_name_in_the_file_is_refused(folder):
    file = folder / "settings.json"
    for name, meant in [("prot", "port"), ("hiden", "hidden"), ("readOnly", "read-only"), ("trahs", "trash")]:
        file.write_text(json.dumps({name: 8080}))
        ended = run(folder, "--config", file)
        assert ended.returncode == 64 and f"'{name}'. Did you mean '{meant}'?" in one_line(ended)
    file.write_text(json.dumps({"colour": "red"}))
    assert "mean" not in one_line(run(folder, "--config", file))
    file.write_text("{")
    assert run(folder, "--config", file).returncode == 64
    for name in ("readOnly", "read_only", "--read-only"):
        file.write_text(json.dumps({name: True}))
        assert one_line(run(folder, "--config", file)).endswith("Did you mean 'read-only'?")


@pytest.mark.parametrize("command", ["link", "hash-password"])
def test_the_manual_has_the_options_of_each_command(command):
    manual = (pathlib.Path(__file__).parents[3] / "config/shareserve.1").read_text().replace("\\-", "-")
    options = set(re.findall(r"^  (--[a-z-]+)", run(command, "--help").stdout, re.MULTILINE))
    assert f"shareserve {command}" in manual and options and not {option for option in options if option not in manual}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(shell):
    made = run("--generate-completion-script", shell)
    assert made.returncode == 0 and "path-prefix" in made.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_on_a_signal(server, number):
    assert ask(server, "GET", "/").status == 200
    server.signal(number)
    assert server.process.wait(10) == 0
    with pytest.raises(ConnectionRefusedError):
        Wire(server)


@pytest.mark.parametrize("ignores, ends", [(False, True), (True, False)], ids=["closed", "nohup"])
def test_it_ends_with_the_window_that_it_was_started_in(folder, ignores, ends):
    (folder / "share").mkdir()
    port = free_port()
    process, terminal = pty.fork()
    if process == 0:
        # The program that runs the tests may ignore SIGHUP.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignores else signal.SIG_DFL)
        os.execv(binary(), [str(binary()), str(folder / "share"), "--port", str(port), "--bind", "127.0.0.1"])
    try:
        shown = b""
        while b"deletes" not in shown and b"delete the files" not in shown:
            shown += os.read(terminal, 4096)
        os.close(terminal)
        if ends:
            wait_until(lambda: os.waitpid(process, os.WNOHANG) == (process, 0), "it ends")
        else:
            time.sleep(1)
            assert os.waitpid(process, os.WNOHANG) == (0, 0)
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"GET /.shareserve/health HTTP/1.0\r\n\r\n")
                assert connection.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def test_sigpipe_and_sighup_do_not_end_it(server):
    server.signal(signal.SIGPIPE)
    server.signal(signal.SIGHUP)
    assert ask(server, "GET", "/").status == 200
    assert server.alive()


def test_second_signal_ends_at_once(server):
    (server.root / "big").write_bytes(b"")
    os.truncate(server.root / "big", 4 << 30)
    wire = Wire(server, receive_buffer=4096)
    wire.request("GET", "/big")
    wire.read(1000)
    server.signal(signal.SIGTERM)
    wait_until(lambda: _refuses(server), "no new connections")
    assert server.alive(), "a running transfer gets a time to finish"
    server.signal(signal.SIGTERM)
    server.process.wait(5)


def _refuses(server):
    try:
        with Wire(server, timeout=5) as wire:
            return wire.ask("GET", "/").status == 503
    except (OSError, ConnectionClosed):
        return True


def test_standard_output_holds_addresses_only(serve):
    server = serve()
    ask(server, "GET", "/missing")
    server.stop()
    assert "missing" not in "\n".join(server.printed)
    assert "missing" in server.logged()


def test_request_log_waits_for_nobody(serve, folder):
    """The log goes to a pipe that nobody reads."""
    reader, writer = os.pipe()
    server = serve(preexec=lambda: os.dup2(writer, 2))
    os.close(writer)
    for _ in range(2000):
        assert ask(server, "GET", "/" + "x" * 200).status == 404
    os.close(reader)


def test_quiet_logs_no_requests(serve):
    server = serve("-q")
    ask(server, "GET", "/missing")
    server.stop()
    assert "missing" not in server.logged()


def test_access_log_as_json(serve):
    server = serve("--log-format", "json")
    ask(server, "GET", "/a%22b%0a%1b[31m")
    server.stop()
    lines = [json.loads(line) for line in server.logged().splitlines()]
    assert any("404" in map(str, line.values()) for line in lines), lines
    assert "\x1b" not in server.logged()


def test_access_log_combined(serve):
    server = serve("--log-format", "combined")
    ask(server, "GET", "/missing", 'User-Agent: a "quoted" agent', "Referer: http://localhost/x")
    server.stop()
    expected = r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET /missing HTTP/1\.1" 404 \d+ "http://localhost/x" ".*quoted.*"'
    assert any(re.fullmatch(expected, line) for line in server.logged().splitlines()), server.logged()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_access_log_has_one_line_for_each_request(serve, version):
    server = serve("--log-format", "json")
    for number in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET /missing%d HTTP/%b\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                           % (number, version.encode()))
            while client.recv(10_000):
                pass
    server.stop()
    lines = [json.loads(line) for line in server.logged().splitlines() if '"target"' in line]
    assert [line["target"] for line in lines] == ["/missing0", "/missing1", "/missing2"]


def broken_off(server, break_off, target="/large"):
    """The log's line of a request, as a GET of 64 MiB, whose answer `break_off` does not read to its end."""
    with open(server.root / "large", "wb") as file:
        file.truncate(64 << 20)

    def found():
        lines = [json.loads(line) for line in server.logged().splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("target") == target]

    break_off()
    wait_until(found, "the line of a download that was broken off")
    assert len(found()) == 1
    return found()[0]


def test_access_log_tells_of_what_was_broken_off(serve):
    server = serve("--log-format", "json")

    def break_off():
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(100_000).startswith(b"HTTP/1.1 200 ")

    line = broken_off(server, break_off)
    assert line["status"] == 200 and 0 < line["bytes"] < 64 << 20, line


def test_access_log_tells_of_a_listing_that_was_broken_off(serve):
    server = serve("--log-format", "json")
    (server.root / "many").mkdir()
    for number in range(20_000):
        (server.root / "many" / f"a name that takes some room in a listing {number}").touch()
    wanted = 3 << 20
    got = 0

    def break_off():
        nonlocal got
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"PROPFIND /many/ HTTP/1.1\r\nHost: localhost\r\nDepth: 1\r\nContent-Length: 0\r\n\r\n")
            while got < wanted:
                got += len(client.recv(65_536))

    line = broken_off(server, break_off, "/many/")
    # Beside the body, the client got the head and the frames of chunks.
    assert line["status"] == 207 and wanted * 0.95 < line["bytes"], (line, got)


def test_access_log_tells_of_a_stream_that_was_broken_off(serve):
    server = serve("--log-format", "json", "--tls-self-signed")

    def break_off():
        client = Frames(server)
        client.send(client.head(1, path="/large"))
        assert client.socket.recv(1_000)
        client.socket.close()

    line = broken_off(server, break_off)
    assert line["status"] == 200 and line["bytes"] < 64 << 20, line


@pytest.mark.parametrize("window, end, expected", [
    (0, "reset", range(0, 1)), (400_000, "reset", range(300_000, 400_001)), (1 << 30, "whole", range(700_000, 700_001)),
])
def test_access_log_tells_how_much_of_a_stream_was_sent(serve, window, end, expected):
    server = serve("--log-format", "json", "--tls-self-signed")
    (server.root / "some").write_bytes(b"s" * 700_000)
    client = Frames(server)
    client.send(SettingsFrame(0, settings={4: window}).serialize() + WindowUpdateFrame(0, window_increment=1 << 20).serialize())
    client.send(client.head(1, path="/some"))
    came, answered = 0, False
    while not answered or came < min(window, 700_000):
        frame = client.next()
        answered = answered or isinstance(frame, HeadersFrame)
        came += len(frame.data) if isinstance(frame, DataFrame) else 0
    if end == "reset":
        client.send(RstStreamFrame(1, 8).serialize())
    wait_until(lambda: '"/some"' in server.logged(), "the line of a stream")
    line = next(json.loads(line) for line in server.logged().splitlines() if '"/some"' in line)
    assert line["status"] == 200 and line["bytes"] in expected, line


def test_access_log_tells_who_went_before_the_answer(serve):
    server = serve("--log-format", "json")
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(
            b"PUT /half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(1_000).startswith(b"HTTP/1.1 100 ")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: '"/half"' in server.logged(), "the line of an upload that was broken off")
    line = next(json.loads(line) for line in server.logged().splitlines() if '"/half"' in line)
    assert line["status"] in (400, 499), line


def test_interrupted_password_leaves_a_terminal_that_shows_what_is_typed():
    ours, theirs = pty.openpty()

    def shows():
        return bool(termios.tcgetattr(theirs)[3] & termios.ECHO)

    asking = subprocess.Popen(
        [str(binary()), "hash-password", "anna"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
    try:
        wait_until(lambda: not shows(), "the password is asked for")
        os.write(ours, b"half a pass\x03")
        assert asking.wait(timeout=20) == -signal.SIGINT
        assert shows()
    finally:
        asking.kill()
        asking.wait()
        os.close(ours)
        os.close(theirs)


def test_variables_that_are_no_settings_are_named(serve):
    """In one line, and not refused: others set such variables too."""
    server = serve(environment={
        "SHARESERVE_PROT": "80", "SHARESERVE_READONLY": "true", "SHARESERVE_MAX_OPEN_FILES": "500", "SHARESERVE": "x"})
    wait_until(lambda: any("SHARESERVE" in line for line in list(server.printed)), "they are named")
    lines = [line for line in list(server.printed) if "SHARESERVE" in line]
    assert len(lines) == 1 and lines[0].endswith(": SHARESERVE_PROT, SHARESERVE_READONLY"), lines
    assert ask(server, "PUT", "/a", body="x").status == 201
    # Where standard output is discarded, as for a service, a rule that protects nothing must not be missed.
    assert "variable=SHARESERVE_PROT" in server.logged() and "Did you mean SHARESERVE_PORT?" in server.logged()
    other = serve(environment={"SHARESERVE_TITLE": "a", "SHARESERVE_AUTH": "@/:ro"})
    assert other.stop() == 0
    wait_until(lambda: other.process.stdout.closed or other._complete.is_set(), "all is printed")
    assert not [line for line in other.printed if "SHARESERVE" in line]
