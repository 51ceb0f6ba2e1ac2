"""Runs the Swift tests and the acceptance tests; the last line is `N passed, N failed` over both.

A suite that crashes, or that cannot be built, counts as one failure. A test that is skipped is named with its reason.
A test that fails is run once more when all others of its kind are done, with the machine to itself: much of what is
driven is other people's programs on a busy machine. When it passes then it counts as passed, and is named. So is a build:
it goes on where it ended, and what is wrong with the code is then among the last lines.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

PROJECT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = PROJECT / ".test" / "results"
SWIFT = os.environ.get("SWIFT", "swift")
# The options of `make build`, so that what is tested is what ships.
RELEASE = os.environ.get("RELEASE", "-c release --no-color-diagnostics --static-swift-stdlib").split()
BUILD_FOR_RELEASE = [SWIFT, "build", *RELEASE, "--product", "shareserve"]

# Locked while the release build runs.
RELEASE_LOCK = PROJECT / ".test" / "release.lock"

ACCEPTANCE = PROJECT / "Tests" / "Acceptance"
# These wait for other people's programs, for disks and for times to pass more than they compute: these lanes share the
# machine. What measures how fast the server is has it alone.
SIDE_BY_SIDE = [
    ["browser", "access"],
    ["webdav", "web", "command", "protocol/test_memory.py"],
    ["drills"],
    ["drills/test_limits.py", "protocol/test_files.py", "protocol/test_http2.py", "protocol/test_messages.py"],
    # Asleep for nearly all of its three minutes, since that is what a rate limit is.
    ["protocol/test_rates.py"],
]

# More failures than this are no accident.
TRIED_AGAIN = 5

# For what runs in parallel: its lines are printed at its end.
CAPTURED = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}


class Tally:
    """What all suites together did."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []
        self.unsteady = []

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

    def add_after_second_try(self, first, address, run_again):
        """Adds what a suite did; its failures only if there are many, or when they fail once more.

        `address` gives the words that choose a failed test, or None; `run_again` takes these and a tally.
        """
        names = list(dict.fromkeys(first.failed))
        addresses = [address(name) for name in names]
        second = Tally()
        if 0 < len(names) <= TRIED_AGAIN and all(addresses):
            run_again(addresses, second)
        if names and second.passed + len(second.failed) == len(names):
            self.unsteady += [name for name in names if name not in second.failed]
            self.passed += second.passed
            first.failed = second.failed
        self.add(first)

    def add(self, other):
        """Adds what other suites did."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def finish(self):
        """Prints the names of what did not pass, then the one line, and ends the program."""
        for name in self.skipped:
            print(f"not run: {name}")
        for name in self.unsteady:
            print(f"failed, then passed alone: {name}")
        for name in self.failed:
            print(f"failed: {name}")
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)
        sys.exit(1 if self.failed or not self.passed else 0)


def run(title, command, **options):
    print(f"== {title}", flush=True)
    started = time.monotonic()
    done = subprocess.run(command, cwd=PROJECT, **options)
    print(done.stdout or "", end="")
    print(f"== {title}: {time.monotonic() - started:.0f} s", flush=True)
    return done.returncode


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--sanitize", default="", choices=["", "address", "thread"])
    arguments.add_argument("--filter", default="")
    options = arguments.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob("*.xml"):
        old.unlink()
    tally = Tally()

    # Memory that a program holds at its end is reported as a leak, and XCTest's runner holds some of its own then.
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    # Two builds that resolve versions at the same time would both write the file of resolved versions.
    if run("Resolving the packages", [SWIFT, "package", "resolve"]):
        tally.failed.append("resolving the packages")
        tally.finish()

    test_options = build_options(options.sanitize)
    # Each build has but one processor busy for a part of its time. With two processors this gains about a minute.
    with concurrent.futures.ThreadPoolExecutor() as beside:
        release = None
        environment = None
        if not options.sanitize:
            going_on = lock_for_release()
            environment = environment_of_shared_objects()
            release = beside.submit(build_for_release, going_on)
        tests = [SWIFT, "build", "--build-tests", *test_options]
        status = run("Building the tests", tests, env=environment)
        if status and release:
            concurrent.futures.wait([release])
        tests_are_built = is_built("Building the tests", tests, status, tally, env=environment)
        if tests_are_built:
            run_swift_tests(options, test_options, tally)
    if release and not is_built("Building for release", BUILD_FOR_RELEASE, release.result(), tally):
        tests_are_built = False
    if tests_are_built:
        run_acceptance(options, built_server(test_options if options.sanitize else RELEASE), tally)
    tally.finish()


def lock_for_release():
    """The lock that tells the tests' build that the build for release goes on, taken; closing the file frees it."""
    file = open(RELEASE_LOCK, "w", encoding="ascii")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def build_for_release(going_on):
    with contextlib.closing(going_on):
        return run("Building for release", BUILD_FOR_RELEASE, **CAPTURED)


def is_built(title, command, status, tally, **options):
    """True if this build ended with status 0, or does so now; adds to the tally what it did otherwise."""
    if status == 0:
        return True
    status = run(f"{title}, once more", command, **options)
    (tally.failed if status else tally.unsteady).append(title.lower())
    return status == 0


