"""Precision: each NaN is told with its own birth, and a launch that nobody asks about pays nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import blockstep as triton
import blockstep.language as tl
from blockstep.findings import Finding, Report
from blockstep.interp import births, unwritten
from blockstep.interp.checkers.precision import Precision
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.forms import compact
from blockstep.language.value import tensor
from tests.agreement.agree import outcome
from tests.fuzz.campaign import REFUSED
from tests.fuzz.case import loaded
from tests.fuzz.generate import generate

NAN, INF = np.nan, np.inf


def judged(kernel: Any, *arguments: Any, grid: Any = (1,), **named: Any) -> Report:
    with triton.machine("step"), triton.check(only=["precision"]) as report:
        kernel[grid](*arguments, **named)
    return report


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


def told(finding: Finding) -> str:
    """What is said of the birth."""
    return finding.related[-1].label if finding.related else finding.facts[1]


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


@triton.jit
def reductions(x, o, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.sqrt(tl.load(x + i[:, None] * N + i[None, :]))
    if HOW == "sum":
        tl.store(o + i, tl.sum(v, axis=1))
    elif HOW == "columns":
        tl.store(o + i, tl.sum(v, axis=0))
    elif HOW == "all":
        tl.store(o, tl.sum(tl.sum(v, axis=0), axis=0))
    elif HOW == "scan":
        tl.store(o + i[:, None] * N + i[None, :], tl.cumsum(v, axis=1))
    elif HOW == "backwards":
        tl.store(o + i[:, None] * N + i[None, :], tl.cumsum(v, axis=1, reverse=True))
    elif HOW == "transposed":
        tl.store(o + i[:, None] * N + i[None, :], tl.trans(v))
    elif HOW == "gather":
        at = tl.broadcast_to((N - 1 - i)[None, :], (N, N))
        tl.store(o + i[:, None] * N + i[None, :], tl.gather(v, at, 1))
    elif HOW == "maximum":
        tl.store(o + i, tl.max(v, axis=1))


X = np.ones((4, 4), np.float32)
X[1, 2], X[1, 3], X[3, 0] = -3, -4, -5


@pytest.mark.parametrize(
    ("how", "elements", "birth"),
    [
        ("sum", [(1,), (3,)], "sqrt(-3) at element [1, 2]"),
        ("columns", [(0,), (2,), (3,)], "sqrt(-5) at element [3, 0]"),
        ("all", [(0,)], "sqrt(-5) at element [3, 0]"),
        ("scan", [(6,), (7,), (12,), (13,), (14,), (15,)], "sqrt(-3) at element [1, 2]"),
        ("backwards", [(4,), (5,), (6,), (7,), (12,)], "sqrt(-4) at element [1, 3]"),
        ("transposed", [(3,), (9,), (13,)], "sqrt(-5) at element [3, 0]"),
        ("gather", [(4,), (5,), (15,)], "sqrt(-4) at element [1, 3]"),
    ],
)
def test_where_a_birth_goes(how: str, elements: Any, birth: str) -> None:
    finding = only(judged(reductions, X, np.zeros(16, np.float32), N=4, HOW=how))
    assert list(finding.elements) == elements
    assert told(finding) == f"the NaN was born here: {birth}"


def test_a_maximum_forgets_nan() -> None:
    assert not judged(reductions, X, np.zeros(16, np.float32), N=4, HOW="maximum").findings


@triton.jit
def joined(top, total, other_top, other_total):
    most = tl.maximum(top, other_top)
    return most, total * tl.exp(top - most) + other_total * tl.exp(other_top - most)


@triton.jit
def added(x, y):
    return x + y


@triton.jit
def ratio(x):
    return (x - x) / x


@triton.jit
def regions(x, o, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if HOW == "reduce":
        _, total = tl.reduce((v, tl.full((N,), 1.0, tl.float32)), 0, joined)
        tl.store(o, total)
    elif HOW == "scan":
        tl.store(o + i, tl.associative_scan(v, 0, added, reverse=True))
    elif HOW == "map":
        tl.store(o + i, tl.map_elementwise(ratio, v))


@pytest.mark.parametrize(
    ("how", "x", "birth"),
    [
        ("reduce", floats(-INF, -INF, -INF, -INF), ": -inf - -inf"),
        ("scan", floats(-INF, 1, INF, 1), "inf + -inf on the way to element 0"),
        ("map", floats(1, 2, 0, 4), "0 / 0 at element 2"),
    ],
)
def test_a_birth_inside_of_a_function_of_scalars(how: str, x: Any, birth: str) -> None:
    assert told(only(judged(regions, x, np.zeros(4, np.float32), N=4, HOW=how))).endswith(birth)


@triton.jit
def product(x, y, z, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    acc = tl.sqrt(tl.load(z + at))
    c = tl.dot(tl.log(tl.load(x + at)), tl.exp(tl.load(y + at)), acc, input_precision="ieee")
    tl.store(o + at, c)


@pytest.mark.parametrize(
    ("which", "count", "birth"),
    [(0, 16, "log(-1) at element [3, 5]"), (1, 16, ""), (2, 1, "sqrt(-1) at element [3, 5]")],
)
def test_a_product_tells_the_row_the_column_or_the_accumulator(
    which: int, count: int, birth: str
) -> None:
    operands = [np.ones((16, 16), np.float32) for _ in range(3)]
    operands[which][3, 5] = NAN if which == 1 else -1
    finding = only(judged(product, *operands, np.zeros((16, 16), np.float32), N=16))
    assert finding.count == count
    assert told(finding) == (
        f"the NaN was born here: {birth}" if birth else "`y[3, 5]` was NaN already"
    )


@triton.jit
def two_stores(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.sqrt(tl.load(x + i))
    tl.store(o + i, v, mask=i < 2)
    tl.store(o + i, v, mask=i >= 2)


def test_each_store_tells_its_own_element() -> None:
    report = judged(two_stores, floats(-1, 1, 1, -4), np.zeros(4, np.float32), N=4)
    assert [told(f).partition("here: ")[2] for f in report.findings] == [
        "sqrt(-1) at element 0",
        "sqrt(-4) at element 3",
    ]


@triton.jit
def hand_over(x, scratch, o, B: tl.constexpr, HALF: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(scratch + i, tl.sqrt(tl.load(x + i)))
    tl.debug_barrier()
    if HALF:
        tl.store(scratch.to(tl.pointer_type(tl.int16)) + 2 * i + 1, (0 * i + 32767).to(tl.int16))
        tl.debug_barrier()
    tl.store(o + i, tl.load(scratch + i))


def test_a_load_of_what_was_stored_tells_the_first_birth() -> None:
    x = floats(1, -1)
    report = judged(hand_over, x, np.zeros(2, np.float32), np.zeros(2, np.float32), B=2, HALF=False)
    assert [told(f) for f in report.findings] == [
        "the NaN was born here: sqrt(-1) at element 1"
    ] * 2


def test_a_store_of_another_width_is_another_birth() -> None:
    x = floats(1, -1)
    report = judged(hand_over, x, np.zeros(2, np.float32), np.zeros(2, np.float32), B=2, HALF=True)
    assert told(report.findings[1]) == "`scratch[0]` was NaN already"


@triton.jit
def atomics(x, o, HOW: tl.constexpr):
    v = tl.load(x)
    if HOW == "xchg":
        tl.atomic_xchg(o, v / v)
    elif HOW == "cas":
        tl.atomic_cas(o, 1.0, v / v)
    elif HOW == "max":
        tl.atomic_max(o, v)
    elif HOW == "old":
        tl.store(o + 1, tl.atomic_add(o, v))


@pytest.mark.parametrize(
    ("how", "was", "birth"),
    [
        ("xchg", 1, "the NaN was born here: 0 / 0"),
        ("cas", 1, "the NaN was born here: 0 / 0"),
        ("max", NAN, "`o[0]` was NaN already"),
        ("cas", 2, None),
        ("max", 1, None),
    ],
)
def test_what_an_atomic_leaves(how: str, was: float, birth: str | None) -> None:
    report = judged(atomics, floats(0), floats(was, 1), HOW=how)
    assert [told(f) for f in report.findings] == ([] if birth is None else [birth])


def test_the_old_value_of_an_atomic_is_a_load() -> None:
    report = judged(atomics, floats(1), floats(NAN, 1), HOW="old")
    assert [told(f) for f in report.findings] == ["`o[0]` was NaN already"] * 2


@triton.jit
def many(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        tl.store(o + k * B + i, tl.sqrt(tl.load(x + k * B + i)))
    tl.debug_barrier()
    tl.store(o + n * B + i, tl.load(o + i))


def test_many_stores_do_not_keep_their_operands() -> None:
    n, x = 100, np.full(400, -1, np.float32)
    x[1] = -2
    report = judged(many, x, np.zeros(404, np.float32), n, B=4)
    assert [told(f).partition(": ")[2] for f in report.findings] == ["sqrt(-1) at element 0"] * 2


def test_nothing_is_followed_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("the machine for followers ran")

    monkeypatch.setattr(FollowedMachine, "emit", never)
    x = floats(-1, 1, 1, 1)
    with triton.machine("step"), triton.check() as report:
        two_stores[(1,)](x, np.zeros(4, np.float32), N=4)
    with triton.machine("step"), triton.check(precision=True, skip=["precision"]) as skipped:
        two_stores[(1,)](x, np.zeros(4, np.float32), N=4)
    assert not report.findings and not skipped.findings


def test_beside_the_chosen_checkers() -> None:
    x, out = floats(-1, 1, 1, 1), np.zeros(4, np.float32)
    with triton.check(only=["race"], precision=True) as report:
        two_stores[(1,)](x, out, N=4)
    assert [f.kind for f in report.findings] == ["precision"]


def test_a_launch_leaves_no_births_in_constants() -> None:
    """A constant's conversions are kept from launch to launch."""

    @triton.jit
    def kernel(o):
        tl.store(o, float("nan"))

    for _ in range(2):
        assert told(only(judged(kernel, floats(0)))) == "NaN is written here"


