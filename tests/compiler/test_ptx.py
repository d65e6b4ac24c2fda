"""What the code of a few kernels must look like: wide accesses, matrix units, no spills."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.assemble import Assembled, assemble
from blockstep.compiler.compile import compile_function
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.lower import Options
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu.compiling import hints_of
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.agreement.test_anchors import kernels

F16, F32 = np.float16, np.float32
K = kernels()


def half(*shape: int) -> Any:
    return np.zeros(shape, F16)


def single(*shape: int) -> Any:
    return np.zeros(shape, F32)


def ptx_of(kernel: Any, *arguments: Any, **options: Any) -> str:
    """The code for these arguments; `options` are the compiler's."""
    bound = bind(kernel.params, arguments, {}, kernel=kernel.__name__, passed_at=None)
    chosen = Options(**options)
    made = build_bound(kernel, bound.arguments, chosen.num_warps)
    return compile_function(made, chosen, hints_of(bound)).ptx


def assembled(ptx: str, target: str = "sm_90a") -> Assembled:
    return assemble(ptx, target, assembler="ptxas")


def lines(ptx: str, *words: str) -> list[str]:
    """The instructions that have all of these words in them."""
    return [line.strip() for line in ptx.splitlines() if all(word in line for word in words)]


def loop(ptx: str, *words: str) -> str:
    """The innermost loop with these words in it: from its label to the jump back there."""
    found = [
        body
        for label in re.findall(r"^(\$L__BB\d+_\d+):", ptx, re.M)
        if (end := re.search(rf"bra(?:\.uni)?\s+{re.escape(label)};", ptx))
        and end.start() > (start := ptx.index(f"{label}:"))
        and all(word in (body := ptx[start : end.end()]) for word in words)
    ]
    return min(found, key=len)


# ---- memory


def added(kind: Any, n: int, block: int) -> str:
    x = np.zeros(4096, kind)
    return ptx_of(K.vector_add, x, x.copy(), x.copy(), n, block, num_warps=4)


@pytest.mark.parametrize(("kind", "block"), [(F32, 512), (F16, 1024)])
def test_a_lane_moves_sixteen_bytes_at_once(kind: Any, block: int) -> None:
    ptx = added(kind, 4096, block)
    assert len(lines(ptx, "ld.global.v4.b32")) == 2
    assert len(lines(ptx, "st.global.v4.b32")) == 1
    assert len(lines(ptx, "ld.global")) + len(lines(ptx, "st.global")) == 3


def test_an_access_has_one_predicate() -> None:
    """The number of elements is a multiple of 16: all of an access is inside or none."""
    ptx = added(F32, 4096, 1024)
    accesses = lines(ptx, "ld.global") + lines(ptx, "st.global")
    assert len(accesses) == 6
    found = [re.findall(r"@(%p\d+) (?:ld|st)\.global\.v4\.b32", access) for access in accesses]
    assert all(len(predicates) == 1 for predicates in found)
    assert len({predicate for (predicate,) in found}) == 2


def test_a_tail_that_ends_anywhere_is_masked_element_by_element() -> None:
    ptx = added(F32, 4095, 512)
    assert not lines(ptx, "ld.global.v")
    assert len(lines(ptx, "@%p", "ld.global.b32")) == len(lines(ptx, "ld.global")) == 8


def test_a_load_of_which_nothing_is_masked_has_no_predicate() -> None:
    ptx = ptx_of(copied, single(4096), single(4096), 1024)
    assert lines(ptx, "ld.global") and not lines(ptx, "@%p", "ld.global")


