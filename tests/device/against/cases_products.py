"""Matrix products: exact ones bit for bit, random ones within a bound that is worked out here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import triton.language as tl
from tests.device.against import carriers, programs
from tests.device.against.case import STORED, Array, Case, Random, given, normal, numbers, out
from tests.device.against.cases_elementwise import TYPES

# (type of the operands, their precision, result, the unit of an addition of the accumulator)
KINDS: tuple[tuple[str, str | None, str, float], ...] = (
    ("fp16", None, "fp32", 2.0**-22), ("bf16", None, "fp32", 2.0**-22), ("fp16", None, "fp16", 2.0**-10),
    ("fp8e4nv", None, "fp32", 2.0**-12), ("fp8e5", None, "fp32", 2.0**-12),
    ("fp8e4nv", None, "fp16", 2.0**-9), ("fp32", "tf32", "fp32", 2.0**-22),
    ("fp32", "ieee", "fp32", 2.0**-23), ("fp32", "tf32x3", "fp32", 2.0**-20),
    ("fp64", None, "fp64", 2.0**-52), ("i8", None, "i32", 0.0),
)  # fmt: skip
SIZES = ((16, 16, 32), (32, 64, 32), (64, 64, 64), (128, 128, 64), (64, 16, 128))


def exact() -> Iterator[Case]:
    """Small whole numbers: every partial sum is representable."""
    for kind, precision, result, _ in KINDS:
        high = 127 if kind == "i8" else 3
        for m, n, k in SIZES:
            if k < 32 and STORED[kind].itemsize == 1:
                continue
            fills = numbers(kind, -high, high, m * k), numbers(kind, -high, high, k * n)
            yield _product("products", kind, precision, result, (m, n, k), fills)
            yield _added(kind, precision, result, (m, n, k), fills)
    for left, right in (("fp8e4nv", "fp8e5"), ("fp8e5", "fp8e4nv")):
        buffers = [given(left, 64 * 64, numbers(left, -3, 3, 64 * 64)),
                   given(right, 64 * 64, numbers(right, -3, 3, 64 * 64)), out("fp32", 64, 64)]  # fmt: skip
        yield Case("products", f"dot({left}, {right})", carriers.product, buffers,
                   _sizes(None, "fp32", (64, 64, 64)))  # fmt: skip
    for kind in ("fp16", "fp32"):
        buffers = [given(kind, 4 * 32 * 32, numbers(kind, -3, 3, 4 * 32 * 32)),
                   given(kind, 4 * 32 * 32, numbers(kind, -3, 3, 4 * 32 * 32)),
                   out("fp32", 4, 32, 32)]  # fmt: skip
        yield Case("products", f"batch({kind})", carriers.batch_product, buffers,
                   {"B": 4, "M": 32, "N": 32, "K": 32})  # fmt: skip


def _sizes(precision: str | None, result: str, mnk: tuple[int, int, int]) -> dict[str, Any]:
    m, n, k = mnk
    return {"M": m, "N": n, "K": k, "PRECISION": precision, "OUT": TYPES[result]}


def _product(
    group: str, kind: str, precision: str | None, result: str, mnk: Any, fills: Any, **more: Any
) -> Case:
    m, n, k = mnk
    buffers = [given(kind, m * k, fills[0]), given(kind, k * n, fills[1]), out(result, m, n)]
    name = f"dot({kind}, {precision} -> {result}, {m} x {n} x {k})"
    return Case(group, name, carriers.product, buffers, _sizes(precision, result, mnk), **more)


def _added(kind: str, precision: str | None, result: str, mnk: Any, fills: Any) -> Case:
    m, n, k = mnk
    buffers = [given(kind, m * k, fills[0]), given(kind, k * n, fills[1]),
               given(result, m * n, numbers(result, -100, 100, m * n)), out(result, m, n)]  # fmt: skip
    name = f"dot + acc({kind}, {precision} -> {result}, {m} x {n} x {k})"
    return Case("products", name, carriers.product_added, buffers, _sizes(precision, result, mnk))


def rounded() -> Iterator[Case]:
    """One product in a sum: what each unit makes of the operands' low bits."""
    for precision in ("tf32", "tf32x3", "ieee"):
        for m, n, k in ((16, 16, 16), (64, 64, 64)):

            def picked(random: Random, k: int = k, n: int = n) -> Any:
                """One power of two in each column."""
                b = np.zeros((k, n), "f4")
                b[random.integers(0, k, n), np.arange(n)] = 2.0 ** random.integers(-3, 4, n)
                return b.reshape(-1)

            # three products, each added with the low bits cut off
            rule = {"rule": "ulps", "limit": 4} if precision == "tf32x3" else {}
            yield _product("rounding of operands", "fp32", precision, "fp32", (m, n, k),
                           (normal("fp32", m * k), picked), **rule)  # fmt: skip


