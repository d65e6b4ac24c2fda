"""Every fast path gives what the dense one gives: rules against meanings, regular reaches against
lists of addresses, strided windows against gathers, whole kernels with and without rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockstep
import blockstep.language as tl
from blockstep.interp import rules
from blockstep.interp.forms import Affine, Box, Uniform, formed, integers, uniform
from blockstep.interp.memory import AddressSpace
from blockstep.interp.reach import Reach
from blockstep.interp.rules import RULES
from blockstep.interp.shadow import Cells, under
from blockstep.interp.transfer import gather
from blockstep.language.op import OPS
from blockstep.language.types import block_type, blocked, dtype, int1, int8, int32, int64, uint32
from blockstep.language.value import tensor

SHAPES = st.sampled_from([(), (1,), (4,), (8,), (2, 4), (1, 8), (4, 1), (2, 2, 4)])
NUMBERS = st.one_of(st.integers(-9, 9), st.sampled_from([-(2**31), 2**31 - 1, 2**30, -128, 127]))


def dense(x: tensor) -> tensor:
    """The same value with every element written down."""
    twin = tensor(np.array(x.handle) if x.type.shape else x.handle, x.type)
    twin.bounds = x.bounds
    return twin


@st.composite
def integer_values(draw: Any, kind: dtype, shape: tuple[int, ...]) -> tensor:
    """An affine, uniform or dense value of an integer type."""
    low, high = kind.lowest, kind.highest
    const = max(low, min(high, draw(NUMBERS)))
    strides = tuple([draw(st.integers(-3, 3)) if n > 1 else 0 for n in shape])
    made = integers(const, strides if any(strides) else None, blocked(kind, shape))
    if made is None:
        made = integers(const, None, blocked(kind, shape))
    assert made is not None
    return dense(made) if draw(st.integers(0, 4)) == 0 else made


@st.composite
def masks(draw: Any, shape: tuple[int, ...]) -> tensor:
    """A mask: a box, all on, all off, or dense."""
    kind = blocked(int1, shape)
    choice = draw(st.integers(0, 3)) if shape else 0
    if choice == 0:
        return uniform(np.bool_(draw(st.booleans())), kind)
    limits = []
    for n in shape:
        low = draw(st.integers(0, n - 1))
        limits.append((low, draw(st.integers(low + 1, n))))
    box = formed(Box(tuple(limits)), kind)
    return dense(box) if choice == 1 else box


def agrees(name: str, operands: tuple[tensor, ...], attributes: dict[str, Any]) -> None:
    """The rule's answer, if it has one, is the meaning's on dense operands."""
    found = RULES[name](operands, attributes)
    if found is None:
        return
    op = OPS[name]
    assert op.meaning is not None
    twins = [dense(x) for x in operands]
    kind = op.rule(*[x.type for x in twins], **attributes)
    expected = op.meaning(*[x.handle for x in twins], **attributes)
    assert found.type is kind
    assert found.handle.dtype == expected.dtype == kind.numpy
    assert found.handle.shape == kind.shape
    assert np.array_equal(found.handle, expected, equal_nan=kind.scalar.is_floating())
    if found.bounds is not None and kind.scalar.is_int():
        assert found.bounds[0] <= expected.min() and expected.max() <= found.bounds[1]


ARITHMETIC = ("add", "sub", "mul", "idiv", "irem", "minimum", "maximum")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from(ARITHMETIC + COMPARISONS), SHAPES)
def test_integer_rules(data: Any, name: str, shape: tuple[int, ...]) -> None:
    kind = data.draw(st.sampled_from([int8, int32, int64, uint32]))
    pair = tuple([data.draw(integer_values(kind, shape)) for _ in range(2)])
    agrees(name, pair, {})


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(["and", "or"]), SHAPES)
def test_mask_rules(data: Any, name: str, shape: tuple[int, ...]) -> None:
    agrees(name, (data.draw(masks(shape)), data.draw(masks(shape))), {})


@settings(max_examples=300, deadline=None)
@given(st.data(), SHAPES, st.booleans())
def test_shape_rules(data: Any, shape: tuple[int, ...], mask: bool) -> None:
    x = data.draw(masks(shape) if mask else integer_values(int32, shape))
    rank = len(shape)
    if rank:
        order = tuple(data.draw(st.permutations(range(rank))))
        agrees("permute", (x,), {"dims": order})
        wide = tuple([8 if n == 1 else n for n in shape])
        agrees("broadcast", (x,), {"shape": wide})
        axis = data.draw(st.integers(0, rank))
        agrees("expand_dims", (x,), {"axis": axis, "rank": rank})
    else:
        agrees("splat", (x,), {"shape": (2, 4)})


@settings(max_examples=300, deadline=None)
@given(st.data(), SHAPES)
def test_casts_and_selections(data: Any, shape: tuple[int, ...]) -> None:
    source, target = (
        data.draw(st.sampled_from([int8, int32, int64, uint32, tl.float32, tl.float16]))
        for _ in range(2)
    )
    if source.is_int() and source is not target:
        x = data.draw(integer_values(source, shape))
        agrees("cast", (x,), {"source": source, "target": target, "rounding": None})
    x, y = (data.draw(integer_values(int32, shape)) for _ in range(2))
    agrees("select", (data.draw(masks(shape)), x, y), {})


@given(st.sampled_from([0.0, -0.0, 1.5, float("inf"), float("nan"), 3, 0]))
def test_constants(value: float) -> None:
    for _ in range(2):  # the second one is kept
        agrees("constant", (), {"type": tl.float32, "value": value})
        made = RULES["constant"]((), {"type": block_type(tl.float32, (4,)), "value": value})
        assert np.signbit(made.handle).tolist() == [bool(np.signbit(value))] * 4


@st.composite
def regular_reaches(draw: Any) -> tuple[Reach, Reach, Any, int]:
    """A regular reach, the same as a list of addresses, its mask, and the size of an element."""
    shape = draw(SHAPES)
    size = draw(st.sampled_from([1, 2, 4, 8]))
    step = draw(st.sampled_from([1, size, 2 * size]))
    strides = tuple([step * draw(st.integers(-4, 9)) if n > 1 else 0 for n in shape])
    mask = draw(masks(shape)) if shape and draw(st.booleans()) else None
    box = mask.form if mask is not None and type(mask.form) is Box else None
    if box is None:
        mask = None
    form = Affine(4096, strides)
    regular = Reach.regular(form.const, strides, shape, size, box, mask)
    addresses = np.asarray(form.dense(blocked(int64, shape)))
    return regular, Reach(addresses, None if mask is None else mask.handle, size), mask, size


@settings(max_examples=400, deadline=None)
@given(regular_reaches())
def test_a_regular_reach_is_what_its_addresses_say(drawn: Any) -> None:
    regular, listed, mask, size = drawn
    for name in ("count", "low", "high", "packed", "rising", "scalar", "size"):
        assert getattr(regular, name) == getattr(listed, name), name
    assert regular.addresses.tolist() == listed.addresses.tolist()
    assert regular.mask is None if mask is None else np.array_equal(regular.mask, mask.handle)
    if regular.aligned(size - 1) is not None:
        assert not (listed.addresses & (size - 1)).any()
    chosen = np.arange(regular.count) % 3 == 0
    shape = regular.whole
    assert np.array_equal(regular.spread(chosen, shape), listed.spread(chosen, shape))
    block = np.arange(int(np.prod(shape))).reshape(shape)
    assert np.array_equal(regular.active(block, shape), listed.active(block, shape))


@settings(max_examples=300, deadline=None)
@given(regular_reaches(), st.sampled_from([1, 2, 4, 8]))
def test_cells_and_windows_of_a_regular_reach(drawn: Any, grain: int) -> None:
    regular, listed, _, size = drawn
    base = regular.low - regular.low % 8 - 8
    nbytes = regular.high - base + 8
    tables = []
    for reach in (regular, listed):
        cells = Cells(base, nbytes, grain)
        index = cells.index(reach)  # refines
        cells.tables["t"] = np.arange(len(cells.table("t")), dtype=np.int32)
        tables.append(under(cells.table("t"), index).reshape(-1).tolist())
        assert cells.is_new("u", reach)
        cells.fill("u", reach, 7)
        assert not cells.is_new("u", reach)
        assert (under(cells.table("u"), index) == 7).all()
    assert tables[0] == tables[1]
    memory = np.random.default_rng(0).integers(0, 255, nbytes, np.uint8)
    storage = AddressSpace().add_array(memory)
    word = np.dtype(f"u{size}")
    taken = gather(storage, listed.addresses - base + storage.base, word)
    assert regular.window(memory, base, word).reshape(-1).tolist() == taken.tolist()


@blockstep.jit
def tile(x, y, out, m, n, stride, BM: tl.constexpr, BN: tl.constexpr, FILL: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    at = rows[:, None] * stride + cols[None, :]
    a = tl.load(x + at, mask=inside, other=2.5) if FILL else tl.load(x + at, mask=inside)
    b = tl.load(y + cols, mask=cols < n, other=0)
    tl.store(out + at, a * 2 + b[None, :], mask=inside)


@pytest.mark.parametrize("fill", [False, True])
@settings(max_examples=40, deadline=None)
@given(m=st.integers(1, 9), n=st.integers(1, 9), gap=st.integers(0, 2), over=st.integers(0, 2))
def test_kernels_with_and_without_rules(fill: bool, m: int, n: int, gap: int, over: int) -> None:
    """The same bits and the same findings, also where masks are wrong (`over` columns too many)."""
    seen = []
    stride = n + gap
    x = np.random.default_rng(m).random((m, stride), np.float32)[:, :n]
    for without in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if without:
                kept = {k: RULES[k] for k in ("constant", "arange", "splat")}
                patch.setattr("blockstep.interp.step.RULES", kept)
                patch.setattr(rules, "_range", rules._range.__wrapped__)
            with blockstep.check() as report:
                out = np.empty((m, stride), np.float32)
                out[:, n:] = 0
                y = np.arange(n, dtype=np.int32)
                tile[(-(-m // 4),)](x, y, out[:, :n], m, n + over, stride, 4, 16, fill)
        found = sorted(
            (f.kind, f.span.line, f.count, f.occurrences, f.elements) for f in report.findings
        )
        seen.append((out[:, :n].tobytes() if not over else b"", found))
    assert seen[0] == seen[1]


def test_a_uniform_is_one_value() -> None:
    x = uniform(np.float32(2), block_type(tl.float32, (8,)))
    assert type(x.form) is Uniform and x.handle.tolist() == [2.0] * 8
