"""Makes a launch that disagrees smaller while it disagrees in the same way: on a rung of the same
name, by a value, a fault of the same kind, or memory that the source does not touch.

The grid, compile-time numbers, arrays and their values, statements and expressions of the kernel are
made smaller in turn, as long as there is time. A source that has an error itself is no smaller case.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from blockstep.language.function import launching
from blockstep.runtime.ladder import edits
from blockstep.runtime.ladder.climb import climb
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.ladder.outcome import Outcome
from blockstep.runtime.ladder.reproducing import Array, Block, Case, case_of, loaded, turns
from blockstep.runtime.ladder.sources import NotWritten
from blockstep.runtime.ladder.telling import line

SECONDS = 60.0
_NUMBER = re.compile(r":\d+$")


def reproducer(launch: Launch, wrong: Outcome, seconds: float = SECONDS) -> str:
    """A script of the smallest case found in the time there is. Memory has to be as it was before
    the launch. Raises NotWritten for a launch that cannot be written down, or that agrees when it
    is launched from the script."""
    case, way = case_of(launch), way_of(wrong)
    if not _fails(case, way):
        raise NotWritten("launched from a script it does not differ in the same way")
    case = shrunk(case, way, seconds)
    found = _first_wrong(case)
    assert found is not None
    return case.script(f"`{case.kernel}` on the rung `{found.rung}`: {line(found)}")


def way_of(wrong: Outcome) -> tuple[str, str]:
    """How a launch disagrees: the rung (not which of several passes of a name), and by what."""
    by = "value"
    if wrong.mismatch is None:
        by = "memory" if wrong.beyond else wrong.faults[0].kind
    return _NUMBER.sub("", wrong.rung), by


def shrunk(case: Case, way: tuple[str, str], seconds: float = SECONDS) -> Case:
    """The smallest case found in so many seconds of this process."""
    end = time.process_time() + seconds
    smaller = True
    while smaller:
        smaller, at = False, 0
        while True:  # after a success go on at the same place, not from the start
            candidate = next(islice(_candidates(case), at, None), None)
            if candidate is None:
                break
            if time.process_time() >= end:
                return case
            if _fails(candidate, way):
                case, smaller = candidate, True
            else:
                at += 1
    return case


def _fails(case: Case, way: tuple[str, str]) -> bool:
    """Whether a case disagrees in this way. One that cannot be run does not."""
    try:
        found = _first_wrong(case)
    except Exception:  # noqa: BLE001  (whatever an edited kernel raises, it is no case)
        return False
    return found is not None and way_of(found) == way


def _first_wrong(case: Case) -> Outcome | None:
    """The first rung that differs when a case is launched."""
    names = loaded(case.script(""))
    found: list[Outcome] = []

    def launcher(function: Any, args: Any, kwargs: Any, *, grid: Any, warmup: bool) -> None:
        climbed = climb(take(function, args, kwargs, grid), explains=False)
        if climbed.first_wrong is not None:
            found.append(climbed.first_wrong)

    with launching(launcher):
        names[case.kernel][case.grid](**names["arguments"](), **case.options)
    return found[0] if found else None


def _candidates(case: Case) -> Iterator[Case]:
    """Cases that are a little smaller, the boldest first."""
    yield from _grids(case)
    yield from _constants(case)
    yield from _sources(case)
    yield from _parameters(case)
    yield from _arrays(case)
    yield from _plainer(case)
    for name in case.options:
        left = {k: v for k, v in case.options.items() if k != name}
        yield replace(case, options=left)


def _grids(case: Case) -> Iterator[Case]:
    for axis, n in enumerate(case.grid):
        for fewer in dict.fromkeys((1, n // 2)):
            if 0 < fewer < n:
                sizes = list(case.grid)
                sizes[axis] = fewer
                yield replace(case, grid=(sizes[0], sizes[1], sizes[2]))


def _constants(case: Case) -> Iterator[Case]:
    """Numbers, compile-time and others, by half."""
    for name, value in case.arguments.items():
        if type(value) is int and value > 1:
            yield replace(case, arguments={**case.arguments, name: value // 2})


def _sources(case: Case) -> Iterator[Case]:
    for name, source in case.functions.items():
        head, _, body = source.partition("\n")
        for edited in edits.smaller(body):
            yield replace(case, functions={**case.functions, name: f"{head}\n{edited}"})
        if name != case.kernel and f"{name}(" not in "".join(
            text for other, text in case.functions.items() if other != name
        ):
            left = {k: v for k, v in case.functions.items() if k != name}
            yield replace(case, functions=left)


def _parameters(case: Case) -> Iterator[Case]:
    head, _, body = case.functions[case.kernel].partition("\n")
    for name in edits.unread(body):
        source = f"{head}\n{edits.without_parameter(body, name)}"
        arguments = {k: v for k, v in case.arguments.items() if k != name}
        functions = {**case.functions, case.kernel: source}
        yield _without_blocks(replace(case, arguments=arguments, functions=functions))


def _without_blocks(case: Case) -> Case:
    """Memory that no argument lies in any more holds one byte."""
    used = {a.block for a in _all_arrays(case.arguments.values())}
    empty = Block(np.zeros(1, np.uint8), 0)
    blocks = tuple(b if n in used else empty for n, b in enumerate(case.blocks))
    return replace(case, blocks=blocks)


def _all_arrays(values: Any) -> Iterator[Array]:
    for value in values:
        if isinstance(value, Array):
            yield value
        elif type(value) is tuple:
            yield from _all_arrays(value)
        elif hasattr(value, "array"):
            yield value.array


def _arrays(case: Case) -> Iterator[Case]:
    """The first half of an array that has its memory to itself."""
    everything = list(_all_arrays(case.arguments.values()))
    for name, value in case.arguments.items():
        if not isinstance(value, Array) or not value.shape or value.shape[0] < 2:
            continue
        values = case.blocks[value.block].values
        alone = sum(a.block == value.block for a in everything) == 1
        if alone and not value.offset and values.size == prod(value.shape):
            shape = (value.shape[0] // 2, *value.shape[1:])
            half = Block(values[: prod(shape)], case.blocks[value.block].shift)
            blocks = (*case.blocks[: value.block], half, *case.blocks[value.block + 1 :])
            arguments = {**case.arguments, name: replace(value, shape=shape)}
            yield replace(case, arguments=arguments, blocks=blocks)


def _plainer(case: Case) -> Iterator[Case]:
    """Memory full of one number, or of a few that take turns."""
    for number, block in enumerate(case.blocks):
        values = block.values
        if values.size < 2 or values.dtype.kind == "b" or _is_plain(values):
            continue
        for plain in (np.zeros_like(values), np.ones_like(values), turns(values)):
            blocks = list(case.blocks)
            blocks[number] = Block(plain, block.shift)
            yield replace(case, blocks=tuple(blocks))


def _is_plain(values: Any) -> bool:
    return any(
        np.array_equal(values, plain)
        for plain in (np.zeros_like(values), np.ones_like(values), turns(values))
    )


__all__ = ["SECONDS", "reproducer", "shrunk", "way_of"]
