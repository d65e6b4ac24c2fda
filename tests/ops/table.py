"""How a test row of an operation is declared; `rows` has the rows, `tests/test_registry.py` runs
them.

A row is a kernel (or a function of blocks, which `kernels.apply` puts into one), what it works on,
and what must come out by a calculation that shares nothing with the operation's own meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import blockstep as triton
from tests.ops.kernels import Array, apply, clean, same


@dataclass(frozen=True, slots=True)
class Row:
    """`run` raises unless everything is right."""

    op: str
    name: str
    run: Callable[[], None]


ROWS: list[Row] = []


def row(op: str, *inputs: Any, gives: Any, ulps: int = 0) -> Callable[[Any], Any]:
    """A function of blocks: `fn(*inputs)` is `gives`, bit for bit (or within `ulps` of floats)."""

    def declare(fn: Any) -> Any:
        made = triton.jit(fn)

        def run() -> None:
            found = apply(made, *map(np.asarray, inputs))
            if ulps:
                np.testing.assert_array_max_ulp(found, gives, ulps)
            else:
                same(found, gives)

        ROWS.append(Row(op, fn.__name__, run))
        return made

    return declare


def program(op: str, *arrays: Array, gives: tuple[Any, ...], grid: Any = (1,)) -> Any:
    """A whole kernel: after `fn[grid](*arrays)` the arrays are `gives`, bit for bit."""

    def declare(fn: Any) -> Any:
        made = triton.jit(fn)

        def run() -> None:
            copies = [array.copy() for array in arrays]
            with triton.check() as report:
                made[grid](*copies)
            clean(report)
            for found, expected in zip(copies, gives, strict=True):
                same(found, np.array(expected, found.dtype))

        ROWS.append(Row(op, fn.__name__, run))
        return made

    return declare


def check(op: str, run: Callable[[], None]) -> None:
    """A row that says itself what it runs and what must come out."""

    def judged() -> None:
        with triton.check() as report:
            run()
        clean(report)

    ROWS.append(Row(op, run.__name__, judged))


__all__ = ["ROWS", "Row", "check", "program", "row"]
