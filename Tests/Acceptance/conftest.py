"""What every acceptance test may ask for."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from server import SANITIZED, Server


def pytest_collection_modifyitems(items):
    for item in items:
        if SANITIZED and item.get_closest_marker("memory"):
            item.add_marker(pytest.mark.skip(reason="an instrumented build has other figures"))
        if os.geteuid() != 0 and item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="needs root: mounts a file system"))


@pytest.fixture
def folder():
    """An empty folder of the test's own, on a disk, removed after."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="shareserve-test-"))
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", str(path)], stderr=subprocess.DEVNULL)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def memory():
    """An empty folder on a file system in memory, removed after."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no file system in memory at /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="shareserve-test-") as path:
        yield pathlib.Path(path)


@pytest.fixture
def serve(folder, request):
    """Starts servers: `serve("--read-only")` shares `folder / "share"`, or `root=`. All end with the test."""
    started = []

    def start(*options, root=None, **details):
        place = pathlib.Path(root) if root is not None else folder / "share"
        place.mkdir(exist_ok=True)
        server = Server(place, *options, **details)
        started.append(server)
        return server

    yield start
    ends = []
    # All of them, whatever the first one's end was like.
    for server in started:
        ends.append((server.process.poll(), server.logged()))
        server.close()
    for ended, log in ends:
        # A trap or a finding of a sanitizer fails the test that met it. -9 is the test's own SIGKILL, and 143 and 130
        # are the second signal to end.
        assert ended in (None, 0, -9, 143, 130), f"the server ended with {ended}:\n{log[-4000:]}"
        assert "Sanitizer" not in log, log[-8000:]
        if log:
            print(log[-4000:])


@pytest.fixture
def server(serve):
    """A server with no options on an empty directory."""
    return serve()


@pytest.fixture(scope="session")
def hundred_thousand():
    """A directory whose folder `many` has 100,000 empty files. It is all tests' own, since it takes its time to make and
    to remove: who changes something puts it back."""
    with tempfile.TemporaryDirectory(prefix="shareserve-test-") as path:
        place = pathlib.Path(path, "many")
        place.mkdir()
        descriptor = os.open(place, os.O_DIRECTORY)
        for number in range(100_000):
            os.close(os.open(f"file {number:06}.txt", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        os.close(descriptor)
        yield pathlib.Path(path)


@pytest.fixture
def many(serve, hundred_thousand):
    """A server with no options on that directory."""
    return serve(root=hundred_thousand)
