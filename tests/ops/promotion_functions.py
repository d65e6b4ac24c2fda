"""The functions that the rows of `promotion_tables` are about, each of one 32 x 32 block."""

import blockstep as triton
import blockstep.language as tl


@triton.jit
def sum(x):
    return tl.sum(x, 1)


@triton.jit
def sumall(x):
    return tl.sum(x)


@triton.jit
def max(x):
    return tl.max(x, 1)


@triton.jit
def min(x):
    return tl.min(x, 1)


@triton.jit
def max_idx(x):
    value, _ = tl.max(x, 1, return_indices=True)
    return value


@triton.jit
def argmax(x):
    return tl.argmax(x, 1)


@triton.jit
def xor_sum(x):
    return tl.xor_sum(x, 1)


@triton.jit
def reduce_or(x):
    return tl.reduce_or(x, 1)


@triton.jit
def cumsum(x):
    return tl.cumsum(x, 1)


@triton.jit
def cumprod(x):
    return tl.cumprod(x, 1)


@triton.jit
def sort(x):
    return tl.sort(x)


@triton.jit
def topk(x):
    return tl.topk(x, 8)


@triton.jit
def flip(x):
    return tl.flip(x, 1)


@triton.jit
def abs(x):
    return tl.abs(x)


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
def exp(x):
    return tl.exp(x)


@triton.jit
def softmax(x):
    return tl.softmax(x)


@triton.jit
def sigmoid(x):
    return tl.sigmoid(x)


@triton.jit
def sqrt(x):
    return tl.sqrt(x)


@triton.jit
def dot(x):
    return tl.dot(x, x)


@triton.jit
def dot16(x):
    return tl.dot(x, x, out_dtype=tl.float16)


@triton.jit
def clamp(x):
    return tl.clamp(x, 0.0, 1.0)


@triton.jit
def lit(x):
    a = 0.5
    return x * a


@triton.jit
def litc(x):
    a: tl.constexpr = 0.5
    return x * a


@triton.jit
def half():
    return 0.5


@triton.jit
def callret(x):
    return x * half()


@triton.jit
def itself(v):
    return v


@triton.jit
def callarg(x):
    return x * itself(0.5)


@triton.jit
def callint(x):
    return x + itself(2)


@triton.jit
def rangei(x):
    for i in range(4):
        x += i
    return x


@triton.jit
def srangei(x):
    for i in tl.static_range(4):
        x += i
    return x


@triton.jit
def pid(x):
    return x + tl.program_id(0)


@triton.jit
def arange(x):
    return x + tl.arange(0, 32)[None, :]


@triton.jit
def full0(x):
    return tl.full((32, 32), 0.0, x.dtype)


@triton.jit
def cdiv(x):
    return tl.cdiv(x, 2)


@triton.jit
def hist(x):
    return tl.histogram(tl.reshape(x, [1024]), 32)


@triton.jit
def ifexp(x):
    return x if x.shape[0] == 32 else x + 1.0


@triton.jit
def rand(x):
    return tl.rand(0, tl.arange(0, 32))


@triton.jit
def randint(x):
    return tl.randint(0, tl.arange(0, 32))


@triton.jit
def floordiv_pow2(x):
    return x // 4


@triton.jit
def pow(x):
    return x**2
