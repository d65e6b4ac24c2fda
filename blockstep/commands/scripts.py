"""What commands that run a script share: its arguments, the session that they open, running it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from blockstep import allow as allow_lists
from blockstep import target
from blockstep.commands.judging import names
from blockstep.findings.precision_bounds import parse
from blockstep.options import (
    MACHINES,
    Options,
    machine_from_environment,
    parse_program,
    parse_programs,
)
from blockstep.runtime import redirect, script, session


def add_script(sub: argparse.ArgumentParser) -> None:
    """The arguments of every command that runs a script."""
    sub.add_argument("script", nargs="?", help="the script; everything after it is its own")
    sub.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    sub.add_argument("--machine", choices=MACHINES, help="which machine runs the launches")
    sub.add_argument("--seed", type=int, default=0, help="the order of program instances")
    sub.add_argument("--program", metavar="X,Y,Z", help="only (debug: stop in) this instance")
    sub.add_argument("--programs", metavar="X,Y,Z;…", help="run only these program instances")
    sub.add_argument("--kernel", metavar="NAME", help="judge (debug: stop in) only this kernel")
    sub.add_argument("--target", choices=sorted(target.TARGETS), help="the device that answers")
    sub.add_argument(
        "--no-device-map", action="store_true", help="leave torch's device='cuda' as it is"
    )


def open_session(told: Any, judged: bool = False, stops: bool = False) -> session.Session:
    """The process's session and the redirect, as the arguments say. `stops`: `--program` says where
    a debugger stops, and every instance runs. Raises ValueError for arguments that say nothing."""
    if (told.script is None) == (told.module is None):
        raise ValueError("name a script, or a module with -m")
    if told.script is not None and not os.path.exists(told.script):
        raise ValueError(f"no script {told.script!r} here")
    if told.target:
        target.select(told.target)
        os.environ[target.ENVIRONMENT] = told.target  # for threads and child processes
    target.current()  # a wrong BLOCKSTEP_TARGET is said now, not at the first launch
    allow = allow_lists.read(told.allow) if getattr(told, "allow", None) else None
    opened = session.make(_options(told, judged, stops), allow)
    session.set_process(opened)
    redirect.install(not told.no_device_map)
    return opened


def execute(told: Any) -> int:
    """Runs the script or module; its exit status."""
    return script.run(told.module or told.script, told.arguments, module=told.module is not None)


def _options(told: Any, judged: bool, stops: bool) -> Options:
    programs = parse_programs(told.programs) if told.programs else None
    if told.program and not stops:
        programs = (parse_program(told.program),)
    follows, bounds = parse(getattr(told, "precision", None) or "")
    return Options(
        machine=told.machine or machine_from_environment(),
        judged=judged,
        seed=told.seed,
        seeds=getattr(told, "seeds", 1),
        programs=programs,
        only=names(getattr(told, "only", None)),
        skip=names(getattr(told, "skip", None)) or frozenset(),
        precision=follows,
        bounds=bounds,
        kernel=told.kernel if judged else None,
        launches=launches_of(getattr(told, "launch", None)),
        max_findings=getattr(told, "max_findings", None),
        fail_on=getattr(told, "fail_on", "error"),
        progress=sys.stderr.isatty() and not stops,
    )


def launches_of(text: str | None) -> tuple[int, int | None] | None:
    """What `--launch N[:M]` asks for. Raises ValueError."""
    if text is None:
        return None
    first, colon, last = text.partition(":")
    if not first.isdigit() or not (last.isdigit() or not last) or int(first) < 1:
        raise ValueError(f"--launch is N, N: or N:M, counted from 1, not {text!r}")
    return int(first), int(last) if last else (None if colon else int(first))
