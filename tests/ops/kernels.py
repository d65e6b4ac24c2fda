"""`apply(fn, x, y)`: a language function on whole blocks, in a real kernel, judged.

The kernel loads each array as one block, calls `fn`, which is a jit function, and stores what
comes back into an array of exactly the result's type: two launches, of which the first only asks
for that type. Neither may be blamed for anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep.findings import Report
from blockstep.language import types as ty

Array = np.ndarray[Any, Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
FP8E4 = np.dtype(ml_dtypes.float8_e4m3fn)
FP8E5 = np.dtype(ml_dtypes.float8_e5m2)

_seen: list[Any] = []
_types: dict[Any, Any] = {}  # a kernel that was built before says nothing when it runs again


@triton.constexpr_function
def note(x):
    """Puts down a type while the kernel runs."""
    _seen.append(x)


def noted() -> list[Any]:
    """What `note` has put down since this was last called."""
    taken = list(_seen)
    _seen.clear()
    return taken


@triton.jit
def _block(ptr, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    return tl.reshape(tl.load(ptr + tl.arange(0, SIZE)), SHAPE)


@triton.jit
def _out(ptr, value, ASK: tl.constexpr):
    if ASK:
        note(value.type)
    elif len(value.shape) == 0:
        tl.store(ptr, value)
    else:
        tl.store(ptr + tl.arange(0, value.numel), tl.reshape(value, [value.numel]))


@triton.jit
def _call0(out, FN: tl.constexpr, ASK: tl.constexpr):
    _out(out, FN(), ASK)


@triton.jit
def _call1(x, out, X: tl.constexpr, NX: tl.constexpr, FN: tl.constexpr, ASK: tl.constexpr):
    _out(out, FN(_block(x, X, NX)), ASK)


@triton.jit
def _call2(
    x, y, out, X: tl.constexpr, NX: tl.constexpr, Y: tl.constexpr, NY: tl.constexpr,
    FN: tl.constexpr, ASK: tl.constexpr,
):  # fmt: skip
    _out(out, FN(_block(x, X, NX), _block(y, Y, NY)), ASK)


@triton.jit
def _call3(
    x, y, z, out, X: tl.constexpr, NX: tl.constexpr, Y: tl.constexpr, NY: tl.constexpr,
    Z: tl.constexpr, NZ: tl.constexpr, FN: tl.constexpr, ASK: tl.constexpr,
):  # fmt: skip
    _out(out, FN(_block(x, X, NX), _block(y, Y, NY), _block(z, Z, NZ)), ASK)


_CALLS: list[Any] = [_call0, _call1, _call2, _call3]


def clean(report: Report) -> None:
    """Nothing was found."""
    assert [f.message for f in report.findings] == []


def launch(fn: Any, arrays: tuple[Array, ...], out: Array, ask: bool) -> None:
    """One launch of the kernel that loads `arrays`, calls `fn` and stores into `out`."""
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    sizes: dict[str, Any] = {}
    for letter, array in zip("XYZ", arrays, strict=False):
        sizes |= {letter: tuple(array.shape), f"N{letter}": array.size}
    _CALLS[len(arrays)][(1,)](*flat, out, **sizes, FN=fn, ASK=ask)


def result_type(fn: Any, *arrays: Array) -> Any:
    """The language type of `fn` of these blocks; raises what the language raises."""
    noted()
    launch(fn, arrays, np.zeros(1, np.int8), True)
    key = fn, tuple((array.dtype, array.shape) for array in arrays)
    found = noted()
    if found:
        _types[key] = found[0]
    return _types[key]


def apply(fn: Any, *arrays: Array, judged: bool = True) -> Array:
    """`fn` of these blocks. It is in an error if anything was found on the way, where `judged`."""
    with triton.check(skip=["grid"]) as report:
        kind: ty.dtype = result_type(fn, *arrays)
        out = np.zeros(kind.shape or (1,), kind.scalar.numpy)
        launch(fn, arrays, out.reshape(-1), False)
    if judged:
        clean(report)
    return out.reshape(kind.shape)


def bits(x: Any) -> Array:
    """What is stored, with one pattern for all NaNs."""
    array = np.asarray(x)
    if array.dtype.kind in "biu":
        return array
    code = np.dtype(f"u{array.itemsize}")
    nan = np.isnan(array.astype(np.float64))
    return np.where(nan, np.iinfo(code).max, np.ascontiguousarray(array).view(code))


def same(found: Any, expected: Any) -> None:
    """Equal types, shapes and bits (every NaN equals every NaN)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(bits(found), bits(expected))


Function = Callable[..., Any]


def distance(a: Any, b: Any) -> float:
    """The greatest distance in units in the last place; infinity where only one is a NaN."""
    if a.dtype.kind not in "fV" or a.dtype.itemsize == 1:
        return float("inf")
    kind = f"i{a.dtype.itemsize}"
    x, y = (np.ascontiguousarray(v).view(kind).astype(np.float64) for v in (a, b))
    least = float(np.iinfo(kind).min)
    x, y = (np.where(v < 0, least - v, v) for v in (x, y))
    return float(np.abs(x - y).max())
