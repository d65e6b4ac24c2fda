"""`blockstep debug`: a script, or a launch in a replay file, under the debugger.

Exit status: the script's; 2 where there was nothing to stop in; with `--batch` 1 where a command was
refused.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from blockstep.commands.command import Command
from blockstep.commands.scripts import add_script, execute, launches_of, open_session
from blockstep.options import parse_program


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument("--launch", metavar="N", help="stop in the N-th launch of the kernel, from 1")
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
    from blockstep.debugger.opening import open_replay, open_script
    from blockstep.debugger.replay import is_replay

    if told.script and told.module is None and is_replay(told.script):
        return open_replay(told)
    return open_script(told)


def _in_pdb(told: Any) -> int:
    from blockstep.debugger.stopping import Stop

    if told.batch or told.commands or told.post_mortem or told.launch:
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
