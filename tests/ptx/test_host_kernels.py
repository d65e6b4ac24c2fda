"""Kernels with stretches of host code leave the same memory as without, and the same faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.interp.ptx.decode import decoded_for_host
from blockstep.interp.ptx.host import stretches
from blockstep.interp.ptx.machine import ENVIRONMENT
from tests.ptx import test_products
from tests.ptx.compiled import Compiled, compiled
from tests.ptx.programs import kernel, kinds, run

RANDOM = np.random.default_rng(12)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Code is made when a stretch first comes."""
    monkeypatch.setattr(stretches, "HOT", 0)
    decoded_for_host.cache_clear()
    yield
    decoded_for_host.cache_clear()


def both(body: str, words: int, **options: Any) -> Any:
    """What a body leaves in its one array, which has to be the same both ways."""
    found = []
    for way in (False, True):
        out = np.zeros(words, np.uint32)
        assert run(body, out, compiled=way, **options).faults == []
        found.append(out)
    np.testing.assert_array_equal(found[0], found[1])
    return found[1]


def stretches_of(body: str) -> list[stretches.Hosted]:
    program = decoded_for_host(kernel(body, 1), "kernel")
    steps = [run for code in program.codes for run, _ in code.steps]
    return [one for one in steps if isinstance(one, stretches.Hosted)]


MIXED = """
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r0;
    mul.lo.u32 %r5, %r2, 77;
    shl.b32 %r6, %r0, 3;
    xor.b32 %r7, %r6, 0x55;
    add.u32 %r8, %r5, %r7;
    cvt.rn.f32.u32 %f1, %r8;
    fma.rn.f32 %f2, %f1, 0f3FC00000, %f1;
    setp.gt.u32 %p1, %r8, 300;
    @%p1 add.f32 %f2, %f2, 0f3F800000;
    @!%p1 mul.lo.u32 %r5, %r5, %r5;
    mov.b32 %r9, %f2;
    add.u32 %r9, %r9, %r5;
    mul.wide.u32 %d1, %r4, 4;
    add.u64 %d1, %d1, %d0;
    st.global.u32 [%d1], %r9;
"""


@pytest.mark.parametrize("shape", [(1, 1), (1, 32), (1, 77), (3, 32), (5, 128), (40, 7)])
def test_threads_ctas_and_constants_mix_in_a_stretch(shape: tuple[int, int]) -> None:
    ctas, threads = shape
    both(MIXED, ctas * threads, ctas=ctas, threads=threads)
    assert stretches_of(MIXED)


def test_what_is_alike_for_all_threads_stays_one_element() -> None:
    seen: list[tuple[int, ...]] = []
    plain = stretches.Hosted.__call__

    def call(self: stretches.Hosted, frame: Any) -> None:
        plain(self, frame)
        seen.extend(frame.regs[s].shape for s in self.slots)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches.Hosted, "__call__", call)
        both(MIXED + "    st.global.u32 [%d1], %r7;\n    st.global.u32 [%d1], %r8;", 12 * 64,
             ctas=12, threads=64)  # fmt: skip
        assert (1, 64) in seen and (12, 64) in seen
        seen.clear()
        both(
            """
    mov.u32 %r2, %ctaid.x;
    mul.lo.u32 %r3, %r2, 7;
    xor.b32 %r4, %r3, 5;
    mad.lo.u32 %r5, %r4, %r4, %r3;
    add.u32 %r6, %r5, 1;
    mul.wide.u32 %d1, %r2, 4;
    add.u64 %d1, %d1, %d0;
    st.global.u32 [%d1], %r6;""",
            12,
            ctas=12,
        )
        assert set(seen) == {(12, 1)}


LOOP = """
    mov.u32 %r1, 1;
    mov.u32 %r2, 0;
turn:
    mul.lo.u32 %r1, %r1, 1664525;
    add.u32 %r1, %r1, 1013904223;
    shr.u32 %r3, %r1, 5;
    xor.b32 %r1, %r1, %r3;
    add.u32 %r2, %r2, 1;
    setp.le.u32 %p1, %r2, %r0;
    @%p1 bra turn;
    add.u64 %d17, %d0, %d16;
    st.global.u32 [%d17], %r1;
"""


