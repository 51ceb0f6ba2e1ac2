"""WebKit, the engine of Safari, driven over W3C WebDriver: Debian's WebKitGTK in a display of its own."""

import base64
import contextlib
import os
import subprocess
import time

import requests

from browser.conftest import SCREENSHOTS
from server import free_port, wait_until

ENTER, TAB, ESCAPE, DELETE, END = "\ue007", "\ue004", "\ue00c", "\ue017", "\ue010"
SHIFT, CTRL, ALT, F2 = "\ue008", "\ue009", "\ue00a", "\ue032"
UP, RIGHT, DOWN = "\ue013", "\ue014", "\ue015"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ROW = "[...document.querySelectorAll('tbody tr')].find(row => row.querySelector('a.open bdi').textContent === arguments[0])"

# Loaded before the page's own script; what it keeps survives a reload.
WATCH = """
const keep = text => { sessionStorage.problems = (sessionStorage.problems ?? "") + text + "\\n" }
addEventListener("error", event => keep(`${event.message} ${event.filename}:${event.lineno}`))
addEventListener("unhandledrejection", event => keep(`rejected: ${event.reason} ${event.reason?.stack}`))
addEventListener("securitypolicyviolation", event => keep(`CSP: ${event.violatedDirective} ${event.blockedURI}`))
const poll = setInterval(() => {
    if (!document.querySelector(".summary:not(:empty), .login")) return
    clearInterval(poll)
    console.log("the page shows")
}, 50)
"""


class Display:
    """An X server without a screen."""

    def __init__(self):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1400x1100x24", "-nolisten", "tcp"],
            pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writer)
        with os.fdopen(reader) as told:
            self.name = ":" + told.readline().strip()
        assert self.name != ":", "Xvfb did not start"

    def environment(self, home, **more):
        """What a program needs to show itself here, and to keep everything of its own in `home`."""
        places = dict.fromkeys(["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"], str(home))
        return os.environ | places | {"DISPLAY": self.name, "GDK_BACKEND": "x11", "LC_ALL": "C.UTF-8", "NO_AT_BRIDGE": "1"} | more

    def close(self):
        self.process.terminate()
        self.process.wait()


class Page:
    """One window of a browser. Scripts get `arguments`; elements go in and out of them."""

    def __init__(self, display, home, **environment):
        self.http = requests.Session()
        self.http.trust_env = False
        self.log = open(home / "driver.log", "ab")
        for _ in range(5):
            port = free_port()
            self.process = subprocess.Popen(
                ["WebKitWebDriver", f"--port={port}"], env=display.environment(home, **environment),
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
            self.url = f"http://127.0.0.1:{port}"
            wait_until(lambda: self.process.poll() is not None or self.answers(), "the driver answers", 60)
            # Another program may have taken the port.
            if self.process.poll() is None:
                break
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"unhandledPromptBehavior": "accept"}}})
        self.url += "/session/" + made["sessionId"]

    def answers(self):
        with contextlib.suppress(requests.ConnectionError):
            return self.http.get(self.url + "/status", timeout=10).ok
        return False

    def call(self, method, path, body=None):
        answer = self.http.request(method, self.url + path, json=body, timeout=120)
        value = answer.json()["value"]
        assert answer.ok, f"{path}: {value['error']}: {value['message']}"
        return value

    def close(self):
        with contextlib.suppress(Exception):
            self.call("DELETE", "")
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def open(self, url):
        self.call("POST", "/url", {"url": url})
        self.wait("document.querySelector('.summary:not(:empty), .login')")

    def back(self):
        self.call("POST", "/back", {})

    def forward(self):
        self.call("POST", "/forward", {})

    def reload(self):
        self.call("POST", "/refresh", {})

    def resize(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def js(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, expression, *arguments, seconds=90):
        """What `expression` gives as soon as that is true."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.js("return " + expression, *arguments)
            if value:
                return value
            assert time.monotonic() < deadline, f"not within {seconds} s: {expression}\n{self.js('return document.body.innerText')}"
            time.sleep(0.1)

    def shows(self, text):
        self.wait("document.body.innerText.includes(arguments[0])", text)

    def row(self, name):
        """Waits for the row of a file."""
        self.wait(ROW, name)

    def at_row(self, name):
        """Waits until the focus is on the row of a file."""
        self.wait("document.activeElement === " + ROW, name)

    def names(self):
        return self.js("return [...document.querySelectorAll('tbody tr a.open bdi')].map(one => one.textContent)")

    def click(self, expression, *arguments):
        """Clicks the element that `expression` gives, as soon as it is there, however often it is made anew meanwhile."""
        deadline = time.monotonic() + 90
        while True:
            element = self.wait(expression, *arguments)
            try:
                return self.call("POST", f"/element/{element[ELEMENT]}/click", {})
            except AssertionError:
                if time.monotonic() > deadline:
                    raise

    def button(self, label):
        """Clicks the last button of that name, in the topmost dialog if there is one."""
        self.click("""[...([...document.querySelectorAll('dialog[open]')].at(-1) ?? document).querySelectorAll('button')].findLast(one =>
            one.checkVisibility() && !one.disabled && [one.textContent, one.ariaLabel].includes(arguments[0]))""", label)

    def select(self, *names):
        for name in names:
            self.click(ROW + "?.querySelector('.tick')", name)

    def follow(self, name):
        self.click(ROW + "?.querySelector('a.open')", name)

    def press(self, *keys):
        """Keys at once: the last is hit while the others are held."""
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down + up}]})

    def type(self, text):
        for key in text:
            self.press(key)

    def choose(self, *paths):
        """Gives files to the field behind the upload button."""
        field = self.js("return document.querySelector('input[type=file]')")
        self.call("POST", f"/element/{field[ELEMENT]}/value", {"text": "\n".join(map(str, paths))})

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / f"webkit-{name}.png").write_bytes(base64.b64decode(self.call("GET", "/screenshot")))
