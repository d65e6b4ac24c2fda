"""Which elements leave their type: decided modulo 2^64, held against Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.interp.arithmetic import does_not_hold, leaves
from blockstep.language import types as ty

KINDS = [ty.int8, ty.uint8, ty.int16, ty.uint16, ty.int32, ty.uint32, ty.int64, ty.uint64]
EXACT = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "shl": lambda x, y: x << y,
}


@st.composite
def pairs(draw: Any) -> tuple[Any, int, int]:
    """A type and two of its numbers, many of them near a limit or a root of one."""
    kind = draw(st.sampled_from(KINDS))
    root = 1 << (kind.primitive_bitwidth // 2)
    near = [kind.lowest, kind.highest, 0, root, -root, kind.highest // 3]
    number = st.one_of(
        st.integers(kind.lowest, kind.highest),
        st.builds(lambda a, b: a + b, st.sampled_from(near), st.integers(-3, 3)),
    ).filter(lambda n: kind.lowest <= n <= kind.highest)
    return kind, draw(number), draw(number)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "shl"])
@settings(max_examples=400, deadline=None)
@given(pairs())
def test_what_leaves_the_type(name: str, given_pair: tuple[Any, int, int]) -> None:
    kind, x, y = given_pair
    if name == "shl":
        y = abs(y) % kind.primitive_bitwidth
    exact = EXACT[name](x, y)
    with np.errstate(all="ignore"):
        told = leaves(name, np.array([x, x], kind.numpy), np.array([y, y], kind.numpy), kind)
    assert told.tolist() == [not kind.lowest <= exact <= kind.highest] * 2


@settings(max_examples=400, deadline=None)
@given(pairs(), st.sampled_from(KINDS))
def test_what_an_integer_type_does_not_hold(pair: tuple[Any, int, int], target: Any) -> None:
    """As signed or as unsigned: a change of sign alone keeps every bit."""
    kind, x, _ = pair
    if target.primitive_bitwidth >= kind.primitive_bitwidth:
        return
    told = does_not_hold(np.array([x], kind.numpy), kind, target)
    width = target.primitive_bitwidth
    assert told.tolist() == [not -(1 << (width - 1)) <= x < 1 << width]
