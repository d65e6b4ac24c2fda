"""What a launch says about arguments that a newcomer gets wrong."""

import numpy as np
import pytest

import blockstep
import blockstep.language as tl


@blockstep.jit
def fill(p, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(p + at, 1, mask=at < n)


def test_a_grid_function_that_asks_for_no_argument_names_those_there_are() -> None:
    with pytest.raises(KeyError) as caught:
        fill[lambda meta: (meta["BLOK"],)](np.zeros(8, np.int32), 8, BLOCK=8)
    assert caught.value.__notes__ == ["the grid function is given the arguments: p, n, BLOCK"]


def test_a_dtype_is_described_by_its_public_name() -> None:
    with pytest.raises(TypeError, match=r"argument `n` of fill is a tl\.dtype"):
        fill[(1,)](np.zeros(8, np.int32), tl.float32, BLOCK=8)


def test_none_where_a_pointer_is_used_says_how_to_guard_it() -> None:
    with pytest.raises(Exception, match="if x is not None:"):
        fill[(1,)](None, 8, BLOCK=8)


def helper(x: int) -> int:
    return x


@blockstep.jit
def calls_python(p):
    tl.store(p, helper(2))


@blockstep.jit
def indexes(p):
    tl.store(p[0], 2)


def test_a_plain_python_function_is_named_and_may_be_decorated() -> None:
    with pytest.raises(Exception, match="helper is plain Python; decorate it with @triton.jit"):
        calls_python[(1,)](np.zeros(8, np.int32))


def test_an_indexed_pointer_says_how_to_add_an_offset() -> None:
    with pytest.raises(Exception, match=r"index: 0 \(add offsets to a pointer, p \+ i"):
        indexes[(1,)](np.zeros(8, np.int32))


def test_a_block_that_is_no_power_of_two_names_the_argument_and_the_fix() -> None:
    with pytest.raises(Exception, match="but BLOCK is 12: take 16"):
        fill[(1,)](np.zeros(8, np.int32), 8, BLOCK=12)
