"""The arithmetic of shadows: an operation on float64, for any machine.

Axes are counted from the right, as in meanings, so leading axes of program instances may be there. An
operand of a float type is given as float64, any other as it is. None says that there is no shadow: it
begins anew from the value (bit casts, inline assembly, functions that choose by comparing).

Choices are made as the values make them: the shadow of `where` is that of the element that was
chosen, so a shadow answers "what should this path have given".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.language import numerics
from blockstep.language.op import Family, Op
from blockstep.language.ops.libdevice import LIBDEVICE
from blockstep.language.region import Region
from blockstep.language.types import dtype

Arrays = Sequence[Any]
Attributes = Any
Real = Callable[[Op, Attributes, Arrays], Any]

COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
MOVES = frozenset({Family.SHAPE, Family.GATHER})
_ANEW = frozenset({"asm", "asm_packed", "bitcast", "map", "map_packed", "philox", "int_to_pointer"})
_FOLDS = {"add": np.add, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
_CHOOSES = COMPARISONS | {"select"}


def real(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    """The result in float64 (a tuple for several), or None."""
    rule = _BY_NAME.get(op.name) or _BY_FAMILY.get(op.family)
    if rule is None or op.name in _ANEW:
        return None
    return rule(op, attributes, arrays)


def _meaning(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    assert op.meaning is not None
    return op.meaning(*arrays, **attributes)


def _elementwise(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    if any(a.dtype.kind != "f" for a in arrays):
        return None
    with np.errstate(all="ignore"):
        return _meaning(op, attributes, arrays)


def _cast(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    return np.asarray(arrays[0], np.float64)


def _same(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    return arrays[0]


def _divide(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    return np.divide(arrays[0], arrays[1])


def _fma(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    return arrays[0] * arrays[1] + arrays[2]


def _rsqrt(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    return 1.0 / np.sqrt(arrays[0])


_FAST: dict[str, Any] = {
    "fast_sinf": np.sin, "fast_cosf": np.cos, "fast_tanf": np.tan, "fast_tanhf": np.tanh,
    "fast_expf": np.exp, "fast_exp10f": lambda x: np.power(10.0, x), "fast_logf": np.log,
    "fast_log2f": np.log2, "fast_log10f": np.log10, "fast_dividef": np.divide, "fast_powf": np.power,
    "rsqrt_rn": lambda x: 1.0 / np.sqrt(x), "saturatef": lambda x: np.clip(x, 0.0, 1.0),
}  # fmt: skip
_OF_BITS = frozenset({"nextafter", "logb", "hiloint2double", "rcp64h"})
_ROUNDS = ("double2float_", "int2float_", "uint2float_", "ll2float_", "ull2float_")
_WHOLE = frozenset({"floor", "ceil", "trunc", "rint", "nearbyint", "round"})
_REMAINDERS = frozenset({"frem", "fmod", "remainder"})


def _libdevice(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    """The function for float64: the library's own, or what a float32 one approximates. A function of
    bits begins anew."""
    name = attributes["function"]
    if name in _OF_BITS or "_as_" in name:
        return None
    if name in _FAST:
        return _FAST[name](*arrays)
    if name.startswith(_ROUNDS):
        return np.asarray(arrays[0], np.float64)
    function = LIBDEVICE[name]
    if function.overload(tuple(a.dtype.name for a in arrays)) is None:
        return None
    return function.compute(*arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What becomes of a result: its shadow (None: the value itself), and where float64 would have
    decided otherwise (None: it decides nothing)."""

    shadow: Any
    differs: Any = None


