"""`blockstep precision`: each launch of a script with float64 beside every float value.

Reports go to stdout as launches are made. Exit status: 0, 1 if an output differs from its reference by
more than rounding, 2 if the script failed or launched nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from blockstep.commands.command import Command
from blockstep.commands.judging import write_html
from blockstep.commands.scripts import add_script, execute, launches_of, open_session
from blockstep.diagnostics.decisions import MOST
from blockstep.findings import Filters, Report


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument("--launch", metavar="N[:M]", help="measure only these launches, from 1")
    sub.add_argument("--all", action="store_true", help="measure every program instance")
    sub.add_argument(
        "--reference", action="append", default=[], metavar="NAME=FILE.npy",
        help="what an argument should be after the launch: drift or bug",
    )  # fmt: skip
    sub.add_argument(
        "--html", metavar="FILE", help="write one HTML page, sources beside the numbers"
    )
    sub.add_argument("--top", type=int, default=MOST, metavar="N", help="list N decisions at most")
    sub.add_argument(
        "--compiled", action="store_true", help="measure what fast code costs, on the ptx machine"
    )
    sub.add_argument(
        "--dtypes", metavar="NAMES",
        help="instead: each launch in several formats (fp8e4nv,fp8e5,bf16,fp16,tf32,fp32)",
    )  # fmt: skip
    sub.add_argument("--svg", metavar="FILE", help="with --dtypes: the last table as a picture")
    sub.add_argument("--json", metavar="FILE", help="the numbers as JSON (- for stdout)")


def _references(given: list[str]) -> dict[str, Any]:
    found = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not equals:
            raise ValueError(f"--reference is NAME=FILE.npy, not {text!r}")
        found[name] = np.load(file)
    return found


def _formats(told: Any) -> tuple[str, ...]:
    from blockstep.runtime.whatif.comparing import format_named

    if told.svg and not told.dtypes:
        raise ValueError("--svg is the picture of --dtypes")
    names = tuple(n.strip() for n in told.dtypes.split(",")) if told.dtypes else ()
    for name in names:
        format_named(name)
    return names


def _precision(told: Any) -> int:
    from blockstep.language.function import current_launcher, register_launcher
    from blockstep.runtime.precision import Measurer

    open_session(told)
    filters = Filters(kernel=told.kernel, launches=launches_of(told.launch))
    lines = sys.stderr if told.json == "-" else sys.stdout

    def tell(text: object) -> None:
        print(text, end="\n\n", file=lines, flush=True)

    measurer = Measurer(
        lambda report: tell(report.text(told.top)), told.all, told.compiled,
        _references(told.reference), _formats(told), tell, judges=filters.judges,
        before=current_launcher(),
    )  # fmt: skip
    register_launcher(measurer)
    status = execute(told)
    if told.svg and measurer.tables:
        with open(told.svg, "w", encoding="utf-8") as picture:
            picture.write(measurer.tables[-1].svg())
    if told.json:
        found: list[Any] = [*measurer.reports, *measurer.tables]
        text = json.dumps([one.to_json() for one in found], indent=1)
        if told.json == "-":
            print(text)
        else:
            with open(told.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    if told.html:
        write_html(Report(), told, "precision", measured=measurer.reports, judged=False)
    if status != 0 or not (measurer.reports or measurer.tables):
        what = f"exit status {status}" if status else "it launched nothing that was to be measured"
        print(f"the script failed: {what}", file=sys.stderr)
        return 2
    for name in measurer.unused:
        print(f"--reference {name}: no launch that was measured writes it", file=sys.stderr)
    if measurer.unused:
        return 2
    return int(any(v.answer == "bug" for r in measurer.reports for v in r.verdicts))


PRECISION = Command(
    "precision",
    "run a script with float64 beside every value: where bits are lost, and what gives them back",
    _arguments,
    _precision,
    late=(
        "--kernel",
        "--launch",
        "--reference",
        "--json",
        "--top",
        "--compiled",
        "--dtypes",
        "--svg",
        "--all",
    ),
)
