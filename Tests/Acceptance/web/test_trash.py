"""Deleting and restoring long lists of things from the page: others go on meanwhile."""

import json
import time

import pytest

from server import wait_until
from wire import Wire, ask


def test_long_lists_of_nothing_keep_nobody_waiting(serve):
    server = serve("--trash", "3")
    body = json.dumps({"hrefs": [f"/{number:x}" for number in range(100_000)]}).encode()
    wires = [Wire(server, timeout=120) for _ in range(12)]
    for wire in wires:
        wire.request("POST", "/.shareserve/trash", "Content-Type: application/json", body=body)
    longest = 0
    for number in range(20):
        began = time.monotonic()
        assert ask(server, "PUT", f"/{number}", body=b"x").status == 201
        longest = max(longest, time.monotonic() - began)
    assert longest < 5
    statuses = sorted(wire.response("POST").status for wire in wires)
    assert set(statuses) <= {200, 503} and 200 in statuses
    for wire in wires:
        wire.close()
    # Short ones are never refused.
    answer = ask(server, "POST", "/.shareserve/trash", "Content-Type: application/json", body=b'{"hrefs":["/1","/none"]}')
    assert answer.status == 200 and not (server.root / "1").exists()


def test_a_long_list_ends_when_its_client_has_gone(serve):
    server = serve("--trash", "3")
    body = json.dumps({"hrefs": [f"/{number:x}" for number in range(100_000)]}).encode()
    for _ in range(12):
        wire = Wire(server)
        wire.request("POST", "/.shareserve/trash", "Content-Type: application/json", body=body)
        time.sleep(0.1)
        wire.reset()

    def is_free():
        return ask(server, "POST", "/.shareserve/trash", "Content-Type: application/json", body=body).status == 200

    wait_until(is_free, "others may delete", 30)


@pytest.mark.parametrize("asked, seconds", [(None, 60), (5, 60), (90.5, 90.5), (-1e300, 60), (1e300, 3600)])
def test_what_is_deleted_with_many_others_can_be_undone_for_longer(server, asked, seconds):
    (server.root / "a.txt").write_text("a")
    body = json.dumps({"hrefs": ["/a.txt"]} | ({"undo": asked} if asked else {})).encode()
    answer = ask(server, "POST", "/.shareserve/trash", "Content-Type: application/json", body=body)
    item, = json.loads(answer.body)["items"]
    assert abs(item["expires"] - item["deleted"] - seconds * 1000) <= 1


def items(server):
    return [item["path"] for item in json.loads(ask(server, "GET", "/.shareserve/trash").body)["items"]]


def test_what_loses_nothing_leaves_nothing_in_the_trash(serve):
    """Mounts create each file empty, or by a lock, before they write it; appending keeps what was there."""
    server = serve("--trash", "3")
    with Wire(server) as wire:
        assert wire.ask("PUT", "/a", body=b"").status == 201
        assert wire.ask("PUT", "/a", body=b"content").status == 204
        lock = wire.ask("LOCK", "/b", "Timeout: Second-60", body=b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>")
        assert lock.status == 201
        assert wire.ask("PUT", "/b", f"If: ({lock['lock-token']})", body=b"content").status == 204
        for _ in range(3):
            assert wire.ask("PATCH", "/a", "X-Update-Range: append", body=b", more").status == 204
    assert (server.root / "a").read_bytes() == b"content" + 3 * b", more"
    assert items(server) == []
    assert ask(server, "PATCH", "/a", "X-Update-Range: bytes=0-3", body=b"CONT").status == 204
    assert ask(server, "PUT", "/a", body=b"").status == 204
    assert items(server) == ["/a", "/a"]


@pytest.mark.root
def test_what_the_trash_could_not_be_emptied_of_is_told(serve, folder):
    share = folder / "share"
    share.mkdir()
    share.chmod(0o777)
    server = serve("--trash", "3", "--user", "nobody", root=share)
    for name in ("stays", "goes"):
        (share / name).mkdir()
        (share / name).chmod(0o777)
    (share / "stays" / "closed").mkdir(0o700)
    (share / "stays" / "closed" / "file").write_text("x")
    for name in ("goes", "stays"):
        assert ask(server, "DELETE", f"/{name}").status == 204
    assert ask(server, "DELETE", "/.shareserve/trash").status == 403
    assert items(server) == ["/stays"]
