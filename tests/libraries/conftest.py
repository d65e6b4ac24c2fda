"""Kernels of published wheels, run unmodified under every checker and compared with PyTorch.

Invariant: a test passes only if its library's kernels were launched and no finding of any severity
was made, except those that the test names with `@pytest.mark.faulty("kind", …)` and explains.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

import blockstep
from blockstep import diagnostics
from blockstep.findings import Report
from blockstep.runtime import redirect

NEEDED = ("torch", "liger_kernel", "conch", "fla", "einops", "packaging")
HOW = "python -m pip install -e '.[torch]' && python tests/libraries/install.py"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "faulty(kind, ...): findings that the kernel deserves")


@pytest.fixture(scope="package", autouse=True)
def redirected() -> Iterator[None]:
    """`import triton` is blockstep and the device `cuda` is the CPU, for the tests of this folder."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)}; to install them: {HOW}"
        if os.environ.get("BLOCKSTEP_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    before = redirect.installed()
    blockstep.install()
    yield
    if not before:
        blockstep.uninstall()


@pytest.fixture(autouse=True)
def report(request: pytest.FixtureRequest, redirected: None) -> Iterator[Report]:
    """The report on what the test launched; it has to be clean."""
    marker = request.node.get_closest_marker("faulty")
    with blockstep.check() as report:
        yield report
    assert report.launches, "no kernel was launched"
    deserved = set(marker.args if marker else ())
    wrong = [finding for finding in report.findings if finding.kind not in deserved]
    assert not wrong, "\n" + diagnostics.render_all(wrong)
    assert {finding.kind for finding in report.findings} == deserved
