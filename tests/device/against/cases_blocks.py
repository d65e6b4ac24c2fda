"""Reductions, scans, orders, movements and control: exact whatever the order of evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.device.against import blocks, carriers
from tests.device.against.case import (
    FLOATS,
    INTEGERS,
    STORED,
    Array,
    Case,
    Random,
    given,
    normal,
    numbers,
    out,
    spread,
)
from tests.ops.promotion_tables import UNARY

SIDE = 32
N = SIDE * SIDE
SHAPE = {"X": (SIDE, SIDE), "NX": N}
REDUCED: dict[str, tuple[str, tuple[int, ...]]] = {
    "sum_0": ("sum", (SIDE,)), "sum_1": ("sum", (SIDE,)), "sum_all": ("sum", ()),
    "kept_sum": ("sum", (1, SIDE)), "max_0": ("max", (SIDE,)), "max_all": ("max", ()),
    "min_1": ("min", (SIDE,)), "argmax": ("argmax", (SIDE,)), "argmin": ("argmax", (SIDE,)),
    "xor_sum": ("xor_sum", (SIDE,)), "reduce_or": ("reduce_or", (SIDE,)),
    "cumsum": ("cumsum", (SIDE, SIDE)), "cumsum_back": ("cumsum", (SIDE, SIDE)),
    "cumprod": ("cumprod", (SIDE, SIDE)), "sort": ("sort", (SIDE, SIDE)),
    "sort_down": ("sort", (SIDE, SIDE)), "topk": ("topk", (SIDE, 8)),
    "flip": ("flip", (SIDE, SIDE)), "flip_rows": ("flip", (SIDE, SIDE)),
    "turned": ("flip", (SIDE, SIDE)), "permuted": ("flip", (SIDE, 4, 8)),
    "widened": ("flip", (SIDE, 2, SIDE)), "unrolled": ("srangei", (SIDE, SIDE)),
    "looped": ("rangei", (SIDE, SIDE)), "halved": ("litc", (SIDE, SIDE)),
    "half_tensor": ("lit", (SIDE, SIDE)), "half_returned": ("callret", (SIDE, SIDE)),
    "from_arange": ("arange", (SIDE, SIDE)),
}  # fmt: skip


def _signs(kind: str) -> Any:
    """Powers of two: products are exact."""
    return lambda random: random.choice([1, -1, 2, 0.5, 1, -1], N).astype(STORED[kind])


def _few(kind: str, bound: int) -> Any:
    return numbers(kind, -bound, bound, N)


def _unordered(kind: str) -> Any:
    """Any numbers but NaN and -0.0."""

    def make(random: Random) -> Any:
        fill = spread(kind, N)(random)
        with np.errstate(invalid="ignore"):
            wide = fill.astype(np.float64)
        fill[np.isnan(wide) | (wide == 0)] = 0
        return fill

    return make


def _fill(name: str, kind: str) -> Any:
    if kind in (*INTEGERS, "i1"):
        return spread(kind, N) if name not in ("argmax", "argmin") else numbers(kind, 0, 7, N)
    if name in ("sum_all",):
        return _few(kind, 1)
    if "sum" in name or name in ("argmax", "argmin", "unrolled", "looped"):
        return _few(kind, 4)
    if name == "cumprod":
        return _signs(kind)
    if name in ("sort", "sort_down", "topk"):
        return _unordered(kind)
    return spread(kind, N)


def reductions() -> Iterator[Case]:
    """Functions of a 32 x 32 block of every type that they take."""
    for name, (row, shape) in REDUCED.items():
        for kind in STORED:
            result = UNARY[row][kind]
            if result == "-":
                continue
            buffers = [given(kind, N, _fill(name, kind)), out(result, *shape)]
            constants = {**SHAPE, "FN": getattr(blocks, name)}
            yield Case("blocks", f"{name}({kind})", carriers.of_one, buffers, constants)


def with_places() -> Iterator[Case]:
    """Extrema with their indices: the first of equal ones. With a NaN the order decides."""
    for name in ("max_where", "min_where"):
        for kind in (*INTEGERS, *FLOATS):
            result = UNARY["max_idx"][kind]
            few = numbers(kind, 0, 9, N)
            for group, fill, rule in (("blocks", few, "bits"), ("nan places", spread(kind, N),
                                                              "recorded")):  # fmt: skip
                buffers = [given(kind, N, fill), out(result, SIDE), out("i32", SIDE)]
                constants = {**SHAPE, "FN": getattr(blocks, name)}
                yield Case(
                    group, f"{name}({kind})", carriers.one_to_two, buffers, constants, rule=rule
                )


def combined() -> Iterator[Case]:
    """Combine functions of several values; sums in other types; random sums within a bound."""
    both = {**SHAPE, "Y": (SIDE, SIDE), "NY": N}
    for name in ("recurrence", "recurrence_back"):
        for kind in ("i32", "u32", "i64"):
            buffers = [given(kind, N, spread(kind, N)), given(kind, N, spread(kind, N)),
                       out(kind, N), out(kind, N)]  # fmt: skip
            constants = {**both, "FN": getattr(blocks, name)}
            yield Case("blocks", f"{name}({kind})", carriers.two_to_two, buffers, constants)
    for kind in ("i32", "fp32", "fp16"):
        buffers = [given(kind, N, _few(kind, 3)), given("i32", N, spread("i32", N)),
                   out(kind, SIDE), out("i32", SIDE)]  # fmt: skip
        constants = {**both, "FN": blocks.least_pair}
        yield Case("blocks", f"least_pair({kind})", carriers.two_to_two, buffers, constants)
    for name, kinds, result in (("narrow_sum", ("i8", "u16", "i32"), None),
                                ("wide_sum", ("i8", "u32", "i32"), "i64")):  # fmt: skip
        for kind in kinds:
            buffers = [given(kind, N, spread(kind, N)), out(result or kind, SIDE)]
            constants = {**SHAPE, "FN": getattr(blocks, name)}
            yield Case("blocks", f"{name}({kind})", carriers.of_one, buffers, constants)
    yield from _random_sums()


def _random_sums() -> Iterator[Case]:
    """Any order of n - 1 additions errs by at most (n - 1) u sum|x|; two orders by twice that."""
    for kind, unit in (
        ("fp16", 2.0**-11),
        ("bf16", 2.0**-8),
        ("fp32", 2.0**-24),
        ("fp64", 2.0**-53),
    ):

        def bound(arrays: list[Array], unit: float = unit) -> Any:
            x = abs(arrays[0].reshape(SIDE, SIDE).astype("f8"))
            return 2 * (SIDE - 1) * unit * x.sum(1) * 1.01

        buffers = [given(kind, N, normal(kind, N)), out(kind, SIDE)]
        constants = {**SHAPE, "FN": blocks.sum_1}
        yield Case("random sums", f"sum_1({kind})", carriers.of_one, buffers, constants,
                   rule="absolute", bound=bound)  # fmt: skip


def moved() -> Iterator[Case]:
    """Two blocks into one, one into two, gathers, histograms, maps."""
    both = {**SHAPE, "Y": (SIDE, SIDE), "NY": N}
    for kind in STORED:
        x = given(kind, N, spread(kind, N))
        for name in ("join", "interleave"):
            yield Case("blocks", f"{name}({kind})", carriers.of_two, [x, x, out(kind, 2 * N)],
                       {**both, "FN": getattr(blocks, name)})  # fmt: skip
        yield Case("blocks", f"split({kind})", carriers.one_to_two,
                   [x, out(kind, N // 2), out(kind, N // 2)],
                   {**SHAPE, "FN": blocks.split})  # fmt: skip
        index = given("i32", N, numbers("i32", 0, SIDE - 1, N))
        for name in ("gather_0", "gather_1"):
            yield Case("blocks", f"{name}({kind})", carriers.of_two, [x, index, out(kind, N)],
                       {**both, "FN": getattr(blocks, name)})  # fmt: skip
    for kind in INTEGERS:
        x = given(kind, N, numbers(kind, 0, 15, N))
        mask = given("i1", N, spread("i1", N))
        yield Case("blocks", f"histogram({kind})", carriers.of_one, [x, out("i32", 16)],
                   {**SHAPE, "FN": blocks.histogram})  # fmt: skip
        yield Case("blocks", f"histogram_masked({kind})", carriers.of_two,
                   [x, mask, out("i32", 16)], {**both, "FN": blocks.histogram_masked})  # fmt: skip
        yield Case("blocks", f"mapped({kind})", carriers.of_one,
                   [given(kind, N, numbers(kind, 0, 40, N)), out(kind, N)],
                   {**SHAPE, "FN": blocks.mapped})  # fmt: skip
    i = given("i32", N, lambda random: random.permutation(N).astype("i4") // SIDE)
    j = given("i32", N, numbers("i32", 0, 15, N))
    yield Case("blocks", "swizzled", carriers.two_to_two, [i, j, out("i32", N), out("i32", N)],
               {**both, "FN": blocks.swizzled})  # fmt: skip
