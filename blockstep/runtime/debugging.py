"""`blockstep.debug` and `blockstep.post_mortem`: the debugger from Python.

The debugger is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

from blockstep.interp import breakpoints
from blockstep.language.function import current_launcher, launching
from blockstep.options import Program
from blockstep.runtime import held


def debug(
    kernel: Any,
    args: Sequence[Any] = (),
    *,
    grid: Any,
    program: Program | None = None,
    commands: Iterable[str] | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> None:
    """Launches a kernel under the debugger: `blockstep.debug(add, (x, y, out, n), grid=(4,), BLOCK=8)`.

    It stops at the first line of `program` (x, y, z; None: of the first program instance). `commands`
    are done in place of what a person types; when they end, so does the session. Arrays are
    afterwards as the launch leaves them, if the session went on to its end. Raises what binding the
    arguments raises, and ValueError for a program instance outside of the grid."""
    from blockstep.debugger.python import opening

    with launching(opening(current_launcher(), program, commands, seed)):
        kernel[grid](*args, **kwargs)


def post_mortem(commands: Iterable[str] | None = None) -> None:
    """Opens the debugger on the last launch that failed, where it failed: by an exception of the
    kernel, or with an error that `blockstep.check` found. As `pdb.pm()` it is for a prompt, after
    the fault. Memory is afterwards as it was. Raises ValueError where no launch has failed."""
    from blockstep.debugger.python import opening

    failed = held.last_failed()
    if failed is None:
        raise ValueError("no launch has failed: there is nothing to look at")
    opening(current_launcher(), None, commands, failed.seed).autopsy(failed)


def _in_pdb(name: str) -> Callable[[str, FrameType], str]:
    def command(arg: str, frame: FrameType) -> str:
        from blockstep.debugger.here import run

        return run(f"{name} {arg}", frame)

    return command


for _name in ("blame", "who", "info", "plot", "diff", "save"):
    breakpoints.pdb_commands[_name] = _in_pdb(_name)

__all__ = ["debug", "post_mortem"]
