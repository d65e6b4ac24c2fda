"""`pytest --blockstep`: every test is judged, and one with an error in a kernel fails.

`import triton` means blockstep in the whole test process. A test fails with the diagnostics of its
own launches; warnings and notes are shown in the terminal summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blockstep import diagnostics
from blockstep.runtime import redirect
from blockstep.runtime.checking import check


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("blockstep", "judging GPU kernels")
    group.addoption("--blockstep", action="store_true", help="judge the kernels that tests launch")
    group.addoption("--blockstep-only", metavar="NAMES", help="only these checkers or kinds (a,b)")
    group.addoption("--blockstep-skip", metavar="NAMES", help="leave these checkers or kinds out")
    group.addoption(
        "--blockstep-precision", action="store_true", help="say where each NaN is born, too"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Redirects `triton` before test modules are imported."""
    if config.getoption("--blockstep"):
        redirect.install()


_DOUBTS = "blockstep doubts"  # a property of a test's report: it travels from xdist's workers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Runs one test under `check`; an error that it did not raise itself fails it."""
    if not item.config.getoption("--blockstep"):
        return (yield)
    only = item.config.getoption("--blockstep-only")
    skip = item.config.getoption("--blockstep-skip")
    with check(
        only=only.split(",") if only else None,
        skip=skip.split(",") if skip else (),
        precision=item.config.getoption("--blockstep-precision"),
    ) as report:
        try:
            yield
        except BaseException:
            if report.findings:  # the test failed by itself; this may be why
                text = diagnostics.render_all(report.findings)
                item.add_report_section("call", "blockstep", text)
            raise
    if report.warnings:
        item.user_properties.append((_DOUBTS, diagnostics.render_all(report.warnings)))
    if report.errors:
        pytest.fail(diagnostics.render_all(report.findings), pytrace=False)
    return None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Shows the doubts that did not fail a test."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    properties = [p for report in reports if report.when == "call" for p in report.user_properties]
    doubts = dict.fromkeys(text for name, text in properties if name == _DOUBTS)
    if doubts:
        terminalreporter.section("blockstep: doubts")
        terminalreporter.write_line("\n\n".join(doubts))
