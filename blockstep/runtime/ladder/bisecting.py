"""Which rewrite of a pass is the one that is wrong: the pass is stopped after n rewrites, and n is
halved down.

The pass runs on the IR that it was given, nothing after it; the grid machine runs what there is
then. It is taken for granted that a result, once wrong, stays wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from blockstep.compiler import passes
from blockstep.compiler.passes import fuel
from blockstep.findings import Rewrite, Span
from blockstep.ir import Function, Malformed, Names, Operation, dump, verify
from blockstep.runtime.ladder.compiling import Made, Stage
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import Grid
from blockstep.runtime.ladder.memory import Image
from blockstep.runtime.ladder.rung import Broken, NotRun


def rewrite_of(
    launch: Launch, made: Made, name: str, wanted: Image | None
) -> tuple[Rewrite, Span | None] | None:
    """The first rewrite of the pass after which the grid machine leaves something else, and its
    place; None where no one rewrite can be told. Memory is as it was before the launch."""
    found = _around(launch, made, name)
    if found is None or wanted is None:
        return None
    before, stage = found
    total = _rewritten(before, stage, None)[1]
    if not total or not _wrong(launch, before, stage, total, wanted):
        return None
    if _wrong(launch, before, stage, 0, wanted):
        return None
    right, wrong = 0, total
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if _wrong(launch, before, stage, middle, wanted):
            wrong = middle
        else:
            right = middle
    return _described(before, stage, wrong, total)


def _around(launch: Launch, made: Made, name: str) -> tuple[Function, Stage] | None:
    """The IR before a pass, and what the pass left."""
    before = launch.made
    for stage in made.stages:
        if stage.name == name:
            return before, stage
        before = stage.function
    return None


def _rewritten(before: Function, stage: Stage, most: int | None) -> tuple[Function, int]:
    function = before.clone()
    with fuel.limited(most) as spent:
        passes.apply(stage.one, function)
    return function, spent.spent


def _wrong(launch: Launch, before: Function, stage: Stage, most: int, wanted: Image) -> bool:
    """Whether the result is another after so many rewrites. What cannot be run is not wrong."""
    function, _ = _rewritten(before, stage, most)
    try:
        verify(function)
        Grid(stage.name, function, strict=True).run(launch)
        return bool(launch.memory.differences(wanted))
    except Broken:
        return True
    except (NotRun, Malformed):
        return False
    finally:
        launch.memory.restore()


def _described(
    before: Function, stage: Stage, number: int, total: int
) -> tuple[Rewrite, Span | None]:
    """A rewrite in lines of IR."""
    function, names = before.clone(), Names()
    texts = {0: dump(function, False, names)}
    place: list[Span | None] = [None]

    def heard(spent: int, operation: Operation) -> None:
        if spent in (number - 1, number):
            texts[spent] = dump(function, False, names)
        if spent == number and operation.location is not None:
            place[0] = operation.location.span

    with fuel.limited(number, heard):
        passes.apply(stage.one, function)
    lines = list(_changed(texts[number - 1], texts[number]))
    gone = tuple(line[1:].strip() for line in lines if line[0] == "-")
    new = tuple(line[1:].strip() for line in lines if line[0] == "+")
    return Rewrite(number, total, gone, new), place[0]


def _changed(before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield line


__all__ = ["rewrite_of"]
