"""What a loop carries: of pointers, one a group of neighbours."""

from __future__ import annotations

import numpy as np

import blockstep as triton
import blockstep.language as tl
from tests.compiler.lowered import compiled


@triton.jit
def walked(x_ptr, out_ptr, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + places
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(n):
        total += tl.load(x_ptrs)
        x_ptrs += BLOCK
    tl.store(out_ptr + places, total)


def test_a_loop_carries_one_address_for_four_neighbours() -> None:
    memory = np.zeros(8192, np.float32)  # large enough to be aligned to 16 bytes
    start = -memory.ctypes.data % 16 // 4
    x, out = memory[start : start + 4096], memory[start + 4096 : start + 5120]
    ptx = compiled(walked, (x, out, 4, 4, 1024)).ptx
    loop = ptx[ptx.index("ld.global.v4.b32") :]
    loop = loop[: loop.index("bra")]
    assert loop.count("ld.global.v4.b32") == 2
    assert loop.count("add.s64") <= 2
