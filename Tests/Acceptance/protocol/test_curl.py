"""curl, wget and rclone's `http` as people use them."""

import os
import subprocess

import pytest

from server import rclone_program


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


TREE = {"b.txt": "there", "sub/a.txt": "hello", "sub/d\u00e9ep/a b#c%&;=+.txt": "odd", "sub/d\u00e9ep/\"q\" <x>.html": "<a href=/no>"}


def fill(root):
    for name, content in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


@pytest.mark.parametrize("options", [["-r", "-np"], ["-m", "-np"], ["-r", "-l", "1"]])
def test_wget_mirror(server, folder, options):
    fill(server.root)
    (server.root / "sub" / "empty").mkdir()
    for _ in ("at first", "when nothing has changed"):
        # 8: the link within a file leads nowhere.
        assert subprocess.run(["wget", "-q", *options, "-nH", "--restrict-file-names=nocontrol", "-P", str(folder / "m"),
                               f"{server.url}/sub/"], timeout=60).returncode in (0, 8)
    came = {path.relative_to(folder / "m").as_posix(): path for path in (folder / "m").rglob("*") if path.is_file()}
    files = {name for name in came if not name.endswith("index.html")}
    if "-np" in options:
        assert files == {name for name in TREE if name.startswith("sub/")}
    assert "sub/a.txt" in files and all(came[name].read_text() == TREE[name] for name in files)


def test_a_dot_between_names_is_left_out(server):
    """As apt asks a repository without a distribution, `deb http://host/apt ./`."""
    (server.root / "apt").mkdir()
    (server.root / "apt" / "Packages").write_text("Package: a\n")
    for target in ("/apt/./Packages", "/./apt/././Packages"):
        assert curl("--path-as-is", "-f", server.url + target).stdout == b"Package: a\n"
    assert curl("--path-as-is", "-f", server.url + "/apt/.").stdout == b"Packages\n"
    # As with only a slash.
    for target in ("/apt/Packages/", "/apt/Packages/."):
        assert curl("--path-as-is", server.url + target).returncode == 22
        assert curl("--path-as-is", "-T", "-", server.url + target, input=b"x").returncode == 22


def test_rclone_reads_the_tree_by_its_pages(server, folder):
    fill(server.root)
    subprocess.run([rclone_program(), "--config", "", "copy", "--http-url", server.url, ":http:", folder / "copy"], check=True, timeout=60)
    assert {path.relative_to(folder / "copy").as_posix(): path.read_text()
            for path in (folder / "copy").rglob("*") if path.is_file()} == TREE


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
