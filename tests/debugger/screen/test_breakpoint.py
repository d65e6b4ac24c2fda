"""`breakpoint()` in a kernel under `blockstep run --tui`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Then
from blockstep.debugger.moments import Reason, Stop
from blockstep.debugger.screen import hooking
from blockstep.language.function import current_launcher, register_launcher
from tests.debugger import kernels
from tests.debugger.screen import own_kernels


class Talks:
    """Instead of a screen: keeps where it was opened, and does these commands."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.stops = lines, []  # type: ignore[var-annotated]

    def __call__(self, commands: Commands, stop: Stop) -> Then:
        self.stops.append(stop)
        commands.arrived(stop)
        for line in self.lines:
            then = commands.run_line(line).then
            if then is not Then.STAY:
                return then
        return Then.QUIT


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    before = current_launcher()
    monkeypatch.setattr(sys, "breakpointhook", sys.breakpointhook)

    def install(talks: Talks) -> Talks:
        hooking.install(talks)
        return talks

    yield install
    register_launcher(before)


def text_at(stop: Stop) -> str:
    frame = stop.frames[-1]
    return Path(frame.file).read_text().splitlines()[frame.line - 1].strip()


def test_the_screen_opens_behind_the_line_in_the_instance_that_reaches_it(installed: Any) -> None:
    talks = installed(Talks("continue", "continue"))
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    own_kernels.stopping[(4,)](x, out, BLOCK=16)
    (stop,) = talks.stops
    assert (stop.reason, stop.program) == (Reason.BREAKPOINT, (2, 0, 0))
    assert text_at(stop) == "tl.store(out_ptr + offs, x * 2)"
    assert np.array_equal(out, x * 2)


def test_one_can_go_back_from_there(installed: Any) -> None:
    talks = installed(
        Talks("reverse-next", "reverse-next", "print offs", "continue", "continue", "continue")
    )
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    own_kernels.stopping[(4,)](x, out, BLOCK=16)
    assert len(talks.stops) == 1
    assert np.array_equal(out, x * 2)


def test_it_opens_in_a_function_that_the_kernel_calls(installed: Any) -> None:
    talks = installed(Talks("continue", "continue"))
    x = np.zeros(1, np.float32)
    own_kernels.calling[(1,)](x)
    (stop,) = talks.stops
    assert [f.function for f in stop.frames] == ["calling", "helper"]
    assert text_at(stop) == "return x + 1"
    assert x[0] == 1


def test_launches_without_a_breakpoint_run_as_they_would(installed: Any) -> None:
    talks = installed(Talks())
    x = np.arange(32, dtype=np.float32)
    out = np.zeros_like(x)
    kernels.add[(2,)](x, x, out, 32, BLOCK=16)
    assert not talks.stops and out[8] == 9
    assert not hooking.calls_breakpoint(kernels.add)
    assert hooking.calls_breakpoint(own_kernels.calling)


def test_a_kernel_that_calls_breakpoint_in_a_function_can_be_warmed_up() -> None:
    own_kernels.calling.warmup(np.zeros(1, np.float32), grid=(1,))


def test_without_a_terminal_it_says_so() -> None:
    code = (
        "import numpy as np\n"
        "from tests.debugger.screen import own_kernels\n"
        "own_kernels.calling[(1,)](np.zeros(1, np.float32))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nfrom blockstep.debugger.screen import hooking, talk\nhooking.install(talk)\n{code}"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the full screen wants a terminal" in done.stderr
