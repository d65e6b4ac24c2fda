"""The command line: `blockstep run | check | debug | dump | explain`.

Exit status: 0 clean, 1 an error was found, 2 the script failed or the command line was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import blockstep
from blockstep import allow as allow_lists
from blockstep import diagnostics, export, target
from blockstep.findings import CHECKERS, KINDS, Severity, unknown_names
from blockstep.options import (
    MACHINES,
    Options,
    machine_from_environment,
    parse_program,
    parse_programs,
)
from blockstep.runtime import children, factories, redirect, script, session


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    if not words:
        parser.print_help()
        return 2
    own, rest = _split(words)
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


_WITH_VALUE = frozenset(
    "--only --skip --kernel --launch --max-findings --seed --seeds --program --programs --json "
    "--sarif --allow --write-allow --fail-on --target --machine --after".split()
)

STAGES = {
    "layouts": "draw each layout of the placed IR",
    "llvm": "print the LLVM IR",
    "ptx": "print the PTX",
    "resources": "print registers, spills, shared memory and occupancy",
}

_AFTER_SCRIPT = {
    "debug": ("--kernel", "--program"),
    "dump": (
        "--kernel",
        "--after",
        "--no-locations",
        "--target",
        *(f"--{stage}" for stage in STAGES),
    ),
}


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our own words, up to and with the script (or `-m module`); the rest are the script's.

    `debug script.py --kernel K --program X,Y,Z` also takes where to stop from after the script, and
    `dump script.py --kernel K --after PASS` what to print."""
    own, rest = _split_at_script(words)
    late = _AFTER_SCRIPT.get(words[0], ())
    while rest and (option := rest[0].partition("=")[0]) in late:
        taken = 2 if option in _WITH_VALUE and "=" not in rest[0] else 1
        own, rest = own + rest[:taken], rest[taken:]
    if late and rest[:1] == ["--"]:
        rest = rest[1:]
    return own, rest


def _split_at_script(words: list[str]) -> tuple[list[str], list[str]]:
    index = 1
    while index < len(words):
        word = words[index]
        if word == "-m":
            return words[: index + 2], words[index + 2 :]
        if word == "--":
            return words[:index] + words[index + 1 : index + 2], words[index + 2 :]
        if not word.startswith("-"):
            return words[: index + 1], words[index + 1 :]
        index += 2 if word in _WITH_VALUE else 1
    return words, []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="blockstep",
        description="Run, judge and debug Triton kernels, with or without a GPU.",
    )
    parser.add_argument("--version", action="version", version=f"blockstep {blockstep.__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    for name, command, text in (
        ("run", _run, "run a script with `import triton` meaning blockstep, unjudged"),
        ("check", _check, "run a script with the checkers on; exit 1 if there is an error"),
        ("debug", _debug, "run a script and stop in pdb at the first line of a program instance"),
        (
            "dump",
            _dump,
            "run a script up to a launch of one kernel and print what the compiler makes of it",
        ),
    ):
        sub = commands.add_parser(name, help=text, description=text)
        _common(sub)
        if name == "check":
            _judging(sub)
        if name == "dump":
            _stages(sub)
        sub.set_defaults(command=command, judged=name == "check")
    explain = commands.add_parser("explain", help="what a kind of finding means")
    explain.add_argument("kind", help="a kind or a checker: race, out-of-bounds, …")
    explain.set_defaults(command=_explain)
    return parser


def _common(sub: argparse.ArgumentParser) -> None:
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


