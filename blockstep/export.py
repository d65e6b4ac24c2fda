"""Findings for other programs: JSON, and SARIF 2.1.0 (OASIS standard of 2020).

Invariant: the JSON has every field of a finding, so that what one process found another can read
back (`from_json`); columns of SARIF count characters, which it calls unicode code points.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

from blockstep.diagnostics.explain import EXPLANATIONS
from blockstep.diagnostics.source import shown_path
from blockstep.findings import (
    KINDS,
    Finding,
    LaunchRecord,
    Party,
    Report,
    Severity,
    Span,
)

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
Json = dict[str, Any]


def to_json(report: Report) -> Json:
    """The findings and launches of a report as plain data."""
    return {
        "findings": [finding_json(finding) for finding in report.findings],
        "launches": [launch_json(launch) for launch in report.launches],
    }


def to_exchange(report: Report) -> Json:
    """The same with the folder that its paths are relative to: for another process."""
    return {"folder": os.getcwd(), **to_json(report)}


def finding_json(finding: Finding) -> Json:
    """One finding as plain data."""
    return {
        "kind": finding.kind,
        "severity": finding.severity.value,
        "message": finding.message,
        **_span_json(finding.span),
        "kernel": finding.kernel,
        "program": _list(finding.program),
        "argument": finding.argument,
        "elements": [_list(e) for e in finding.elements],
        "count": finding.count,
        "help": "\n".join(finding.help),
        "related": [_party_json(finding, party) for party in finding.related],
        "label": finding.label,
        "facts": list(finding.facts),
        "notes": list(finding.notes),
        "grid": _list(finding.grid),
        "launch": finding.launch,
        "host": _span_json(finding.host) if finding.host else None,
        "passed_at": _span_json(finding.passed_at) if finding.passed_at else None,
        "callers": [_span_json(span) for span in finding.callers],
        "occurrences": finding.occurrences,
        "programs": finding.programs,
        "details": _plain(finding.details),
    }


def launch_json(launch: LaunchRecord) -> Json:
    """One launch as plain data."""
    return {
        "kernel": launch.kernel,
        "grid": _list(launch.grid),
        "machine": launch.machine,
        "because": launch.because,
        "seconds": launch.seconds,
        "programs": launch.programs,
        "findings": launch.findings,
        "host": _span_json(launch.host) if launch.host else None,
    }


def _party_json(finding: Finding, party: Party) -> Json:
    return {
        "kind": finding.kind,
        "severity": finding.severity.value,
        "message": party.label,
        **_span_json(party.span),
        "kernel": finding.kernel,
        "program": _list(party.program),
        "argument": party.argument,
        "elements": [_list(e) for e in party.elements],
        "count": party.count,
        "help": "",
        "related": [],
    }


def _span_json(span: Span) -> Json:
    return {
        "file": shown_path(span.file),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "function": span.function,
    }


def _list(values: tuple[int, ...] | None) -> list[int] | None:
    return None if values is None else [int(value) for value in values]


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def from_json(data: Json) -> tuple[list[Finding], list[LaunchRecord]]:
    """What `to_json` or `to_exchange` wrote: `report.merge(*from_json(data))`."""
    folder = Path(data.get("folder", "")).absolute()
    findings = [_finding(item, folder) for item in data["findings"]]
    return findings, [_launch(item, folder) for item in data["launches"]]


def _finding(data: Json, folder: Path) -> Finding:
    return Finding(
        kind=data["kind"],
        severity=Severity(data["severity"]),
        message=data["message"],
        span=_span(data, folder),
        label=data["label"],
        kernel=data["kernel"],
        program=_triple(data["program"]),
        grid=_triple(data["grid"]),
        argument=data["argument"],
        elements=tuple(tuple(e) for e in data["elements"]),
        count=data["count"],
        facts=tuple(data["facts"]),
        help=tuple(data["help"].splitlines()),
        notes=tuple(data["notes"]),
        related=tuple(_party(p, folder) for p in data["related"]),
        host=_span(data["host"], folder) if data["host"] else None,
        passed_at=_span(data["passed_at"], folder) if data["passed_at"] else None,
        launch=data["launch"],
        callers=tuple(_span(s, folder) for s in data["callers"]),
        occurrences=data["occurrences"],
        programs=data["programs"],
        details=data["details"],
    )


def _party(data: Json, folder: Path) -> Party:
    elements = tuple(tuple(e) for e in data["elements"])
    program = _triple(data["program"])
    return Party(
        data["message"], _span(data, folder), program, data["argument"], elements, data["count"]
    )


def _launch(data: Json, folder: Path) -> LaunchRecord:
    record = LaunchRecord(data["kernel"], _triple(data["grid"]) or (1, 1, 1), data["machine"])
    record.seconds, record.programs = data["seconds"], data["programs"]
    record.findings, record.because = data["findings"], data["because"]
    record.host = _span(data["host"], folder) if data["host"] else None
    return record


def _span(data: Json, folder: Path) -> Span:
    file = data["file"] if data["file"].startswith("<") else str(folder / data["file"])
    ends = data["end_line"], data["end_column"]
    return Span(file, data["line"], data["column"], *ends, data["function"])


def _triple(values: list[int] | None) -> tuple[int, int, int] | None:
    return None if values is None else (values[0], values[1], values[2])


def to_sarif(report: Report) -> Json:
    """A SARIF log with one run: a rule per kind that occurs, a result per finding."""
    findings = report.findings
    kinds = list(dict.fromkeys(finding.kind for finding in findings))
    driver = {
        "name": "blockstep",
        "version": _version(),
        "rules": [_rule(kind) for kind in kinds],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, kinds.index(finding.kind)) for finding in findings],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _version() -> str:
    try:
        return version("blockstep")
    except PackageNotFoundError:
        return "0"


def _rule(kind: str) -> Json:
    about, explanation = KINDS[kind], EXPLANATIONS[kind]
    return {
        "id": kind,
        "name": "".join(word.capitalize() for word in kind.split("-")),
        "shortDescription": {"text": about.title},
        "fullDescription": {"text": explanation.what.replace("\n", " ")},
        "help": {"text": explanation.do.replace("\n", " ")},
        "defaultConfiguration": {"level": about.severity.value},
        "properties": {"checker": about.checker},
    }


def _result(finding: Finding, rule: int) -> Json:
    text = ". ".join(
        (finding.message, *((finding.label,) if finding.label else ()), *finding.facts)
    )
    line = (
        f"{finding.kind}:{shown_path(finding.span.file)}:{finding.span.function}:{finding.message}"
    )
    related = [_location(p.span, p.label) for p in finding.related]
    related += [_location(span, "called from here") for span in finding.callers]
    related += [_location(finding.host, "launched here")] if finding.host else []
    return {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": text},
        "locations": [_location(finding.span)],
        "relatedLocations": [{"id": n, **place} for n, place in enumerate(related, 1)],
        "occurrenceCount": finding.occurrences,
        "partialFingerprints": {"findingLine/v1": line},
        "properties": {
            "kernel": finding.kernel,
            "program": _list(finding.program),
            "argument": finding.argument,
            "elements": [_list(e) for e in finding.elements],
            "count": finding.count,
            "help": list(finding.help),
        },
    }


def _location(span: Span, message: str = "") -> Json:
    region = {
        "startLine": max(span.line, 1),
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    physical = {
        "artifactLocation": {"uri": _uri(span.file)},
        "region": {key: value for key, value in region.items() if value},
    }
    found: Json = {"physicalLocation": physical}
    if span.function:
        found["logicalLocations"] = [{"name": span.function, "kind": "function"}]
    return {**found, "message": {"text": message}} if message else found


def _uri(file: str) -> str:
    shown = shown_path(file)
    path = Path(shown)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def write_json(report: Report, path: str | Path) -> None:
    """Writes the JSON file."""
    _write(to_json(report), path)


def write_sarif(report: Report, path: str | Path) -> None:
    """Writes the SARIF file."""
    _write(to_sarif(report), path)


def _write(data: Json, path: str | Path) -> None:
    Path(path).write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
