"""The arithmetic of shadows: an operation on float64, for any machine.

Axes are counted from the right, as in meanings, so leading axes of program instances may be there. An
operand of a float type is given as float64, any other as it is. None says that there is no shadow: it
begins anew from the value (bit casts, inline assembly, functions that choose by comparing).

Choices are made as the values make them: the shadow of `where` is that of the element that was
chosen, so a shadow answers "what should this path have given".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from blockstep.language import numerics
from blockstep.language.op import Family, Op
from blockstep.language.ops.libdevice import LIBDEVICE
from blockstep.language.region import Region

Arrays = Sequence[Any]
Attributes = Any
Real = Callable[[Op, Attributes, Arrays], Any]

COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
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
    mixed = any(a.dtype.kind != "f" for a in arrays)
    return None if mixed else _meaning(op, attributes, arrays)


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


def _libdevice(op: Op, attributes: Attributes, arrays: Arrays) -> Any:
    """The function for float64, where the library has one under the same name."""
    function = LIBDEVICE[attributes["function"]]
    if function.overload(("float64",) * len(arrays)) is None:
        return None
    if any(a.dtype != np.float64 for a in arrays):
        return None
    return function.compute(*arrays)


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


__all__ = ["COMPARISONS", "real", "rounds_inputs"]