def _stages(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--after", metavar="PASS", help="run the passes up to this one first")
    sub.add_argument("--no-locations", action="store_true", help="leave source lines out")
    for stage, text in STAGES.items():
        sub.add_argument(f"--{stage}", action="store_true", help=text)


def _judging(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--only", metavar="NAMES", help="judge only these checkers or kinds (a,b)")
    sub.add_argument("--skip", metavar="NAMES", help="leave these checkers or kinds out")
    sub.add_argument("--precision", action="store_true", help="say where each NaN is born, too")
    sub.add_argument("--launch", metavar="N[:M]", help="judge only these launches, from 1")
    sub.add_argument("--max-findings", type=int, metavar="N", help="keep at most N findings")
    sub.add_argument("--seeds", type=int, default=1, metavar="N", help="try N orders")
    sub.add_argument("--fail-on", choices=[s.value for s in Severity], default="error")
    sub.add_argument("--json", metavar="FILE", help="write the findings as JSON (- for stdout)")
    sub.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0")
    sub.add_argument("--allow", metavar="FILE", help="an allow-list of expected findings")
    sub.add_argument("--write-allow", metavar="FILE", help="write an allow-list from what is found")


def _names(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    names = frozenset(part.strip() for part in text.split(",") if part.strip())
    unknown = unknown_names(names)
    if unknown:
        known = ", ".join((*CHECKERS, *(k for k in KINDS if k not in CHECKERS)))
        raise ValueError(f"no checker or kind is called {', '.join(unknown)}; there are {known}")
    return names


def _launches(text: str | None) -> tuple[int, int | None] | None:
    if text is None:
        return None
    first, colon, last = text.partition(":")
    if not first.isdigit() or not (last.isdigit() or not last) or int(first) < 1:
        raise ValueError(f"--launch is N, N: or N:M, counted from 1, not {text!r}")
    return int(first), int(last) if last else (None if colon else int(first))


def _options(told: Any) -> Options:
    programs = parse_programs(told.programs) if told.programs else None
    if told.program and told.command is not _debug:
        programs = (parse_program(told.program),)
    return Options(
        machine=told.machine or machine_from_environment(),
        judged=told.judged,
        seed=told.seed,
        seeds=getattr(told, "seeds", 1),
        programs=programs,
        only=_names(getattr(told, "only", None)),
        skip=_names(getattr(told, "skip", None)) or frozenset(),
        precision=getattr(told, "precision", False),
        kernel=told.kernel if told.judged else None,
        launches=_launches(getattr(told, "launch", None)),
        max_findings=getattr(told, "max_findings", None),
        fail_on=getattr(told, "fail_on", "error"),
        progress=sys.stderr.isatty() and told.command is not _debug,
    )


def _open(told: Any) -> session.Session:
    """The process's session and the redirect, as the options say."""
    if (told.script is None) == (told.module is None):
        raise ValueError("name a script, or a module with -m")
    if told.script is not None and not os.path.exists(told.script):
        raise ValueError(f"no script {told.script!r} here")
    if told.target:
        target.select(told.target)
        os.environ[target.ENVIRONMENT] = told.target  # for threads and child processes
    target.current()  # a wrong BLOCKSTEP_TARGET is said now, not at the first launch
    allow = allow_lists.read(told.allow) if getattr(told, "allow", None) else None
    opened = session.make(_options(told), allow)
    session.set_process(opened)
    redirect.install(not told.no_device_map)
    return opened


def _execute(told: Any) -> int:
    return script.run(told.module or told.script, told.arguments, module=told.module is not None)


def _run(told: Any) -> int:
    _open(told)
    return _execute(told)


def _check(told: Any) -> int:
    opened = _open(told)
    started = children.Children(opened.options, True, not told.no_device_map)
    with factories.factories:
        status = _execute(told)
    session.finish(opened)
    started.collect(opened)
    _tell(opened, told)
    if status != 0:
        print(f"the script failed: exit status {status}", file=sys.stderr)
    return opened.report.exit_code(status != 0)


def _tell(opened: session.Session, told: Any) -> None:
    report = opened.report
    color = sys.stderr.isatty()
    text = diagnostics.render_all(report.findings, color)
    if text:
        print(text, file=sys.stderr)
    print(diagnostics.summary(report, color), file=sys.stderr)
    if told.json == "-":
        import json

        print(json.dumps(export.to_json(report), indent=2))
    elif told.json:
        export.write_json(report, told.json)
    if told.sarif:
        export.write_sarif(report, told.sarif)
    if told.write_allow:
        allow_lists.write(told.write_allow, report.findings)


def _debug(told: Any) -> int:
    from blockstep.debugger.stopping import Stop

    opened = _open(told)
    program = parse_program(told.program) if told.program else None
    stop = opened.on_instance = Stop(told.kernel, program)
    status = _execute(told)
    if not stop.done:
        print(f"blockstep: {stop.missed()}", file=sys.stderr)
        return status or 2
    return status


def _dump(told: Any) -> int:
    from blockstep.runtime.dumping import Dumper

    if told.kernel is None:
        raise ValueError("name the kernel: dump script.py --kernel NAME")
    _open(told)
    stages = tuple(stage for stage in STAGES if getattr(told, stage))
    dumper = Dumper(told.kernel, told.after, not told.no_locations, stages)
    dumper.install()
    status = _execute(told)
    if not dumper.done:
        print(f"blockstep: {dumper.missed()}", file=sys.stderr)
        return 2
    return status


def _explain(told: Any) -> int:
    print(diagnostics.explain(told.kind))
    return 0
