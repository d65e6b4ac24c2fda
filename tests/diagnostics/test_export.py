"""JSON and SARIF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockstep.export import from_json, to_exchange, to_json, to_sarif, write_json, write_sarif
from blockstep.findings import Finding, Party, Report, Severity, Span
from tests.diagnostics.places import source_file

FIELDS = {
    "kind", "severity", "message", "file", "line", "column", "kernel", "program", "argument",
    "elements", "count", "help", "related",
}  # fmt: skip


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """One race in one launch."""
    monkeypatch.chdir(tmp_path)
    source = source_file(tmp_path, "v = load(x)\nstore(x, v)\n")
    made = Report()
    made.begin_launch("kernel", (2, 1, 1), host=Span(str(tmp_path / "run.py"), 9))
    made.add(
        Finding(
            "race",
            Severity.ERROR,
            "`x` is read and written",
            source.at("store(x, v)"),
            label="(2) write",
            kernel="kernel",
            program=(1, 0, 0),
            grid=(2, 1, 1),
            argument="x",
            elements=((0,), (1,)),
            count=9,
            help=("one", "two"),
            related=(Party("(1) read", source.at("load(x)"), (0, 0, 0), "x", ((0,),), 1),),
            host=Span(str(tmp_path / "run.py"), 9),
            launch=1,
            details={"event": "RaceFound", "lanes": ((0,), (1,))},
        )
    )
    return made


def test_json_has_the_fields_that_were_promised(report: Report) -> None:
    data = json.loads(json.dumps(to_json(report)))
    assert set(data) == {"findings", "launches"}
    (finding,) = data["findings"]
    assert set(finding) >= FIELDS
    assert finding["file"] == "add.py" and (finding["line"], finding["column"]) == (2, 1)
    assert finding["program"] == [1, 0, 0] and finding["elements"] == [[0], [1]]
    assert finding["help"] == "one\ntwo" and finding["count"] == 9
    (other,) = finding["related"]
    assert set(other) >= FIELDS and other["program"] == [0, 0, 0] and other["line"] == 1
    (launch,) = data["launches"]
    assert set(launch) >= {"kernel", "grid", "machine", "seconds", "programs", "findings"}
    assert launch["grid"] == [2, 1, 1] and launch["findings"] == 1


def test_another_process_reads_it_back(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads(json.dumps(to_exchange(report)))
    monkeypatch.chdir("/")
    merged = Report()
    merged.merge(*from_json(data))
    (before,), (after,) = report.findings, merged.findings
    assert (after.span, after.related, after.host) == (before.span, before.related, before.host)
    assert after.key == before.key and after.help == before.help
    assert merged.launches[0].kernel == "kernel" and merged.launches[0].findings == 1


def test_sarif_is_shaped_as_the_standard_says(report: Report) -> None:
    log = json.loads(json.dumps(to_sarif(report)))
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    run = log["runs"][0]
    driver = run["tool"]["driver"]
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "race"
    assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 12}
    for place in places(result):
        region = place["physicalLocation"]["region"]
        assert all(isinstance(value, int) and value >= 1 for value in region.values())
        assert not place["physicalLocation"]["artifactLocation"]["uri"].startswith("/")
    assert [place["id"] for place in result["relatedLocations"]] == [1, 2]


def places(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every location of a result."""
    return [*result["locations"], *result["relatedLocations"]]


def test_paths_outside_and_names_of_cells_make_uris() -> None:
    report = Report()
    for file in ("/elsewhere/a b.py", "<ipython-input-1>"):
        report.add(Finding("race", Severity.ERROR, "no", Span(file, 1)))
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for r in to_sarif(report)["runs"][0]["results"]
    ]
    assert uris == ["file:///elsewhere/a%20b.py", "%3Cipython-input-1%3E"]


def test_files_are_written(report: Report, tmp_path: Path) -> None:
    write_json(report, tmp_path / "a.json")
    write_sarif(report, tmp_path / "a.sarif")
    assert json.loads((tmp_path / "a.json").read_text()) == to_json(report)
    assert json.loads((tmp_path / "a.sarif").read_text()) == to_sarif(report)


def test_numpy_integers_and_nan_are_plain_in_the_end() -> None:
    report = Report()
    one = np.int64(1)
    report.add(
        Finding(
            "race",
            Severity.ERROR,
            "no",
            Span("a.py", 1),
            program=(one, one, one),  # type: ignore[arg-type]
            elements=((one,),),  # type: ignore[arg-type]
            details={"value": float("nan"), "lanes": [one]},
        )
    )
    text = json.dumps(to_json(report), allow_nan=False)
    assert '"program": [1, 1, 1]' in text and '"value": "nan"' in text
