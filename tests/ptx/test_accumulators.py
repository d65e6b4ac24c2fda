"""The sums of a wgmma are used after the wait for its group, on every way."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.ptx.programs import kernel, kinds, run
from tests.ptx.test_products import judged, mutants, product

PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, "
    "{%r4, %r5, %r6, %r7}, %d5, 1, 1, 1, 0; wgmma.commit_group.sync.aligned; "
)
BEGIN = (
    ".shared .align 1024 .b8 memory[1024]; mov.u32 %r2, memory; mad.lo.u32 %r3, %r0, 4, %r2; "
    "mov.u32 %r8, 0; st.shared.u32 [%r3], %r8; mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; "
    "mov.u32 %r7, 0; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; "
    "mov.f32 %f3, %f0; fence.proxy.async; bar.sync 0; shr.u32 %r9, %r2, 4; "
    "cvt.u64.u32 %d5, %r9; wgmma.fence.sync.aligned;\n"
)
USE = "add.f32 %f5, %f0, %f1;\n"


def waits(count: int) -> str:
    """Leave so many groups."""
    return f"wgmma.wait_group.sync.aligned {count};\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PRODUCT + waits(0) + USE, []),
        (PRODUCT + "\n" + USE + waits(0), ["async"]),
        (PRODUCT + waits(1) + USE, ["async"]),
        (PRODUCT + waits(1) + PRODUCT + waits(0) + USE, []),
        (PRODUCT + "mov.f32 %f6, %f0;\n" + waits(0) + "add.f32 %f5, %f6, %f6;", []),
        (PRODUCT + "mov.f32 %f6, %f0;\nadd.f32 %f5, %f6, %f6;\n" + waits(0), ["async"]),
        (PRODUCT + "\n@!%p1 bra on;\n" + waits(0) + "on:\n" + USE + waits(0), ["async"]),
        (PRODUCT + "\n@!%p1 bra on;\n" + USE + "on:\n" + waits(0), []),
    ],
    ids=["waits", "uses first", "leaves it", "goes on", "a name", "a name used first",
         "one way does not wait", "a use that does not run"],
)  # fmt: skip
def test_sums_are_used_behind_the_wait(body: str, expected: list[str]) -> None:
    begin = "setp.lt.u32 %p1, %r0, 0;\n" + BEGIN
    assert kinds(run(begin + body, threads=128)) == expected


def test_a_wait_that_is_too_late_is_told_though_no_memory_is_overwritten() -> None:
    made, found, expected = product(np.float16, "sm_90a", (64, 64, 64))
    assert judged(made) == []
    np.testing.assert_array_equal(found, expected)
    texts = mutants(made.text, r"\s*wgmma\.wait_group\.sync\.aligned 0")
    assert texts
    for made.text in texts:
        assert "async" in judged(made)


def test_kernels_without_products_are_not_looked_at() -> None:
    assert not re.search("wgmma", kernel(USE, 0))
    assert kinds(run("mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; " + USE)) == []
