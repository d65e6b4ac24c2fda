"""Collects the programs in tests/fail and tests/pass: each is judged as `blockstep check` does it.

    x = tl.load(p + offs)      #~ ERROR: reads past the end of `p`

A program in `fail` must give exactly the findings that its `#~ ERROR:`, `#~ WARN:` and `#~ NOTE:`
annotations name, each at that line (`#~^`: the line above, `#~^^`: two above), and the text in the
`.stderr` beside it. A program in `pass` must run to its end and give none. `--bless` rewrites the
`.stderr` files.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
import signal
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from blockstep.findings import OURS, Severity
from tests.differential import sample
from tests.judged import Verdict, check, flags_of

# No test is timed: where many run at once, any example may take long.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ANNOTATION = re.compile(r"#~(\^*) (ERROR|WARN|NOTE): (.*?)\s*(?=#~|$)")
SEVERITIES = {"ERROR": "error", "WARN": "warning", "NOTE": "note"}
NORMALISE = (
    (re.compile(r"(?<=\.py:)\d+"), "LL"),
    (re.compile(r"(?m)^ *\d+ \|"), "LL |"),
)
SECONDS = 20  # for one program
Expected = tuple[int, str, str]  # line, severity, text


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite stored diagnostics")
    parser.addoption("--ladder-seed", type=int, metavar="N", help="repeat the draws of a run")
    parser.addoption("--ladder-all", action="store_true", help="the ladder without sampling")
    parser.addoption(
        "--climb", action="store_true", help="every launch of all tests that run climbs"
    )


def pytest_configure(config: pytest.Config) -> None:
    sample.configure(config)


@pytest.fixture(autouse=True)
def climbing_too(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--climb` the launches of any test go up the ladder first, with drawn options."""
    if not request.config.getoption("--climb"):
        yield
        return
    from tests.differential.climbing import Climbing

    made = Climbing(request.node)
    try:
        with made.launches(sample.current().options(request.node.nodeid)):
            yield
    finally:
        made.tell()


def pytest_report_header() -> str:
    return f"ladder: --ladder-seed {sample.current().seed}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [one for of in terminalreporter.stats.values() for one in of]
    if text := sample.summary(reports):
        terminalreporter.write_line(text)


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether stored texts are to be rewritten."""
    return bool(request.config.getoption("--bless"))


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    """Programs are judged, never imported."""
    inside = module_path.relative_to(Path(__file__).parent).parts if _is_ours(module_path) else ()
    if inside and inside[0] in ("fail", "pass"):
        return Program.from_parent(parent, path=module_path)
    return None


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(Path(__file__).parent)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what takes longer, where the platform can."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise Wrong(f"the program took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Program(pytest.File):
    """A file that is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        kind = Fails if "fail" in self.path.parts else Passes
        yield kind.from_parent(self, name=self.path.stem)


class Wrong(BaseException):  # no `except` of a program or of ours may keep it
    """What is wrong with a verdict, for a reader."""


class Judged(pytest.Item):
    """Runs the program and looks at the verdict."""

    def runtest(self) -> None:
        if "import torch" in self.path.read_text() and importlib.util.find_spec("torch") is None:
            pytest.skip("needs torch")
        with at_most(SECONDS):
            verdict = check(self.path, flags_of(self.path))
        self.verify(verdict)

    @abstractmethod
    def verify(self, verdict: Verdict) -> None:
        """Raises Wrong or AssertionError unless the verdict is as the program says."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Wrong):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(self.config.rootpath))


class Passes(Judged):
    """No finding at all, and the program's own assertions hold."""

    def verify(self, verdict: Verdict) -> None:
        if verdict.findings:
            raise Wrong(f"a clean program was blamed:\n{verdict.text}")
        if verdict.status:
            raise Wrong(f"exit status {verdict.status}:\n{verdict.said}")
        if not verdict.report.launches:
            raise Wrong("nothing was launched")


class Fails(Judged):
    """Exactly the annotated findings, and the stored text."""

    def verify(self, verdict: Verdict) -> None:
        wanted = list(expected(self.path))
        if not wanted:
            raise Wrong("the program has no #~ annotation")
        open_ones = list(wanted)
        for finding in verdict.findings:
            found = (finding.span.line, str(finding.severity))
            fits = [w for w in open_ones if w[:2] == found and w[2] in finding.message]
            if not fits:
                raise Wrong(f"not annotated: {found} {finding.message}\n{self.shown(verdict)}")
            open_ones.remove(fits[0])
        if open_ones:
            raise Wrong(f"not found: {open_ones}\n{self.shown(verdict)}")
        kinds = {f.kind for f in verdict.findings if f.severity is Severity.ERROR}
        status = 1 if kinds - OURS else 2 if kinds else 0
        if verdict.status != status:
            raise Wrong(f"exit status {verdict.status}, not {status}\n{verdict.said}")
        self.compare(normalised(verdict.text, "#~ NUMBERS: vary" in self.path.read_text()))

    def shown(self, verdict: Verdict) -> str:
        return f"{verdict.text}\n--- the program said:\n{verdict.said}"

    def compare(self, got: str) -> None:
        golden = self.path.with_suffix(".stderr")
        if self.config.getoption("--bless"):
            golden.write_text(got)
        if not golden.exists():
            raise Wrong(f"{golden.name} is missing: run pytest --bless\n{got}")
        stored = golden.read_text()
        if got != stored:
            lines = difflib.ndiff(stored.splitlines(), got.splitlines())
            raise Wrong("not the stored text (-), but (+):\n" + "\n".join(lines))


def expected(program: Path) -> Iterator[Expected]:
    """The findings that a program's annotations ask for."""
    for number, line in enumerate(program.read_text().splitlines(), 1):
        for found in ANNOTATION.finditer(line):
            yield number - len(found[1]), SEVERITIES[found[2]], found[3].strip()


def normalised(text: str, numbers_vary: bool = False) -> str:
    """Without line numbers, which change with every edit above; long numbers may vary too."""
    for pattern, replacement in NORMALISE:
        text = pattern.sub(replacement, text)
    return re.sub(r"-?\d{5,}", "N", text) if numbers_vary else text
