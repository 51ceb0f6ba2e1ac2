"""Runs the Swift tests and the acceptance tests; the last line is `N passed, N failed` over both.

A suite that crashes, or that cannot be built, counts as one failure. A test that is skipped is named with its reason.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

PROJECT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = PROJECT / ".test" / "results"
SWIFT = os.environ.get("SWIFT", "swift")
# The options of `make build`, so that what is tested is what ships.
RELEASE = os.environ.get("RELEASE", "-c release --static-swift-stdlib").split()


class Tally:
    """What all suites together did."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def read_junit(self, path, suite):
        """Adds the cases of a JUnit file; False when there is none that can be read."""
        try:
            cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError):
            return False
        for case in cases:
            name = f"{suite}: {case.get('classname', '')} {case.get('name', '')}".strip()
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif case.find("skipped") is not None:
                self.skipped.append(f"{name} ({case.find('skipped').get('message', 'no reason given')})")
            else:
                self.passed += 1
        return True

    def finish(self):
        """Prints the names of what did not pass, then the one line, and ends the program."""
        for name in self.skipped:
            print(f"not run: {name}")
        for name in self.failed:
            print(f"failed: {name}")
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)
        sys.exit(1 if self.failed or not self.passed else 0)


def run(title, command, **options):
    print(f"== {title}", flush=True)
    started = time.monotonic()
    status = subprocess.run(command, cwd=PROJECT, **options).returncode
    print(f"== {title}: {time.monotonic() - started:.0f} s", flush=True)
    return status


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--sanitize", default="", choices=["", "address", "thread"])
    arguments.add_argument("--filter", default="")
    options = arguments.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob("*.xml"):
        old.unlink()
    tally = Tally()

    swift_options = []
    if options.sanitize:
        # Beside the plain build, so that neither makes the other start anew.
        swift_options = [f"--sanitize={options.sanitize}", "--scratch-path", f".build/sanitize-{options.sanitize}"]
    if options.sanitize == "thread":
        # Locks that the sanitizer can see; see TracedMutex.
        swift_options += ["-Xswiftc", "-DSANITIZE_THREAD"]
        # They come from DirectoryRoot then, which a file that uses a lock need not name.
        swift_options += ["-Xswiftc", "-disable-upcoming-feature", "-Xswiftc", "MemberImportVisibility"]
    if run("Building the tests", [SWIFT, "build", "--build-tests", *swift_options]):
        tally.failed.append("building the tests")
        tally.finish()

    command = [SWIFT, "test", "--skip-build", *swift_options, "--xunit-output", str(RESULTS / "swift.xml")]
    if options.filter:
        command += ["--filter", options.filter]
    status = run("Swift tests", command, env=dict(os.environ, SHARESERVE_SANITIZE=options.sanitize))
    # XCTest's file takes the name that was given; Swift Testing's has a suffix.
    found = tally.read_junit(RESULTS / "swift-swift-testing.xml", "swift")
    if status and not tally.failed or not found and not options.filter:
        tally.failed.append(f"swift: the test process ended with status {status}")

    server = release_server(options, swift_options, tally)
    if server:
        run_acceptance(options, server, tally)
    tally.finish()


def release_server(options, swift_options, tally):
    """The binary for the acceptance tests: the one that ships, or the instrumented one. None when it can't be built."""
    if not options.sanitize:
        swift_options = RELEASE
        if run("Building for release", [SWIFT, "build", *swift_options, "--product", "shareserve"]):
            tally.failed.append("building for release")
            return None
    shown = subprocess.run(
        [SWIFT, "build", *swift_options, "--show-bin-path"], cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / "shareserve"


def run_acceptance(options, server, tally):
    junit = RESULTS / "acceptance.xml"
    command = [
        sys.executable, "-m", "pytest", "Tests/Acceptance", "-q", "--durations=15", f"--junitxml={junit}",
    ]
    if options.filter:
        command += ["-k", options.filter]
    environment = dict(os.environ, SHARESERVE_BINARY=str(server), SHARESERVE_SANITIZE=options.sanitize)
    status = run("Acceptance tests", command, env=environment)
    before = len(tally.failed)
    found = tally.read_junit(junit, "acceptance")
    nothing_selected = 5
    if not found or status not in (0, nothing_selected) and len(tally.failed) == before:
        tally.failed.append(f"acceptance: pytest ended with status {status}")


if __name__ == "__main__":
    main()
