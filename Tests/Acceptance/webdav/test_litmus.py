"""litmus, the WebDAV test suite, against the real server, in every way that a client may meet it."""

import re
import subprocess

import pytest

SUITES = ["basic", "copymove", "props", "locks", "http"]


def run(meeting, folder, suite):
    place = folder / f"litmus-{suite}"
    place.mkdir()
    ended = subprocess.run(
        ["litmus", "-k", meeting.url + "/"], cwd=place, capture_output=True, text=True, timeout=240,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TESTS": suite})
    log = (place / "debug.log").read_text(errors="replace") if (place / "debug.log").exists() else ""
    return ended.stdout, log


@pytest.mark.parametrize("suite", SUITES)
def test_litmus(meeting, folder, suite):
    output, log = run(meeting, folder, suite)
    print(output)
    summary = re.search(r"of (\d+) tests run: (\d+) passed, (\d+) failed", output)
    assert summary, output
    ran, passed, failed = map(int, summary.groups())
    failures = re.findall(r"^.*FAIL.*$", output, re.MULTILINE)
    assert failed == 0 and passed == ran, "\n".join(failures) + log[-3000:]
    # litmus looks at its socket for 100-continue, which it can't over TLS.
    skipped = [line for line in re.findall(r"^.*SKIPPED.*$", output, re.MULTILINE)]
    if meeting.url.startswith("https:"):
        skipped = [line for line in skipped if "expect100" not in line]
    assert not skipped, output
    # No warning is expected.
    assert "WARNING" not in output, output
