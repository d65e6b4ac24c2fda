"""The debugger's commands from wherever a kernel stands: pdb, `breakpoint()`, IPython, a plain print.

    (Pdb) from blockstep.debugger import here
    (Pdb) here.blame("out[3]")

In pdb the same are commands by themselves: `blame out[3]`, `info masks`. `here.debug()` opens the debugger
itself on this launch, in this program instance; afterwards pdb goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.console import Wanted
from blockstep.debugger.commands.reply import Refused
from blockstep.debugger.opening import show
from blockstep.debugger.still import CannotRun, Still, calling_frame, frames_of_stack
from blockstep.language import op as language_op
from blockstep.runtime import held
from blockstep.runtime.ladder.launch import Launch, take

_answering: ContextVar[bool] = ContextVar("blockstep_answering", default=False)


def run(line: str, frame: FrameType | None = None) -> str:
    """Does one command of the debugger, without running the kernel, at the kernel's frame that is
    nearest to `frame` (None: to the caller); what it answers. Raises Refused."""
    if _answering.get():  # the kernel runs again for the sake of an answer
        return ""
    launch = _running()
    inner = frame or calling_frame()
    with _outside(launch) as again:
        still = Still(again, _program(), frames_of_stack(inner))
        commands = Commands(still)  # type: ignore[arg-type]
        commands.arrived(still.stop)
        try:
            return commands.run_line(line).text
        except CannotRun as reason:
            raise Refused(str(reason)) from None


def blame(element: str) -> None:
    """Prints who wrote an element, in the whole launch. Raises Refused."""
    _say(run(f"blame {element}", calling_frame()))


def who(element: str) -> None:
    """Prints every access to an element, in the whole launch. Raises Refused."""
    _say(run(f"who {element}", calling_frame()))


def info(subject: str) -> None:
    """Prints what `info` says. Raises Refused."""
    _say(run(f"info {subject}", calling_frame()))


def plot(expression: str) -> None:
    """Prints a picture of a block or an argument. Raises Refused."""
    _say(run(f"plot {expression}", calling_frame()))


def diff() -> None:
    """Prints how the launch compares with its compiled forms. Raises Refused."""
    _say(run("diff", calling_frame()))


def save(file: str) -> None:
    """Writes the launch into a replay file. Raises Refused."""
    _say(run(f"save {file}", calling_frame()))


def _say(text: str) -> None:
    if text:
        print(text)


def debug() -> None:
    """Opens the debugger on this launch, at the first line of this program instance. Memory is
    afterwards as it was. Raises Refused."""
    if _answering.get():
        return
    launch = _running()
    program = _program()
    with _outside(launch) as again, launch.as_before():
        console = Wanted().console()
        show(again, console, program, launch.seed)


def _running() -> held.Held:
    launch = held.running()
    if launch is None:
        raise Refused("no kernel is running here")
    if launch.saved is None:
        raise Refused(f"{held.why_not()}; `blockstep debug` stops in launches of any size")
    return launch


def _program() -> Any:
    scheduler = getattr(language_op.machine.get(None), "scheduler", None)
    return getattr(scheduler, "program", None)


@contextmanager
def _outside(launch: held.Held) -> Iterator[Launch]:
    """The launch once more, its memory from before it noted, memory itself as it is now; no machine
    is in force."""
    token = language_op.machine.set(None)  # type: ignore[arg-type]
    asked = _answering.set(True)
    try:
        with launch.as_before():
            again = take(launch.function, launch.args, launch.kwargs, launch.grid, launch.host)
            again.number = launch.number or None
        yield again
    finally:
        _answering.reset(asked)
        language_op.machine.reset(token)


__all__ = ["blame", "debug", "diff", "info", "plot", "run", "save", "who"]
