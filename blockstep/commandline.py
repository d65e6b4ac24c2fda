"""The command line: `blockstep run | check | verify | precision | debug | dump | profile | ptx | explain`.

Exit status: 0 clean, 1 an error was found, 2 the script failed or the command line was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import blockstep
from blockstep.commands.command import Command
from blockstep.commands.debugging import DEBUG
from blockstep.commands.dumping import DUMP
from blockstep.commands.explaining import EXPLAIN
from blockstep.commands.precision import PRECISION
from blockstep.commands.profile import PROFILE
from blockstep.commands.ptx import PTX
from blockstep.commands.running import CHECK, RUN
from blockstep.commands.verifying import VERIFY
from blockstep.findings.precision_bounds import NAN, is_bounds

COMMANDS = {c.name: c for c in (RUN, CHECK, VERIFY, PRECISION, DEBUG, DUMP, PROFILE, PTX, EXPLAIN)}

# Options that take a value, of any command that runs a script: what follows one is no script.
WITH_VALUE = frozenset(
    "--only --skip --kernel --launch --max-findings --seed --seeds --program --programs --json "
    "--sarif --allow --write-allow --shrink --fail-on --target --machine --after --lines "
    "--compiler --triton-python --reference --commands -x --html --top --dtypes --svg".split()
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    if not words:
        parser.print_help()
        return 2
    own, rest = _split(words, COMMANDS.get(words[0]))
    options = parser.parse_args(own)
    options.arguments = rest
    try:
        return int(options.command(options))
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (ValueError, OSError) as error:
        print(f"blockstep: {error}", file=sys.stderr)
        return 2


def _split(words: list[str], command: Command | None) -> tuple[list[str], list[str]]:
    """Our own words, up to and with the script (or `-m module`); the rest are the script's.

    `debug script.py --kernel K --program X,Y,Z` also takes where to stop from after the script, and
    `dump script.py --kernel K --after PASS` what to print."""
    if command is None or not command.script:
        return words, []
    own, rest = _split_at_script(words)
    while rest and (option := rest[0].partition("=")[0]) in command.late:
        taken = 2 if option in WITH_VALUE and "=" not in rest[0] else 1
        own, rest = own + rest[:taken], rest[taken:]
    if command.late and rest[:1] == ["--"]:
        rest = rest[1:]
    return own, rest


def _split_at_script(words: list[str]) -> tuple[list[str], list[str]]:
    index = 1
    while index < len(words):
        word = words[index]
        if word == "--precision":  # its value may be left out: what follows may be the script
            told = words[index + 1 : index + 2]
            taken = 1 + bool(told and is_bounds(told[0]))
            value = told[0] if taken == 2 else NAN
            words = [*words[:index], f"{word}={value}", *words[index + taken :]]
        if word == "-m":
            return words[: index + 2], words[index + 2 :]
        if word == "--":
            return words[:index] + words[index + 1 : index + 2], words[index + 2 :]
        if not word.startswith("-"):
            return words[: index + 1], words[index + 1 :]
        index += 2 if word in WITH_VALUE else 1
    return words, []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="blockstep",
        description="Run, judge and debug Triton kernels, with or without a GPU.",
    )
    parser.add_argument("--version", action="version", version=f"blockstep {blockstep.__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    for command in COMMANDS.values():
        sub = commands.add_parser(command.name, help=command.text, description=command.text)
        command.configure(sub)
        sub.set_defaults(command=command.run)
    return parser
