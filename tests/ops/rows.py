"""At least one row for every operation: numbers worked out with Python's own arithmetic."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep.language.extra import libdevice
from blockstep.language.extra.cuda import gdc_launch_dependents, gdc_wait, globaltimer, smid
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.ops.kernels import same
from tests.ops.table import check, program, row

I32, F32, F64 = np.int32, np.float32, np.float64
A = np.array([7, -7, 2**31 - 1, -(2**31), 0, 5, -1, 1], I32)
B = np.array([2, 2, 1, -1, 3, -3, 31, 4], I32)
X = np.array([0.5, -2.25, 3.0, 1e-3, 100.0, -0.0, 7.75, 2.0], F32)
Y = np.array([2.0, 0.5, -1.5, 3.0, 7.0, 0.0, -2.5, 2.0], F32)
P = np.array([0.5, 2.25, 3.0, 1e-3, 100.0, 1.0, 7.75, 2.0], F32)
M = np.arange(8, dtype=F32).reshape(2, 4)


def wrapped(values: list[int]) -> Any:
    """Integers modulo 2**32, as int32."""
    return np.array([(v + 2**31) % 2**32 - 2**31 for v in values], I32)


def pairs(fn: Any, x: Any = A, y: Any = B) -> list[Any]:
    """`fn` of Python numbers."""
    return [fn(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def rounded(fn: Any, *xs: Any) -> Any:
    """`fn` in double precision, rounded to float32."""
    return np.array([fn(*v) for v in zip(*[x.tolist() for x in xs], strict=True)], F64).astype(F32)


# Arithmetic


@row("add", A, B, gives=wrapped(pairs(lambda a, b: a + b)))
def add(x, y):
    return x + y


@row("sub", A, B, gives=wrapped(pairs(lambda a, b: a - b)))
def sub(x, y):
    return x - y


@row("mul", A, B, gives=wrapped(pairs(lambda a, b: a * b)))
def mul(x, y):
    return x * y


@row("idiv", A, B, gives=wrapped(pairs(lambda a, b: int(Fraction(a, b)))))
def idiv(x, y):
    return x // y


@row("irem", A, B, gives=wrapped(pairs(lambda a, b: a - b * int(Fraction(a, b)))))
def irem(x, y):
    return x % y


@row("fdiv", X, P, gives=rounded(lambda a, b: a / b, X, P))
def fdiv(x, y):
    return x / y


@row("div_rn", X, P, gives=rounded(lambda a, b: a / b, X, P))
def div_rn(x, y):
    return tl.div_rn(x, y)


@row("frem", X, P, gives=rounded(lambda a, b: math.fmod(a, b) + 0.0, X, P))
def frem(x, y):
    return x % y


@row(
    "fma",
    X,
    P,
    P,
    gives=rounded(lambda a, b, c: float(Fraction(a) * Fraction(b) + Fraction(c)), X, P, P),
)
def fma(x, y, z):
    return tl.fma(x, y, z)


@row(
    "umulhi",
    A,
    B,
    gives=wrapped(
        [(a % 2**32) * (b % 2**32) >> 32 for a, b in zip(A.tolist(), B.tolist(), strict=True)]
    ),
)
def umulhi(x, y):
    return tl.umulhi(x, y)


@row("and", A, B, gives=wrapped(pairs(lambda a, b: a & b)))
def and_(x, y):
    return x & y


@row("or", A, B, gives=wrapped(pairs(lambda a, b: a | b)))
def or_(x, y):
    return x | y


@row("xor", A, B, gives=wrapped(pairs(lambda a, b: a ^ b)))
def xor(x, y):
    return x ^ y


SHIFTS = np.array([0, 1, 4, 31, 7, 2, 30, 16], I32)


@row("shl", A, SHIFTS, gives=wrapped(pairs(lambda a, b: a << b, A, SHIFTS)))
def shl(x, y):
    return x << y


@row("ashr", A, SHIFTS, gives=wrapped(pairs(lambda a, b: a >> b, A, SHIFTS)))
def ashr(x, y):
    return x >> y


@row("lshr", A, SHIFTS, gives=np.array(pairs(lambda a, b: (a % 2**32) >> b, A, SHIFTS), np.uint32))
def lshr(x, y):
    return x.to(tl.uint32, bitcast=True) >> y.to(tl.uint32, bitcast=True)


NAN = np.array([math.nan, 1, -0.0, 0.0, 2, math.inf, math.nan, -1], F32)
NOT = np.array([1, math.nan, 0.0, -0.0, 2, -math.inf, math.nan, -2], F32)


@row("lt", NAN, NOT, gives=np.array(pairs(lambda a, b: a < b, NAN, NOT)))
def lt(x, y):
    return x < y


@row("le", NAN, NOT, gives=np.array(pairs(lambda a, b: a <= b, NAN, NOT)))
def le(x, y):
    return x <= y


@row("gt", NAN, NOT, gives=np.array(pairs(lambda a, b: a > b, NAN, NOT)))
def gt(x, y):
    return x > y


@row("ge", NAN, NOT, gives=np.array(pairs(lambda a, b: a >= b, NAN, NOT)))
def ge(x, y):
    return x >= y


@row("eq", NAN, NOT, gives=np.array(pairs(lambda a, b: a == b, NAN, NOT)))
def eq(x, y):
    return x == y


@row("ne", NAN, NOT, gives=np.array(pairs(lambda a, b: a != b, NAN, NOT)))
def ne(x, y):
    return x != y


@row("minimum", NAN, NOT, gives=np.array([1, 1, -0.0, -0.0, 2, -math.inf, math.nan, -2], F32))
def minimum(x, y):
    return tl.minimum(x, y)


@row("maximum", NAN, NOT, gives=np.array([1, 1, 0.0, 0.0, 2, math.inf, math.nan, -1], F32))
def maximum(x, y):
    return tl.maximum(x, y)


@row("clamp", X, gives=np.array([0.5, -1, 1, 1e-3, 1, 0.0, 1, 1], F32))
def clamp(x):
    return tl.clamp(x + 0.0, -1.0, 1.0)


@row(
    "select",
    A,
    X,
    Y,
    gives=np.array([x if a > 0 else y for a, x, y in zip(A, X, Y, strict=True)], F32),
)
def select(condition, x, y):
    return tl.where(condition > 0, x, y)


@row("iabs", A, gives=wrapped([abs(a) for a in A.tolist()]))
def iabs(x):
    return tl.abs(x)


@row("fabs", X, gives=np.array([math.fabs(x) for x in X], F32))
def fabs(x):
    return tl.abs(x)


# Functions. Those that a GPU approximates (to 2 units in the last place or worse) are computed by
# NumPy in float32, which promises less than 1.


@row("exp", Y, gives=rounded(math.exp, Y), ulps=1)
def exp(x):
    return tl.exp(x)


@row("exp2", Y, gives=rounded(math.exp2, Y), ulps=1)
def exp2(x):
    return tl.exp2(x)


@row("log", P, gives=rounded(math.log, P), ulps=1)
def log(x):
    return tl.log(x)


@row("log2", P, gives=rounded(math.log2, P), ulps=1)
def log2(x):
    return tl.log2(x)


@row("sin", Y, gives=rounded(math.sin, Y), ulps=1)
def sin(x):
    return tl.sin(x)


@row("cos", Y, gives=rounded(math.cos, Y), ulps=1)
def cos(x):
    return tl.cos(x)


@row("sqrt", P, gives=rounded(math.sqrt, P))
def sqrt(x):
    return tl.sqrt(x)


@row("sqrt_rn", P, gives=rounded(math.sqrt, P))
def sqrt_rn(x):
    return tl.sqrt_rn(x)


@row("rsqrt", P, gives=rounded(lambda x: 1 / math.sqrt(x), P))
def rsqrt(x):
    return tl.rsqrt(x)


@row("erf", Y, gives=rounded(math.erf, Y), ulps=1)
def erf(x):
    return tl.erf(x)


@row("floor", X, gives=rounded(lambda x: math.copysign(math.floor(x), x), X))
def floor(x):
    return tl.floor(x)


@row("ceil", X, gives=rounded(lambda x: math.copysign(math.ceil(x), x), X))
def ceil(x):
    return tl.ceil(x)


@row("libdevice", X, Y, gives=rounded(math.hypot, X, Y))
def hypot(x, y):
    return libdevice.hypot(x, y)


def philox(counter: int, seed: int) -> int:
    """The first word of Philox-4x32-10 of the counter (counter, 0, 0, 0)."""
    c, k = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b % 2**32, (a >> 32) ^ c[3] ^ k[1], a % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c[0]


@row("philox", gives=np.array([philox(i, 2**40 + 7) for i in range(8)], np.uint32))
def words():
    return tl.randint(2**40 + 7, tl.arange(0, 8))


# Conversions


@row("cast", X, gives=np.array([int(x) for x in X], I32))
def cast(x):
    return x.to(tl.int32)


@row("bitcast", X, gives=np.array([struct.unpack("<i", struct.pack("<f", x))[0] for x in X], I32))
def bitcast(x):
    return x.to(tl.int32, bitcast=True)


# Shapes


@row("arange", gives=np.array([3, 4, 5, 6], I32))
def arange():
    return tl.arange(3, 7)


@row("constant", gives=np.array([2.5] * 4, F64))
def constant():
    return tl.full([4], 2.5, tl.float64)


@row("splat", gives=np.array([[9, 9]] * 4, I32))
def splat():
    return tl.broadcast_to(tl.full([], 9, tl.int32), [4, 2])


@row("broadcast", M[:, :1], gives=np.array([[0, 0], [4, 4]], F32))
def broadcast(x):
    return tl.broadcast_to(x, [2, 2])


@row("expand_dims", X, gives=np.array([[x] for x in X], F32))
def expand_dims(x):
    return x[:, None]


@row("reshape", M, gives=np.array([[0, 1], [2, 3], [4, 5], [6, 7]], F32))
def reshape(x):
    return tl.reshape(x, [4, 2])


@row("permute", M, gives=np.array([[0, 4], [1, 5], [2, 6], [3, 7]], F32))
def permute(x):
    return tl.permute(x, [1, 0])


@row("flip", M, gives=np.array([[3, 2, 1, 0], [7, 6, 5, 4]], F32))
def flip(x):
    return tl.flip(x, 1)


@row("join", X, Y, gives=np.array(pairs(lambda a, b: [a, b], X, Y), F32))
def join(x, y):
    return tl.join(x, y)


@row("split", M.reshape(4, 2), gives=np.array([1, 3, 5, 7], F32))
def split(x):
    _, right = tl.split(x)
    return right


@row("cat", A, B, gives=np.array(A.tolist() + B.tolist(), I32))
def cat(x, y):
    return tl.cat(x, y, can_reorder=True)


@row("gather", X, np.array([7, 0, 0, 3], I32), gives=np.array([X[7], X[0], X[0], X[3]], F32))
def gather(x, index):
    return tl.gather(x, index, 0)


@row("histogram", np.array([0, 1, 1, 3, 3, 3, 2, 0], I32), gives=np.array([2, 2, 1, 3], I32))
def histogram(x):
    return tl.histogram(x, 4)


# Functions of functions


@triton.jit
def first_larger(a, b):
    if a > b:
        return a
    else:
        return a + b


@triton.jit
def difference_of_squares(a, b):
    return a * a - b * b


@triton.jit
def swapped(a, b):
    return b, a


@row("reduce", M, gives=np.array([6, 22], F32))
def reduce(x):
    return tl.sum(x, 1)


@row("scan", M, gives=np.array([[0, 1, 3, 6], [4, 9, 15, 22]], F32))
def scan(x):
    return tl.cumsum(x, 1)


@row("map", A, B, gives=wrapped(pairs(lambda a, b: a * a - b * b)))
def map_(x, y):
    return tl.map_elementwise(difference_of_squares, x, y)


@row("map_packed", A, gives=A.reshape(4, 2)[:, ::-1].reshape(8))
def map_packed(x):
    return tl.map_elementwise(swapped, x, pack=2)[0]


@row("collect", A, B, gives=wrapped(pairs(lambda a, b: a if a > b else a + b)))
def collect(x, y):
    return tl.map_elementwise(first_larger, x, y)


@triton.jit
def gated(a, b):
    if b > 0:
        return a + b
    else:
        return a - b


@row("element", A[:4], gives=np.array(sum(abs(v) for v in A[1:2].tolist()) + 7, I32))
def element(x):
    return tl.reduce(tl.where(tl.arange(0, 4) < 2, x, 0), 0, gated)


# Products


INTEGERS = np.arange(16 * 16).reshape(16, 16) % 7 - 3


def product(a: Any, b: Any) -> Any:
    """Sums of Python numbers, exact."""
    a, b = a.tolist(), b.tolist()
    return [
        [sum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*b, strict=True)] for r in a
    ]


@row("dot", INTEGERS.astype(np.float16), INTEGERS.T.astype(np.float16),
     gives=np.array(product(INTEGERS, INTEGERS.T), F32))  # fmt: skip
def dot(a, b):
    return tl.dot(a, b)


E4 = np.dtype(ml_dtypes.float8_e4m3fn)
WIDE = np.arange(16 * 32).reshape(16, 32) % 5 - 2


@row("dot_scaled", WIDE.astype(E4), WIDE.T.astype(E4), np.full((16, 1), 128, np.uint8),
     gives=np.array(product(WIDE, WIDE.T), F32) * 2)  # fmt: skip
def dot_scaled(a, b, scale):
    return tl.dot_scaled(a, scale, "e4m3", b, None, "e4m3")


# Assembly


@row("asm", A, B, gives=wrapped(pairs(lambda a, b: 3 * a + b)))
def asm(x, y):
    return tl.inline_asm_elementwise(
        "mad.lo.s32 $0, $1, 3, $2;", "=r,r,r", [x, y], tl.int32, True, 1
    )


@row("asm_packed", np.arange(8, dtype=np.uint8), gives=np.arange(8, dtype=np.uint8) ^ 0x0F)
def asm_packed(x):
    return tl.inline_asm_elementwise("xor.b32 $0, $1, 0x0f0f0f0f;", "=r,r", [x], tl.uint8, True, 4)


# Memory


TEN = np.arange(10, dtype=F32)


@program("load", TEN, np.zeros(16, F32), gives=(TEN, [*range(10), *[-1] * 6]))
def load(x, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i, mask=i < 10, other=-1.0))


@program("store", np.zeros(10, F32), gives=(np.array([1] * 5 + [0] * 5, F32),))
def store(out):
    i = tl.arange(0, 16)
    tl.store(out + i, 1.0, mask=i < 5)


@program("addptr", TEN, np.zeros(4, F32), gives=(TEN, np.array([9, 7, 5, 3], F32)))
def addptr(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + 9 - 2 * i))


@program(
    "atomic_rmw", np.array([10, 20], I32), np.zeros(4, I32), gives=([14, 20], [10, 11, 12, 13])
)
def atomic_rmw(x, old):
    i = tl.arange(0, 4)
    tl.store(old + i, tl.atomic_add(x + i * 0, 1))


@program("atomic_cas", np.array([5, 6], I32), np.zeros(2, I32), gives=([9, 6], [5, 6]))
def atomic_cas(x, old):
    i = tl.arange(0, 2)
    tl.store(old + i, tl.atomic_cas(x + i, i * 0 + 5, i * 0 + 9))


@program("atomic_load", np.array([5, 6], I32), np.zeros(2, I32), gives=([5, 6], [5, 6]))
def atomic_load(x, out):
    i = tl.arange(0, 2)
    tl.store(out + i, tl.atomic_load(x + i))


@program("atomic_store", np.array([5, 6], I32), gives=([7, 7],))
def atomic_store(x):
    tl.atomic_store(x + tl.arange(0, 2), 7)


@program("pointer_to_int", TEN, np.zeros(4, np.int64), gives=(TEN, np.arange(4) * 8))
def pointer_to_int(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, (x + 2 * i).to(tl.int64) - x.to(tl.int64))


@program("int_to_pointer", TEN, np.zeros(4, F32), gives=(TEN, np.array([1, 3, 5, 7], F32)))
def int_to_pointer(x, out):
    i = tl.arange(0, 4)
    address = x.to(tl.int64) + 4 + 8 * i
    tl.store(out + i, tl.load(address.to(tl.pointer_type(tl.float32))))


TABLE = np.arange(6 * 6, dtype=F32).reshape(6, 6)
CORNER = np.array([[21, 22, 23, 0], [27, 28, 29, 0], [33, 34, 35, 0], [0] * 4], F32)


@program("box_pointers", TABLE, np.zeros((4, 4), F32), gives=(TABLE, CORNER))
def box_pointers(x, out):
    corner = tl.make_block_ptr(x, (6, 6), (6, 1), (3, 3), (4, 4), (1, 0))
    i = tl.arange(0, 4)
    block = tl.load(corner, boundary_check=(0, 1), padding_option="zero")
    tl.store(out + i[:, None] * 4 + i, block)


@program("box_mask", np.zeros((6, 6), F32), gives=(np.pad(np.ones((2, 2), F32), ((4, 0), (4, 0))),))
def box_mask(x):
    corner = tl.make_block_ptr(x, (6, 6), (6, 1), (4, 4), (4, 4), (1, 0))
    tl.store(corner, tl.full([4, 4], 1.0, tl.float32), boundary_check=(0, 1))


TF32 = np.array([1 + 2**-11, 1 + 2**-12, -(1 + 3 * 2**-11), 3.0], F32)
HALF = np.array([1 + 2**-10, 1, -(1 + 2**-9), 3], F32)


def tf32_loads() -> None:
    out = np.zeros(4, F32)
    load_block[(1,)](TensorDescriptor.from_tensor(TF32, [4], round_f32_to_tf32=True), out)
    same(out, HALF)


@triton.jit
def load_block(descriptor, out):
    tl.store(out + tl.arange(0, 4), descriptor.load([0]))


check("round_tf32", tf32_loads)


# Control


@program("program_id", np.zeros(6, I32), gives=([0, 1, 2, 10, 11, 12],), grid=(3, 2))
def program_id(out):
    x, y = tl.program_id(0), tl.program_id(1)
    tl.store(out + y * 3 + x, y * 10 + x)


@program("num_programs", np.zeros(6, I32), gives=([32] * 6,), grid=(3, 2))
def num_programs(out):
    x, y = tl.program_id(0), tl.program_id(1)
    tl.store(out + y * 3 + x, tl.num_programs(0) * 10 + tl.num_programs(1))


@program("barrier", np.arange(4, dtype=I32), gives=([3, 2, 1, 0],))
def barrier(x):
    i = tl.arange(0, 4)
    value = tl.load(x + i)
    tl.debug_barrier()
    tl.store(x + 3 - i, value)


@program("assert", np.arange(4, dtype=I32), gives=([0, 1, 2, 3],))
def assert_(x):
    i = tl.arange(0, 4)
    tl.device_assert(tl.load(x + i) >= 0, "no negative element")


@program("print", np.arange(2, dtype=I32), gives=([0, 1],))
def print_(x):
    tl.device_print("x", tl.load(x + tl.arange(0, 2)))


@program("assume", np.arange(2, dtype=I32), gives=([0, 1],))
def assume(x):
    tl.assume(tl.load(x) == 0)


@program("hint", np.zeros(8, I32), gives=(range(8),))
def hint(x):
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, 8), 8), 8)
    tl.store(x + i, i)


@program("globaltimer", np.zeros(1, I32), gives=([1],))
def timer(x):
    start = globaltimer()
    tl.store(x, (globaltimer() >= start).to(tl.int32))


@program("smid", np.ones(1, I32), gives=([0],))
def place(x):
    tl.store(x, smid())


@program("gdc_wait", np.zeros(1, I32), gives=([1],))
def wait(x):
    gdc_wait()
    tl.store(x, 1)


@program("gdc_launch_dependents", np.zeros(1, I32), gives=([1],))
def launch_dependents(x):
    gdc_launch_dependents()
    tl.store(x, 1)
