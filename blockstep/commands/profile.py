"""`blockstep profile SCRIPT`: what the launches cost on the ptx machine, by line of the kernel.

Nothing is timed and no GPU is needed: instructions, sectors of global memory and wavefronts of shared
memory are counted. `profile FILE.ptx` takes the launch from the arguments of `blockstep ptx`.

Exit status: 0, or 2 where the script failed, launched no such kernel, or cannot be run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from blockstep.commands import ptx
from blockstep.commands.command import Command
from blockstep.commands.scripts import add_script, execute, open_session
from blockstep.errors import UnsupportedError
from blockstep.options import PTX
from blockstep.runtime.ptx.profile_text import profile_json, profile_text
from blockstep.runtime.ptx.profiling import KernelProfile, Profile


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument("--lines", type=int, default=12, metavar="N", help="lines of a kernel to show")
    sub.add_argument("--json", metavar="FILE", help="write every line as JSON (- for stdout)")


def _profile(told: Any) -> int:
    if told.script is not None and told.script.endswith(".ptx"):
        kernels, status = [_file(told)], 0
    else:
        kernels, status = _script(told)
    if told.json:
        text = json.dumps(profile_json(kernels), indent=2)
        if told.json == "-":
            print(text)
        else:
            Path(told.json).write_text(text + "\n")
    if told.json != "-":
        for kernel in kernels:
            print(profile_text(kernel, told.lines, sys.stdout.isatty()))
    return status


def _script(told: Any) -> tuple[list[KernelProfile], int]:
    if told.machine not in (None, PTX):
        raise ValueError(f"the ptx machine counts, not the {told.machine} machine")
    told.machine = PTX
    opened = open_session(told)
    profile = Profile(told.kernel)
    opened.watchers = profile.watchers
    status = execute(told)
    profile.close()
    if status != 0:
        print(f"the script failed: exit status {status}", file=sys.stderr)
    if not profile.kernels:
        launched = ", ".join(sorted(profile.others)) or "none"
        wanted = f"kernel {told.kernel!r}" if told.kernel else "kernel"
        print(
            f"blockstep: the script launched no {wanted}; it launched: {launched}", file=sys.stderr
        )
        return [], 2
    return list(profile.kernels.values()), 2 if status else 0


def _file(told: Any) -> KernelProfile:
    parser = argparse.ArgumentParser(prog="blockstep profile FILE.ptx")
    ptx.add_launch(parser)
    parser.add_argument("--lines", type=int, default=told.lines)
    parser.add_argument("--json", default=told.json)
    words = parser.parse_args(told.arguments, argparse.Namespace(file=told.script))
    told.lines, told.json = words.lines, words.json
    try:
        return ptx.profile(words)
    except (UnsupportedError, TypeError) as error:
        raise ValueError(str(error)) from None


PROFILE = Command(
    "profile",
    "count, by line of the kernel, what a script's launches cost on the ptx machine",
    _arguments,
    _profile,
    late=("--kernel", "--json", "--lines"),
)
