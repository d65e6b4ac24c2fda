"""Allow comments and allow files."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockstep import allow
from blockstep.findings import Finding, Report, Severity
from tests.diagnostics.places import Source, source_file

KERNEL = """
def kernel(x_ptr, out_ptr):
    a = load(x_ptr)  # blockstep: allow(race)
    b = load(x_ptr + 1)  # blockstep: allow(bounds, uninitialised)
    c = load(x_ptr + 2)
    store(
        out_ptr,
        first(a),
        second(b),  # why not  # blockstep: allow(race)
    )
    for i in range(bound(c)):  # blockstep: allow(uninit)
        store(out_ptr + i, c)
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """The source above, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return source_file(tmp_path, KERNEL, "sum.py")


def found(kernel: Source, text: str, kind: str = "race", argument: str | None = "x") -> Finding:
    """A finding at an expression."""
    return Finding(
        kind, Severity.ERROR, "no", kernel.at(text), kernel="sum_kernel", argument=argument
    )


@pytest.mark.parametrize(
    ("text", "kind", "allowed"),
    [
        ("load(x_ptr)", "race", True),
        ("load(x_ptr)", "overlap", False),
        ("load(x_ptr + 1)", "alignment", True),
        ("load(x_ptr + 1)", "uninitialised", True),
        ("load(x_ptr + 1)", "race", False),
        ("load(x_ptr + 2)", "race", False),
        ("first(a)", "race", True),
        ("bound(c)", "uninitialised", True),
        ("store(out_ptr + i, c)", "uninitialised", False),
    ],
)
def test_a_comment_on_the_line_or_its_statement(
    kernel: Source, text: str, kind: str, allowed: bool
) -> None:
    assert allow.AllowList()(found(kernel, text, kind)) is allowed


def test_limits_of_ours_cannot_be_allowed(kernel: Source) -> None:
    entries = [allow.Entry("unsupported")]
    assert not allow.AllowList(entries)(found(kernel, "load(x_ptr)", "unsupported"))


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        (allow.Entry("race"), True),
        (allow.Entry("bounds"), False),
        (allow.Entry("race", file="sum.py"), True),
        (allow.Entry("race", file="*.py"), True),
        (allow.Entry("race", file="mul.py"), False),
        (allow.Entry("race", kernel="sum_*"), True),
        (allow.Entry("race", kernel="mul_*"), False),
        (allow.Entry("race", argument="x"), True),
        (allow.Entry("race", argument="y"), False),
        (allow.Entry("race", line="c  =  load(x_ptr + 2)"), True),
        (allow.Entry("race", line="c = load(x_ptr + 3)"), False),
    ],
)
def test_every_key_of_an_entry_must_fit(kernel: Source, entry: allow.Entry, allowed: bool) -> None:
    listed = allow.AllowList([entry])
    assert listed(found(kernel, "load(x_ptr + 2)")) is allowed
    assert listed.unused == ([] if allowed else [entry])


def test_what_is_written_allows_what_was_found(kernel: Source, tmp_path: Path) -> None:
    findings = [
        found(kernel, "load(x_ptr + 2)"),
        found(kernel, "second(b)", "overlap", None),
        found(kernel, "load(x_ptr + 2)"),
    ]
    allow.write(tmp_path / "allow.toml", findings)
    listed = allow.read(tmp_path / "allow.toml")
    assert len(listed.entries) == 2
    report = Report(allow=listed)
    for finding in findings:
        report.add(finding)
    assert not report.findings and not listed.unused


def test_an_entry_survives_lines_added_above(kernel: Source, tmp_path: Path) -> None:
    allow.write(tmp_path / "allow.toml", [found(kernel, "load(x_ptr + 2)")])
    moved = source_file(tmp_path, "# new\n" * 3 + kernel.text, "sum.py")
    assert allow.read(tmp_path / "allow.toml")(found(moved, "load(x_ptr + 2)"))


def test_quotes_and_backslashes_survive(tmp_path: Path) -> None:
    source = source_file(tmp_path, 'check(x, "a\\\\b\té")\n')
    finding = Finding("assert", Severity.ERROR, 'said "no"', source.at("check"))
    allow.write(tmp_path / "allow.toml", [finding])
    assert allow.read(tmp_path / "allow.toml")(finding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[allow]]\nkind = 'rase'", "no kind or checker is called 'rase'"),
        ("[[allow]]\nkind = 'race'\nfiel = 'a'", "has no key 'fiel'"),
        ("[[allow]]\nfile = 'a.py'", "needs a kind"),
        ("[[allow]]\nkind = 3", "every value is a string"),
        ("allow = 3", r"holds \[\[allow\]\] tables"),
        ("[[allow]", "is not TOML"),
    ],
)
def test_a_bad_file_says_what_to_mend(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "allow.toml"
    path.write_text(text)
    with pytest.raises(allow.AllowFileError, match=message):
        allow.read(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(allow.AllowFileError, match="cannot be read"):
        allow.read(tmp_path / "none.toml")