def random() -> Iterator[Case]:
    """Normally distributed operands. n products and additions in any order, each within a unit of
    the running magnitude, err by at most n unit sum|a b|; the result's own rounding comes on top."""
    for kind, precision, result, unit in KINDS:
        if kind == "i8":
            continue
        for m, n, k in SIZES:

            def bound(
                arrays: list[Array], u: float = unit, s: Any = (m, n, k), r: str = result
            ) -> Any:
                a = abs(arrays[0].reshape(s[0], s[2]).astype("f8"))
                b = abs(arrays[1].reshape(s[2], s[1]).astype("f8"))
                return ((s[2] + 2) * u * (a @ b)).reshape(-1)

            fills = normal(kind, m * k), normal(kind, k * n)
            yield _product("random products", kind, precision, result, (m, n, k), fills,
                           rule="absolute", bound=bound)  # fmt: skip
    sizes = {"BM": 64, "BN": 64, "BK": 32}
    for kind in ("fp16", "bf16"):
        buffers = [given(kind, (100, 90), numbers(kind, -2, 2, 100, 90)),
                   given(kind, (90, 70), numbers(kind, -2, 2, 90, 70)), out("fp32", 100, 70)]  # fmt: skip
        yield Case("products", f"tiled_product({kind})", programs.tiled_product, buffers, sizes,
                   scalars=(100, 70, 90), grid=(2, 2))  # fmt: skip


def scaled() -> Iterator[Case]:
    """Microscaling formats, which sm_90 multiplies as bfloat16."""
    m, n, k = 32, 32, 64
    formats = {"e4m3": ("fp8e4nv", 1), "e5m2": ("fp8e5", 1), "e2m1": ("u8", 2), "bf16": ("bf16", 1),
               "fp16": ("fp16", 1)}  # fmt: skip
    for left, (kind, pack) in formats.items():
        for right, (other, other_pack) in formats.items():
            if (left in ("bf16", "fp16") and right in ("bf16", "fp16") and left != right) or (
                {left, right} >= {"fp16", "bf16"}
            ):
                continue
            high = 255 if kind == "u8" else 3
            top = 255 if other == "u8" else 3
            scale = numbers("u8", 125, 129, m * k // 32)
            buffers = [
                given(kind, m * k // pack, numbers(kind, 0 if high == 255 else -3, high, m * k // pack)),
                given("u8", m * k // 32, scale),
                given(other, k * n // other_pack,
                      numbers(other, 0 if top == 255 else -3, top, k * n // other_pack)),
                given("u8", n * k // 32, scale), out("fp32", m, n)]  # fmt: skip
            constants = {"M": m, "N": n, "K": k, "PACK": pack, "BPACK": other_pack, "A": left,
                         "B": right}  # fmt: skip
            yield Case("scaled products", f"dot_scaled({left}, {right})", carriers.scaled_product,
                       buffers, constants)  # fmt: skip


__all__ = ["exact", "random", "rounded", "scaled", "tl"]
