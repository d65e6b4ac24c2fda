"""Atomics run in NumPy, lane by lane: each element is acted on once, and all holders see its old
value."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.lower.atomic_text import _BETTER, _EXTREME, _SUM
from blockstep.interp.atomics import COMBINE
from blockstep.language.assembly import Program
from tests.compiler.atomic_cta import run
from tests.compiler.lowered import compiled
from tests.compiler.test_lower_atomics import WARPS, combine

RNG = np.random.default_rng(3)
Array = np.ndarray[Any, Any]


def block(kind: Any, n: int) -> Array:
    if np.dtype(kind).kind in "iu":
        return RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max, n, kind, endpoint=True)
    return (RNG.integers(-8, 8, n) / 2).astype(kind)


CASES = [
    *[(how, kind) for how in ("add", "max", "min", "and", "or", "xor", "xchg")
      for kind in (np.int32, np.uint64)],
    *[(how, kind) for how in ("max", "min", "xchg") for kind in (np.float32, np.float64)],
    *[("add", kind) for kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)],
]  # fmt: skip


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("n", [8, 512])
@pytest.mark.parametrize(("how", "kind"), CASES)
@pytest.mark.parametrize("keep", [False, True])
def test_read_modify_write(how: str, kind: Any, keep: bool, n: int, warps: int) -> None:
    x, v, old = block(kind, n), block(kind, n), np.zeros(n, kind)
    before = x.copy()
    module = compiled(combine, (x, v, old, how, keep, n), num_warps=warps).module
    acted = run(module, [x, v, old], warps)
    size = x.itemsize
    assert acted == dict.fromkeys(range(256, 256 + n * size, size), 1)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(x, COMBINE[how](before, v))
    np.testing.assert_array_equal(old, before if keep else np.zeros(n, kind))


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("kind", [np.int16, np.float32, np.uint64])
def test_compare_and_swap(kind: Any, warps: int) -> None:
    x, v, old = block(kind, 64), block(kind, 64), np.zeros(64, kind)
    v[::2] = x[::2]
    before = x.copy()
    module = compiled(combine, (x, v, old, "cas", True, 64), num_warps=warps).module
    run(module, [x, v, old], warps)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(x, np.where(before == v, v + v, before))
    np.testing.assert_array_equal(old, before)


@triton.jit
def tickets(counter_ptr, out_ptr, N: tl.constexpr):
    ticket = tl.atomic_add(counter_ptr, 1)
    i = tl.arange(0, N)
    tl.store(out_ptr + ticket * N + i, i + 1000 * tl.program_id(0))


@pytest.mark.parametrize("warps", WARPS)
def test_all_lanes_see_the_ticket_that_one_drew(warps: int) -> None:
    counter, out = np.zeros(1, np.int32), np.zeros(4 * 64, np.int32)
    module = compiled(tickets, (counter, out, 64), num_warps=warps).module
    run(module, [counter, out], warps, programs=4)
    assert counter[0] == 4
    wanted = np.arange(64)[None, :] + 1000 * np.arange(4)[:, None]
    np.testing.assert_array_equal(out.reshape(4, 64), wanted)


@triton.jit
def lock_around(lock_ptr, x_ptr, N: tl.constexpr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    i = tl.arange(0, N)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("warps", WARPS)
def test_a_lock_is_taken_and_freed(warps: int) -> None:
    lock, x = np.zeros(1, np.int32), np.zeros(64, np.float32)
    module = compiled(lock_around, (lock, x, 64), num_warps=warps).module
    acted = run(module, [lock, x], warps, programs=3)
    assert lock[0] == 0
    assert acted == {256: 6}
    np.testing.assert_array_equal(x, np.full(64, 3, np.float32))


@triton.jit
def uneven(x_ptr, old_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(x_ptr + i, i, mask=(i & 3) == 0)
    tl.store(old_ptr + i, old, mask=(i & 3) == 0)


@pytest.mark.parametrize("warps", WARPS)
def test_masked_elements_stay(warps: int) -> None:
    x, old = block(np.int32, 256), np.zeros(256, np.int32)
    before, on = x.copy(), np.arange(256) & 3 == 0
    run(compiled(uneven, (x, old, 256), num_warps=warps).module, [x, old], warps)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(x, np.where(on, before + np.arange(256), before))
    np.testing.assert_array_equal(old, np.where(on, before, 0))


def stepped(step: str, old: Array, new: Array) -> Array:
    """One turn of the loop that 16-bit atomics are, for bits."""
    text = step.replace("next", "$0").replace("$2", "$9").replace("old", "$1").replace("$9", "$2")
    program = Program(f"mov.b16 none, 0; {text}", "=h,h,h")
    (found,) = program.run([old.astype(np.uint64), new.astype(np.uint64)])
    return np.asarray(found, np.uint16)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("how", ["max", "min"])
def test_sixteen_bits_are_tried_until_they_fit(how: str, kind: Any) -> None:
    old, new = RNG.integers(0, 1 << 16, (2, 4000), np.uint16)
    found = stepped(_EXTREME.replace("BETTER", _BETTER[how]), old, new)
    wanted = COMBINE[how](old.view(kind), new.view(kind))
    np.testing.assert_array_equal(found, np.asarray(wanted).view(np.uint16))


def test_bfloat16_is_added_in_float32_before_sm_90() -> None:
    old, new = (block(ml_dtypes.bfloat16, 500) * ml_dtypes.bfloat16(1.0078125) for _ in range(2))
    found = stepped(_SUM, old.view(np.uint16), new.view(np.uint16))
    np.testing.assert_array_equal(found.view(ml_dtypes.bfloat16), COMBINE["add"](old, new))