def environment_of_shared_objects():
    """What makes the tests' build take BoringSSL's objects from the build for release; see clang_of_tests.sh.

    None where Swift's own clang is not beside it: then it compiles them once more.
    """
    clang = pathlib.Path(shutil.which(SWIFT) or SWIFT).resolve().with_name("clang")
    if not os.access(clang, os.X_OK):
        return None
    return dict(os.environ, CC=str(PROJECT / "Tests" / "Tools" / "clang_of_tests.sh"),
                SHARED_OBJECTS_CLANG=str(clang), SHARED_OBJECTS_LOCK=str(RELEASE_LOCK))


def build_options(sanitize):
    """How the Swift tests are built: in a place of their own, so that no build waits for another or makes it start anew.

    Without colours, as for release: a build in a terminal would compile again all that one without had compiled.
    """
    if not sanitize:
        return ["--no-color-diagnostics", "--scratch-path", ".build/tests"]
    chosen = ["--no-color-diagnostics", f"--sanitize={sanitize}", "--scratch-path", f".build/sanitize-{sanitize}"]
    if sanitize == "thread":
        # Locks that the sanitizer can see; see TracedMutex.
        chosen += ["-Xswiftc", "-DSANITIZE_THREAD"]
        # They come from DirectoryRoot then, which a file that uses a lock need not name.
        chosen += ["-Xswiftc", "-disable-upcoming-feature", "-Xswiftc", "MemberImportVisibility"]
    return chosen


def built_server(swift_options):
    """The binary for the acceptance tests: the one that ships, or the instrumented one."""
    shown = subprocess.run(
        [SWIFT, "build", *swift_options, "--show-bin-path"], cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / "shareserve"


def run_swift_tests(options, swift_options, tally):
    environment = dict(os.environ, SHARESERVE_SANITIZE=options.sanitize)

    def run_chosen(title, filters, junit, found):
        command = [SWIFT, "test", "--skip-build", *swift_options, "--xunit-output", str(junit)]
        for words in filters:
            command += ["--filter", words]
        status = run(title, command, env=environment)
        # XCTest's file takes the name that was given; Swift Testing's has a suffix.
        read = found.read_junit(junit.with_stem(junit.stem + "-swift-testing"), "swift")
        if status and not found.failed or not read and not options.filter:
            found.failed.append(f"swift: the test process ended with status {status}")

    first = Tally()
    run_chosen("Swift tests", [options.filter] if options.filter else [], RESULTS / "swift.xml", first)
    tally.add_after_second_try(first, swift_address, lambda addresses, second: run_chosen(
        "Failed Swift tests, once more", addresses, RESULTS / "swift-again.xml", second))


def run_acceptance(options, server, tally):
    environment = dict(os.environ, SHARESERVE_BINARY=str(server), SHARESERVE_SANITIZE=options.sanitize)
    # Also a file that is in no folder, or deeper: none is left out.
    places = sorted({path.relative_to(ACCEPTANCE).parts[0] for path in ACCEPTANCE.rglob("test_*.py")})
    beside = [name for lane in SIDE_BY_SIDE for name in lane]
    alone = [name for name in places if name not in beside]

    def place(name):
        return str(ACCEPTANCE.relative_to(PROJECT) / name)

    def run_lane(names, output=CAPTURED):
        chosen = [place(name) for name in names]
        # A folder's file that has its place in a lane.
        chosen += [f"--ignore={place(name)}" for name in beside if name.partition("/")[0] in names and name not in names]
        chosen += ["-k", options.filter] if options.filter else []
        junit = RESULTS / f"acceptance-{names[0].replace('/', '-')}.xml"
        return run_pytest(f"Acceptance tests: {', '.join(names)}", chosen, junit, environment, **output)

    first = Tally()
    with concurrent.futures.ThreadPoolExecutor() as lanes:
        others = [lanes.submit(run_lane, names) for names in SIDE_BY_SIDE[1:]]
        first.add(run_lane(SIDE_BY_SIDE[0], output={}))
        for lane in others:
            first.add(lane.result())
    first.add(run_lane(alone, output={}))
    tally.add_after_second_try(first, pytest_address, lambda addresses, second: second.add(run_pytest(
        "Failed acceptance tests, once more", addresses, RESULTS / "acceptance-again.xml", environment)))


def run_pytest(title, chosen, junit, environment, **output):
    """What these tests did."""
    command = [sys.executable, "-m", "pytest", *chosen, "-q", "--durations=15", f"--junitxml={junit}"]
    status = run(title, command, env=environment, **output)
    tally = Tally()
    found = tally.read_junit(junit, "acceptance")
    nothing_selected = 5
    if not found or status not in (0, nothing_selected) and not tally.failed:
        tally.failed.append(f"acceptance: pytest ended with status {status}")
    return tally


def swift_address(name):
    """What chooses a JUnit case, `swift: Module.Suite function(argument:)`, for `swift test`; None if nothing does."""
    found = re.fullmatch(r"swift: (\w+\.[\w.]+) (\w+)\(.*\)", name)
    return f"^{re.escape(found[1])}/{found[2]}\\(" if found else None


def pytest_address(name):
    """The test that a JUnit case, `acceptance: folder.test_file.TestClass test_name[parameter]`, is about; None if none is."""
    _, _, case = name.partition("acceptance: ")
    module, _, function = case.partition(" ")
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        path = pathlib.Path("Tests/Acceptance", *parts[:count]).with_suffix(".py")
        if function and (PROJECT / path).is_file():
            return "::".join([str(path), *parts[count:], function])
    return None


if __name__ == "__main__":
    main()
