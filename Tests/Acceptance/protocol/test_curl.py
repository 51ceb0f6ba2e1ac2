"""curl and wget as people use them."""

import os
import subprocess

import pytest


def curl(*arguments, **options):
    return subprocess.run(["curl", "-sS", "--fail", *map(str, arguments)], capture_output=True, timeout=60, **options)


def test_upload_and_download(server, folder):
    source = folder / "a file.bin"
    source.write_bytes(os.urandom(3_000_000))
    assert curl("-T", source, f"{server.url}/").returncode == 0
    assert (server.root / "a file.bin").read_bytes() == source.read_bytes()
    assert curl(f"{server.url}/a%20file.bin").stdout == source.read_bytes()


def test_upload_from_a_pipe(server):
    ended = curl("-T", "-", f"{server.url}/piped", input=b"hello" * 100_000)
    assert ended.returncode == 0
    assert (server.root / "piped").stat().st_size == 500_000


def test_form(server, folder):
    for name in ("one", "two"):
        (folder / name).write_text(name)
    ended = curl("-F", f"files=@{folder}/one", "-F", f"files=@{folder}/two", f"{server.url}/")
    assert ended.returncode == 0, ended.stderr
    assert (server.root / "one").read_text() == "one" and (server.root / "two").read_text() == "two"


@pytest.mark.parametrize("command", [["curl", "-sS", "-C", "-", "-O"], ["wget", "-q", "-c"]])
def test_download_is_continued(server, folder, command):
    content = os.urandom(1_000_000)
    (server.root / "big").write_bytes(content)
    place = folder / "download"
    place.mkdir()
    (place / "big").write_bytes(content[:400_000])
    assert subprocess.run([*command, f"{server.url}/big"], cwd=place, timeout=60).returncode == 0
    assert (place / "big").read_bytes() == content


def test_compressed(server):
    (server.root / "a.txt").write_text("text " * 10_000)
    assert curl("--compressed", f"{server.url}/a.txt").stdout == b"text " * 10_000


def test_time_condition(server, folder):
    (server.root / "a").write_text("x")
    curl("-R", "-o", folder / "a", f"{server.url}/a")
    again = curl("-z", folder / "a", "-w", "%{http_code}", f"{server.url}/a")
    assert again.stdout == b"304"


def test_wget_mirror(server, folder):
    (server.root / "sub").mkdir()
    (server.root / "sub" / "a.txt").write_text("hello")
    (server.root / "b.txt").write_text("there")
    for name in ("sub/a.txt", "b.txt"):
        assert subprocess.run(["wget", "-q", "-x", "-nH", "-P", str(folder / "m"), f"{server.url}/{name}"]).returncode == 0
    assert (folder / "m" / "sub" / "a.txt").read_text() == "hello"


def test_listing_is_plain_text(server):
    (server.root / "sub").mkdir()
    (server.root / "a b.txt").touch()
    assert sorted(curl(f"{server.url}/").stdout.decode().splitlines()) == ["a b.txt", "sub/"]


def test_delete_move_and_new_folder(server):
    assert curl("-X", "MKCOL", f"{server.url}/folder").returncode == 0
    assert curl("-T", "-", f"{server.url}/folder/a", input=b"x").returncode == 0
    assert curl("-X", "MOVE", "-H", f"Destination: {server.url}/b", f"{server.url}/folder/a").returncode == 0
    assert curl("-X", "DELETE", f"{server.url}/folder").returncode == 0
    assert [path.name for path in server.root.iterdir() if path.name != ".shareserve"] == ["b"]


def test_unix_names(server):
    assert curl("--path-as-is", "-T", "-", f"{server.url}/./x", input=b"x").returncode in (0, 22)
