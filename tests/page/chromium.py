"""Chromium without a screen, spoken to through a pipe: what a page is when a reader opens it."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --remote-debugging-pipe"
).split()
PATIENCE = 60  # seconds until a browser that does not answer fails a test


class Browser:
    """One page of one browser. `events` are what it told: console lines, exceptions, requests."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._out = into, out
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def attach(self) -> None:
        """Opens an empty page and listens to it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Does something; what came of it. Raises AssertionError where the browser refuses."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, file: Path, width: int = 1280, height: int = 900) -> None:
        """Loads a file; returns when it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def dark(self, on: bool) -> None:
        """The reader's choice of colours."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def complaints(self) -> list[Any]:
        """Errors and warnings of the console, and exceptions."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [e for e in self.events if e.get("method") in kinds]

    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in sent]

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            chunk = os.read(self._out, 1 << 20)
            assert chunk, "the browser is gone"
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own; the test is skipped where there is none."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    to_it, into = os.pipe()
    out, from_it = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_it} 4>&{from_it}', "bash", program, *FLAGS,
             f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(to_it, from_it), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (to_it, from_it):
            os.close(end)
        try:
            made = Browser(into, out)
            made.attach()
            yield made
        finally:
            process.kill()
            process.wait()
            for end in (into, out):
                os.close(end)
