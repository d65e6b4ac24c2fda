"""Random kernels with shadows: both machines give the values that they give without, and say the same."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused
from blockstep.interp.memory import View
from blockstep.interp.shadows.records import ShadowResult
from blockstep.language.function import launching
from blockstep.runtime.ladder.launch import Launch, take
from tests.agreement.agree import copies, outcome
from tests.fuzz.case import Case, loaded
from tests.fuzz.generate import generate
from tests.interp.shadowed import facts, on_grid, on_step, plainly

NUMBERS = range(300, 340)


def launch_of(case: Case) -> tuple[Launch, dict[str, object]] | None:
    """A clean case as a launch; None for another."""
    names = loaded(case.script())
    with np.errstate(all="ignore"):
        arguments = names["arguments"]()
        judged = outcome("step", names["kernel"], case.grid, arguments, 0, {})
    if judged.findings or judged.error:
        return None
    found: list[Launch] = []

    def keep(function, args, kwargs, *, grid, warmup):
        found.append(take(function, tuple(args), kwargs, grid))

    with launching(keep), np.errstate(all="ignore"):
        names["kernel"][case.grid](*copies(arguments))
    return found[0], names


def bytes_of(launch: Launch) -> dict[str, bytes]:
    """All memory of the array arguments."""
    return {
        name: view.storage.data.tobytes()
        for name, view in launch.arguments.items()
        if isinstance(view, View) and view.storage is not None
    }


def told(found: ShadowResult) -> dict[str, bytes]:
    """The values of outputs that both machines measured."""
    return {name: output.values.tobytes() for name, output in found.outputs.items()}


@pytest.mark.parametrize("number", NUMBERS)
def test_random_kernels_keep_their_values(number: int) -> None:
    made = launch_of(generate(Random(number)))
    if made is None:
        pytest.skip("a kernel that breaks a rule")
    launch, names = made
    try:
        before = bytes_of(launch)
        step = on_step(launch)
        assert bytes_of(launch) == before
        try:
            grid = on_grid(launch)
            plainly(launch)
        except (Refused, Suspicion):
            return
        right = bytes_of(launch)
        launch.memory.restore()
        assert told(grid) == told(step)
        ours, theirs = (
            sorted(facts(r)[:-1] for r in found.lines if not r.op.startswith("atomic"))
            for found in (grid, step)
        )
        assert ours == theirs
        for output in grid.outputs.values():
            view = launch.arguments[output.name]
            assert isinstance(view, View) and view.storage is not None
            whole = np.frombuffer(right[output.name], np.uint8)
            first = int(view.base) - view.storage.base
            if not launch.arguments[output.name].strides == (1,):
                continue
            size = output.values.dtype.itemsize
            there = whole[first : first + view.size * size].view(output.values.dtype)
            assert there[output.at].tobytes() == output.values.tobytes()
    finally:
        names["__forget__"]()  # type: ignore[operator]
