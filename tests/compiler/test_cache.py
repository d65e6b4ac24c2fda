"""IR is kept for a launch that is the same to the compiler, and made anew for any other."""

from types import ModuleType

import numpy as np
import pytest

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


config = ModuleType("config")
config.__dict__["SHIFT"] = tl.constexpr(2)


@blockstep.jit
def shifted(p):
    tl.store(p, config.SHIFT)


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


@pytest.mark.parametrize("machine", ["grid", "step"])
def test_a_constant_of_a_module_that_changed_is_seen(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = []
    for shift in (2, 5):
        monkeypatch.setitem(config.__dict__, "SHIFT", tl.constexpr(shift))
        x = np.zeros(1, np.int32)
        with blockstep.machine(machine):
            shifted[(1,)](x)
        stored.append(int(x[0]))
    assert stored == [2, 5]


def test_a_constant_at_the_address_of_one_that_is_gone_is_seen() -> None:
    global FACTOR
    names = scaled.prepared.names
    first, address = names.identities(), id(FACTOR)
    FACTOR = None
    many = [tl.constexpr(3) for _ in range(100)]  # one of them would take the free place
    assert all(id(c) != address for c in many)
    FACTOR = many[0]
    assert names.identities() != first
    FACTOR = tl.constexpr(2)


def test_true_and_one_differ() -> None:
    from blockstep.compiler.frontend.cache import exact

    keys = [exact(v) for v in (1, True, 1.0, 0.0, -0.0, (1,), (True,), None, "1")]
    assert len(set(keys)) == len(keys)
