"""The memory of a launch as it was before it, so that a debugger can run a launch that failed again.

A launch on an interpreting machine is held while it runs, and kept if it ends in an exception or, where
it is judged, with an error; one at a time, in memory only. A copy of memory costs as much as a small
kernel: where nobody can be expected to ask (no debugger, no prompt, no `ask`) only launches of at most
`UNASKED` bytes are held, and none of more than `LARGEST`. What a debugger can still do then it says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from blockstep.findings import Finding, Report, Span
from blockstep.interp.memory import AddressSpace
from blockstep.language.function import JITFunction
from blockstep.runtime import gridded

LARGEST = 64 << 20  # bytes
UNASKED = 256 << 10

Saved = list[tuple[Any, Any]]


@dataclass(slots=True, eq=False)
class Held:
    """A launch, and the bytes of its memory from before; `saved` is None for one that is too large.
    `error` is what it ended in, `findings` the errors that were found in it."""

    function: JITFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grid: tuple[int, int, int]
    host: Span | None
    number: int
    saved: Saved | None
    seed: int = 0
    error: BaseException | None = None
    findings: tuple[Finding, ...] = ()

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Memory is as before the launch inside, and afterwards what it was."""
        assert self.saved is not None
        now = [(data, data.copy()) for data, _ in self.saved]
        try:
            for data, before in self.saved:
                data[...] = before
            yield
        finally:
            for data, kept in now:
                data[...] = kept


_failed: Held | None = None
_asked = False
_running: ContextVar[Held | None] = ContextVar("blockstep_held", default=None)


def last_failed() -> Held | None:
    """The last launch that ended in an exception or with an error; None: there was none."""
    return _failed


def ask() -> None:
    """From here on a debugger may open launches that failed."""
    global _asked
    _asked = True


def most() -> int:
    """Up to how many bytes a launch is held."""
    prompt = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    return LARGEST if _asked or prompt or gridded.debugged() else UNASKED


def why_not() -> str:
    """Why the memory of a launch was not kept."""
    if most() == LARGEST:
        return f"its arguments are more than {LARGEST >> 20} MiB, and what was in them before is not kept"
    return (
        f"its arguments are more than {UNASKED >> 10} KiB, and what was in them before is only kept under "
        "`blockstep check --debug`, at a prompt, or under a debugger"
    )


def running() -> Held | None:
    """The launch that is running in this context."""
    return _running.get()


def forget() -> None:
    """Lets go of the last launch that failed, and of its arrays."""
    global _failed
    _failed = None


@contextmanager
def held(
    function: JITFunction, args: tuple[Any, ...], kwargs: dict[str, Any],
    grid: tuple[int, int, int], host: Span | None, number: int, space: AddressSpace,
    report: Report | None, seed: int,
) -> Iterator[None]:  # fmt: skip
    """Holds a launch while it runs inside. `report`: where its findings are filed, if it is judged."""
    global _failed
    saved = _saved(space, judged=report is not None)
    launch = Held(function, args, kwargs, grid, host, number, saved, seed)
    token = _running.set(launch)
    try:
        yield
    except BaseException as error:
        launch.error = error
        launch.findings = _errors(report, number)
        _failed = launch
        raise
    finally:
        _running.reset(token)
    launch.findings = _errors(report, number)
    if launch.findings:
        _failed = launch


def _saved(space: AddressSpace, judged: bool) -> Saved | None:
    """The bytes, and which of them had been written where that is looked at."""
    storages = [s for s in space.storages if not s.readonly]
    if sum(s.nbytes for s in storages) > most():
        return None
    arrays: list[Any] = [s.data for s in storages]
    arrays += [s.written for s in storages if judged and s.written is not None]
    return [(array, array.copy()) for array in arrays]


def _errors(report: Report | None, number: int) -> tuple[Finding, ...]:
    if report is None:
        return ()
    return tuple(f for f in report.errors if f.launch == number)


__all__ = [
    "LARGEST",
    "UNASKED",
    "Held",
    "ask",
    "forget",
    "held",
    "last_failed",
    "running",
    "why_not",
]