def test_threads_that_leave_a_loop_one_by_one_have_the_same_numbers() -> None:
    assert len(set(both(LOOP, 64, threads=64))) == 64


def test_a_register_that_may_not_be_written_is_told_as_without() -> None:
    body = """
    setp.gt.u32 %p1, %r0, 5;
    add.u32 %r3, %r0, 1;
    mul.lo.u32 %r3, %r3, %r3;
    xor.b32 %r4, %r3, 9;
    @%p1 add.u32 %r5, %r4, %r3;
    add.u32 %r6, %r5, %r4;
    add.u64 %d17, %d0, %d16;
    st.global.u32 [%d17], %r6;"""
    found = [run(body, np.zeros(32, np.uint32), threads=n, compiled=way)
             for n in (5, 32) for way in (False, True)]  # fmt: skip
    assert [kinds(report) for report in found] == [["uninitialised"]] * 2 + [[]] * 2


def test_the_environment_asks_for_host_code(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[stretches.Hosted] = []
    plain = stretches.Hosted.__call__

    def call(self: stretches.Hosted, frame: Any) -> None:
        calls.append(self)
        plain(self, frame)

    monkeypatch.setattr(stretches.Hosted, "__call__", call)
    run(MIXED, np.zeros(64, np.uint32), threads=64)
    assert not calls
    monkeypatch.setenv(ENVIRONMENT, "1")
    run(MIXED, np.zeros(64, np.uint32), threads=64)
    assert calls


def test_shapes_past_the_most_run_as_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_MOST", 0)
    both(MIXED, 128, threads=128)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    keep = tl.rand(seed, offs) > p
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=offs < n)


@triton.jit
def swiglu(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offs, mask=offs < n).to(tl.float32)
    b = tl.load(b_ptr + offs, mask=offs < n).to(tl.float32)
    out = (a * tl.sigmoid(a) * b).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + offs, out, mask=offs < n)


def kernels(exact: bool) -> Iterator[tuple[Compiled, Any]]:
    n = 3000
    x, y = (RANDOM.normal(size=n).astype(np.float32) for _ in range(2))
    out = np.zeros(n, np.float32)
    yield compiled(dropout, (x, out, n, 0.5, 7), {"BLOCK": 1024}, (3,), exact=exact), out
    half = np.zeros(n, np.float16)
    halves = x.astype(np.float16), y.astype(np.float16), half
    yield compiled(swiglu, (*halves, n), {"BLOCK": 512}, (6,), exact=exact), half
    rows = RANDOM.normal(size=(5, 700)).astype(np.float32)
    soft = np.zeros_like(rows)
    given = (rows, soft, 700)
    yield compiled(test_products.softmax, given, {"BLOCK": 1024}, (5,), exact=exact), soft
    made, c, _ = test_products.product(np.float16, "sm_90a", (70, 90, 50))
    yield made, c


@pytest.mark.parametrize("exact", [True, False])
def test_whole_kernels_leave_the_same_bits(exact: bool) -> None:
    for made, out in kernels(exact):
        assert made.run().faults == []
        expected = out.copy()
        out[:] = 0
        assert made.run(compiled=True).faults == []
        np.testing.assert_array_equal(out.view(np.uint8), expected.view(np.uint8))
        assert expected.any()


def test_every_fault_of_a_softmax_without_a_barrier_is_found_with_host_code() -> None:
    x = RANDOM.normal(size=(2, 1000)).astype(np.float32)
    made = compiled(test_products.softmax, (x, np.zeros_like(x), 1000), {"BLOCK": 1024}, (2,))
    for text in test_products.mutants(made.text, r"\s*(bar|barrier)\.sync")[1:]:
        made.text = text
        assert "race" in [fault.kind for fault in made.run(compiled=True).faults]
