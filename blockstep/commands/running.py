"""`blockstep run | check`: a script on our machines, unjudged or judged."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from blockstep.commands.command import Command
from blockstep.commands.judging import add_judging, tell, write_html
from blockstep.commands.scripts import add_script, execute, open_session
from blockstep.language.function import current_launcher, register_launcher
from blockstep.runtime import children, factories, session
from blockstep.runtime.capture import Captures


def _run(told: Any) -> int:
    open_session(told)
    if told.tui:
        from blockstep.debugger.screen import talk
        from blockstep.debugger.screen.hooking import install

        install(talk)
    return execute(told)


def _run_arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument(
        "--tui", action="store_true", help="breakpoint() in a kernel opens the debugger's full screen"
    )  # fmt: skip


def _check(told: Any) -> int:
    opened = open_session(told, judged=True)
    if told.html:
        opened.captures = Captures(bool(told.precision))
        opened.report.captured = opened.captures.kept
    if told.debug:
        _open_where_it_fails(told)
    started = children.Children(opened.options, True, not told.no_device_map)
    with factories.factories:
        status = execute(told)
    session.finish(opened)
    started.collect(opened)
    tell(opened.report, told)
    if told.html:
        write_html(opened.report, told)
    if status != 0:
        print(f"the script failed: exit status {status}", file=sys.stderr)
    return opened.report.exit_code(status != 0)


def _open_where_it_fails(told: Any) -> None:
    """The debugger is opened in each launch that fails."""
    from blockstep.debugger.commands.console import Wanted, is_plain
    from blockstep.debugger.opening import Opening

    console = Wanted().console()
    opening = Opening(console, current_launcher(), told.kernel, seed=told.seed, post_mortem=True)
    opening.plain = is_plain(sys.stdout)
    register_launcher(opening)


def _check_arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    add_judging(sub)
    sub.add_argument("--debug", action="store_true", help="open the debugger where a launch fails")


RUN = Command(
    "run", "run a script with `import triton` meaning blockstep, unjudged", _run_arguments, _run
)
CHECK = Command(
    "check",
    "run a script with the checkers on; exit 1 if there is an error",
    _check_arguments,
    _check,
)
