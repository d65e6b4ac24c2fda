"""Atomics as PTX: which instruction, who acts, what orders the other lanes' accesses."""

from __future__ import annotations

import itertools
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler import layouts
from blockstep.compiler.lower.agree import copies_are_equal
from blockstep.ir import Layout
from tests.compiler.lowered import TARGETS, compiled

Array = np.ndarray[Any, Any]
WARPS = (1, 2, 4, 8)
INTEGERS = (np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


@triton.jit
def combine(x_ptr, v_ptr, old_ptr, HOW: tl.constexpr, KEEP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(v_ptr + i)
    if HOW == "add":
        old = tl.atomic_add(x_ptr + i, v)
    elif HOW == "max":
        old = tl.atomic_max(x_ptr + i, v)
    elif HOW == "min":
        old = tl.atomic_min(x_ptr + i, v)
    elif HOW == "and":
        old = tl.atomic_and(x_ptr + i, v)
    elif HOW == "or":
        old = tl.atomic_or(x_ptr + i, v)
    elif HOW == "xor":
        old = tl.atomic_xor(x_ptr + i, v)
    elif HOW == "xchg":
        old = tl.atomic_xchg(x_ptr + i, v)
    else:
        old = tl.atomic_cas(x_ptr + i, v, v + v)
    if KEEP:
        tl.store(old_ptr + i, old)


def combined(
    how: str, kind: type, keep: bool, target: str = "sm_90a", num_warps: int = 4, n: int = 512
) -> str:
    x: Array = np.zeros(n, kind)
    return compiled(combine, (x, x.copy(), x.copy(), how, keep, n), target, num_warps).ptx


def accesses(ptx: str) -> list[str]:
    """The names of the atomic instructions, without order and scope."""
    found = re.findall(r"\b((?:red|atom)\.[\w.]+)", ptx)
    return [
        re.sub(r"\.(relaxed|acquire|release|acq_rel|cta|gpu|sys|global)\b", "", f) for f in found
    ]


EXPECTED = [
    ("add", np.int32, "add.u32"), ("add", np.uint64, "add.u64"), ("add", np.float64, "add.f64"),
    ("max", np.int32, "max.s32"), ("max", np.uint32, "max.u32"), ("min", np.int64, "min.s64"),
    ("min", np.uint64, "min.u64"), ("and", np.int32, "and.b32"), ("or", np.uint64, "or.b64"),
    ("xor", np.uint32, "xor.b32"),
]  # fmt: skip


def uses(ptx: str) -> set[int]:
    """How often the registers that atomics return appear: for the assembler, an atomic whose
    register appears once more than it is cleared is a reduction."""
    found = re.findall(r"\batom\.\S+ (?:\{ *)?(%\w+)", ptx)
    assert found
    return {len(re.findall(rf"{register}\b", ptx)) for register in found}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("how", "kind", "name"), EXPECTED)
def test_an_old_value_is_used_where_it_is_wanted(
    how: str, kind: type, name: str, target: str
) -> None:
    dropped, kept = (combined(how, kind, keep, target) for keep in (False, True))
    assert set(accesses(dropped)) == set(accesses(kept)) == {f"atom.{name}"}
    assert uses(dropped) == {2}  # cleared and returned
    assert min(uses(kept)) > 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_every_kind_of_every_type_assembles(num_warps: int, target: str) -> None:
    pairs = [
        *itertools.product(("add", "max", "min", "and", "or", "xor", "xchg", "cas"), INTEGERS),
        *itertools.product(("add",), FLOATS),
        *itertools.product(("max", "min", "xchg", "cas"), (np.float32, np.float64)),
        *itertools.product(("cas",), (np.int16, np.float16, ml_dtypes.bfloat16)),
    ]
    for (how, kind), keep in itertools.product(pairs, (False, True)):
        assert re.search(r"\b(red|atom)\.", combined(how, kind, keep, target, num_warps, 64))


@pytest.mark.parametrize(
    ("kind", "target", "keep", "name"),
    [
        (np.float32, "sm_90a", False, "red.add.v4.f32"),
        (np.float32, "sm_90a", True, "atom.add.f32"),
        (np.float32, "sm_80", False, "atom.add.f32"),
        (np.float16, "sm_90a", False, "red.add.noftz.v2.f16x2"),
        (np.float16, "sm_90a", True, "atom.add.noftz.f16x2"),
        (np.float16, "sm_80", False, "atom.add.noftz.f16x2"),
        (ml_dtypes.bfloat16, "sm_90a", False, "red.add.noftz.v2.bf16x2"),
        (ml_dtypes.bfloat16, "sm_80", False, "atom.cas.b16"),
    ],
)
def test_neighbours_are_added_together(kind: type, target: str, keep: bool, name: str) -> None:
    assert set(accesses(combined("add", kind, keep, target))) == {name}


def test_eight_halves_are_added_together() -> None:
    text = combined("add", np.float16, False, n=4096)
    assert set(accesses(text)) == {"red.add.noftz.v4.f16x2"}


@triton.jit
def masked(x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(x_ptr + i, 1.0, mask=i < n)


def test_a_mask_that_may_end_anywhere_splits_the_neighbours() -> None:
    x = np.zeros(512, np.float32)
    even = compiled(masked, (x, 512, 512)).ptx
    odd = compiled(masked, (x, 511, 512)).ptx
    assert set(accesses(even)) == {"red.add.v4.f32"}
    assert set(accesses(odd)) == {"atom.add.f32"}
    assert len(accesses(odd)) == 4
    assert len(re.findall(r"@%p\d+ atom\.", odd)) == 4


@triton.jit
def summed(x_ptr, SEM: tl.constexpr, N: tl.constexpr):
    tl.atomic_add(x_ptr + tl.arange(0, N), 1.0, sem=SEM)


@pytest.mark.parametrize(
    ("sem", "red"),
    [
        ("relaxed", "relaxed"),
        ("acquire", "relaxed"),
        ("release", "release"),
        ("acq_rel", "release"),
    ],
)
def test_neighbours_that_are_added_release_what_came_before(sem: str, red: str) -> None:
    text = compiled(summed, (np.zeros(512, np.float32), sem, 512)).ptx
    assert f"red.{red}.gpu.global.add.v4.f32" in text
    assert ("bar.sync" in text) == (red == "release")


def test_extremes_of_floats_are_those_of_their_bits() -> None:
    assert accesses(combined("max", np.float32, False, n=128)) == ["atom.max.s32", "atom.min.u32"]
    assert accesses(combined("min", np.float64, True, n=128)) == ["atom.min.s64", "atom.max.u64"]


@triton.jit
def ordered(x_ptr, out_ptr, SEM: tl.constexpr, SCOPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(x_ptr + i, 1, sem=SEM, scope=SCOPE)
    tl.store(out_ptr + i, old)


def order(sem: str, scope: str, n: int = 128) -> list[str]:
    """Barriers, fences and atomics, in order."""
    x = np.zeros(n, np.int32)
    text = compiled(ordered, (x, x.copy(), sem, scope, n)).ptx
    found = re.findall(r"\b(bar\.sync|fence[\w.]+|atom\.[\w.]+)", text)
    return [f.replace(".add.u32", "") for f in found]


def test_the_cta_meets_before_a_release_and_after_an_acquire() -> None:
    assert order("relaxed", "gpu") == ["atom.global.gpu.relaxed"]
    assert order("release", "sys") == ["bar.sync", "atom.global.sys.release"]
    assert order("acquire", "gpu") == ["atom.global.gpu.acquire", "bar.sync"]
    assert order("acq_rel", "cta") == ["bar.sync", "atom.global.cta.acq_rel", "bar.sync"]


def test_several_atomics_of_a_lane_share_their_fences() -> None:
    fence, atom = "fence.acq_rel.gpu", "atom.global.gpu.relaxed"
    assert order("acq_rel", "gpu", 256) == ["bar.sync", fence, atom, atom, fence, "bar.sync"]
    assert order("relaxed", "gpu", 256) == [atom, atom]


@triton.jit
def locked(lock_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(x_ptr, tl.load(x_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_one_lane_takes_a_lock_for_all(num_warps: int, target: str) -> None:
    lock, x = np.zeros(1, np.int32), np.zeros(1, np.float32)
    text = compiled(locked, (lock, x), target, num_warps).ptx
    assert re.search(r"@%p\d+ atom\.global\.acq_rel\.gpu\.cas\.b32", text)
    assert re.search(r"@%p\d+ atom\.global\.gpu\.acq_rel\.exch\.b32", text)
    assert ("shfl.sync.idx" if num_warps == 1 else "st.shared") in text
    freed = text.index("exch.b32")
    stored = text.index("st.global")
    meeting = "bar.warp.sync" if num_warps == 1 else "bar.sync"
    assert stored < text.index(meeting, stored) < freed  # all stores come before the release


@triton.jit
def few(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(x_ptr + i, 1, sem="relaxed")
    tl.store(out_ptr + i, old)


def test_the_holders_of_copies_get_the_old_value() -> None:
    x = np.zeros(16, np.int32)
    one = compiled(few, (x, x.copy(), 16), num_warps=1).ptx
    assert "shfl.sync.idx" in one
    four = compiled(few, (x, x.copy(), 16), num_warps=4).ptx
    assert "st.shared" in four
    assert "ld.shared" in four
    assert re.search(r"@%p\d+ atom", four)


@triton.jit
def flags(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.atomic_load(x_ptr + i, mask=i < 7))
    tl.atomic_store(x_ptr + i, tl.atomic_load(out_ptr), sem="relaxed")
    tl.atomic_store(out_ptr, 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.float32, np.uint64])
def test_loads_and_stores(kind: type, target: str) -> None:
    x: Array = np.zeros(64, kind)
    bits = 8 * x.itemsize
    text = compiled(flags, (x, x.copy(), 64), target).ptx
    assert text.count(f"ld.acquire.gpu.global.b{bits}") == 2
    assert f"st.relaxed.gpu.global.b{bits}" in text
    assert f"st.release.gpu.global.b{bits}" in text


def test_atomics_have_one_leader_for_each_element() -> None:
    """The layouts that placement chooses for atomics; others are refused."""
    for warps, vector, shape in itertools.product(WARPS, (1, 4), [(1,), (64,), (4, 8), (1, 16, 2)]):
        for axes in itertools.permutations(range(len(shape))):
            assert copies_are_equal(layouts.coalesced(shape, axes, vector, warps))
    twice = Layout((64,), (1,), (1, 2, 4, 8, 16), (32,))
    assert not copies_are_equal(twice)
    assert not copies_are_equal(Layout((4, 8), (), (1, 2, 4, 8, 16), (3,)))


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_a_cluster_hears_from_its_first_cta(kind: type) -> None:
    x: Array = np.zeros(64, kind)
    told = (x, x.copy(), x.copy(), "xchg", True, 64)
    text = compiled(combine, told, num_ctas=2).ptx
    assert text.count("barrier.cluster.wait") == 2  # before it is read, and until it is
    assert "mapa.shared::cluster.u32" in text
    assert f"ld.shared::cluster.b{8 * x.itemsize}" in text
