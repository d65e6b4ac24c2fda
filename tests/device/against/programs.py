"""Whole kernels: memory, block pointers, descriptors, atomics, control flow."""

import triton
import triton.language as tl

# Memory


@triton.jit
def masked_load(x, m, out, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = tl.load(m + i)
    tl.store(out + i, tl.load(x + i, mask=mask, other=7))


@triton.jit
def masked_store(x, m, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i), mask=tl.load(m + i))


@triton.jit
def scattered(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + (i * 5) % N, tl.load(x + tl.load(index + i)))


@triton.jit
def stored_as(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def pointer_arithmetic(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    address = (x + N - 1 - i).to(tl.int64)
    tl.store(out + i, tl.load(address.to(tl.pointer_type(x.dtype.element_ty))))


@triton.jit
def scalars(out, a, b, c, d):
    tl.store(out, a + b)
    tl.store(out + 1, a * c)
    tl.store(out + 2, d * c)
    tl.store(out + 3, b // a)


@triton.jit
def program_ids(out, BLOCK: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    i = tl.arange(0, BLOCK)
    tl.store(out + at * BLOCK + i, x * 100 + y * 10 + z + i * 1000)


@triton.jit
def collatz(x, out, n):
    i = tl.program_id(0)
    value = tl.load(x + i)
    steps = 0
    while value != 1 and steps < n:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    tl.store(out + i, steps)


@triton.jit
def backwards(x, out, start, stop, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.load(x + i) * 0
    for k in range(start, stop, 3):
        total = total * 7 + tl.load(x + (i + k) % N)
    tl.store(out + i, total)


@triton.jit
def asserted(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.device_assert(value >= 0, "asserts are off")
    tl.store(out + i, value)


@triton.jit
def running_softmax(x, out, columns, N: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    value = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * columns + i, power / tl.sum(power, 0), mask=i < columns)


@triton.jit
def tiled_product(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        ks = k * BK + tl.arange(0, BK)
        x = tl.load(
            a + rows[:, None] * K + ks[None, :],
            mask=(rows[:, None] < M) & (ks[None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + ks[:, None] * N + columns[None, :],
            mask=(ks[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(x, y, acc)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], acc.to(out.dtype.element_ty), inside)


# Block pointers


@triton.jit
def box_load(
    x, out, i, j, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr, CHECK: tl.constexpr,
    PADDING: tl.constexpr,
):  # fmt: skip
    corner = tl.make_block_ptr(x, (M, N), (N, 1), (i, j), (B, B), (1, 0))
    value = tl.load(corner, boundary_check=CHECK, padding_option=PADDING)
    at = tl.arange(0, B)
    tl.store(out + at[:, None] * B + at[None, :], value)


@triton.jit
def box_turned(x, out, i, j, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    corner = tl.make_block_ptr(x, (N, M), (1, N), (i, j), (B, B), (0, 1))
    value = tl.load(corner, boundary_check=(0, 1), padding_option="zero")
    at = tl.arange(0, B)
    tl.store(out + at[:, None] * B + at[None, :], value)


@triton.jit
def box_walk(x, out, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    for _ in range(0, tl.cdiv(N, B)):
        value = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        tl.store(target, value, boundary_check=(0, 1))
        source = tl.advance(source, (0, B))
        target = tl.advance(target, (0, B))


# Descriptors


@triton.jit
def described_load(descriptor, out, i, j, R: tl.constexpr, C: tl.constexpr):
    value = descriptor.load([i, j])
    at, along = tl.arange(0, R), tl.arange(0, C)
    tl.store(out + at[:, None] * C + along[None, :], value)


@triton.jit
def described_store(x, descriptor, i, j, R: tl.constexpr, C: tl.constexpr):
    at, along = tl.arange(0, R), tl.arange(0, C)
    descriptor.store([i, j], tl.load(x + at[:, None] * C + along[None, :]))


@triton.jit
def described_atomic(x, descriptor, i, j, R: tl.constexpr, C: tl.constexpr, HOW: tl.constexpr):
    at, along = tl.arange(0, R), tl.arange(0, C)
    value = tl.load(x + at[:, None] * C + along[None, :])
    if HOW == "add":
        descriptor.atomic_add([i, j], value)
    elif HOW == "min":
        descriptor.atomic_min([i, j], value)
    elif HOW == "max":
        descriptor.atomic_max([i, j], value)
    elif HOW == "and":
        descriptor.atomic_and([i, j], value)
    elif HOW == "or":
        descriptor.atomic_or([i, j], value)
    else:
        descriptor.atomic_xor([i, j], value)


@triton.jit
def made_load(
    x, out, i, j, M: tl.constexpr, N: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
    PADDING: tl.constexpr,
):  # fmt: skip
    descriptor = tl.make_tensor_descriptor(x, [M, N], [N, 1], [R, C], padding_option=PADDING)
    value = descriptor.load([i, j])
    at, along = tl.arange(0, R), tl.arange(0, C)
    tl.store(out + at[:, None] * C + along[None, :], value)


# Atomics


@triton.jit
def atomic_add(p, v):
    return tl.atomic_add(p, v)


@triton.jit
def atomic_add_relaxed(p, v):
    return tl.atomic_add(p, v, sem="relaxed", scope="cta")


@triton.jit
def atomic_max(p, v):
    return tl.atomic_max(p, v)


@triton.jit
def atomic_min(p, v):
    return tl.atomic_min(p, v)


@triton.jit
def atomic_and(p, v):
    return tl.atomic_and(p, v)


@triton.jit
def atomic_or(p, v):
    return tl.atomic_or(p, v)


@triton.jit
def atomic_xor(p, v):
    return tl.atomic_xor(p, v)


@triton.jit
def atomic_xchg(p, v):
    return tl.atomic_xchg(p, v, sem="release")


@triton.jit
def atomics_apart(x, v, old, N: tl.constexpr, FN: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, FN(x + i, tl.load(v + i)))


@triton.jit
def swaps_apart(x, expected, v, old, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, tl.atomic_cas(x + i, tl.load(expected + i), tl.load(v + i)))


@triton.jit
def atomics_together(x, v, old, N: tl.constexpr, FN: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(old + i, FN(x + i * 0, tl.load(v + i)))


@triton.jit
def atomics_masked(x, v, m, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(x + i % 8, tl.load(v + i), mask=tl.load(m + i))
