"""Stores and reductions through descriptors where the copy engine takes no box: below zero, or beside the
multiples of 16 bytes of a row. The lanes write what is inside, in the order of the program."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.ops.kernels import BF16
from tests.ptx.compiled import Outcome, compiled
from tests.ptx.test_products import judged, mutants
from tests.ptx.test_tensor_stores import COMBINED, run

FP8 = ml_dtypes.float8_e5m2


@triton.jit
def ranked(x_ptr, out, at, SHAPE: tl.constexpr, STRIDES: tl.constexpr, BLOCK: tl.constexpr,
           N: tl.constexpr):  # fmt: skip
    value = tl.reshape(tl.load(x_ptr + tl.arange(0, N)), BLOCK)
    tl.make_tensor_descriptor(out, SHAPE, STRIDES, BLOCK).store(at, value)


def stored(kind: Any, shape: Any, block: Any, at: Any, **named: Any) -> Outcome:
    """Numbers of a block, stored to a place that is known when the kernel runs."""
    n = int(np.prod(block))
    x, out = (np.arange(n) % 100).astype(kind), np.zeros(shape, kind)
    strides = tuple(s // out.itemsize for s in out.strides)
    told = {"SHAPE": shape, "STRIDES": strides, "BLOCK": block, "N": n}
    return run(ranked, (1,), x, out, at, **told, **named)


PLACES = [
    ((400,), (64,), (390,)), ((400,), (64,), (-8,)), ((400,), (64,), (-64,)),
    ((400,), (1024,), (-9,)), ((400,), (64,), (2**31 - 2,)), ((400,), (1024,), (2**31 - 16,)),
    ((400,), (64,), (-(2**31),)), ((40, 64), (16, 16), (30, -3)), ((40, 64), (16, 16), (-16, 16)),
    ((40, 64), (16, 16), (-5, 53)), ((3, 6, 40), (2, 4, 32), (2, 3, -8)),
    ((2, 3, 5, 24), (2, 2, 4, 16), (5, 2, -6, 12)),
    ((2, 2, 3, 5, 16), (2, 2, 2, 2, 16), (9, -6, 2, 4, 3)), ((600, 8), (512, 8), (-100, 0)),
    ((8, 600), (4, 512), (5, 70)), ((8, 600), (4, 512), (-3, -70)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "block", "at"), PLACES, ids=str)
def test_places_that_the_engine_does_not_take(shape: Any, block: Any, at: Any) -> None:
    text = stored(np.float32, shape, block, at).text
    assert f"cp.async.bulk.tensor.{len(shape)}d.global" in text
    assert "st.global.b32" in text


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, FP8, np.int16, np.float16, BF16, np.uint32, np.float64, np.int64]
)
@pytest.mark.parametrize("at", [(-7, 22), (7, -9), (6, 16), (15, 37)], ids=str)
def test_every_element_type(kind: Any, at: Any) -> None:
    assert "bulk.tensor" in stored(kind, (20, 48), (16, 32), at).text


@pytest.mark.parametrize("warps", [1, 2, 16])
@pytest.mark.parametrize("ctas", [1, 2])
def test_any_number_of_lanes(warps: int, ctas: int) -> None:
    """Some lanes have many elements and others none; of a cluster one CTA writes."""
    for block in ((64,), (2048,)):
        stored(np.int32, (3000,), block, (-6,), num_warps=warps, num_ctas=ctas)


@triton.jit
def fixed(x_ptr, out_ptr, AT: tl.constexpr, BLOCK: tl.constexpr):
    out = tl.make_tensor_descriptor(out_ptr, [400], [1], [BLOCK])
    out.store([AT], tl.load(x_ptr + tl.arange(0, BLOCK)))


@pytest.mark.parametrize(
    ("at", "engine"), [(0, True), (388, True), (800, True), (390, False), (-4, False)]
)
def test_constants_need_one_of_the_two_ways_alone(at: int, engine: bool) -> None:
    text = run(
        fixed, (1,), np.arange(64, dtype=np.float32), np.zeros(400, np.float32), AT=at, BLOCK=64
    ).text
    assert ("bulk.tensor" in text) == engine
    assert ("st.global" in text) != engine


@triton.jit
def strided(x_ptr, out_ptr, first, BLOCK: tl.constexpr):
    out = tl.make_tensor_descriptor(out_ptr, [400], [1], [BLOCK])
    i = tl.arange(0, BLOCK)
    out.store([(first + tl.program_id(0)) * BLOCK], tl.load(x_ptr + i))


def test_a_place_that_is_a_multiple_of_16_bytes_is_tested_for_its_sign_alone() -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(400, np.float32)
    text = run(strided, (9,), x, out, -3, BLOCK=64).text
    tests = re.findall(r"setp\.[gl][te]\.s32\s+%p\d+, %r\d+, -?[01];", text)
    assert len(tests) == 1 and "-2147483" not in text


@triton.jit
def wide(x_ptr, y_ptr, out_ptr, row, column, M, N, BM: tl.constexpr, BN: tl.constexpr,
         BK: tl.constexpr):  # fmt: skip
    """A block as the matrix unit leaves it, stored in rounds."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x = tl.load(x_ptr + m[:, None] * BK + k[None, :])
    y = tl.load(y_ptr + k[:, None] * BN + n[None, :])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN])
    out.store([row, column], tl.dot(x, y))