def settled(
    op: Op, attributes: Attributes, kind: dtype, value: Any, shadow: Any, reals: Arrays
) -> Found:
    """Answers, whole parts and remainders are those of the values: where float64 gives another one it is
    a decision, and no error that goes on."""
    name = attributes["function"] if op.name == "libdevice" else op.name
    if not kind.is_floating():
        if name in COMPARISONS:
            return Found(None, (value != shadow) & _known(reals))
        if name != "cast":
            return Found(None)
        if kind.is_int1():
            return Found(None, (value != (shadow != 0)) & _known(reals))
        whole = np.trunc(shadow)
        inside = (whole >= kind.lowest) & (whole <= kind.highest)
        return Found(None, (value != whole) & inside & _known(reals))
    if name in _WHOLE:
        return Found(None, (value != shadow) & _known(reals) & np.isfinite(shadow))
    if name in _REMAINDERS:
        wide = np.asarray(value, np.float64)
        jumps = np.abs(wide - shadow) > np.abs(reals[1]) / 2
        return Found(np.where(jumps, wide, shadow), jumps & _known(reals))
    return Found(shadow)


def _known(reals: Arrays) -> Any:
    """Where every operand has a shadow that is a number."""
    found: Any = True
    for x in reals:
        if x.dtype.kind == "f":
            found = found & ~np.isnan(x)
    return found


def _reduce(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    fold = _fold(attributes["region"])
    if fold is not None:
        return fold.reduce(arrays[0], axis=attributes["axis"])
    return _through(op, attributes, arrays)


def _scan(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    fold = _fold(attributes["region"])
    if fold is None:
        return _through(op, attributes, arrays)
    axis, back = attributes["axis"], bool(attributes.get("reverse"))
    given = np.flip(arrays[0], axis) if back else arrays[0]
    found = fold.accumulate(given, axis=axis)
    return np.flip(found, axis) if back else found


def _fold(region: Any) -> Any:
    """The function of NumPy's that a region is, if it is one."""
    single = region.single if isinstance(region, Region) else None
    return None if single is None else _FOLDS.get(single.op.name)


def _through(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    """A function of several operations, if it decides nothing."""
    region = attributes["region"]
    if not isinstance(region, Region) or any(a.dtype.kind != "f" for a in arrays):
        return None
    if any(o.op.name in _CHOOSES or o.op.name in _ANEW for o in region.operations):
        return None
    return _meaning(op, attributes, arrays)


def _dot(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    a, b, *rest = arrays
    if a.dtype.kind != "f":
        return None
    found = np.matmul(a, b)
    return found + rest[0] if rest else found


def _dot_scaled(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    """Operands are bits of their formats: they are exact, and so are their scales."""
    told, given = attributes, iter(arrays[2:])
    a_scale, b_scale, acc = (next(given) if there else None for there in told["present"])
    parts = [
        np.asarray(
            numerics.scaled_operand(
                x, scale, told["formats"][i], "bfloat16",
                k_axis=-1 - i, k_pack=told["packs"][i], fast_math=told.get("fast_math", False),
            ), np.float64,
        )
        for i, (x, scale) in enumerate(zip(arrays[:2], (a_scale, b_scale), strict=True))
    ]  # fmt: skip
    found = np.matmul(*parts)
    return found if acc is None else found + acc


_BY_NAME: dict[str, Real] = {
    "cast": _cast, "round_tf32": _same, "fdiv": _divide, "div_rn": _divide, "fma": _fma,
    "rsqrt": _rsqrt, "libdevice": _libdevice, "dot_scaled": _dot_scaled,
    "sqrt_rn": lambda op, attributes, arrays: np.sqrt(arrays[0]),
    "hint": _same,
}  # fmt: skip
_BY_FAMILY: dict[Family, Real] = {
    Family.ELEMENTWISE: _elementwise, Family.SELECT: _meaning, Family.SHAPE: _meaning,
    Family.GATHER: _meaning, Family.REDUCE: _reduce, Family.SCAN: _scan, Family.DOT: _dot,
}  # fmt: skip


def rounds_inputs(op: Op, attributes: Attributes, types: Sequence[Any]) -> str:
    """How a product rounds its operands before it multiplies them, if it does."""
    if op.name != "dot" or not types[0].is_fp32():
        return ""
    precision = str(attributes.get("precision"))
    return "tf32" if precision in ("tf32", "None") else ""


__all__ = ["COMPARISONS", "MOVES", "Found", "real", "rounds_inputs", "settled"]