def test_a_scalar_is_stretched_once() -> None:
    """The language keeps the block that a scalar was repeated into."""

    @triton.jit
    def kernel(x, o, B: tl.constexpr):
        v, i = tl.sqrt(tl.load(x)), tl.arange(0, B)
        tl.store(o + i, tl.where(i < 2, 1.0, v) + v)

    finding = only(judged(kernel, floats(-1), np.zeros(4, np.float32), B=4))
    assert (finding.count, told(finding)) == (4, "the NaN was born here: sqrt(-1)")


def test_an_assumption_with_nan_is_still_false() -> None:
    @triton.jit
    def kernel(x, o):
        tl.assume(tl.load(x) > 0.0)
        tl.store(o, 1.0)

    for precision in (False, True):
        with triton.check(precision=precision) as report:
            kernel[(1,)](floats(NAN), floats(0))
        assert [f.kind for f in report.findings] == ["hint"]


def test_memory_that_nothing_has_written_is_another_checkers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it happens to hold may be NaN."""

    @triton.jit
    def kernel(x, o, B: tl.constexpr):
        tl.store(o + tl.arange(0, B), tl.load(x + tl.arange(0, B)))

    monkeypatch.setattr(unwritten, "_TILE", np.full(unwritten._TILE.size, 0xFD, np.uint8))
    with triton.check(precision=True) as report:
        kernel[(1,)](np.empty(64, np.float16), np.zeros(64, np.float16), B=64)
    assert [f.kind for f in report.findings] == ["uninitialised"]


@contextmanager
def watched() -> Iterator[list[str]]:
    """Operations that gave a value with an id where it is not NaN, or NaN without an id."""
    follow = Precision.value
    broken: list[str] = []

    def value(
        self: Precision, program: Any, op: Any, operands: Any, attributes: Any, result: Any
    ) -> Any:
        found = follow(self, program, op, operands, attributes, result)
        for x in found if type(found) is tuple else (found,):
            if isinstance(x, tensor) and x.type.scalar.is_floating():
                facet = births.births_of(x)
                ids = np.zeros(x.type.shape, np.int64) if facet is None else facet.ids
                if ((ids != 0) != np.isnan(compact(x))).any():
                    broken.append(op.name)
                for index in np.flatnonzero(ids).tolist():
                    assert facet is not None
                    facet.birth(index)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Precision, "value", value)
        yield broken


@settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(number=st.integers(0, 1 << 32))
def test_every_nan_of_a_random_kernel_has_a_birth(number: int) -> None:
    case = generate(Random(number))
    note(case.script())
    names = loaded(case.script())
    with np.errstate(all="ignore"), watched() as broken:
        arguments = [with_nan(a) for a in names["arguments"]()]
        found = outcome("step", names["kernel"], names["GRID"], arguments, 0, {}, True)
    assert not broken
    assert found.error.partition(":")[0] in {"", *REFUSED}


def with_nan(argument: Any) -> Any:
    """An argument with NaN and infinities among its floats."""
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f" and argument.flags.owndata:
        flat = argument.reshape(-1)
        flat[::3], flat[1::5] = NAN, INF
    return argument
