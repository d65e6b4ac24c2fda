"""`blockstep dump`: what the compiler makes of a kernel that a script launches."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from blockstep.commands.command import Command
from blockstep.commands.scripts import add_script, execute, open_session

STAGES = {
    "layouts": "draw each layout of the placed IR",
    "llvm": "print the LLVM IR",
    "ptx": "print the PTX",
    "resources": "print registers, spills, shared memory and occupancy",
}


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument("--after", metavar="PASS", help="run the passes up to this one first")
    sub.add_argument("--no-locations", action="store_true", help="leave source lines out")
    for stage, text in STAGES.items():
        sub.add_argument(f"--{stage}", action="store_true", help=text)


def _dump(told: Any) -> int:
    from blockstep.runtime.dumping import Dumper

    if told.kernel is None:
        raise ValueError("name the kernel: dump script.py --kernel NAME")
    open_session(told)
    stages = tuple(stage for stage in STAGES if getattr(told, stage))
    dumper = Dumper(told.kernel, told.after, not told.no_locations, stages)
    dumper.install()
    status = execute(told)
    if not dumper.done:
        print(f"blockstep: {dumper.missed()}", file=sys.stderr)
        return 2
    return status


DUMP = Command(
    "dump",
    "run a script up to a launch of one kernel and print what the compiler makes of it",
    _arguments,
    _dump,
    late=("--kernel", "--after", "--no-locations", "--target", *(f"--{s}" for s in STAGES)),
)