@triton.jit
def copied(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def counted(x, bins, kept, KEEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    old = tl.atomic_add(bins + tl.load(x + i), 1)
    if KEEP:
        tl.store(kept + i, old)


@pytest.mark.parametrize("keep", [False, True])
def test_an_atomic_whose_result_nobody_wants_is_a_reduction(keep: bool) -> None:
    """For the assembler, which drops a register that nothing reads."""
    x = np.zeros(512, np.int32)
    ptx = ptx_of(counted, x, x.copy(), x.copy(), keep, 512)
    registers = set(re.findall(r"\batom\.\S+ (%\w+)", ptx))
    stored = " ".join(lines(ptx, "st."))
    assert registers
    assert all(bool(re.search(rf"{name}\b", stored)) is keep for name in registers)


def test_lines_of_the_kernel_are_in_its_code() -> None:
    ptx = ptx_of(copied, single(4096), single(4096), 1024)
    start = copied.fn.__code__.co_firstlineno
    (number,) = re.findall(r'\.file\s+(\d+) ".*test_ptx\.py"', ptx)
    known = {int(line) for line in re.findall(rf"\.loc\s+{number} (\d+) ", ptx)}
    assert {start + 2, start + 3} <= known


# ---- registers


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_a_softmax_stays_in_registers(target: str) -> None:
    ptx = ptx_of(K.softmax, single(8, 1024), single(8, 1024), 1024, 1024, 1024, 1024, target=target)
    assert ".local" not in ptx
    made = assembled(ptx, target)
    assert (made.spill_stores, made.spill_loads, made.stack) == (0, 0, 0)


# ---- products

SIZE = 1024
STRIDES = (SIZE, 1, SIZE, 1, SIZE, 1)


@cache
def multiplied(target: str, bm: int, bn: int, bk: int, warps: int) -> str:
    a, b, c = (half(SIZE, SIZE) for _ in range(3))
    sizes = (SIZE, SIZE, SIZE, *STRIDES, bm, bn, bk, 8)
    return ptx_of(K.matmul, a, b, c, *sizes, target=target, num_warps=warps)


def test_a_matmul_of_two_warpgroups() -> None:
    """Copies run ahead, and the products of an iteration are waited for in the next."""
    ptx = multiplied("sm_90a", 128, 256, 64, 8)
    body = loop(ptx, "wgmma.mma_async")
    assert lines(body, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    assert len(re.findall("wgmma.mma_async", body)) == 64 // 16
    copies = re.findall(r"cp\.async\.\w+\.shared\.global \[\S+\], \[\S+\], (\d+)", body)
    assert copies and set(copies) == {"16"}
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned (\d+)", body) == ["1"]


def test_a_matmul_of_two_warpgroups_has_no_spill_and_no_warning() -> None:
    made = assembled(multiplied("sm_90a", 128, 256, 64, 8))
    assert (made.spill_stores, made.spill_loads) == (0, 0)
    assert made.warnings == ()


def test_a_matmul_before_hopper() -> None:
    ptx = multiplied("sm_80", 128, 128, 32, 4)
    assert lines(ptx, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert "wgmma" not in ptx and "mbarrier" not in ptx


def test_a_matmul_of_descriptors_is_fed_by_the_copy_engine() -> None:
    a, b = (TensorDescriptor.from_tensor(half(SIZE, SIZE), [128, 64]) for _ in range(2))
    c = TensorDescriptor.from_tensor(half(SIZE, SIZE), [128, 128])
    ptx = ptx_of(K.matmul_desc, a, b, c, SIZE, SIZE, SIZE, 128, 128, 64, 8, num_warps=8)
    waiting = ptx.index("mbarrier.try_wait")
    ahead, inside = ptx[:waiting], ptx[waiting:]
    assert len(lines(ahead, "cp.async.bulk.tensor.2d")) == 2 * 2  # of the first two iterations
    assert len(lines(inside, "cp.async.bulk.tensor.2d.shared")) == 2
    assert len(lines(inside, "cp.async.bulk.tensor.2d.global")) == 2  # 256 bytes of a row, 128 each
    assert len(lines(inside, "mbarrier.arrive.expect_tx")) == 1
    assert "ld.global" not in ptx and "cp.async.c" not in ptx


def test_the_weights_of_an_attention_stay_in_registers() -> None:
    """The second product takes its left factor from registers, as the first left it there."""
    q = half(1, 512, 64)
    arguments = (q, q.copy(), q.copy(), q.copy(), 0.3, 512, 64, 128, 64, False)
    ptx = ptx_of(K.attention, *arguments, num_warps=4)
    body = loop(ptx, "wgmma.mma_async")
    from_registers = re.findall(r"wgmma\.mma_async\S+ \{[^}]*\}, \{", body)
    from_memory = re.findall(r"wgmma\.mma_async\S+ \{[^}]*\}, %rd", body)
    assert from_registers and from_memory
    assert not lines(body, "st.shared")
    made = assembled(ptx)
    assert (made.spill_stores, made.spill_loads) == (0, 0)


# ---- exact arithmetic


@triton.jit
def computed(x, y, z, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    tl.store(out + i, a * b + c)
    tl.store(out + BLOCK + i, a / b)
    tl.store(out + 2 * BLOCK + i, tl.sqrt(a))


@pytest.mark.parametrize("exact", [False, True])
def test_exact_code_rounds_every_operation(exact: bool) -> None:
    x = single(128)
    ptx = ptx_of(computed, x, x.copy(), x.copy(), single(384), 128, exact=exact)
    assert bool(lines(ptx, "fma.rn.f32")) is not exact
    assert bool(lines(ptx, "div.full.f32")) is not exact
    assert bool(lines(ptx, "sqrt.approx")) is not exact
    assert bool(lines(ptx, "div.rn.f32")) is exact
    assert bool(lines(ptx, "sqrt.rn.f32")) is exact
