"""The report: merging, filters, limits, exit codes, threads."""

from __future__ import annotations

import dataclasses
import pickle
import threading

import numpy as np
import pytest

from blockstep.diagnostics import record
from blockstep.findings import (
    CHECKERS,
    KINDS,
    DividedByZero,
    Filters,
    Finding,
    Lanes,
    LaunchRecord,
    Report,
    Severity,
    Site,
    Span,
    unknown_names,
)


def found(line: int = 1, kind: str = "race", **more: object) -> Finding:
    """A finding at a line of a file."""
    severity = more.pop("severity", KINDS[kind].severity)
    return Finding(kind, severity, "no", Span("a.py", line), **more)  # type: ignore[arg-type]


def test_the_same_finding_is_kept_once_and_counted() -> None:
    report = Report()
    for n in range(64):
        report.add(found(program=(n, 0, 0)))
    (finding,) = report.findings
    assert (finding.occurrences, finding.programs, finding.program) == (64, 64, (0, 0, 0))


def test_another_line_kind_or_argument_is_another_finding() -> None:
    report = Report()
    for finding in (found(1), found(2), found(1, "overlap"), found(1, argument="x")):
        report.add(finding)
    assert len(report.findings) == 4


def test_an_error_takes_the_place_of_a_warning() -> None:
    report = Report()
    for severity in (Severity.WARNING, Severity.ERROR, Severity.WARNING):
        report.add(found(severity=severity))
    (finding,) = report.findings
    assert finding.severity is Severity.ERROR and finding.occurrences == 3


def test_an_event_seen_again_is_only_counted() -> None:
    report = Report()
    event = DividedByZero(span=Span("a.py", 1), op="//", lanes=Lanes.of(np.array(True)))
    assert record(report, event) is not None
    assert record(report, event) is None
    assert report.findings[0].occurrences == 2


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (Filters(only=frozenset({"race"})), ["race"]),
        (Filters(only=frozenset({"bounds"})), ["out-of-bounds", "alignment"]),
        (Filters(skip=frozenset({"bounds", "race"})), ["grid"]),
        (Filters(kernel="other"), []),
        (Filters(max_findings=2), ["race", "out-of-bounds"]),
    ],
)
def test_filters(filters: Filters, kept: list[str]) -> None:
    report = Report(filters)
    for kind in ("race", "out-of-bounds", "alignment", "grid"):
        report.add(found(kind=kind, kernel="mine"))
    assert [f.kind for f in report.findings] == kept


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        (Filters(), ["race"]),
        (Filters(also=frozenset({"precision"})), ["race", "precision"]),
        (Filters(only=frozenset({"precision"})), ["precision"]),
        (Filters(only=frozenset({"race"}), also=frozenset({"precision"})), ["race", "precision"]),
        (Filters(skip=frozenset({"precision"}), also=frozenset({"precision"})), ["race"]),
    ],
)
def test_a_kind_that_is_not_usual_has_to_be_asked_for(filters: Filters, wanted: list[str]) -> None:
    assert [kind for kind in ("race", "precision") if filters.wants(kind)] == wanted


def test_findings_past_the_limit_are_counted() -> None:
    report = Report(Filters(max_findings=1))
    for line in (1, 2, 3, 1):
        report.add(found(line))
    assert report.full and report.dropped == 2 and report.findings[0].occurrences == 2


@pytest.mark.parametrize(
    ("launches", "judged"),
    [(None, [1, 2, 3, 4]), ((2, 2), [2]), ((2, 3), [2, 3]), ((3, None), [3, 4])],
)
def test_a_range_of_launches(launches: tuple[int, int | None] | None, judged: list[int]) -> None:
    filters = Filters(launches=launches)
    assert [n for n in range(1, 5) if filters.judges("kernel", n)] == judged


@pytest.mark.parametrize(
    ("kinds", "fail_on", "failed", "code"),
    [
        ([], Severity.ERROR, False, 0),
        ([], Severity.ERROR, True, 2),
        (["race"], Severity.ERROR, False, 1),
        (["race"], Severity.ERROR, True, 1),
        (["cast"], Severity.ERROR, False, 0),
        (["cast"], Severity.ERROR, True, 2),
        (["cast"], Severity.WARNING, False, 1),
        (["unsupported"], Severity.ERROR, False, 2),
        (["unsupported", "race"], Severity.ERROR, True, 1),
    ],
)
def test_exit_codes(kinds: list[str], fail_on: Severity, failed: bool, code: int) -> None:
    report = Report(fail_on=fail_on)
    for kind in kinds:
        report.add(found(kind=kind))
    assert report.exit_code(failed) == code


def test_allowed_findings_are_counted_and_not_kept() -> None:
    report = Report(allow=lambda finding: finding.span.line == 1)
    for line in (1, 1, 2):
        report.add(found(line))
    assert report.allowed == 1 and len(report.findings) == 1 and report.exit_code() == 1


def test_launches_know_their_findings() -> None:
    report = Report()
    first, second = (report.begin_launch("kernel", (n, 1, 1)) for n in (1, 2))
    report.add(found(1, launch=second.number))
    report.add(found(2, launch=second.number))
    assert (first.findings, second.findings) == (0, 2)


def test_another_process_is_merged() -> None:
    report = Report()
    report.begin_launch("kernel", (1, 1, 1))
    report.add(found(1, launch=1))
    theirs = dataclasses.replace(found(1, launch=1), occurrences=5)
    report.merge([theirs, found(2, launch=1)], [LaunchRecord("kernel", (1, 1, 1), number=1)])
    assert [f.occurrences for f in report.findings] == [6, 1]
    assert [(launch.number, launch.findings) for launch in report.launches] == [(1, 1), (2, 1)]


def test_a_finding_survives_pickling() -> None:
    finding = found(program=(1, 2, 3), grid=(4, 4, 4))
    assert pickle.loads(pickle.dumps(finding)) == finding


def test_threads_lose_no_finding() -> None:
    report = Report()

    def work() -> None:
        for n in range(500):
            report.add(found(n % 10))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(report.findings) == 10
    assert sum(f.occurrences for f in report.findings) == 4000


def test_names_of_checkers_and_kinds() -> None:
    assert unknown_names(frozenset({"race", "bounds", "rase"})) == ["rase"]
    assert {kind.checker for kind in KINDS.values()} == set(CHECKERS)


def test_a_site_knows_the_expression_it_came_from() -> None:
    import sys

    def here() -> Site:
        frame = sys._getframe(1)
        return Site(frame.f_code, frame.f_lasti)

    site = (1, here())[1]
    assert site.span.file == __file__ and site.span.function == sys._getframe().f_code.co_name
    assert site == Site(site.code, site.lasti) and hash(site) == hash(site.key)
    assert site.span.end_column - site.span.column == len("here()")
