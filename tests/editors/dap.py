"""A small client of the Debug Adapter Protocol: what VS Code says to debugpy, over a socket."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds until a debugger that does not answer fails a test


class Client:
    """One conversation. Messages that nobody waited for are kept in `events`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.settimeout(PATIENCE)
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def ask(self, command: str, **arguments: Any) -> Any:
        """The body of the answer. Raises AssertionError where it is a refusal."""
        return self.answer(self.send(command, **arguments))

    def send(self, command: str, **arguments: Any) -> int:
        """Says something; `answer` has what comes of it."""
        self._number += 1
        body = {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        data = json.dumps(body).encode()
        self._connection.sendall(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        return self._number

    def answer(self, number: int) -> Any:
        """The body of the answer to a message."""
        found = self._wait(lambda m: m["type"] == "response" and m["request_seq"] == number)
        assert found["success"], found
        return found.get("body", {})

    def event(self, name: str) -> Any:
        """The body of the next event of a kind."""
        found = self._wait(lambda m: m["type"] == "event" and m["event"] == name)
        return found.get("body", {})

    def stop(self) -> list[tuple[str, int, str]]:
        """Waits until the program stops: file name, line and function of each frame, innermost first."""
        self.thread = self.event("stopped")["threadId"]
        self.frames = self.ask("stackTrace", threadId=self.thread)["stackFrames"]
        return [(Path(f["source"]["path"]).name, f["line"], f["name"]) for f in self.frames]

    def go(self, how: str) -> list[tuple[str, int, str]]:
        """`next`, `stepIn`, `continue`, and where it stops."""
        self.ask(how, threadId=self.thread)
        return self.stop()

    def locals(self) -> dict[str, dict[str, Any]]:
        """The variables of the innermost frame, by name."""
        scopes = self.ask("scopes", frameId=self.frames[0]["id"])["scopes"]
        return self.children(scopes[0]["variablesReference"])

    def children(self, reference: int) -> dict[str, dict[str, Any]]:
        """What is below a variable, in the order of the view."""
        found = self.ask("variables", variablesReference=reference)["variables"]
        return {v["name"]: v for v in found}

    def _wait(self, wanted: Any) -> dict[str, Any]:
        for message in self.events:
            if wanted(message):
                self.events.remove(message)
                return message
        while True:
            message = self._read()
            if wanted(message):
                return message
            self.events.append(message)

    def _read(self) -> dict[str, Any]:
        while b"\r\n\r\n" not in self._rest:
            self._more()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        while len(self._rest) < length:
            self._more()
        data, self._rest = self._rest[:length], self._rest[length:]
        message: dict[str, Any] = json.loads(data)
        return message

    def _more(self) -> None:
        chunk = self._connection.recv(1 << 16)
        assert chunk, "the debugger is gone"
        self._rest += chunk


@contextlib.contextmanager
def debugging(
    folder: Path, words: list[str], breakpoints: dict[Path, list[int]]
) -> Iterator[Client]:
    """`python -m debugpy … words` in a folder, with breakpoints, running. Our own files count as a
    library's, which they are where blockstep is installed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client",
         *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        with _connected(port, process) as connection:
            client = Client(connection)
            client.ask("initialize", adapterID="test", pathFormat="path")
            rules = [{"path": f"{ROOT}/{name}/**", "include": False}
                     for name in ("blockstep", "interp", "compiler", "debugger")]  # fmt: skip
            attached = client.send("attach", justMyCode=True, rules=rules)
            client.event("initialized")
            for file, lines in breakpoints.items():
                client.ask(
                    "setBreakpoints", source={"path": str(file)},
                    breakpoints=[{"line": line} for line in lines],
                )  # fmt: skip
            client.ask("configurationDone")
            client.answer(attached)
            yield client
    finally:
        process.kill()
        process.communicate()


def _connected(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1)
        except OSError:
            assert process.poll() is None and time.monotonic() < deadline, "no debugger answers"
            time.sleep(0.05)
