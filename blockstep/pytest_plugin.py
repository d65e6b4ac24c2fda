"""`pytest --blockstep`: every test is judged, and one with an error in a kernel fails.

`import triton` means blockstep in the whole test process. A test fails with the diagnostics of its
own launches; warnings and notes are shown in the terminal summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blockstep import diagnostics
from blockstep.findings import Finding
from blockstep.runtime import redirect
from blockstep.runtime.checking import check


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("blockstep", "judging GPU kernels")
    group.addoption("--blockstep", action="store_true", help="judge the kernels that tests launch")
    group.addoption("--blockstep-only", metavar="NAMES", help="only these checkers or kinds (a,b)")
    group.addoption("--blockstep-skip", metavar="NAMES", help="leave these checkers or kinds out")


def pytest_configure(config: pytest.Config) -> None:
    """Redirects `triton` before test modules are imported."""
    if config.getoption("--blockstep"):
        redirect.install()


_doubts = pytest.StashKey[list[Finding]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Runs one test under `check`; an error that it did not raise itself fails it."""
    if not item.config.getoption("--blockstep"):
        return (yield)
    only = item.config.getoption("--blockstep-only")
    skip = item.config.getoption("--blockstep-skip")
    with check(only=only.split(",") if only else None, skip=skip.split(",") if skip else ()) as report:
        yield
    doubts = item.config.stash.setdefault(_doubts, [])
    doubts.extend(report.warnings)
    if report.errors:
        pytest.fail(diagnostics.render_all(report.findings), pytrace=False)
    return None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Shows the doubts that did not fail a test."""
    doubts = config.stash.get(_doubts, [])
    if doubts:
        terminalreporter.section("blockstep: doubts")
        terminalreporter.write_line(diagnostics.render_all(doubts))
