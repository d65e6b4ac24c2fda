"""Kernels with loops that do not end, waiting, calls and failures, for the debugger's engine."""

from __future__ import annotations

import blockstep as triton
import blockstep.language as tl


@triton.jit
def endless(x_ptr):
    i = tl.program_id(0)
    n = i
    while n >= 0:
        n = n + 1 + tl.load(x_ptr + i)
    tl.store(x_ptr + i, n)


@triton.jit
def locked(lock_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    value = tl.load(x_ptr)
    tl.store(x_ptr, value * 2 + 1)
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def square(x):
    return x * x


@triton.jit
def poly(x):
    y = square(x) + 1
    z = square(y)
    return z


@triton.jit
def nested(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    x = x / tl.cdiv(n, BLOCK)
    y = poly(x) + tl.softmax(x)
    tl.store(out_ptr + offs, tl.flip(y, 0), mask=offs < n)


@triton.jit
def asserting(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.device_assert(x < 20, "too large")
    tl.store(out_ptr + offs, x)


@triton.jit
def waits_for_ever(flag_ptr):
    pid = tl.program_id(0)
    while tl.atomic_add(flag_ptr, 0) == 0:
        pass
    tl.store(flag_ptr + 1, pid)


@triton.jit
def counting(x_ptr, N: tl.constexpr):
    i = tl.program_id(0)
    for k in range(N):
        old = tl.load(x_ptr + i)
        tl.store(x_ptr + i, old + k)


@triton.jit
def chain(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Every instance writes all of the elements over again."""
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if pid < 2:
        tl.store(out_ptr + offs, x + pid)


@triton.jit
def halting(x_ptr):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    if i == 2:
        breakpoint()
    tl.store(x_ptr + i, x + 1)


@triton.jit
def summing(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = x * 2.0
    z = (y + 1e6) - 1e6
    tl.store(out_ptr + offs, z)


@triton.jit
def scattering(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK) * 1000 + tl.program_id(0)
    for k in range(3):
        x = tl.load(x_ptr + offs)
        tl.store(x_ptr + offs, x * 2 + k, mask=offs < 3500)
