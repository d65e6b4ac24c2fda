"""The functions of blocks that are compared: one expression each."""

import triton
import triton.language as tl

# Two blocks


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def sub(x, y):
    return x - y


@triton.jit
def mul(x, y):
    return x * y


@triton.jit
def where(x, y):
    return tl.where(tl.arange(0, x.numel) % 3 == 0, x, y)


@triton.jit
def where_literal(x, y):
    return tl.where(tl.arange(0, x.numel) % 3 == 0, x, y)


@triton.jit
def and_(x, y):
    return x & y


@triton.jit
def or_(x, y):
    return x | y


@triton.jit
def xor(x, y):
    return x ^ y


@triton.jit
def shl(x, y):
    return x << y


@triton.jit
def shr(x, y):
    return x >> y


@triton.jit
def div(x, y):
    return x / y


@triton.jit
def floordiv(x, y):
    return x // y


@triton.jit
def mod(x, y):
    return x % y


@triton.jit
def maximum(x, y):
    return tl.maximum(x, y)


@triton.jit
def minimum(x, y):
    return tl.minimum(x, y)


@triton.jit
def maximum_nan(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def minimum_nan(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def lt(x, y):
    return x < y


@triton.jit
def le(x, y):
    return x <= y


@triton.jit
def gt(x, y):
    return x > y


@triton.jit
def ge(x, y):
    return x >= y


@triton.jit
def eq(x, y):
    return x == y


@triton.jit
def ne(x, y):
    return x != y


@triton.jit
def div_rn(x, y):
    return tl.div_rn(x, y)


@triton.jit
def fdiv(x, y):
    return tl.fdiv(x, y)


@triton.jit
def fdiv_rounded(x, y):
    return tl.fdiv(x, y, ieee_rounding=True)


@triton.jit
def umulhi(x, y):
    return tl.umulhi(x, y)


@triton.jit
def cdiv(x, y):
    return tl.cdiv(x, y)


# Three blocks


@triton.jit
def fma(x, y, z):
    return tl.fma(x, y, z)


@triton.jit
def multiply_add(x, y, z):
    return x * y + z


@triton.jit
def clamp(x, low, high):
    return tl.clamp(x, low, high)


@triton.jit
def clamp_nan(x, low, high):
    return tl.clamp(x, low, high, propagate_nan=tl.PropagateNan.ALL)


# One block


@triton.jit
def neg(x):
    return -x


@triton.jit
def inv(x):
    return ~x


@triton.jit
def not_(x):
    return not x


@triton.jit
def abs_(x):
    return tl.abs(x)


@triton.jit
def exp(x):
    return tl.exp(x)


@triton.jit
def exp2(x):
    return tl.exp2(x)


@triton.jit
def log(x):
    return tl.log(x)


@triton.jit
def log2(x):
    return tl.log2(x)


@triton.jit
def sin(x):
    return tl.sin(x)


@triton.jit
def cos(x):
    return tl.cos(x)


@triton.jit
def sqrt(x):
    return tl.sqrt(x)


@triton.jit
def sqrt_rn(x):
    return tl.sqrt_rn(x)


@triton.jit
def rsqrt(x):
    return tl.rsqrt(x)


@triton.jit
def erf(x):
    return tl.erf(x)


@triton.jit
def floor(x):
    return tl.floor(x)


@triton.jit
def ceil(x):
    return tl.ceil(x)


@triton.jit
def sigmoid(x):
    return tl.sigmoid(x)


@triton.jit
def softmax(x):
    return tl.softmax(x, 1, keep_dims=True)


# Random numbers


@triton.jit
def rand(seed, offset):
    return tl.rand(seed, offset)


@triton.jit
def randn(seed, offset):
    return tl.randn(seed, offset)


@triton.jit
def randint(seed, offset):
    return tl.randint(seed, offset)


@triton.jit
def randint_short(seed, offset):
    return tl.randint(seed, offset, n_rounds=6)


@triton.jit
def rand4x(seed, offset):
    return tl.rand4x(seed, offset)


@triton.jit
def randn4x(seed, offset):
    return tl.randn4x(seed, offset)


@triton.jit
def randint4x(seed, offset):
    return tl.randint4x(seed, offset)


@triton.jit
def philox(seed, offset):
    zero = offset * 0
    return tl.philox(seed, offset, zero, zero, zero)
