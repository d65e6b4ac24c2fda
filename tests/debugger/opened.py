"""Kernels that sessions of the tests stop in. `#! name` marks a line that a test names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.session import Session
from blockstep.runtime.ladder import Launch, take


def line_of(mark: str) -> int:
    """The line of this file that is marked so."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"#! {mark}")]
    return found


@triton.jit
def twice(v):
    w = v * 2  #! inside
    return w


@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  #! first
    mask = offs < n  #! mask
    x = tl.load(x_ptr + offs, mask=mask)  #! load
    y = twice(x)  #! call
    tl.store(out_ptr + offs, y, mask=mask)  #! store


@triton.jit
def sums(x_ptr, out_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, N, BLOCK):  #! loop
        total += tl.load(x_ptr + k + tl.arange(0, BLOCK))  #! body
    tl.store(out_ptr + tl.arange(0, BLOCK), total)  #! after


@triton.jit
def race(x_ptr, total_ptr, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 0)
    before = tl.load(total_ptr)  #! read
    tl.store(total_ptr, before + part)  #! write


@triton.jit
def roots(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    root = tl.sqrt(x)  #! root
    tl.store(out_ptr + offs, root)


@triton.jit
def cancel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    large = x + 1024.0  #! sum
    small = large - 1024.0  #! difference
    tl.store(out_ptr + offs, small * 2.0)


def cancelling() -> Launch:
    """Element 2 of program instance 1 is lost in a sum."""
    x = np.ones(16, np.float32)
    x[10] = 1e-5
    return take(cancel, (x, np.zeros(16, np.float32)), {"BLOCK": 8}, (2,))


def scaling(n: int = 20) -> Launch:
    """Three program instances of eight elements."""
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    return take(scale, (x, out, n), {"BLOCK": 8}, ((n + 7) // 8,))


def summing() -> Launch:
    """Four turns of a loop."""
    return take(sums, (np.arange(32, dtype=np.float32), np.zeros(8, np.float32)),
                {"N": 32, "BLOCK": 8}, (1,))  # fmt: skip


def racing() -> Launch:
    """Four program instances that add to one element."""
    return take(race, (np.ones(32, np.float32), np.zeros(1, np.float32)), {"BLOCK": 8}, (4,))


def rooting() -> Launch:
    """The root of -1 is element 3 of program instance 1."""
    x = np.ones(16, np.float32)
    x[11] = -1
    return take(roots, (x, np.zeros(16, np.float32)), {"BLOCK": 8}, (2,))


_sessions: list[Session] = []


def close_all() -> None:
    """Ends what a test has opened."""
    while _sessions:
        _sessions.pop().close()


def opened(launch: Launch, program: Any = None) -> Commands:
    """A prompt that stands at the first line of a program instance."""
    commands = Commands(Session(launch))
    _sessions.append(commands.session)
    commands.first = program
    commands.arrived(commands.session.start(program))
    return commands


def line(commands: Commands) -> int:
    """The line where the session stands."""
    return commands.stopped.frames[-1].line
