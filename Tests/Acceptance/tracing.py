"""Looking at the system calls of a running server, and letting them fail, with strace."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

from server import wait_until


class EndedEarly(Exception):
    """The server was killed for a call of a thread in the background, before strace was at every thread."""


@contextlib.contextmanager
def traced(server, *options):
    """Has an strace with these options at every thread of a server."""
    tracer = subprocess.Popen(["strace", "-f", "-qq", *options, "-p", str(server.pid)], stderr=subprocess.PIPE)

    def is_held():
        if not server.alive():
            raise EndedEarly
        assert tracer.poll() is None, tracer.stderr.read()
        states = [path.read_text() for path in pathlib.Path(f"/proc/{server.pid}/task").glob("*/status")]
        return states and all(f"TracerPid:\t{tracer.pid}" in state for state in states)

    try:
        wait_until(is_held, "strace is attached to every thread")
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # Sometimes it misses the end of a process that it has killed itself.
            tracer.kill()
            tracer.wait()
        tracer.stderr.close()


@contextlib.contextmanager
def failing(server, *calls, when="1+", error="EIO"):
    """Lets these system calls of a server fail as a broken disk's do: of each thread's all, or the one of a number."""
    names = ",".join(calls)
    with traced(server, "-o", os.devnull, "-e", f"trace={names}", "-e", f"inject={names}:error={error}:when={when}"):
        yield


@contextlib.contextmanager
def killing(server, call, step, without=()):
    """Kills a server before it makes this system call for the `step`-th time, on a kernel without some others.

    Each thread counts for itself.
    """
    kill = ["-e", f"trace={','.join([call, *without])}", "-e", f"inject={call}:signal=KILL:when={step}"]
    absent = [option for name in without for option in ("-e", f"inject={name}:error=EINVAL")]
    with traced(server, "-o", os.devnull, *kill, *absent):
        yield


class Trace:
    """Counts the system calls of a server while its block runs, with these options for strace: `calls`, by name."""

    def __init__(self, server, folder, *options):
        self.place = folder / "trace"
        self.tracing = traced(server, *options, "-o", str(self.place))

    def __enter__(self):
        self.tracing.__enter__()
        return self

    def __exit__(self, *failure):
        # Waits for what the last response left to do.
        time.sleep(0.3)
        self.tracing.__exit__(*failure)
        self.calls = collections.Counter(re.findall(r"^\d+ +(\w+)\(", self.place.read_text(), re.MULTILINE))

    def each(self, count):
        """Calls for each of `count` requests, in tenths: now and then another thread sets a timer meanwhile. Without
        those that wait or wake, whose number the scheduler decides, and those of the allocator, which takes and returns
        memory when it likes: other tests count allocations."""
        waiting = {"futex", "epoll_wait", "epoll_pwait", "restart_syscall", "timerfd_settime", "sched_yield"}
        memory = {"brk", "madvise", "mmap", "mprotect", "mremap", "munmap"}
        left_out = waiting | memory
        return {name: round(calls / count, 1) for name, calls in self.calls.items() if name not in left_out and calls >= count / 10}
