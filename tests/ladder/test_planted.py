"""Planted bugs of the compiler: `verify` catches each, and names the pass or the rung."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.passes import simplify
from blockstep.compiler.passes.fold import constant_of
from blockstep.runtime.ladder import verify


@triton.jit
def times_zero(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x * 0.0)


def test_simplify_takes_x_times_0_for_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(operation: Any) -> Any:
        left, right = operation.operands
        return [right] if constant_of(right) == 0 else None

    x = np.array([1.0, np.inf, np.nan, -1.0] * 16, np.float32)
    arguments = (x, np.zeros(64, np.float32))
    assert verify(times_zero, arguments, grid=(1,), BLOCK=64).passed
    monkeypatch.setitem(simplify.RULES, "mul", rule)
    found = verify(times_zero, arguments, grid=(1,), BLOCK=64)
    assert found.first_wrong is not None and found.first_wrong.rung == "after simplify"
    print(found.finding)
