"""Kernels that the debugger's tests stop in."""

from __future__ import annotations

import blockstep as triton
import blockstep.language as tl


@triton.jit
def half(x):
    y = x * 0.5
    return y


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    for _i in range(3):
        x = half(x)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)


@triton.jit
def logarithm(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=1.0)
    y = tl.log(x - 20)
    z = y / 2
    tl.store(out_ptr + offs, z)


@triton.jit
def total(x_ptr):
    i = tl.program_id(0)
    v = tl.load(x_ptr)
    tl.store(x_ptr, v + i)


@triton.jit
def twice(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for _i in range(4):
        x = tl.load(x_ptr + offs)
        tl.store(x_ptr + offs, x * 2)


@triton.jit
def handshake(flag_ptr, out_ptr):
    pid = tl.program_id(0)
    if pid == 0:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") == 0:
            pass
        tl.store(out_ptr, 1.0)
    else:
        tl.store(out_ptr + 1, 2.0)
        tl.atomic_xchg(flag_ptr, 1, sem="release")


@triton.jit
def refused(x_ptr):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + tl.arange(0, 4), tl.arange(0, 8) + x)
