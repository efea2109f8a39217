"""A real headless Chromium, driven by the DevTools protocol over a pair of pipes: no driver, no package."""

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

from tests.debian import why_missing

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE_S = 60.0


def find_chromium() -> str | None:
    """The browser's program, installed if need be; None if it cannot be had."""
    if not any(map(shutil.which, NAMES)):
        why_missing(["chromium"], ["chromium", "fonts-dejavu-core"])
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser process."""

    def __init__(self, program) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        options = [
            "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--mute-audio",
            "--hide-scrollbars", "--force-color-profile=srgb", f"--user-data-dir={self._profile.name}",
        ]  # fmt: skip
        # The protocol's pipes are file descriptors 3 and 4 by definition; a shell puts them there.
        wire = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", wire, program, *options, "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method, session=None, **params) -> dict[str, Any]:
        """One command's result; events that arrive in between are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        message |= {"sessionId": session} if session else {}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            answer = self._next()
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]
        raise TimeoutError(method)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            poll = select.poll()  # select() takes no file above 1024
            poll.register(self._read, select.POLLIN | select.POLLHUP)
            ready = poll.poll(PATIENCE_S * 1000)
            part = os.read(self._read, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser ended or does not answer")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def page(self, width=1200, height=900, dark=False) -> "Page":
        """A new, empty page."""
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility", "DOM"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.bringToFront")
        return page


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session, target) -> None:
        self._browser, self._session, self._target = browser, session, target

    def call(self, method, **params) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def open(self, path, fragment="") -> None:
        """Open a file and wait until its script has drawn it."""
        self.call("Page.navigate", url=path.as_uri() + (f"#{fragment}" if fragment else ""))
        self.wait("document.documentElement?.dataset.readyMs !== undefined")

    def run(self, expression) -> Any:
        """The value of an expression; an exception in it is one here."""
        how = {"returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", expression=expression, **how)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, expression, seconds=30.0) -> None:
        until = time.monotonic() + seconds
        while not self.run(expression):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)

    def press(self, *keys) -> None:
        """Real key presses, as a user's keyboard makes them."""
        codes = {
            "Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
            "Home": 36, "End": 35,
        }  # fmt: skip
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            code = codes.get(key) or ord(key.upper())
            names = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **names)
            self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    def accessible(self, role=None) -> list[dict[str, Any]]:
        """What assistive technology reads: role and name of each node it meets."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        found = [
            {"role": node["role"]["value"], "name": node.get("name", {}).get("value", ""), "focusable": any(p["name"] == "focusable" for p in node.get("properties", []))}
            for node in nodes
            if not node["ignored"]
        ]  # fmt: skip
        return [node for node in found if role in (None, node["role"])]

    def troubles(self) -> list[str]:
        """Uncaught exceptions, console errors, policy violations, dialogs, and any request but the file itself."""
        self.run("0")
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            method, params = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                found.append(f"{method}: {json.dumps(params)[:300]}")
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {params['entry']['text'][:300]}")
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                found += [] if url.startswith(("file:", "data:")) else [f"request: {url[:300]}"]
        return found
