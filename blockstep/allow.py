"""Findings that are expected: `# blockstep: allow(race)` in the source, and an allow file.

A comment counts on any line of the finding's expression or of the statement that holds it (of a
compound statement, its header). An allow file is TOML: one `[[allow]]` table per entry, every key
of which must match. `line` is the text of the line, spaces apart, so that an entry survives edits
elsewhere in the file. Invariant: an entry without a kind is refused, it is no wildcard.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from blockstep.diagnostics import source
from blockstep.findings import CHECKERS, KINDS, OURS, Finding, names, unknown_names

HEADER = (
    "# Findings that blockstep shall not report; written by --write-allow, meant to be edited.\n"
)


class AllowFileError(ValueError):
    """An allow file that cannot be used; the message says where and how to mend it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an allow file. Empty keys match everything; `reason` is for readers."""

    kind: str  # a kind or a checker
    file: str = ""  # a glob on the path, or on its last parts: kernels/*.py
    kernel: str = ""  # a glob
    argument: str = ""
    line: str = ""
    reason: str = ""

    def matches(self, finding: Finding) -> bool:
        """Whether every key given fits."""
        return (
            names(frozenset({self.kind}), finding.kind)
            and (not self.file or _file_fits(self.file, finding.span.file))
            and (not self.kernel or fnmatchcase(finding.kernel, self.kernel))
            and (not self.argument or self.argument == (finding.argument or ""))
            and (not self.line or _squeezed(self.line) == line_of(finding))
        )


@dataclass
class AllowList:
    """Says which findings are expected. Give it to `Report(allow=...)`."""

    entries: Sequence[Entry] = ()
    used: set[Entry] = field(default_factory=set)

    def __call__(self, finding: Finding) -> bool:
        """Whether a finding is expected. Limits and bugs of ours always show."""
        if finding.kind in OURS:
            return False
        for entry in self.entries:
            if entry.matches(finding):
                self.used.add(entry)
                return True
        return allowed_by_comment(finding)

    @property
    def unused(self) -> list[Entry]:
        """Entries that matched nothing: candidates for removal."""
        return [entry for entry in self.entries if entry not in self.used]


def allowed_by_comment(finding: Finding) -> bool:
    """Whether a comment at the finding's expression or statement allows it."""
    chosen = source.allowed_names(finding.span)
    return bool(chosen) and names(chosen, finding.kind)


def line_of(finding: Finding) -> str:
    """What an allow file calls the line: its text, without the comment that may follow."""
    return _squeezed(source.line_text(finding.span.file, finding.span.line))


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _file_fits(pattern: str, file: str) -> bool:
    path = PurePath(file).as_posix()
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def read(path: str | Path) -> AllowList:
    """The entries of an allow file."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise AllowFileError(f"{path}: cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise AllowFileError(f"{path}: is not TOML: {error}") from error
    tables = data.get("allow", [])
    if set(data) - {"allow"} or not isinstance(tables, list):
        raise AllowFileError(f"{path}: holds [[allow]] tables and nothing else")
    return AllowList([_entry(path, number, table) for number, table in enumerate(tables, 1)])


def _entry(path: str | Path, number: int, table: dict[str, object]) -> Entry:
    where = f"{path}: [[allow]] number {number}"
    known = [f.name for f in fields(Entry)]
    strange = sorted(set(table) - set(known))
    if strange:
        raise AllowFileError(f"{where} has no key {strange[0]!r}; there are {', '.join(known)}")
    if any(not isinstance(value, str) for value in table.values()):
        raise AllowFileError(f"{where}: every value is a string")
    texts = {key: str(value) for key, value in table.items()}
    if not texts.get("kind"):
        raise AllowFileError(f'{where} needs a kind, for example kind = "race"')
    unknown = unknown_names(frozenset({texts["kind"]}))
    if unknown:
        choice = ", ".join(dict.fromkeys((*KINDS, *CHECKERS)))
        raise AllowFileError(
            f"{where}: no kind or checker is called {unknown[0]!r}; there are {choice}"
        )
    return Entry(**texts)


def entry_for(finding: Finding) -> Entry:
    """The narrowest entry that allows a finding and outlives edits around it."""
    file = source.shown_path(finding.span.file)
    return Entry(
        kind=finding.kind,
        file=PurePath(file).as_posix(),
        kernel=finding.kernel,
        argument=finding.argument or "",
        line=line_of(finding),
        reason=finding.message,
    )


def dumps(findings: Iterable[Finding]) -> str:
    """The text of an allow file for these findings, in order, without repeats."""
    entries = dict.fromkeys(entry_for(f) for f in findings if f.kind not in OURS)
    return HEADER + "".join(_table(entry) for entry in entries)


def write(path: str | Path, findings: Iterable[Finding]) -> None:
    """Writes that file."""
    Path(path).write_text(dumps(findings), encoding="utf-8")


def _table(entry: Entry) -> str:
    values = {f.name: getattr(entry, f.name) for f in fields(entry)}
    keys = "".join(f"{key} = {_string(value)}\n" for key, value in values.items() if value)
    return f"\n[[allow]]\n{keys}"


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
