"""`blame_value`: where a variable of a stopped kernel came from.

The instance runs again until it stands where it is stopped: at the same line of the same calls, with
the same values in all variables. So nothing has to be known of the session but its frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

import numpy as np

from blockstep.debugger.blame.following import followed
from blockstep.debugger.blame.running import aside, run
from blockstep.findings.blame import Chain
from blockstep.interp.blame.drafts import Draft
from blockstep.interp.blame.log import WriteLog
from blockstep.interp.blame.slice import Slice
from blockstep.interp.blame.tape import Enough, Tape
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.language.constant import unwrap
from blockstep.language.frames import is_kernel
from blockstep.language.value import tensor
from blockstep.runtime.ladder.launch import Launch


class Frame(Protocol):
    """One call of a stopped kernel."""

    @property
    def function(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def locals(self) -> Mapping[str, Any]: ...


class _Finder:
    """A trace function that ends the run where an instance stands as `frames` say."""

    def __init__(self, program: Program, frames: Sequence[Frame]) -> None:
        self.program, self.frames = program, frames
        self.scheduler: Scheduler | None = None
        self.locals: Mapping[str, Any] | None = None  # of the call that is asked about
        self.at = -1

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`."""
        return self._local if event == "call" and is_kernel(frame.f_code) else None

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        assert self.scheduler is not None
        mine = self.scheduler.program == self.program
        if mine and event in ("line", "return") and self._is_here(frame):
            raise Enough
        return self._local

    def _is_here(self, frame: FrameType) -> bool:
        stack: list[FrameType] = []
        inner: FrameType | None = frame
        while inner is not None:
            if is_kernel(inner.f_code):
                stack.insert(0, inner)
            inner = inner.f_back
        if len(stack) != len(self.frames):
            return False
        if any(not _same_place(a, b) for a, b in zip(stack, self.frames, strict=True)):
            return False
        if any(not _same_values(a, b) for a, b in zip(stack, self.frames, strict=True)):
            return False
        self.locals = dict(stack[self.at].f_locals)
        return True


def _same_place(frame: FrameType, wanted: Frame) -> bool:
    code = frame.f_code
    return (frame.f_lineno, code.co_filename, code.co_name) == (
        wanted.line, wanted.file, wanted.function,
    )  # fmt: skip


def _same_values(frame: FrameType, wanted: Frame) -> bool:
    found = frame.f_locals
    return all(name in found and _same(found[name], x) for name, x in wanted.locals.items())


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, tensor) and isinstance(y, tensor):
        return str(x.type) == str(y.type) and _bytes(x) == _bytes(y)
    x, y = unwrap(x), unwrap(y)
    return x == y if isinstance(x, int | float | str) and isinstance(y, type(x)) else True


def _bytes(x: tensor) -> bytes:
    return np.broadcast_to(np.asarray(x.handle), x.type.shape).tobytes()


@dataclass(slots=True, eq=False)
class _Variable:
    """A question about a variable."""

    launch: Launch
    program: Program
    name: str
    index: tuple[int, ...]
    frames: Sequence[Frame]
    at: int
    seed: int
    _value: Any = None
    _tape: Tape | None = None

    def run(self, tapes: dict[Program, Tape]) -> tuple[WriteLog, str]:
        """A run up to where the kernel stands. Raises LookupError where it does not come there."""
        self.launch.memory.restore()
        log = WriteLog()
        log.wanted = dict(tapes)
        window = any(tape.until is not None for tape in tapes.values())
        finder = None if window else _Finder(self.program, self.frames)
        if finder is not None:
            finder.at = self.at
        run(self.launch, log, self.seed, None, finder)
        if finder is not None:
            if finder.locals is None:
                raise LookupError("the launch does not come to this place again with these values")
            self._value, self._tape = finder.locals[self.name], tapes[self.program]
        return log, ""

    def head(self, slicing: Slice) -> Draft:
        """The operation that made the value."""
        assert self._tape is not None
        return slicing.value(self._tape.known(self._value), self.index, self._tape)

    def first(self, log: WriteLog) -> list[Program]:
        """Nobody else."""
        return []


def blame_value(
    launch: Launch, program: Program, frames: Sequence[Frame], name: str, index: Sequence[int],
    *, at: int = -1, seed: int = 0,
) -> Chain:  # fmt: skip
    """Where one element of a variable came from. `frames` are the calls of the stopped instance, the
    innermost last (`Stop.frames`), `at` which of them has the variable.

    Raises LookupError for a name that is no value there, and where the launch does not come to the
    place again; IndexError for an index outside of the block."""
    value, place = frames[at].locals.get(name), tuple(int(i) for i in index)
    if not isinstance(value, tensor) or value.type.scalar.is_ptr():
        raise LookupError(f"`{name}` is no value of numbers here")
    inside = len(place) == len(value.shape) and all(
        0 <= i < n for i, n in zip(place, value.shape, strict=True)
    )
    if not inside:
        raise IndexError(f"{name}[{', '.join(map(str, place))}] is outside of {value.type}")
    with aside(launch):
        asked = _Variable(launch, program, name, place, frames, at, seed)
        return followed(asked, [program])


__all__ = ["Frame", "blame_value"]
