"""Copies of folders in which names change meanwhile: what was there all the time is in the copy."""

import base64
import fcntl
import os
import struct
import time

import pytest

from server import wait_until
from test_trees import in_background, no_leftovers, repeated, slowed
from wire import ask


def contents(folder):
    return {path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def copying(serve):
    """A server with a folder of 10 files, and what copies it, slowly: gives the copy that is being made, and then the
    answer."""
    server = serve()
    folder = server.root / "folder"
    (folder / "below").mkdir(parents=True)
    for number in range(10):
        (folder / f"log.{number}").write_text(str(number))

    def copy(between):
        with slowed(server, utimensat=60_000):
            answer = in_background(lambda: ask(server, "COPY", "/folder", "Destination: /copy"))
            made = wait_until(lambda: list(server.root.rglob(".shareserve-*/log.*")), "the copy has a file")
            between(folder, {path.name for path in made})
            return answer().status

    yield server, copy
    assert no_leftovers(server.root)


def test_files_that_are_renamed_while_their_folder_is_copied_are_in_the_copy(copying):
    server, copy = copying

    def rename(folder, made):
        for path in folder.glob("log.*"):
            if path.name not in made:
                path.rename(folder / f"old {path.name}")

    assert copy(rename) == 201
    assert contents(server.root / "copy") == set("0123456789")


def test_logs_that_turn_while_their_folder_is_copied_are_all_in_the_copy(copying):
    server, copy = copying

    def turn(folder, made):
        for number in reversed(range(10)):
            (folder / f"log.{number}").rename(folder / f"log.{number + 1}")
        (folder / "log.0").write_text("new")

    assert copy(turn) == 201
    assert contents(server.root / "copy") == {"new", *"0123456789"}
    assert {path.name: path.read_text() for path in (server.root / "copy").glob("log.*")} == {
        "log.0": "new", **{f"log.{number + 1}": str(number) for number in range(10)}}


def test_files_that_wander_between_folders_while_those_are_copied_are_in_the_copy(copying):
    server, copy = copying

    def wander(folder, made):
        (folder / "new" / "deep").mkdir(parents=True)
        for path in folder.glob("log.*"):
            if path.name not in made:
                path.rename(folder / ("below" if path.name < "log.5" else "new/deep") / path.name)

    assert copy(wander) == 201
    assert contents(server.root / "copy") == set("0123456789")


def test_files_of_one_size_and_time_that_change_names_are_both_in_the_copy(copying):
    server, copy = copying
    for path in (server.root / "folder").glob("log.*"):
        os.utime(path, (1e9, 1e9))

    def change(folder, made):
        first, last = sorted(made)[0], sorted({f"log.{number}" for number in range(10)} - made)[0]
        (folder / first).rename(folder / "between")
        (folder / last).rename(folder / first)
        (folder / "between").rename(folder / last)

    assert copy(change) == 201
    assert contents(server.root / "copy") == set("0123456789")


def test_what_may_not_be_seen_is_not_told_when_it_goes_meanwhile(serve):
    server = serve("--auth", "bob:pw@/home:ro,/in:rw,/home/secret:none")
    home = server.root / "home"
    (home / "secret").mkdir(parents=True)
    (server.root / "in").mkdir()
    for number in range(30):
        (home / f"file {number}").write_text("x")
    bob = "Authorization: Basic " + base64.b64encode(b"bob:pw").decode()
    names = ["file 0", "file 0 x"]

    def rename():
        (home / names[0]).rename(home / names[1])
        names.reverse()

    with repeated(rename, 0.002), slowed(server, utimensat=5_000):
        answer = in_background(lambda: ask(server, "COPY", "/home", bob, "Destination: /in/copy"))
        wait_until(lambda: list(server.root.glob(".shareserve/tmp/.shareserve-*/file*")), "the copy has a file")
        (home / "secret").rename(server.root / "secret")
        found = answer()
    assert found.status in (201, 207) and "secret" not in found.text


def test_a_file_and_a_folder_that_change_names_while_they_are_copied(copying):
    server, copy = copying

    def change(folder, made):
        name = made.pop()
        (folder / name).rename(folder / "file")
        (folder / "below").rename(folder / name)

    # What is a folder now has been copied as a file.
    assert copy(change) == 201
    assert contents(server.root / "copy") == set("0123456789")


def test_a_closed_folder_that_takes_the_name_of_an_open_one_stays_closed(copying):
    server, copy = copying
    folder = server.root / "folder"
    for name, bits in (("a", 0o755), ("b", 0o700)):
        (folder / name).mkdir(bits)

    def turn(folder, made):
        wait_until(lambda: list(server.root.glob(".shareserve/tmp/.shareserve-*/a")), "the open one is copied")
        (folder / "a").rename(folder / "c")
        (folder / "b").rename(folder / "a")

    assert copy(turn) == 201
    bits = {name: (server.root / "copy" / name).stat().st_mode & 0o777 for name in "ac"}
    assert bits == {"a": 0o700, "c": 0o755}


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_into_which_files_come_is_copied(serve, exists):
    """Nothing is copied twice for them, and nothing is amiss."""
    server = serve()
    below = server.root / "folder" / "below"
    below.mkdir(parents=True)
    for number in range(60):
        (below / f"old {number}").write_text("x")
        os.utime(below / f"old {number}", (1e9, 1e9))
    if exists:
        (server.root / "copy").mkdir()
    # On a disk with coarse times, a change in the last three seconds counts as made meanwhile.
    time.sleep(3.2)
    begun = time.monotonic()

    def come():
        (below / f"new {time.monotonic()}").write_text("x")

    with repeated(come, 0.4), slowed(server, utimensat=20_000):
        assert ask(server, "COPY", "/folder", "Destination: /copy").status == (204 if exists else 201)
    # 60 files at 20 ms, and some more.
    assert time.monotonic() - begun < 4
    assert {path.name for path in (server.root / "copy" / "below").glob("old *")} == {f"old {number}" for number in range(60)}


@pytest.mark.parametrize("pause", [0, 0.001])
def test_a_folder_in_which_names_change_for_ever(serve, pause):
    server = serve()
    folder = server.root / "folder"
    folder.mkdir()
    for number in range(300):
        (folder / f"file {number}").write_text(str(number))
    names = ["", " x"]

    def rename():
        for number in range(0, 300, 3):
            (folder / f"file {number}{names[0]}").rename(folder / f"file {number}{names[1]}")
            time.sleep(pause)
        names.reverse()

    whole = 0
    with repeated(rename, pause):
        for turn in range(20):
            answer = ask(server, "COPY", "/folder", f"Destination: /copy{turn}")
            missing = {str(number) for number in range(300)} - contents(server.root / f"copy{turn}")
            assert answer.status in ((207,) if missing else (201, 207)), (answer, missing)
            whole += not missing
    assert whole > 5 or not pause
    assert no_leftovers(server.root)


def test_a_folder_is_no_more_open_for_names_that_changed(copying):
    server, copy = copying
    server.root.chmod(0o2775)
    (server.root / "folder" / "below").chmod(0o777)
    assert ask(server, "COPY", "/folder", "Destination: /undisturbed").status == 201

    def rename(folder, made):
        (folder / made.pop()).rename(folder / "other")

    assert copy(rename) == 201
    assert (server.root / "copy" / "below").stat().st_mode == (server.root / "undisturbed" / "below").stat().st_mode


def test_a_copy_that_another_server_keeps_waiting_is_whole_or_none(server):
    (server.root / "d").mkdir()
    for name in ("a", "b"):
        (server.root / "d" / name).write_text(name)
    kept = b"<propertyupdate xmlns='DAV:'><set><prop><p xmlns='x'>1</p></prop></set></propertyupdate>"
    assert ask(server, "PROPPATCH", "/d/a", body=kept).status == 207
    with open(server.root / ".shareserve" / "lock", "r+b") as lock:
        # What another process's write lock looks like: F_OFD_SETLK.
        fcntl.fcntl(lock, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        assert ask(server, "COPY", "/d/", "Destination: /e/").status == 503
    assert not (server.root / "e").exists()
    assert ask(server, "COPY", "/d/", "Destination: /e/").status == 201
    assert sorted(os.listdir(server.root / "e")) == ["a", "b"]
