"""Blame on random kernels: what a log of every access says, and values that follow from each other."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from blockstep.debugger.blame import (
    accesses,
    as_json,
    asking,
    blame,
    candidates,
    mapping,
    memory_map,
)  # fmt: skip
from blockstep.debugger.blame.running import target_of
from blockstep.diagnostics.blame import blame_text, who_text
from blockstep.runtime.ladder.launch import Launch, take
from tests.agreement.agree import copies
from tests.debugger.blaming import check_links, equal, holds, logged, same_accesses
from tests.fuzz.case import loaded
from tests.fuzz.generate import generate

COUNT = 14


def launch_of(number: int) -> tuple[Launch, Any]:
    case = generate(Random(number))
    names = loaded(case.script())
    with np.errstate(all="ignore"):
        arguments = copies(names["arguments"]())
    return take(names["kernel"], tuple(arguments), {}, case.grid), names["__forget__"]


def elements(launch: Launch, number: int) -> Any:
    """An element of each argument that was written, and any one, with the argument's map."""
    random = np.random.default_rng(number)
    for argument in launch.bound.arguments:
        for part in argument.walk():
            view = part.view
            if view is None or view.storage is None or not view.size:
                continue
            found = memory_map(launch, part.name)
            yield part.name, tuple(int(i) for i in random.integers(0, view.shape)), found
            written = np.argwhere(found.writers >= 0)
            if len(written):
                yield part.name, tuple(map(int, written[random.integers(len(written))])), found


def linear(launch: Launch, program: Any) -> int:
    if program is None:
        return -1
    x, y, z = program
    return int((z * launch.grid[1] + y) * launch.grid[0] + x)


@pytest.mark.parametrize("number", range(COUNT))
def test_blame_on_a_random_kernel_is_what_a_log_says(number: int) -> None:
    launch, forget = launch_of(number)
    for name, index, found in elements(launch, number):
        target = target_of(launch, name, index)
        entries, end = logged(launch, target.view, target.address)
        who, chain = accesses(launch, name, index), blame(launch, name, index)
        same_accesses(who, entries, end)
        writes = [a for a in who if a.wrote]
        assert holds(chain.value, end) and equal(chain.head.value, chain.value)
        assert chain.program == (writes[-1].program if writes else None)
        assert found.writers[index] == linear(launch, chain.program)
        if writes:
            assert chain.head.span == writes[-1].span
        check_links(chain)
        for line in (*blame_text(chain).splitlines(), *who_text(who).splitlines()):
            assert len(line) <= 80
    forget()


@pytest.mark.parametrize("number", range(COUNT, COUNT + 5))
def test_the_grid_machine_changes_no_answer(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    launch, forget = launch_of(number)
    asked = [
        (name, index, found, blame(launch, name, index), accesses(launch, name, index))
        for name, index, found in elements(launch, number)
    ]

    def refuse(*args: Any) -> None:
        raise candidates.Dependent

    monkeypatch.setattr(asking, "heard", refuse)
    monkeypatch.setattr(mapping, "heard", refuse)
    for name, index, found, chain, who in asked:
        again = memory_map(launch, name)
        assert (again.writers == found.writers).all() and (again.reads == found.reads).all()
        assert as_json(accesses(launch, name, index)) == as_json(who)
        other = blame(launch, name, index)
        assert as_json(other) == as_json(chain) or chain.more or other.more
    forget()
