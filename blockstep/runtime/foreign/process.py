"""The process of the interpreter that has Triton: one for each interpreter, as long as it is needed.

It starts with the first request. What the judged run puts into the environment of its children is
left out: this one has to have the real `triton`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from blockstep.runtime import children
from blockstep.runtime.foreign.failures import NoTriton

SCRIPT = Path(__file__).with_name("child.py")
MOST_SAID = 100_000
_BROKEN = "PassManager::run failed"


class Process:
    """The child of one interpreter; the tests have another `script`."""

    def __init__(self, python: str, script: Path = SCRIPT) -> None:
        self.python = python
        self.script = script
        self.hello: dict[str, Any] = {}
        self._running: subprocess.Popen[str] | None = None
        self._owner = 0  # a forked copy of this process has no child of its own
        self._said: IO[bytes] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request: what was asked for, or `error` and what was `said` on standard
        error. A child that ends on the way is such an error, too; the next request has a new one.

        Raises NoTriton where there is nobody to ask."""
        child = self.start()
        self._forget()
        found = self._exchange(child, json.dumps(request) + "\n")
        if found is None:
            status = self._end()
            found = {"error": f"its process ended with status {status}"}
        if "error" in found:
            found["said"] = self._text()
            if self._running is not None and _BROKEN in found["error"]:
                self._end()  # a compiler that caught its own crash is not to be trusted again
        return found

    def start(self) -> subprocess.Popen[str]:
        """The running child; `hello` is what it says of itself. Raises NoTriton."""
        if self._running is not None and self._owner == os.getpid():
            return self._running
        said = self._said = tempfile.TemporaryFile()
        try:
            child = subprocess.Popen(
                [self.python, str(self.script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=said, text=True, encoding="utf-8", env=_environment(),
            )  # fmt: skip
        except OSError as error:
            raise NoTriton(f"{self.python} cannot be run: {error}") from error
        self._running, self._owner = child, os.getpid()
        atexit.register(self.close)
        hello = self._exchange(child, "")
        if hello is None or "error" in hello:
            why = self._text().strip() if hello is None else hello["error"]
            self._end()
            raise NoTriton(f"{self.python} has no Triton: {why}")
        self.hello = hello
        return child

    def _exchange(self, child: subprocess.Popen[str], text: str) -> dict[str, Any] | None:
        """Sends a line and takes one; None where the child ended."""
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # then there is nothing to read either
            child.stdin.write(text)
            child.stdin.flush()
        line = child.stdout.readline()
        found: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
        return found

    def _forget(self) -> None:
        """What was said before is about another request."""
        assert self._said is not None
        self._said.truncate(0)  # the child appends: it has the same place in the file
        self._said.seek(0)

    def _text(self) -> str:
        """The end of what the child said on standard error."""
        assert self._said is not None
        self._said.seek(0)
        return self._said.read().decode(errors="replace")[-MOST_SAID:]

    def _end(self) -> int:
        child, self._running = self._running, None
        assert child is not None
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return child.wait()

    def close(self) -> None:
        """Ends the child."""
        if self._running is not None and self._owner == os.getpid():
            self._end()


def _environment() -> dict[str, str]:
    found = dict(os.environ)
    found.pop(children.VARIABLE, None)
    paths = found.get("PYTHONPATH", "").split(os.pathsep)
    found["PYTHONPATH"] = os.pathsep.join(p for p in paths if p != children.FOLDER)
    return found


def default_python() -> str:
    """This interpreter."""
    return sys.executable
