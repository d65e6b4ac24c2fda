"""A pytest plugin: every launch of the tests that run also runs as PTX on the ptx machine.

    python -m pytest -p tests.ptx.on_ptx tests/ops

What differs, what is not supported and what the machine finds is listed at the end, and in the file
that BLOCKSTEP_PTX_REPORT names.
"""

from __future__ import annotations

import collections
import json
import os
from contextlib import ExitStack
from typing import Any

import pytest

from tests.ptx.compiled import Outcome, outcomes

_current = ["?"]
_seen: list[tuple[str, Outcome]] = []
_stack = ExitStack()


class _List(list[Outcome]):
    """Takes outcomes with the test that they are from."""

    def append(self, one: Outcome) -> None:
        one.text = ""
        _seen.append((_current[0], one))


def pytest_runtest_setup(item: pytest.Item) -> None:
    _current[0] = item.nodeid


def pytest_sessionstart(session: pytest.Session) -> None:
    target = os.environ.get("BLOCKSTEP_PTX_TARGET", "sm_90a")
    _stack.enter_context(outcomes(into=_List(), target=target))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    bad = [(test, one) for test, one in _seen if one.error]
    found = [(test, one) for test, one in _seen if one.faults]
    terminalreporter.write_line(
        f"as PTX: {len(_seen)} launches, {len(_seen) - len(bad)} the same bits, "
        f"{len(bad)} not, {len(found)} with faults"
    )
    reasons = collections.Counter(one.error[:150] for _, one in bad)
    reasons.update(f"fault: {fault}"[:230] for _, one in found for fault in one.faults)
    for reason, count in reasons.most_common(60):
        terminalreporter.write_line(f"  {count} {reason}")
    path = os.environ.get("BLOCKSTEP_PTX_REPORT")
    if path:
        told = [(test, one.kernel, one.error, [str(f) for f in one.faults]) for test, one in _seen
                if one.error or one.faults]  # fmt: skip
        with open(path, "w") as file:
            json.dump(told, file, indent=1)
