"""What commands that judge share: the arguments that say of what and how, and telling the findings."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from blockstep import allow as allow_lists
from blockstep import diagnostics, export
from blockstep.findings import CHECKERS, KINDS, Report, Severity, unknown_names
from blockstep.findings.precision_bounds import NAN


def add_judging(sub: argparse.ArgumentParser) -> None:
    """The arguments of a command that judges launches."""
    sub.add_argument("--only", metavar="NAMES", help="judge only these checkers or kinds (a,b)")
    sub.add_argument("--skip", metavar="NAMES", help="leave these checkers or kinds out")
    sub.add_argument(
        "--precision", nargs="?", const=NAN, metavar="BOUNDS",
        help="say where each NaN is born, too; error:4ulp, relative:1e-3, overflow: bound outputs",
    )  # fmt: skip
    sub.add_argument("--launch", metavar="N[:M]", help="judge only these launches, from 1")
    sub.add_argument("--max-findings", type=int, metavar="N", help="keep at most N findings")
    sub.add_argument("--seeds", type=int, default=1, metavar="N", help="try N orders")
    sub.add_argument("--html", metavar="FILE", help="write one HTML page with grids and memory")
    add_report(sub)


def add_report(sub: argparse.ArgumentParser) -> None:
    """The arguments that say how findings are told."""
    sub.add_argument("--fail-on", choices=[s.value for s in Severity], default="error")
    sub.add_argument("--json", metavar="FILE", help="write the findings as JSON (- for stdout)")
    sub.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0")
    sub.add_argument("--allow", metavar="FILE", help="an allow-list of expected findings")
    sub.add_argument("--write-allow", metavar="FILE", help="write an allow-list from what is found")


def names(text: str | None) -> frozenset[str] | None:
    """Checkers and kinds, written a,b. Raises ValueError for one that there is not."""
    if text is None:
        return None
    found = frozenset(part.strip() for part in text.split(",") if part.strip())
    unknown = unknown_names(found)
    if unknown:
        known = ", ".join((*CHECKERS, *(k for k in KINDS if k not in CHECKERS)))
        raise ValueError(f"no checker or kind is called {', '.join(unknown)}; there are {known}")
    return found


def tell(report: Report, told: Any) -> None:
    """Prints the findings and writes the files that were asked for."""
    color = sys.stderr.isatty()
    text = diagnostics.render_all(report.findings, color)
    if text:
        print(text, file=sys.stderr)
    print(diagnostics.summary(report, color), file=sys.stderr)
    if told.json == "-":
        print(json.dumps(export.to_json(report), indent=2))
    elif told.json:
        export.write_json(report, told.json)
    if told.sarif:
        export.write_sarif(report, told.sarif)
    if told.write_allow:
        allow_lists.write(told.write_allow, report.findings)


def write_html(
    report: Report, told: Any, command: str = "check", more: str = "", measured: Any = (),
    judged: bool = True,
) -> None:  # fmt: skip
    """Writes the page that `--html` asks for. Raises OSError."""
    from blockstep.page import document  # no other command needs it

    name = told.script or f"-m {told.module}"
    orders = f", {told.seeds} orders" if getattr(told, "seeds", 1) > 1 else ""
    facts = (
        ("command", f"blockstep {command} {' '.join([name, *told.arguments])}"),
        document.now(),
        ("seed", f"{told.seed}{orders}"),
    )
    about = document.About(f"blockstep {command}: {name}", facts, judged, more)
    document.save(told.html, document.page(report, about, measured))
