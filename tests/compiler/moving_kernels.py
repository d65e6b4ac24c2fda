"""Kernels of one operation each, for the tests of lowering: blocks come from and go to whole arrays."""

# mypy: ignore-errors

import blockstep as triton
import blockstep.language as tl


@triton.jit
def block(x, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    return tl.reshape(tl.load(x + tl.arange(0, SIZE)), SHAPE)


@triton.jit
def out(y, value):
    tl.store(y + tl.arange(0, value.numel), tl.reshape(value, [value.numel]))


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def scan(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    out(y, tl.associative_scan(block(x, SHAPE, SIZE), AXIS, add, reverse=REVERSE))


@triton.jit
def scan_pair(
    x, z, y, u, SHAPE: tl.constexpr, SIZE: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr
):
    a, b = block(x, SHAPE, SIZE), block(z, SHAPE, SIZE)
    p, q = tl.associative_scan((a, b), AXIS, recurrence, reverse=REVERSE)
    out(y, p)
    out(u, q)


@triton.jit
def reduce(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, AXIS: tl.constexpr):
    out(y, tl.reduce(block(x, SHAPE, SIZE), AXIS, larger))


@triton.jit
def reduce_turned(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, TURNED: tl.constexpr):
    """The reshape puts bits of both axes into one: what lies along an axis no longer does."""
    moved = tl.reshape(tl.trans(block(x, SHAPE, SIZE)), TURNED)
    out(y, tl.reduce(moved, 1, larger))


@triton.jit
def gather(
    x, k, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, INDEX: tl.constexpr, COUNT: tl.constexpr,
    AXIS: tl.constexpr,
):  # fmt: skip
    out(y, tl.gather(block(x, SHAPE, SIZE), block(k, INDEX, COUNT), AXIS))


@triton.jit
def histogram(x, y, SIZE: tl.constexpr, BINS: tl.constexpr):
    out(y, tl.histogram(block(x, [SIZE], SIZE), BINS))


@triton.jit
def histogram_masked(x, y, SIZE: tl.constexpr, BINS: tl.constexpr):
    values = block(x, [SIZE], SIZE)
    out(y, tl.histogram(values, BINS, mask=values != 3))


@triton.jit
def flip(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, AXIS: tl.constexpr):
    out(y, tl.flip(block(x, SHAPE, SIZE), AXIS))


@triton.jit
def cat(x, z, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, AXIS: tl.constexpr):
    out(y, tl.cat(block(x, SHAPE, SIZE), block(z, SHAPE, SIZE), dim=AXIS))


@triton.jit
def interleave(x, z, y, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    out(y, tl.interleave(block(x, SHAPE, SIZE), block(z, SHAPE, SIZE)))


@triton.jit
def split(x, y, u, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    a, b = tl.split(block(x, SHAPE, SIZE))
    out(y, a)
    out(u, b)


@triton.jit
def split_turned(x, y, u, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    """The axis of length 2 is the slowest of memory, so no lane holds pairs."""
    a, b = tl.split(tl.trans(block(x, SHAPE, SIZE)))
    out(y, a)
    out(u, b)


@triton.jit
def split_scalars(x, y):
    a, b = tl.split(block(x, [2], 2))
    tl.store(y, b)
    tl.store(y + 1, a)


@triton.jit
def join_scalars(x, y):
    out(y, tl.join(tl.load(x), tl.load(x + 1)))


@triton.jit
def permute(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    out(y, tl.permute(block(x, SHAPE, SIZE), 2, 0, 1))


@triton.jit
def item(x, y):
    one = tl.reshape(block(x, [1], 1).item(), [1, 1])
    out(y, one)


@triton.jit
def swapped(a0, a1, b0, b1):
    return a1 + b0, a0 - b1


@triton.jit
def packed(x, z, y, SIZE: tl.constexpr):
    (found,) = tl.map_elementwise(swapped, block(x, [SIZE], SIZE), block(z, [SIZE], SIZE), pack=2)
    out(y, found)


@triton.jit
def sort(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, DOWN: tl.constexpr):
    out(y, tl.sort(block(x, SHAPE, SIZE), descending=DOWN))


@triton.jit
def topk(x, y, SHAPE: tl.constexpr, SIZE: tl.constexpr, K: tl.constexpr):
    out(y, tl.topk(block(x, SHAPE, SIZE), K))


@triton.jit
def copy(x, y, SIZE: tl.constexpr):
    tl.store(y + tl.arange(0, SIZE), tl.load(x + tl.arange(0, SIZE)))


@triton.jit
def fetched(p):
    return tl.load(p) + 1


@triton.jit
def one_by_one(x, y, SIZE: tl.constexpr):
    """A function that touches memory is called for each element: `element` and `collect`."""
    out(y, tl.map_elementwise(fetched, x + tl.arange(0, SIZE)))


@triton.jit
def positive(x, y, SIZE: tl.constexpr):
    """The truth values move: the comparison is made where the loads are."""
    truth = tl.reshape(tl.load(x + tl.arange(0, SIZE)) > 0, [SIZE])
    tl.store(y + tl.arange(0, SIZE), tl.flip(tl.flip(truth, 0), 0).to(tl.int32))


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def unequal(a, b):
    return a ^ b


@triton.jit
def truths(x, k, y, SIZE: tl.constexpr, HALF: tl.constexpr):
    """Every operation on truth values."""
    truth = tl.reshape(tl.load(x + tl.arange(0, SIZE)) > 0, [SIZE])
    out(y, tl.associative_scan(truth, 0, unequal).to(tl.int32))
    y += SIZE
    out(y, tl.gather(truth, tl.load(k + tl.arange(0, SIZE)), 0).to(tl.int32))
    y += SIZE
    a, b = tl.split(tl.trans(tl.reshape(truth, [2, HALF])))
    out(y, tl.cat(b, a, can_reorder=False).to(tl.int32))
    y += SIZE
    out(y, tl.interleave(a, tl.flip(b, 0)).to(tl.int32))
    y += SIZE
    tl.store(y, tl.reduce(truth, 0, either).to(tl.int32))


@triton.jit
def after_a_product(a, b, y, N: tl.constexpr):
    """What a matrix unit leaves is scanned, sorted and gathered."""
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    c = tl.dot(tl.load(a + i), tl.load(b + i))
    c = tl.associative_scan(c, 1, add)
    c = tl.flip(tl.cumsum(c, 0), 0)
    c = tl.gather(c, tl.sort(c).to(tl.int32) & (N - 1), 1)
    tl.store(y + i, c)


@triton.jit
def pointers(x, y, SIZE: tl.constexpr):
    """Addresses move like numbers."""
    places = x + tl.arange(0, SIZE)
    a, b = tl.split(tl.reshape(tl.flip(places, 0), [SIZE // 2, 2]))
    out(y, tl.load(tl.interleave(a, b)))


@triton.jit
def repeated(x, n, y, u, N: tl.constexpr):
    """Blocks that a loop carries: each round uses the same shared memory again."""
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    c, h = tl.load(x + i), tl.zeros([N], tl.int32)
    for _ in range(tl.load(n)):
        c = tl.associative_scan(tl.trans(c), 1, unequal) + tl.flip(c, 0)
        largest = tl.reduce(c, 0, larger)
        h += tl.gather(largest, tl.sort(largest) & (N - 1), 0)
        h += tl.histogram(tl.reshape(c, [N * N]) & (2 * N - 1), N)
    tl.store(y + i, c)
    out(u, h)