@pytest.mark.parametrize("at", [(-30, 2), (5, -100), (5, 16), (0, 0)], ids=str)
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_blocks_that_go_in_rounds(kind: Any, at: tuple[int, int]) -> None:
    x, y = (np.random.default_rng(4).integers(-3, 4, s).astype(np.float16)
            for s in ((128, 16), (16, 256)))  # fmt: skip
    out = np.zeros((100, 240), kind)
    text = run(wide, (1,), x, y, out, *at, *out.shape, BM=128, BN=256, BK=16).text
    assert text.count("fence.proxy.async;") >= 2


@triton.jit
def combined(x_ptr, out_ptr, desc, row, column, M, N, BM: tl.constexpr, BN: tl.constexpr,
             OP: tl.constexpr):  # fmt: skip
    out = desc
    if out is None:
        out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN])
    x = tl.load(x_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    row += tl.program_id(0) * (BM // 2)
    if OP == "add":
        out.atomic_add([row, column], x)
    elif OP == "min":
        out.atomic_min([row, column], x)
    elif OP == "max":
        out.atomic_max([row, column], x)
    elif OP == "and":
        out.atomic_and([row, column], x)
    elif OP == "or":
        out.atomic_or([row, column], x)
    else:
        out.atomic_xor([row, column], x)


@pytest.mark.parametrize(("op", "kind"), [(op, kind) for op in COMBINED for kind in COMBINED[op]])
@pytest.mark.parametrize("passed", [False, True])
def test_blocks_are_combined_with_memory(op: str, kind: Any, passed: bool) -> None:
    """Of three program instances the first is below zero, and their blocks overlap."""
    draw = np.random.default_rng(3)
    for at in ((-5, 16), (2, 3), (-4, -3)):
        x, out = (draw.integers(0, 9, s).astype(kind) for s in ((8, 16), (14, 32)))
        desc = TensorDescriptor.from_tensor(out, [8, 16]) if passed else None
        one = run(combined, (3,), x, out, desc, *at, 14, 32, BM=8, BN=16, OP=op)
        assert f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.bulk_group" in one.text
        assert len(re.findall(r"\batom[.a-z]*\.gpu", one.text)) == 1


@pytest.mark.parametrize("ctas", [1, 2])
def test_each_element_is_combined_once_whoever_else_holds_it(ctas: int) -> None:
    x, out = np.ones((8, 16), np.int32), np.zeros((14, 32), np.int32)
    run(combined, (2,), x, out, None, -5, 3, 14, 32, BM=8, BN=16, OP="add", num_ctas=ctas)


@triton.jit
def products(
    a_ptr, b_ptr, c_ptr, row, column, M, N, K, tiles,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """One block of a product after the other, all of them moved by some rows and columns."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        m, n = tile // tl.cdiv(N, BN) * BM, tile % tl.cdiv(N, BN) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
        c.store([m + row, n + column], acc.to(tl.float16))


@pytest.mark.parametrize("at", [(0, 0), (-64, 8), (-3, -16), (1, 2)], ids=str)
@pytest.mark.parametrize("warps", [4, 8])
def test_rings_of_the_engine_and_blocks_of_lanes_share_memory(at: Any, warps: int) -> None:
    draw = np.random.default_rng(5)
    a, b = (draw.integers(-2, 3, s).astype(np.float16) for s in ((256, 96), (96, 128)))
    c, tiles = np.zeros((256, 128), np.float16), {"BM": 64, "BN": 64, "BK": 32}
    one = run(products, (3,), a, b, c, *at, 256, 128, 96, 8, **tiles, num_warps=warps)
    assert "cp.async.bulk.tensor.2d.shared::cluster" in one.text and "wgmma" in one.text


@triton.jit
def mixed(x_ptr, at_ptr, out_ptr, n, turns, BLOCK: tl.constexpr):
    """Blocks at any places, one over the other: the last one stays."""
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    i = tl.arange(0, BLOCK)
    for k in range(turns):
        out.store([tl.load(at_ptr + k)], tl.sort(tl.load(x_ptr + k * BLOCK + i)))


AT = np.array([0, -8, 2, 0, 7, 64, 60, -64, 390, 388, 3, 0], np.int32)


def loop(at: Any = AT, **named: Any) -> Any:
    x = np.random.default_rng(1).integers(0, 99, 64 * len(at)).astype(np.int32)
    return x, at, np.zeros(400, np.int32), 400, len(at), {"BLOCK": 64, **named}


@pytest.mark.parametrize("ctas", [1, 2])
def test_what_both_write_is_written_in_turn(ctas: int) -> None:
    *arguments, named = loop(num_ctas=ctas)
    run(mixed, (1,), *arguments, **named)


@triton.jit
def read_back(x_ptr, at_ptr, out_ptr, n, turns, BLOCK: tl.constexpr):
    """What a turn stores the next one reads, and lanes change it in between."""
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    i = tl.arange(0, BLOCK)
    for k in range(turns):
        at = tl.load(at_ptr + k)
        out.store([at], tl.load(x_ptr + i) + k)
        x = tl.load(out_ptr + (at + i + 1) % n, mask=at + i + 1 >= 0, other=0)
        tl.store(x_ptr + i, x)
        tl.store(out_ptr + i, x + 1)


def test_what_lanes_read_and_write_as_well_is_in_order() -> None:
    x, at, out, n, count, named = loop()
    run(read_back, (1,), x[:64].copy(), at, out, n, count, **named)


@triton.jit
def sums(x_ptr, at_ptr, out_ptr, n, turns, BLOCK: tl.constexpr):
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    i = tl.arange(0, BLOCK)
    for k in range(turns):
        out.atomic_add([tl.load(at_ptr + k)], tl.load(x_ptr + k * BLOCK + i))


def test_sums_of_both_ways_are_sums() -> None:
    *arguments, named = loop()
    run(sums, (3,), *arguments, **named)


def test_an_array_without_elements_is_stored_nowhere() -> None:
    for n in (0, -5):
        for at in ([0, 0], [-8, 3]):
            x, _, out, _, _, named = loop()
            run(mixed, (1,), x, np.array(at, np.int32), out, n, 2, **named)


def turns() -> Any:
    *arguments, named = loop()
    return compiled(mixed, tuple(arguments), named, (1,))


def missing(what: str) -> list[str]:
    """What is found where one thing is missing of what stands around the stores of lanes."""
    kernel = turns()
    assert judged(kernel) == []
    lines = kernel.text.split("\n")
    store = next(n for n, line in enumerate(lines) if "st.global" in line)
    wait = max(n for n in range(store) if "bulk.wait_group 0" in lines[n])
    barrier = next(n for n in range(wait, store) if re.match(r"\s*bar\.sync", lines[n]))
    fence = next(n for n, line in enumerate(lines) if "fence.proxy.async;" in line)
    lines[{"wait": wait, "barrier": barrier, "fence": fence}[what]] = ""
    kernel.text = "\n".join(lines)
    return judged(kernel)


@pytest.mark.parametrize("what", ["wait", "barrier", "fence"])
def test_what_keeps_lanes_and_the_engine_in_turn_is_missed(what: str) -> None:
    assert set(missing(what)) == {"async"}


def test_a_block_is_not_overwritten_before_all_lanes_have_taken_theirs() -> None:
    kernel = turns()
    found = []
    for text in mutants(kernel.text, r"\s*bar\.sync"):
        kernel.text = text
        found.append(judged(kernel))
    assert sum("race" in kinds for kinds in found) >= 2
