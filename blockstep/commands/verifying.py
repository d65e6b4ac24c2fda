"""`blockstep verify`: each launch of a script on every machine and after every pass.

Rungs go to stdout as launches are made, findings to stderr at the end. Exit status: 0 every rung
agrees, 1 one differs, 2 the script failed or nothing that was compiled could be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blockstep import diagnostics, export
from blockstep.commands.command import Command
from blockstep.commands.judging import write_html
from blockstep.commands.scripts import add_script, execute, launches_of, open_session
from blockstep.findings import Filters, Report, Severity
from blockstep.runtime import factories

if TYPE_CHECKING:
    from blockstep.runtime.ladder import Climb, Launch, Rung


_COMPILER = "whose code is run: ours after every pass, or that of the Triton that is installed"


def _arguments(sub: argparse.ArgumentParser) -> None:
    add_script(sub)
    sub.add_argument("--launch", metavar="N[:M]", help="verify only these launches, from 1")
    sub.add_argument("--max-findings", type=int, metavar="N", help="keep at most N findings")
    sub.add_argument("--fail-on", choices=[s.value for s in Severity], default="error")
    sub.add_argument("--json", metavar="FILE", help="rungs and findings as JSON (- for stdout)")
    sub.add_argument("--html", metavar="FILE", help="write one HTML page of rungs and findings")
    sub.add_argument(
        "--shrink", metavar="FILE", help="write a small reproducer of the first launch that differs"
    )
    sub.add_argument("--compiler", choices=("ours", "triton"), default="ours", help=_COMPILER)
    sub.add_argument("--triton-python", metavar="PATH", help="the interpreter that has Triton")
    sub.add_argument("--passes", action="store_true", help="show passes that change nothing, too")


@dataclass(slots=True, eq=False)
class _Teller:
    """Prints the rungs of each launch, and files what was found."""

    report: Report
    to: Any  # where lines go
    every: bool

    def __call__(self, climb: Climb) -> None:
        from blockstep.runtime.ladder.telling import text_of

        print(text_of(climb, self.every), file=self.to, flush=True)
        record = self.report.begin_launch(climb.kernel, climb.grid, "ladder")
        record.seconds = climb.seconds
        for finding in climb.findings:
            self.report.add(finding)


def _verify(told: Any) -> int:
    from blockstep.language.function import current_launcher, register_launcher
    from blockstep.runtime.ladder import Verifier, climb_json, summary
    from blockstep.runtime.ladder.telling import text_of

    open_session(told)
    filters = Filters(
        kernel=told.kernel, launches=launches_of(told.launch), max_findings=told.max_findings
    )
    report = Report(filters=filters, fail_on=Severity(told.fail_on))
    lines = sys.stderr if told.json == "-" else sys.stdout
    teller = _Teller(report, lines, told.passes)
    verifier = Verifier(judges=filters.judges, told=teller, before=current_launcher())
    verifier.shrinks = told.shrink or ""
    if told.compiler == "triton":
        if told.shrink:
            raise ValueError("--shrink makes reproducers for our compiler, not for Triton's")
        verifier.more, verifier.ours = _triton(told.triton_python), False
    register_launcher(verifier)
    with factories.factories:
        status = execute(told)
    text = diagnostics.render_all(report.findings, sys.stderr.isatty())
    if text:
        print(text, file=sys.stderr)
    print(summary(verifier.climbs), *verifier.said, sep="\n", file=lines)
    if told.json:
        _write({**export.to_json(report), "climbs": list(map(climb_json, verifier.climbs))}, told)
    if told.html:
        rungs = [text_of(climb, told.passes) for climb in verifier.climbs]
        write_html(report, told, "verify", "\n\n".join([*rungs, summary(verifier.climbs)]))
    if status != 0:
        print(f"the script failed: exit status {status}", file=sys.stderr)
    compared = bool(verifier.climbs) and all(c.compared or c.disagrees for c in verifier.climbs)
    return report.exit_code(status != 0 or not compared)


def _triton(python: str | None) -> Callable[[Launch], list[Rung]]:
    """The rung of the Triton that an interpreter has. Raises ValueError where it has none."""
    from blockstep.runtime.foreign import VARIABLE, NoTriton, Triton
    from blockstep.runtime.ladder.triton import TritonPtx

    triton = Triton(python)
    try:
        print(f"Triton {triton.version}", file=sys.stderr)
    except NoTriton as none:
        raise ValueError(f"{none}; name one with --triton-python or {VARIABLE}") from none
    return lambda launch: [TritonPtx(triton)]


def _write(data: dict[str, Any], told: Any) -> None:
    text = json.dumps(data, indent=2)
    if told.json == "-":
        print(text)
        return
    with open(told.json, "w", encoding="utf-8") as file:
        print(text, file=file)


VERIFY = Command(
    "verify",
    "run each launch on every machine and after every pass; exit 1 if one differs",
    _arguments,
    _verify,
    late=(
        "--kernel",
        "--launch",
        "--passes",
        "--json",
        "--html",
        "--fail-on",
        "--compiler",
        "--triton-python",
    ),
)
