"""`blockstep debug`: a script, or a launch in a replay file, under the debugger.

Exit status: the script's; 2 where there was nothing to stop in; with `--batch` 1 where a command was
refused.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import Any, TextIO

from blockstep import target
from blockstep.commands.command import Command
from blockstep.commands.scripts import add_script, execute, open_session
from blockstep.language.function import current_launcher, launching
from blockstep.options import Options, parse_program
from blockstep.runtime import factories, session


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument(
        "--launch", type=int, metavar="N", dest="number",
        help="stop in the N-th launch of the kernel, from 1",
    )  # fmt: skip
    sub.add_argument(
        "--commands", "-x", metavar="FILE", action="append", default=[],
        help="run the commands in FILE first; several are run in order",
    )  # fmt: skip
    sub.add_argument(
        "--batch", action="store_true",
        help="no terminal: commands from --commands or standard input, answers as JSON, one a line",
    )  # fmt: skip
    sub.add_argument(
        "--post-mortem", action="store_true",
        help="judge the script, and stop only where a launch fails, with the fault in sight",
    )  # fmt: skip
    how = sub.add_mutually_exclusive_group()
    how.add_argument("--plain", action="store_true", help="lines of text, also on a terminal")
    how.add_argument("--tui", action="store_true", help="the full screen")
    how.add_argument("--pdb", action="store_true", help="stop in pdb; what it lacks: see the docs")


def _debug(told: Any) -> int:
    if told.pdb:
        return _in_pdb(told)
    if told.number is not None and told.number < 1:
        raise ValueError(f"--launch is a number from 1, not {told.number}")
    if told.tui and told.batch:
        raise ValueError("--batch has no screen")
    from blockstep.debugger.replay import is_replay

    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr) if told.batch else contextlib.nullcontext():
        if (
            told.script
            and not told.module
            and os.path.exists(told.script)
            and is_replay(told.script)
        ):
            return _replay(told, out)
        return _script(told, out)


def _script(told: Any, out: TextIO) -> int:
    """The script, with the debugger in the place of the launcher."""
    from blockstep.debugger.commands.console import Wanted

    console = Wanted(told.commands, told.batch, out).console()
    open_session(told, judged=told.post_mortem, stops=True)
    opening = _opening(told, console, out)
    opening.program = parse_program(told.program) if told.program else None
    with launching(opening), factories.factories:
        status = execute(told)
    if not opening.stopped:
        print(f"blockstep: {opening.missed()}", file=sys.stderr)
        return status or (0 if told.post_mortem else 2)
    return status or _of_batch(told, console)


def _opening(told: Any, talks: Any, out: TextIO) -> Any:
    from blockstep.debugger.commands.console import is_plain
    from blockstep.debugger.opening import Opening

    return Opening(
        _screen(told, talks), current_launcher(), told.kernel, number=told.number, seed=told.seed,
        post_mortem=told.post_mortem, plain=is_plain(out), color=_colored(told, out),
        said=lambda text: print(f"blockstep: {text}", file=sys.stderr),
    )  # fmt: skip


def _replay(told: Any, out: TextIO) -> int:
    """The launch in a replay file."""
    from blockstep.debugger.commands.console import Wanted, is_plain
    from blockstep.debugger.opening import show
    from blockstep.debugger.replay import read

    replay = read(told.script)
    target.select(told.target or replay.target)
    session.set_process(session.make(Options(machine="auto")))
    console = Wanted(told.commands, told.batch, out).console()
    program = parse_program(told.program) if told.program else None
    first = replay.commands
    if program is not None:  # not to where the session stood that saved it
        first = tuple(line for line in first if not line.startswith(("run ", "position ")))
    show(
        replay.launch(), _screen(told, console), program, replay.seed, is_plain(out),
        _colored(told, out), first,
    )  # fmt: skip
    return _of_batch(told, console)


def _screen(told: Any, console: Any) -> Any:
    """The full screen where it is asked for, else the prompt."""
    if not told.tui:
        return console
    from blockstep.debugger.commands.lines import commands_in
    from blockstep.debugger.screen import Talk

    lines = [line for file in told.commands for line in commands_in(file)]
    return Talk([*console.first, *lines])


def _colored(told: Any, out: TextIO) -> bool:
    return out.isatty() and not told.batch and "NO_COLOR" not in os.environ


def _of_batch(told: Any, console: Any) -> int:
    return 1 if told.batch and console.prompt.refused else 0


def _in_pdb(told: Any) -> int:
    from blockstep.debugger.stopping import Stop

    if told.batch or told.commands or told.post_mortem or told.number:
        raise ValueError("--pdb goes with --kernel and --program only")
    opened = open_session(told, stops=True)
    program = parse_program(told.program) if told.program else None
    stop = opened.on_instance = Stop(told.kernel, program)
    status = execute(told)
    if not stop.done:
        print(f"blockstep: {stop.missed()}", file=sys.stderr)
        return status or 2
    return status


DEBUG = Command(
    "debug",
    "run a script, or a replay file, and stop at the first line of a program instance",
    _arguments,
    _debug,
    late=(
        "--kernel",
        "--program",
        "--launch",
        "--commands",
        "-x",
        "--batch",
        "--post-mortem",
        "--plain",
        "--tui",
        "--pdb",
    ),
)
