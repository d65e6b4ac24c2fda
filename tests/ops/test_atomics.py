"""Atomics: old values, duplicates, masks, widths, floats by their bits, who may not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.ops.kernels import BF16, clean, same

NAN = math.nan


@triton.jit
def update(x_ptr, value_ptr, old_ptr, at_ptr, N: tl.constexpr, OP: tl.constexpr):
    i = tl.arange(0, N)
    where = tl.load(at_ptr + i)
    old = OP(x_ptr + where, tl.load(value_ptr + i), mask=where >= 0)
    tl.store(old_ptr + i, old, mask=where >= 0)


def atomic(op: Any, memory: Any, values: Any, at: Any = None) -> tuple[Any, Any]:
    """What is in memory afterwards, and the old values (-1 where the mask is off)."""
    x, v = memory.copy(), np.array(values, memory.dtype)
    places = np.arange(len(v), dtype=np.int32) if at is None else np.array(at, np.int32)
    old = np.full(len(v), np.array(1).astype(memory.dtype))
    with triton.check(skip=["order", "grid"]) as report:
        update[(1,)](x, v, old, places, N=len(v), OP=op)
    clean(report)
    return x, old


OPS: dict[Any, Any] = {
    tl.atomic_add: lambda a, b: a + b,
    tl.atomic_max: max,
    tl.atomic_min: min,
    tl.atomic_and: lambda a, b: a & b,
    tl.atomic_or: lambda a, b: a | b,
    tl.atomic_xor: lambda a, b: a ^ b,
    tl.atomic_xchg: lambda a, b: b,
}


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_integers(op: Any, kind: Any) -> None:
    info = np.iinfo(kind)
    before = [5, info.max - 5, info.min, 12]
    values = [3, 5, info.max, 10]
    x, old = atomic(op, np.array(before, kind), values)
    same(x, np.array([OPS[op](a, b) for a, b in zip(before, values, strict=True)], kind))
    same(old, np.array(before, kind))


def test_sums_wrap() -> None:
    x, _ = atomic(tl.atomic_add, np.array([2**31 - 1, 0], np.int32), [1, -1])
    same(x, np.array([-(2**31), -1], np.int32))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_lanes_that_share_an_element_act_one_after_the_other(op: Any) -> None:
    at, values = [0, 1, 0, 0, 1, 0, 0, 1], [9, 4, 2, 7, 8, 1, 12, 3]
    memory, seen = [6, 5], []
    for place, value in zip(at, values, strict=True):
        seen.append(memory[place])
        memory[place] = OPS[op](memory[place], value)
    x, old = atomic(op, np.array([6, 5], np.int32), values, at)
    same(x, np.array(memory, np.int32))
    same(old, np.array(seen, np.int32))


def test_many_lanes_on_one_element_each_see_the_sum_so_far() -> None:
    x, old = atomic(tl.atomic_add, np.array([100], np.int32), range(256), [0] * 256)
    same(x, np.array([100 + 255 * 128], np.int32))
    same(old, np.array([100 + n * (n - 1) // 2 for n in range(256)], np.int32))


def test_masked_lanes_do_nothing() -> None:
    x, _ = atomic(tl.atomic_add, np.array([1, 2, 3, 4], np.int32), [10] * 4, [0, -1, 2, -1])
    same(x, np.array([11, 2, 13, 4], np.int32))


@pytest.mark.parametrize("kind", [np.float16, BF16, np.float32, np.float64])
def test_floats_add_in_their_own_type(kind: Any) -> None:
    big = {2: 2048 if kind is np.float16 else 256, 4: 2**24, 8: 2**53}[np.dtype(kind).itemsize]
    x, old = atomic(tl.atomic_add, np.array([big, 1.5], kind), [1, 0.25])
    same(x, np.array([big, 1.75], kind))
    same(old, np.array([big, 1.5], kind))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_float_extremes_compare_sign_and_bits(kind: Any) -> None:
    """PTX has no float form: -0.0 is below 0.0, a NaN with a clear sign is the greatest."""
    before = np.array([-0.0, 0.0, NAN, 1.0, -2.0, -math.inf, 3.0, -1.0], kind)
    values = [0.0, -0.0, 1.0, NAN, -1.0, -5.0, 2.0, 4.0]
    x, _ = atomic(tl.atomic_max, before, values)
    same(x, np.array([0.0, 0.0, NAN, NAN, -1.0, -5.0, 3.0, 4.0], kind))
    x, _ = atomic(tl.atomic_min, before, values)
    same(x, np.array([-0.0, -0.0, 1.0, 1.0, -2.0, -math.inf, 2.0, -1.0], kind))


def test_a_nan_with_the_sign_set_is_the_least() -> None:
    negative = np.copysign(np.float32(NAN), np.float32(-1))
    x, _ = atomic(tl.atomic_max, np.array([1.0, negative], np.float32), [negative, -2.0])
    same(x, np.array([1.0, -2.0], np.float32))


# Compare and swap


@triton.jit
def swap(x_ptr, expected_ptr, value_ptr, old_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_cas(x_ptr + i, tl.load(expected_ptr + i), tl.load(value_ptr + i))
    tl.store(old_ptr + i, old)


@pytest.mark.parametrize(
    "kind",
    [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
    + [np.float16, BF16, np.float32, np.float64],
)
def test_compare_and_swap(kind: Any) -> None:
    x, old = np.array([1, 2, 3, 4], kind), np.zeros(4, kind)
    with triton.check() as report:
        swap[(1,)](x, np.array([1, 9, 3, 9], kind), np.array([5, 6, 7, 8], kind), old, N=4)
    clean(report)
    same(x, np.array([5, 2, 7, 4], kind))
    same(old, np.array([1, 2, 3, 4], kind))


def test_compare_and_swap_compares_bits() -> None:
    x, old = np.array([-0.0, NAN], np.float32), np.ones(2, np.float32)
    swap[(1,)](x, np.array([0.0, NAN], np.float32), np.array([5, 6], np.float32), old, N=2)
    same(x, np.array([-0.0, 6], np.float32))


# Scalars, orders, scopes


@triton.jit
def counted(counter_ptr, seen_ptr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    tl.store(seen_ptr + tl.program_id(0), tl.atomic_add(counter_ptr, 1, sem=SEM, scope=SCOPE))


@pytest.mark.parametrize("sem", [None, "acquire", "release", "acq_rel", "relaxed"])
@pytest.mark.parametrize("scope", [None, "gpu", "sys"])
def test_every_program_instance_gets_a_ticket_of_its_own(sem: Any, scope: Any) -> None:
    counter, seen = np.zeros(1, np.int32), np.full(16, -1, np.int32)
    with triton.check() as report:
        counted[(16,)](counter, seen, SEM=sem, SCOPE=scope)
    clean(report)
    assert counter[0] == 16
    assert sorted(seen.tolist()) == list(range(16))


@pytest.mark.parametrize(("sem", "scope"), [("seq_cst", None), (None, "system"), ("acq", "cta")])
def test_unknown_orders_and_scopes_are_refused(sem: Any, scope: Any) -> None:
    with pytest.raises(triton.CompilationError, match="not supported"):
        counted[(1,)](np.zeros(1, np.int32), np.zeros(1, np.int32), SEM=sem, SCOPE=scope)


# Descriptions of what cannot be


@triton.jit
def one(x_ptr, OP: tl.constexpr):
    OP(x_ptr + tl.arange(0, 2), 1)


@triton.jit
def one_swap(x_ptr):
    tl.atomic_cas(x_ptr + tl.arange(0, 2), 0, 1)


REFUSED = [
    (op, kind)
    for op in OPS
    for kind in (np.int8, np.int16, np.uint16, np.bool_, np.float16, BF16)
    if not (op is tl.atomic_add and kind in (np.float16, BF16))
]


@pytest.mark.parametrize(("op", "kind"), REFUSED, ids=lambda v: getattr(v, "__name__", str(v)))
def test_elements_that_the_hardware_has_no_atomic_for(op: Any, kind: Any) -> None:
    with pytest.raises(triton.CompilationError, match="does not support"):
        one[(1,)](np.zeros(2, kind), OP=op)


@pytest.mark.parametrize("op", [tl.atomic_and, tl.atomic_or, tl.atomic_xor])
def test_bitwise_atomics_want_integers(op: Any) -> None:
    with pytest.raises(triton.CompilationError):
        one[(1,)](np.zeros(2, np.float32), OP=op)


def test_compare_and_swap_wants_16_bits_or_more() -> None:
    with pytest.raises(triton.CompilationError, match="16, 32, 64"):
        one_swap[(1,)](np.zeros(2, np.int8))


@triton.jit
def block_value_at_a_scalar(x_ptr):
    tl.atomic_add(x_ptr, tl.arange(0, 4))


@triton.jit
def to_constant(x_ptr: tl.const):
    tl.atomic_add(x_ptr, 1)


def test_a_scalar_pointer_takes_a_scalar() -> None:
    with pytest.raises(triton.CompilationError, match="block"):
        block_value_at_a_scalar[(1,)](np.zeros(4, np.int32))


def test_a_constant_pointer_is_not_written() -> None:
    with pytest.raises(triton.CompilationError, match="constant"):
        to_constant[(1,)](np.zeros(4, np.int32))


def test_subnormal_float32_numbers_add_as_zeros() -> None:
    x, old = np.array([1e-38, -1.4375528e-31], np.float32), np.zeros(2, np.float32)
    before = x.copy()

    @triton.jit
    def kernel(x_ptr, old_ptr):
        i = tl.arange(0, 2)
        tl.store(old_ptr + i, tl.atomic_add(x_ptr + i, -1.17549421e-38))

    kernel[(1,)](x, old)
    assert x.tolist() == [0.0, before[1]] and old.tolist() == before.tolist()
