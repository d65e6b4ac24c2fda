"""Kernels of published wheels, run unmodified under every checker and compared with PyTorch.

Invariant: a test passes only if its library's kernels were launched, the machines agreed on every
launch, bits and findings, and no finding of any severity was made, except those that the test names
with `@pytest.mark.faulty("kind", …)` and explains. With BLOCKSTEP_MACHINE=gpu the kernels are compiled
and run on a device, where nothing is judged.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import blockstep
from blockstep import diagnostics, knobs
from blockstep.findings import Report
from blockstep.runtime import redirect
from tests.agreement.in_place import agreeing_in_place
from tests.differential import sample
from tests.differential.climbing import Climbing

NEEDED = ("torch", "liger_kernel", "conch", "fla", "einops", "packaging")
HOW = "python -m pip install -e '.[libraries]' && python tests/libraries/install.py"


CLIMBING, LAUNCHES = 0.5, (1, 1, 1, 2, 2, 3)  # the part of the tests that climb, with which launch
ON_DEVICE = os.environ.get("BLOCKSTEP_MACHINE") == "gpu"


def pytest_configure(config: pytest.Config) -> None:
    if ON_DEVICE:
        from tests.libraries.on_device import OnDevice

        OnDevice().__enter__()  # for the whole process: some modules make tensors when imported
    config.addinivalue_line("markers", "faulty(kind, ...): findings that the kernel deserves")
    config.addinivalue_line("markers", "rejected: the compiler does not take the kernel")
    config.addinivalue_line(
        "markers", "outside: launches in another process, which is judged there"
    )


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Without the wheels the modules are skipped, and in the project's own runs they fail."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return Absent.from_parent(parent, path=module_path) if missing else None


class Absent(pytest.Module):
    """A module whose libraries are not installed."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
        reason = f"not installed: {', '.join(missing)}; to install them: {HOW}"
        if os.environ.get("BLOCKSTEP_CI") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="package", autouse=True)
def redirected() -> Iterator[None]:
    """`import triton` is blockstep and the device `cuda` is the CPU, for the tests of this folder."""
    before = redirect.installed()
    blockstep.install()
    yield
    if not before:
        blockstep.uninstall()


@contextmanager
def _counted() -> Iterator[list[str]]:
    """The names of the kernels that are launched."""
    launched: list[str] = []

    def note(told: Any) -> None:
        launched.append(str(told.get()["name"]))

    knobs.runtime.launch_enter_hook.add(note)
    try:
        yield launched
    finally:
        knobs.runtime.launch_enter_hook.remove(note)


@contextmanager
def _climbing(request: pytest.FixtureRequest, faulty: Any) -> Iterator[None]:
    """One of the launches of some tests goes up the ladder as well; with `--ladder-all` all of all
    tests do. What a faulty kernel compiles to may do anything."""
    drawn, key = sample.current(), request.node.nodeid
    random = drawn.random(key)
    number = random.choice(LAUNCHES) if random.random() < CLIMBING else 0
    if faulty or not (number or drawn.everything):
        yield
        return
    made = Climbing(request.node)
    try:
        with made.launches(drawn.options(key), lambda _, n: drawn.everything or n == number):
            yield
    finally:
        made.tell()


@pytest.fixture(autouse=True)
def report(request: pytest.FixtureRequest, redirected: None) -> Iterator[Report]:
    """The report on what the test launched; it has to be clean."""
    if request.node.get_closest_marker("outside"):
        yield Report()
        return
    if ON_DEVICE:
        with _counted() as launches:
            yield Report()
        rejected = request.node.get_closest_marker("rejected")
        assert rejected or launches, "no kernel was launched"
        return
    marker = request.node.get_closest_marker("faulty")
    with blockstep.check() as report, agreeing_in_place() as compared, _climbing(request, marker):
        yield report
    assert report.launches, "no kernel was launched"
    assert len(compared.launches) >= len(report.launches), "a launch was not compared"
    deserved = set(marker.args if marker else ())
    wrong = [finding for finding in report.findings if finding.kind not in deserved]
    assert not wrong, "\n" + diagnostics.render_all(wrong)
    assert {finding.kind for finding in report.findings} == deserved
