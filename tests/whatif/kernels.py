"""Small kernels, each with decisions about formats."""

import blockstep as triton
import blockstep.language as tl


@triton.jit
def copy(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def running(x, o, TURNS, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N], T)
    for turn in range(TURNS):
        total += tl.load(x + turn * N + i).to(T)
    tl.store(o + i, total)


@triton.jit
def product(a, b, c, N: tl.constexpr, PRECISION: tl.constexpr = "tf32"):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    made = tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION)
    tl.store(c + at, made)


@triton.jit
def narrowed(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    half = tl.load(x + i).to(tl.float16)
    tl.store(o + i, tl.exp(half.to(tl.float32)))


@triton.jit
def gathered(x, o, N: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(o, tl.sum(v, 0).to(tl.float16))


@triton.jit
def chosen(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.load(x + i) + 1.0
    tl.store(o + i, tl.where(total > 1.0, 5.0, 0.0))


@triton.jit
def everything(x, y, o, N: tl.constexpr, TURNS):
    """Control flow, reductions, scans, bits, a maximum with its place, a library function."""
    i = tl.arange(0, N)
    v = tl.load(x + i).to(tl.float16)
    best = tl.full([N], 0.0, tl.bfloat16)
    turn = 0
    while turn < TURNS:
        best = (best + tl.load(y + i)).to(tl.bfloat16)
        turn += 1
    most, place = tl.max(v, 0, return_indices=True)
    if most > 0:
        w = v * 2.0
    else:
        w = v
    bits = w.to(tl.int16, bitcast=True)
    back = bits.to(tl.float16, bitcast=True)
    ranked = tl.cumsum(back.to(tl.float32), 0) + place.to(tl.float32)
    ranked += tl.erf(ranked) + tl.fdiv(ranked, 3.0)
    tl.store(o + i, ranked + best.to(tl.float32))


@triton.jit
def summed(x, o, N: tl.constexpr):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def in_format(x, o, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i).to(T).to(tl.float32))


@triton.jit
def exponential(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.exp(tl.load(x + i)))
