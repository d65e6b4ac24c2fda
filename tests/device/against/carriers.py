"""Kernels that put whole blocks through a function: `FN` of up to four blocks, one to four results.

Plain Triton: `triton` is whichever implementation the process was started with. A result of
another type than its buffer does not compile.
"""

import triton
import triton.language as tl


@triton.jit
def block(ptr, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    return tl.reshape(tl.load(ptr + tl.arange(0, SIZE)), SHAPE)


@triton.jit
def put(out, value):
    tl.static_assert(value.dtype == out.dtype.element_ty)
    if len(value.shape) == 0:
        tl.store(out, value)
    else:
        tl.store(out + tl.arange(0, value.numel), tl.reshape(value, [value.numel]))


@triton.jit
def of_none(out, FN: tl.constexpr):
    put(out, FN())


@triton.jit
def of_one(x, out, X: tl.constexpr, NX: tl.constexpr, FN: tl.constexpr):
    put(out, FN(block(x, X, NX)))


@triton.jit
def of_one_and_constant(
    x, out, X: tl.constexpr, NX: tl.constexpr, FN: tl.constexpr, VALUE: tl.constexpr
):
    put(out, FN(block(x, X, NX), VALUE))


@triton.jit
def of_two(
    x, y, out, X: tl.constexpr, NX: tl.constexpr, Y: tl.constexpr, NY: tl.constexpr,
    FN: tl.constexpr,
):  # fmt: skip
    put(out, FN(block(x, X, NX), block(y, Y, NY)))


@triton.jit
def of_three(
    x, y, z, out, X: tl.constexpr, NX: tl.constexpr, Y: tl.constexpr, NY: tl.constexpr,
    Z: tl.constexpr, NZ: tl.constexpr, FN: tl.constexpr,
):  # fmt: skip
    put(out, FN(block(x, X, NX), block(y, Y, NY), block(z, Z, NZ)))


@triton.jit
def of_four(
    x, y, z, w, out, X: tl.constexpr, NX: tl.constexpr, Y: tl.constexpr, NY: tl.constexpr,
    Z: tl.constexpr, NZ: tl.constexpr, W: tl.constexpr, NW: tl.constexpr, FN: tl.constexpr,
):  # fmt: skip
    put(out, FN(block(x, X, NX), block(y, Y, NY), block(z, Z, NZ), block(w, W, NW)))


@triton.jit
def one_to_two(x, first, second, X: tl.constexpr, NX: tl.constexpr, FN: tl.constexpr):
    a, b = FN(block(x, X, NX))
    put(first, a)
    put(second, b)


@triton.jit
def two_to_two(
    x, y, first, second, X: tl.constexpr, NX: tl.constexpr, Y: tl.constexpr, NY: tl.constexpr,
    FN: tl.constexpr,
):  # fmt: skip
    a, b = FN(block(x, X, NX), block(y, Y, NY))
    put(first, a)
    put(second, b)


@triton.jit
def converted(
    x, out, N: tl.constexpr, TYPE: tl.constexpr, ROUND: tl.constexpr, BITCAST: tl.constexpr
):
    value = tl.load(x + tl.arange(0, N))
    put(out, value.to(TYPE, fp_downcast_rounding=ROUND, bitcast=BITCAST))


@triton.jit
def assembled(
    x, y, out, N: tl.constexpr, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr,
    PACK: tl.constexpr, TWO: tl.constexpr,
):  # fmt: skip
    a = tl.load(x + tl.arange(0, N))
    if TWO:
        b = tl.load(y + tl.arange(0, N))
        put(
            out,
            tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [a, b], out.dtype.element_ty, True, PACK),
        )
    else:
        put(
            out, tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [a], out.dtype.element_ty, True, PACK)
        )


@triton.jit
def random_words(out, seed, N: tl.constexpr, FN: tl.constexpr, OFFSETS: tl.constexpr):
    put(out, FN(seed, (tl.arange(0, N) + 1000).to(OFFSETS)))


@triton.jit
def random_four(a, b, c, d, seed, N: tl.constexpr, FN: tl.constexpr, OFFSETS: tl.constexpr):
    w, x, y, z = FN(seed, (tl.arange(0, N) + 77).to(OFFSETS))
    put(a, w)
    put(b, x)
    put(c, y)
    put(d, z)


@triton.jit
def product(
    a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
    OUT: tl.constexpr,
):  # fmt: skip
    x, y = block(a, (M, K), M * K), block(b, (K, N), K * N)
    put(out, tl.dot(x, y, input_precision=PRECISION, out_dtype=OUT))


@triton.jit
def product_added(
    a, b, acc, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
    OUT: tl.constexpr,
):  # fmt: skip
    x, y = block(a, (M, K), M * K), block(b, (K, N), K * N)
    z = block(acc, (M, N), M * N)
    put(out, tl.dot(x, y, z, input_precision=PRECISION, out_dtype=OUT))


@triton.jit
def batch_product(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x, y = block(a, (B, M, K), B * M * K), block(b, (B, K, N), B * K * N)
    put(out, tl.dot(x, y, input_precision="ieee"))


@triton.jit
def scaled_product(
    a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    PACK: tl.constexpr, A: tl.constexpr, B: tl.constexpr, BPACK: tl.constexpr,
):  # fmt: skip
    x = block(a, (M, K // PACK), M * K // PACK)
    y = block(b, (K // BPACK, N), K * N // BPACK)
    s = block(a_scale, (M, K // 32), M * K // 32)
    t = block(b_scale, (N, K // 32), N * K // 32)
    put(out, tl.dot_scaled(x, s, A, y, t, B))
