"""IR is kept for a launch that is the same to the compiler, and made anew for any other."""

import numpy as np

import blockstep
import blockstep.language as tl
from blockstep.compiler.frontend import build_bound
from blockstep.ir import Function
from blockstep.runtime.arguments import bind

FACTOR = tl.constexpr(2)


@blockstep.jit
def scaled(x):
    return x * FACTOR


@blockstep.jit
def kernel(p, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(p + offs, scaled(offs), mask=offs < n)


def built(dtype: str = "int32", n: int = 5, block: int = 8, warps: int = 4) -> Function:
    bound = bind(kernel.params, (np.zeros(8, dtype), n, block), {}, kernel="kernel")
    return build_bound(kernel, bound.arguments, warps)


def test_other_values_of_the_same_types_are_the_same() -> None:
    assert built(n=5) is built(n=7)


def test_other_types_constants_and_options_are_not() -> None:
    first = built()
    assert built("int64") is not first
    assert built(block=16) is not first
    assert built(warps=8) is not first
    assert built() is first


def test_a_global_of_a_callee_that_changed_is_seen() -> None:
    global FACTOR
    first = built()
    FACTOR = tl.constexpr(3)
    second = built()
    assert second is not first
    assert any(o.attributes.get("value") == 3 for o in second.walk())
    FACTOR = tl.constexpr(2)


def test_true_and_one_differ() -> None:
    from blockstep.compiler.frontend.cache import exact

    keys = [exact(v) for v in (1, True, 1.0, 0.0, -0.0, (1,), (True,), None, "1")]
    assert len(set(keys)) == len(keys)
