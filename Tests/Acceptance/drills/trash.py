"""What is in a server's trash, and having it back."""

import json
import urllib.parse

from wire import ask

JSON = "Content-Type: application/json"


def done(answer, *statuses):
    assert answer.status in statuses, answer
    return answer


def trashed(server):
    return json.loads(done(ask(server, "GET", "/.shareserve/trash"), 200).body)["items"]


def restore(server):
    """Has everything back; tells where it is now."""
    wanted = {"ids": [item["id"] for item in trashed(server)], "conflict": "keep"}
    answer = ask(server, "POST", "/.shareserve/trash/restore", JSON, body=json.dumps(wanted))
    return [urllib.parse.quote(item["path"]) for item in json.loads(done(answer, 200).body)["items"]]
