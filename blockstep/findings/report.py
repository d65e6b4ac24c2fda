"""`Report`: the findings of a run, filtered, merged, counted; and the launches that were judged.

Invariant: one finding per key, the gravest seen, and a count of its sightings. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from blockstep.findings.captured import Captured
from blockstep.findings.model import OURS, Finding, Program, Severity, Span, names

PROGRAMS_REMEMBERED = (
    65_536  # distinct program instances counted per finding; a count past it is a lower bound
)


@dataclass(slots=True)
class LaunchRecord:
    """One launch: what ran, where, how long, and how many findings came of it."""

    kernel: str
    grid: Program
    machine: str = "step"
    seconds: float = 0.0
    programs: int = 0
    findings: int = 0
    number: int = 0
    host: Span | None = None
    because: str = ""  # why the step machine ran it, where another one was asked for


@dataclass(frozen=True, slots=True)
class Filters:
    """What a report keeps: checkers or kinds by name (None: all that are usual), launches counted
    from 1."""

    only: frozenset[str] | None = None
    skip: frozenset[str] = frozenset()
    kernel: str | None = None
    launches: tuple[int, int | None] | None = None  # first and last, both judged; None: to the end
    max_findings: int | None = None
    also: frozenset[str] = frozenset()  # beside `only`: kinds that are not judged unasked

    def wants(self, kind: str) -> bool:
        """Whether findings of this kind are wanted at all."""
        chosen = names(self.only, kind) or names(self.also, kind)
        return chosen and not names(self.skip, kind)

    def judges(self, kernel: str, number: int | None = None) -> bool:
        """Whether this launch of this kernel is to be judged."""
        if self.kernel is not None and kernel != self.kernel:
            return False
        if self.launches is None or number is None:
            return True
        first, last = self.launches
        return first <= number and (last is None or number <= last)


@dataclass
class _Entry:
    finding: Finding
    occurrences: int
    programs: set[Program]


@dataclass(repr=False)
class Report:
    """The findings so far. `allow` says which are expected: those are counted, not kept."""

    filters: Filters = field(default_factory=Filters)
    fail_on: Severity = Severity.ERROR
    allow: Callable[[Finding], bool] | None = None
    launches: list[LaunchRecord] = field(default_factory=list)
    allowed: int = 0
    dropped: int = 0  # findings past `max_findings`
    captured: list[Captured] = field(default_factory=list, repr=False)  # launches with pictures
    _dropped_grave: bool = field(default=False, repr=False)  # one of them makes the run fail
    _entries: dict[Hashable, _Entry] = field(default_factory=dict, repr=False)
    _known_allowed: set[Hashable] = field(default_factory=set, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def findings(self) -> list[Finding]:
        """In the order in which they were first seen."""
        with self._lock:
            return [
                replace(
                    e.finding,
                    occurrences=e.occurrences,
                    programs=max(e.finding.programs, len(e.programs)),
                )
                for e in self._entries.values()
            ]

    def __str__(self) -> str:
        """All diagnostics and the summary line, as the command line shows them."""
        from blockstep import diagnostics

        text = diagnostics.render_all(self.findings)
        return (text + "\n" if text else "") + diagnostics.summary(self)

    def __repr__(self) -> str:
        from blockstep import diagnostics

        return f"<Report: {diagnostics.summary(self)}; print() shows them>"

    def to_html(self, path: Any = None, title: str = "blockstep report") -> str:
        """The report as one HTML page that loads nothing; written to `path`, if one is given. With
        `blockstep.check(pictures=True)` it has the grids, and memory by writer. Raises OSError."""
        from blockstep.page import document

        made = document.page(self, document.About(title, (document.now(),)))
        if path is not None:
            document.save(path, made)
        return made

    def _repr_html_(self) -> str:
        from blockstep.page.notebook import of_report

        return of_report(self)

    def of(self, severity: Severity) -> list[Finding]:
        """The findings of one severity."""
        return [f for f in self.findings if f.severity is severity]

    @property
    def errors(self) -> list[Finding]:
        """The findings that are bugs."""
        return self.of(Severity.ERROR)

    @property
    def warnings(self) -> list[Finding]:
        """The findings that are doubts."""
        return self.of(Severity.WARNING)

    @property
    def full(self) -> bool:
        """Whether the limit on findings is reached."""
        limit = self.filters.max_findings
        return limit is not None and len(self._entries) >= limit

    def wants(self, kind: str) -> bool:
        """Whether findings of this kind are wanted: else their checker need not run."""
        return self.filters.wants(kind)

    def begin_launch(
        self, kernel: str, grid: Program, machine: str = "step", host: Span | None = None
    ) -> LaunchRecord:
        """Numbers and records a launch; the caller fills in what it learns while running."""
        with self._lock:
            record = LaunchRecord(kernel, grid, machine, number=len(self.launches) + 1, host=host)
            self.launches.append(record)
            return record

    def add(self, finding: Finding) -> Finding | None:
        """Files a finding. None: filtered, allowed or past the limit; else the finding as kept."""
        if not (self.wants(finding.kind) and self.filters.judges(finding.kernel, finding.launch)):
            return None
        return self._admit(finding)

    def _admit(self, finding: Finding) -> Finding | None:
        with self._lock:
            if self.repeat(finding.key, finding.severity, finding.program):
                entry = self._entries.get(finding.key)
                return entry.finding if entry else None
            if self.allow is not None and self.allow(finding):
                self._known_allowed.add(finding.key)
                self.allowed += 1
                return None
            return self._file(finding)

    def repeat(
        self, key: Hashable, severity: Severity, program: Program | None = None, count: int = 1
    ) -> bool:
        """Counts a sighting of a known finding at least as grave; False: new, or graver."""
        with self._lock:
            if key in self._known_allowed:
                return True
            entry = self._entries.get(key)
            if entry is None or entry.finding.severity.rank < severity.rank:
                return False
            self._seen(entry, program, count)
            return True

    def knows(self, key: Hashable) -> bool:
        """Whether a finding with this key is kept."""
        with self._lock:
            return key in self._entries

    def exit_code(self, script_failed: bool = False) -> int:
        """0 clean, 1 something as grave as `fail_on`, 2 the script failed or was not judged."""
        grave = [f for f in self.findings if f.severity.rank >= self.fail_on.rank]
        if self._dropped_grave or any(f.kind not in OURS for f in grave):
            return 1
        return 2 if grave or script_failed else 0

    def merge(self, findings: Iterable[Finding], launches: Iterable[LaunchRecord] = ()) -> None:
        """Adds what another process found, already filtered, and the launches it judged."""
        with self._lock:
            before = len(self.launches)
            for record in launches:
                number = len(self.launches) + 1
                self.launches.append(replace(record, number=number, findings=0))
            for finding in findings:
                number_ = finding.launch + before if finding.launch is not None else None
                kept = self._admit(replace(finding, launch=number_))
                if kept is not None and finding.occurrences > 1:
                    self._entries[finding.key].occurrences += finding.occurrences - 1

    def _file(self, finding: Finding) -> Finding | None:
        entry = self._entries.get(finding.key)
        if entry is not None:  # graver than what was known
            entry.finding = finding
            self._seen(entry, finding.program, 1)
            return finding
        if self.full:
            self.dropped += 1
            grave = finding.severity.rank >= self.fail_on.rank and finding.kind not in OURS
            self._dropped_grave = self._dropped_grave or grave
            return None
        self._entries[finding.key] = _Entry(
            finding, 1, {finding.program} if finding.program else set()
        )
        if finding.launch is not None and 0 < finding.launch <= len(self.launches):
            self.launches[finding.launch - 1].findings += 1
        return finding

    @staticmethod
    def _seen(entry: _Entry, program: Program | None, count: int) -> None:
        entry.occurrences += count
        if program is not None and len(entry.programs) < PROGRAMS_REMEMBERED:
            entry.programs.add(program)
