"""Where blocks lie in shared memory: what a product in flight still reads is nobody else's."""

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.compile import place
from blockstep.compiler.frontend import build
from blockstep.compiler.lower import Options, lower
from blockstep.compiler.lower.plan import Buffer, Plan

HALVES, FLOATS = tl.pointer_type(tl.float16), tl.pointer_type(tl.float32)


@triton.jit
def beside(a, b, x, out):
    """A sum over all warps, which needs memory, while the product is in flight."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    at = rows * 64 + columns
    product = tl.dot(tl.load(a + at), tl.load(b + at))
    total = tl.sum(tl.load(x + tl.arange(0, 1024)), 0)
    tl.store(out + at, product + total)


def test_memory_of_a_factor_is_kept_until_the_product_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[Buffer] = []
    real = Plan.place

    def watched(self: Plan) -> int:
        size = real(self)
        kept.extend(self.buffers)
        return size

    monkeypatch.setattr(Plan, "place", watched)
    types = {"a": HALVES, "b": HALVES, "x": FLOATS, "out": FLOATS}
    placed = place(build(beside, types, {}), Options(), {})
    lower(placed, Options())
    names = [o.name for o in placed.walk()]
    product, wait, total = (names.index(name) for name in ("dot", "dot_wait", "reduce"))
    assert product < total < wait
    factors = [b for b in kept if b.first < product and b.size == 64 * 64 * 2]
    (scratch,) = (b for b in kept if b.first == total)
    assert len(factors) == 2
    for factor in factors:
        assert factor.last >= wait
        assert not set(np.arange(factor.size) + factor.offset) & set(
            np.arange(scratch.size) + scratch.offset
        )
