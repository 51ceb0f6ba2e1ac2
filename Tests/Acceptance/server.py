"""The real server as a test sees it: a process, its addresses, its directory."""

import atexit
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SANITIZED = bool(os.environ.get("SHARESERVE_SANITIZE"))


@functools.cache
def binary():
    """The program under test: what `make test` built, or the newest build there is."""
    given = os.environ.get("SHARESERVE_BINARY")
    if given:
        return for_everybody(pathlib.Path(given))
    built = [PROJECT / ".build" / kind / "shareserve" for kind in ("release", "debug")]
    built = [path for path in built if path.exists()]
    if not built:
        raise RuntimeError("no shareserve is built; run `make build`, or set SHARESERVE_BINARY")
    return for_everybody(max(built, key=lambda path: path.stat().st_mtime))


def for_everybody(program):
    """The program, or a copy of it where it lies below a folder that is closed to others, as /root is.

    Root runs it as an ordinary user too.
    """
    program = program.resolve()
    if os.geteuid() != 0 or all(place.stat().st_mode & 0o001 for place in program.parents):
        return program
    folder = tempfile.mkdtemp(prefix="shareserve-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    return pathlib.Path(shutil.copy(program, folder))


def rclone_program():
    """The rclone beside this Python, or the system's; None where there is none."""
    beside = pathlib.Path(sys.executable).parent / "rclone"
    return str(beside) if beside.exists() else shutil.which("rclone")


def wait_until(condition, what, timeout=20.0):
    """Polls `condition` until it gives something true, and gives that; fails with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        time.sleep(0.01)


def free_port():
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One shareserve process. `root` is its directory; further options as on the command line."""

    def __init__(self, root, *options, port=0, environment=None, preexec=None, wrapper=(), bind=("127.0.0.1",), wait=True):
        self.root = pathlib.Path(root)
        self.options = [str(option) for option in options]
        self.bind = bind
        self.requested_port = port
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("SHARESERVE_")
        } | {"TSAN_OPTIONS": "halt_on_error=0:exitcode=66", "ASAN_OPTIONS": "detect_leaks=0"} | dict(environment or {})
        self.preexec = preexec
        self.wrapper = list(wrapper)
        self.log = tempfile.TemporaryFile()
        self.printed = []
        self.process = None
        self.start(wait=wait)

    def start(self, wait=True):
        """Starts the process, and waits until it has printed its addresses."""
        command = [*self.wrapper, str(binary()), str(self.root), "--port", str(self.requested_port)]
        for address in self.bind:
            command += ["--bind", address]
        self.printed = []
        self.process = subprocess.Popen(
            command + self.options, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
            env=self.environment, preexec_fn=self.preexec, text=True)
        self._complete = threading.Event()
        threading.Thread(target=self._collect, args=(self.process,), daemon=True).start()
        if wait:
            limit = 60 if SANITIZED else 20
            wait_until(lambda: self.urls or self.process.poll() is not None, "an address is printed", limit)
            if not self.urls:
                raise AssertionError(f"the server ended with status {self.process.returncode}: {self.logged()}")
            # A later start takes the same port, as a real one would.
            self.requested_port = self.port or self.requested_port

    def _collect(self, process):
        for line in process.stdout:
            self.printed.append(line.rstrip("\n"))
        self._complete.set()

    @property
    def urls(self):
        """Every address printed so far, each with its last slash."""
        return [match.group(0) for line in list(self.printed) if (match := re.search(r"https?://\S+", line))]

    @property
    def url(self):
        """The first address, without its last slash."""
        return self.urls[0].rstrip("/")

    @property
    def authority(self):
        return self.url.split("/")[2]

    @property
    def port(self):
        name = self.authority if self.urls else ""
        return int(name.rpartition(":")[2]) if ":" in name else 0

    @property
    def pid(self):
        """The server's own process, below a wrapper too."""
        if not self.wrapper:
            return self.process.pid
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else self.process.pid

    def logged(self):
        """What the server wrote to standard error."""
        # Not by seeking: the server writes where the file that both have open stands.
        log = self.log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    def status_field(self, name):
        """A number out of /proc/PID/status: VmRSS and VmHWM in bytes."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                number, *unit = line.split()[1:]
                return int(number) * (1024 if unit == ["kB"] else 1)
        raise KeyError(name)

    def peak_memory(self):
        """The most bytes that were resident at once."""
        return self.status_field("VmHWM")

    def cpu_seconds(self):
        """User and system time so far."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def opened(self, part):
        """How many descriptors it has on files with this in their path."""
        count = 0
        for entry in os.scandir(f"/proc/{self.pid}/fd"):
            # It may close one meanwhile.
            with contextlib.suppress(FileNotFoundError):
                count += part in os.readlink(entry.path)
        return count

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        """SIGKILL: nothing is told to the server."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=20):
        """SIGTERM, and its exit status."""
        if self.alive():
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end within {timeout} s of SIGTERM: {self.logged()}") from None

    def restart(self):
        """Starts again after an end, at the same port."""
        assert not self.alive()
        self.start()

    def close(self):
        """For the end of a test, whatever state the server is in."""
        if self.alive():
            self.kill()
        self.process.stdout.close() if self._complete.wait(5) else None
        self.log.close()
