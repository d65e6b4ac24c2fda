"""`with blockstep.check() as report:` judges every launch inside, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from blockstep.findings import Report, unknown_names
from blockstep.findings.precision_bounds import parse
from blockstep.options import Program
from blockstep.runtime import factories, session
from blockstep.runtime.capture import Captures


@contextmanager
def check(
    *,
    only: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    precision: bool | str = False,
    seed: int = 0,
    seeds: int = 1,
    programs: Iterable[Program] | None = None,
    kernel: str | None = None,
    max_findings: int | None = None,
    allow: Any = None,
    pictures: bool = False,
) -> Iterator[Report]:
    """Judges the launches inside; the report's `findings` fill up as they are made.

    `only`, `skip`: checkers or kinds ("race", "bounds", …). `precision`: NaN is followed, too, from
    where it is born (`only=["precision"]`: nothing else is judged). `seed`: the order of program
    instances; `seeds`: how many orders are tried. `programs`: run only these. `kernel`: judge only
    this one. `pictures`: launches are captured for `report.to_html()`, which then has grids and memory
    by writer. Raises ValueError for an unknown checker, kind or bound. Findings are not raised: look at
    `report.errors`."""
    chosen = None if only is None else frozenset(only)
    unwanted = frozenset(skip)
    unknown = unknown_names((chosen or frozenset()) | unwanted)
    if unknown:
        raise ValueError(f"no checker or kind is called {', '.join(unknown)}")
    follows, bounds = parse(precision) if isinstance(precision, str) else (precision, ())
    options = replace(
        session.current().options,
        judged=True,
        only=chosen,
        skip=unwanted,
        precision=follows,
        bounds=bounds,
        seed=seed,
        seeds=seeds,
        programs=None if programs is None else tuple(programs),
        kernel=kernel,
        max_findings=max_findings,
    )
    opened = session.make(options, allow)
    if pictures:
        opened.captures = Captures(bool(precision))
        opened.report.captured = opened.captures.kept
    with factories.factories, session.sharing(opened):
        yield opened.report
        session.finish(opened)
