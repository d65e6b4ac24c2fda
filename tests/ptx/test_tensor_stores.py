"""Blocks that are stored through descriptors on the ptx machine: every shape, type and swizzle gives what the
grid machine gives, and every wait and barrier on the way is needed there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.ops.kernels import BF16
from tests.ptx.compiled import Outcome, compiled, outcomes
from tests.ptx.test_products import judged, mutants


def run(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> Outcome:
    """The launch on both machines, which have agreed."""
    with outcomes() as found:
        kernel[grid](*arguments, **named)
    (one,) = found
    assert (one.error, one.faults) == ("", ())
    return one


@triton.jit
def ranked(
    x_ptr, out, SHAPE: tl.constexpr, STRIDES: tl.constexpr, BLOCK: tl.constexpr, AT: tl.constexpr,
    N: tl.constexpr,
):  # fmt: skip
    value = tl.reshape(tl.load(x_ptr + tl.arange(0, N)), BLOCK)
    tl.make_tensor_descriptor(out, SHAPE, STRIDES, BLOCK).store(AT, value)


def stored(kind: Any, shape: Any, block: Any, at: Any) -> Outcome:
    """Numbers of a block, stored through a descriptor of any rank."""
    n = int(np.prod(block))
    x, out = np.arange(n).astype(kind), np.zeros(shape, kind)
    strides = tuple(s // out.itemsize for s in out.strides)
    told = {"SHAPE": shape, "STRIDES": strides, "BLOCK": block, "AT": at, "N": n}
    return run(ranked, (1,), x, out, **told)


@pytest.mark.parametrize(
    ("shape", "block", "at"),
    [
        ((400,), (64,), (16,)), ((400,), (1024,), (-8,)), ((40, 64), (16, 16), (30, -3)),
        ((3, 6, 40), (2, 4, 32), (2, 3, -8)), ((2, 3, 5, 24), (2, 2, 4, 16), (1, 2, -1, 12)),
        ((2, 2, 3, 5, 16), (2, 2, 2, 2, 16), (1, -1, 2, 4, 3)), ((600, 8), (512, 8), (100, 0)),
        ((8, 600), (4, 512), (5, 70)), ((3, 300, 8), (2, 512, 8), (0, 0, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_blocks_of_one_to_five_axes(shape: Any, block: Any, at: Any) -> None:
    one = stored(np.float32, shape, block, at)
    by_engine = max(block[1:-1], default=0) <= 256  # else boxes do not follow each other
    by_engine &= min(at) >= 0 and at[-1] % 4 == 0  # else the engine does not take the place
    assert (f"cp.async.bulk.tensor.{len(shape)}d.global" in one.text) == by_engine


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.float16, BF16, np.uint32, np.float64, np.int64]
)
def test_every_element_type(kind: Any) -> None:
    assert "bulk.tensor" in stored(kind, (20, 48), (16, 32), (7, 32)).text


@triton.jit
def fragment(x_ptr, y_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A block as the matrix unit leaves it."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x = tl.load(x_ptr + m[:, None] * BK + k[None, :])
    y = tl.load(y_ptr + k[:, None] * BN + n[None, :])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN])
    out.store([tl.program_id(0) * BM, tl.program_id(1) * BN], tl.dot(x, y))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("columns", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("ctas", [1, 2])
def test_fragments_of_any_width(kind: Any, columns: int, ctas: int) -> None:
    """128 columns of float32 go in two rounds, 256 in four: each has 32 KiB."""
    draw = np.random.default_rng(columns)
    x, y = (draw.integers(-3, 4, s).astype(np.float16) for s in ((128, 16), (16, columns)))
    out = np.zeros((250, columns + 16), kind)
    sizes = {"BM": 128, "BN": columns, "BK": 16, "num_ctas": ctas}
    one = run(fragment, (2, 2), x, y, out, *out.shape, **sizes)
    assert "bulk.tensor.2d.global" in one.text
    assert ("stmatrix" in one.text) == (kind is np.float16)
    rounds = max(1, 128 * columns * out.itemsize >> 15)
    assert one.text.count("bulk.commit_group") == rounds + 1  # and one where the map is made


@triton.jit
def turned(x, out, TURN: tl.constexpr):
    """As it lies in memory, or the other way round."""
    block = x.load([0, 0])
    out.store([0, 0], tl.trans(block) if TURN else block)


@pytest.mark.parametrize("changes", [False, True])
def test_a_descriptor_of_the_host_is_stored_through_where_the_block_changes_hands(
    changes: bool,
) -> None:
    x, out = np.arange(64 * 64, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    given = [TensorDescriptor.from_tensor(array, [64, 64]) for array in (x, out)]
    assert ("bulk.tensor.2d.global" in run(turned, (1,), *given, TURN=changes).text) == changes


@triton.jit
def over(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Each turn stores over half of what the one before stored, and reads what it left."""
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    i = tl.arange(0, BLOCK)
    for k in range(4):
        out.store([k * (BLOCK // 2)], tl.load(x_ptr + i) + k)
        x = tl.load(out_ptr + k * (BLOCK // 2) + (i + 1) % BLOCK)
        tl.store(x_ptr + i, x)


def test_what_lanes_read_and_write_as_well_is_in_order() -> None:
    x, out = np.arange(128, dtype=np.int32), np.zeros(512, np.int32)
    text = run(over, (1,), x, out, 512, BLOCK=128).text
    waits = re.findall(r"wait_group\S* 0", text[text.index("tensor.1d.global") :])
    assert waits == ["wait_group 0"]  # not only until the memory is read
    assert "fence.proxy.async;" in text


@triton.jit
def apart(x_ptr, out_ptr, n, turns, BLOCK: tl.constexpr):
    """A turn's store may run beside the next turn's load."""
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    i = tl.arange(0, BLOCK)
    for k in range(turns):
        out.store([k * BLOCK], tl.sort(tl.load(x_ptr + k * BLOCK + i)))


def loop() -> Any:
    x = np.random.default_rng(1).integers(0, 99, 512).astype(np.int32)
    return compiled(apart, (x, np.zeros(512, np.int32), 512, 4), {"BLOCK": 128}, (1,))


def test_a_loop_of_stores_waits_until_memory_is_read_and_then_until_its_turn() -> None:
    text = loop().text
    first = text.index("tensor.1d.global")
    assert text.rindex("wait_group 0", 0, first) > text.rindex("bar", 0, first)
    assert "wait_group.read 0" in text[first:]


@pytest.mark.parametrize("warps", [1, 2, 16])
def test_any_number_of_warps(warps: int) -> None:
    x = np.arange(512, dtype=np.int32)[::-1].copy()
    run(apart, (1,), x, np.zeros(512, np.int32), 512, 4, BLOCK=128, num_warps=warps)


def test_a_missing_wait_for_shared_memory_is_found() -> None:
    kernel = loop()
    assert judged(kernel) == []
    found = []
    for text in mutants(kernel.text, r"\s*cp\.async\.bulk\.wait_group\.read"):
        kernel.text = text
        found.append(set(judged(kernel)))
    assert found == [set(), {"async"}]  # the first one keeps ptxas in order


def test_a_missing_fence_before_the_engine_reads_shared_memory_is_found() -> None:
    kernel = loop()
    (text,) = mutants(kernel.text, r"\s*fence\.proxy\.async\.shared")
    kernel.text = text
    assert set(judged(kernel)) == {"async"}


def test_barriers_around_the_block_in_shared_memory_are_missed() -> None:
    kernel = loop()
    found = []
    for text in mutants(kernel.text, r"\s*bar(rier)?\.(cta\.)?sync"):
        kernel.text = text
        found.append(judged(kernel))
    assert sum("race" in kinds for kinds in found) >= 2


def test_the_lanes_that_make_a_map_meet_before_one_fills_it() -> None:
    kernel = loop()
    (first, *_) = mutants(kernel.text, r"\s*bar\.warp\.sync")
    kernel.text = first
    assert "race" in judged(kernel)


@triton.jit
def combined(x_ptr, out_ptr, desc, M, N, BM: tl.constexpr, BN: tl.constexpr, OP: tl.constexpr):
    out = desc
    if out is None:
        out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    x = tl.load(x_ptr + i)
    row = tl.program_id(0) * (BM // 2)
    if OP == "add":
        out.atomic_add([row, 8], x)
    elif OP == "min":
        out.atomic_min([row, 8], x)
    elif OP == "max":
        out.atomic_max([row, 8], x)
    elif OP == "and":
        out.atomic_and([row, 8], x)
    elif OP == "or":
        out.atomic_or([row, 8], x)
    else:
        out.atomic_xor([row, 8], x)


FLOATS = [np.float16, BF16]
WORDS = [np.uint32, np.int32, np.uint64]
COMBINED = {
    "add": [*WORDS, *FLOATS, np.float32], "min": [*WORDS, np.int64, *FLOATS],
    "max": [*WORDS, np.int64, *FLOATS], "and": [np.int32, np.uint32], "or": [np.int32], "xor": [np.uint32],
}  # fmt: skip


@pytest.mark.parametrize("op", ["and", "or", "xor"])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_bits_of_64_bit_elements_are_combined_by_lanes(op: str, kind: Any) -> None:
    """An H200 ends a launch in which the engine is told to, with an illegal instruction."""
    draw = np.random.default_rng(3)
    x, out = (draw.integers(0, 9, s).astype(kind) for s in ((8, 16), (14, 32)))
    one = run(combined, (3,), x, out, None, 14, 32, BM=8, BN=16, OP=op)
    assert "cp.reduce" not in one.text


@pytest.mark.parametrize(("op", "kind"), [(op, kind) for op in COMBINED for kind in COMBINED[op]])
@pytest.mark.parametrize("passed", [False, True])
def test_blocks_are_combined_with_memory(op: str, kind: Any, passed: bool) -> None:
    """Blocks of three program instances overlap, and the last one's rows are cut."""
    draw = np.random.default_rng(3)
    x, out = (draw.integers(0, 9, s).astype(kind) for s in ((8, 16), (14, 32)))
    desc = TensorDescriptor.from_tensor(out, [8, 16]) if passed else None
    one = run(combined, (3,), x, out, desc, 14, 32, BM=8, BN=16, OP=op)
    assert f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.bulk_group" in one.text
    # One for the lanes, in a loop over the elements of a block that the engine does not take.
    assert len(re.findall(r"\batom[.a-z]*\.gpu", one.text)) == 1 and "red.global" not in one.text
