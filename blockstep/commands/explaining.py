"""`blockstep explain KIND`: what a kind of finding means, with the smallest program that has it."""

from __future__ import annotations

import argparse
from typing import Any

from blockstep import diagnostics
from blockstep.commands.command import Command


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("kind", help="a kind or a checker: race, out-of-bounds, …")


def _explain(told: Any) -> int:
    print(diagnostics.explain(told.kind))
    return 0


EXPLAIN = Command("explain", "what a kind of finding means", _arguments, _explain, script=False)
