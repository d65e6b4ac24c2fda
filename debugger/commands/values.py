"""Values of a kernel in words, and as JSON: blocks, scalars, pointers by argument, the rest by repr.

Nothing here computes on a block by the machine: what is shown must not be heard by a checker.
"""

from __future__ import annotations

import math
import pprint
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockstep.debugger.commands.reply import Refused
from blockstep.language.value import describe, tensor

MOST = 4096  # elements that JSON has
WIDE = 100
Index = tuple[int, ...]


def is_block(value: Any) -> bool:
    """Whether a value has elements."""
    return isinstance(value, tensor) and bool(value.shape)


def type_text(value: Any) -> str:
    """fp32[8, 4]; int32 for a scalar; constexpr for what is known when the kernel is compiled."""
    if isinstance(value, tensor):
        return str(value.type)
    if isinstance(value, bool | int | float | str) or value is None:
        return "constexpr"
    return type(value).__name__


def array_of(value: tensor) -> Any:
    """The elements as NumPy has them; those of a pointer as numbers of elements from its argument."""
    found = np.asarray(value.handle)
    if not value.type.scalar.is_ptr():
        return found
    kind: Any = value.type.scalar
    base = getattr(value.origin, "base", 0)
    return (found - base) // max(kind.element_ty.itemsize, 1)


def undefined_of(value: tensor) -> Any:
    """Which elements are undefined, in the block's shape; None for none."""
    taint = (value.marks or {}).get("poison")
    return None if taint is None else np.broadcast_to(taint.lanes, value.shape)


def text_of(value: Any, focus: Index | None = None) -> str:
    """What `print` shows: one line where it can be, and the element in focus."""
    if not isinstance(value, tensor):
        return repr(value)
    shown = describe(value)
    if focus is None or not value.shape:
        return shown
    return f"{element_text(value, focus)}   of {type_text(value)}"


def element_text(value: tensor, focus: Index) -> str:
    """One element: `16.0 at (3,)`, with where a pointer leads. Raises Refused outside of the block."""
    at = focus_in(value.shape, focus)
    number = number_text(array_of(value)[at])
    if value.type.scalar.is_ptr():
        number = f"{getattr(value.origin, 'name', 'memory')} + {number}"
    undefined = undefined_of(value)
    if undefined is not None and undefined[at]:
        number = "undefined"
    return f"{number} at {at}"


def focus_in(shape: Sequence[int], focus: Index) -> Index:
    """The element of a block of this shape that is in focus: a block with fewer axes, or of length
    one along some, is stretched as the language does. Raises Refused where there is none."""
    if len(shape) > len(focus):
        if len(focus) == 1:  # a lane: elements in order
            total = math.prod(shape)
            if focus[0] < total:
                return tuple(int(i) for i in np.unravel_index(focus[0], shape))
        raise Refused(f"the focus {focus} is no element of a block of shape {list(shape)}")
    own = focus[len(focus) - len(shape) :]
    found = tuple(0 if n == 1 else i for i, n in zip(own, shape, strict=True))
    if any(i >= n for i, n in zip(found, shape, strict=True)):
        raise Refused(f"the focus {focus} is no element of a block of shape {list(shape)}")
    return found


def full_text(value: Any) -> str:
    """What `pp` shows: every element."""
    if not is_block(value):
        return pprint.pformat(value, width=WIDE)
    values = array_of(value)
    head = type_text(value)
    undefined = undefined_of(value)
    with np.printoptions(threshold=values.size + 1, linewidth=WIDE, precision=6):
        text = np.array2string(_with_holes(values, undefined), separator=", ", formatter=_format)
    if value.type.scalar.is_ptr():
        head += f", elements of {getattr(value.origin, 'name', 'memory')}"
    if undefined is not None:
        head += f", {int(np.count_nonzero(undefined))} of {values.size} undefined (written __)"
    return f"{head}\n{text}"


_format: Any = {"object": str}


def _with_holes(values: Any, undefined: Any) -> Any:
    if undefined is None:
        return values
    texts = np.vectorize(number_text, otypes=[object])(values)
    texts[undefined] = "__"
    return texts


def number_text(value: Any) -> str:
    """A number as short as it is told apart from its neighbours of the same type."""
    if isinstance(value, np.generic) and value.dtype.kind in "iub":
        return str(value.item())
    if isinstance(value, np.float64 | np.float32 | np.float16):
        return str(value)
    return f"{float(value):g}"


def summary(value: Any) -> str:
    """A value in a column of `info locals`: a few elements, or the range and what is odd in it."""
    if not is_block(value):
        return short(repr(value) if not isinstance(value, tensor) else _scalar(value))
    values = array_of(value)
    undefined = undefined_of(value)
    if values.dtype.kind == "b":
        return f"{int(np.count_nonzero(values))} of {values.size} true" + _undefined(undefined)
    if value.type.scalar.is_ptr():
        name = getattr(value.origin, "name", "memory")
        return f"{name} + {_range(values.reshape(-1))}"
    known = values if undefined is None else values[~undefined]
    return _range(known.reshape(-1)) + _odd(known) + _undefined(undefined)


def _scalar(value: tensor) -> str:
    if value.type.scalar.is_ptr():
        name = getattr(value.origin, "name", "memory")
        offset = int(array_of(value))
        return f"{name} + {offset}" if offset else name
    return number_text(np.asarray(value.handle)[()])


def range_text(array: Any) -> str:
    """The range of an array's elements, and how many are NaN or infinite."""
    return _range(array.reshape(-1)) + _odd(array)


def _range(flat: Any) -> str:
    if flat.size == 0:
        return "nothing"
    if flat.size <= 4:
        return " ".join(map(number_text, flat))
    numbers = flat.astype(np.float64) if flat.dtype.kind not in "iu" else flat
    finite = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    if finite.size == 0:
        return "no finite number"
    low, high = finite.min(), finite.max()
    if low == high:
        return number_text(flat.dtype.type(low))
    return f"{_short_number(low)} .. {_short_number(high)}"


def _short_number(value: Any) -> str:
    return str(value.item()) if value.dtype.kind in "iu" else f"{value:.6g}"


def _odd(known: Any) -> str:
    if known.dtype.kind in "iu":
        return ""
    numbers = known.astype(np.float64)
    nans = int(np.count_nonzero(np.isnan(numbers)))
    infinite = int(np.count_nonzero(np.isinf(numbers)))
    return (f", {nans} NaN" if nans else "") + (f", {infinite} Inf" if infinite else "")


def _undefined(undefined: Any) -> str:
    if undefined is None:
        return ""
    return f", {int(np.count_nonzero(undefined))} undefined"


def short(text: str, most: int = 60) -> str:
    """The beginning of a long text."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 3] + "..."


def to_json(value: Any) -> dict[str, Any]:
    """A value as plain data: type, shape, the elements (the first `MOST`), which are undefined."""
    if not isinstance(value, tensor):
        return {"type": type_text(value), "value": plain(value)}
    values = array_of(value)
    flat = values.reshape(-1)
    found: dict[str, Any] = {"type": type_text(value), "shape": list(value.shape)}
    found["values"] = [plain(x) for x in flat[:MOST]] if value.shape else plain(flat[0])
    if flat.size > MOST:
        found["left_out"] = int(flat.size - MOST)
    if value.type.scalar.is_ptr():
        found["argument"] = getattr(value.origin, "name", None)
    undefined = undefined_of(value)
    if undefined is not None:
        found["undefined"] = [int(i) for i in np.flatnonzero(undefined)[:MOST]]
    return found


def plain(value: Any) -> Any:
    """A number, text or None for JSON, which has no NaN and no infinities: those are texts."""
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "iubf" else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(value)


__all__ = [
    "array_of",
    "element_text",
    "focus_in",
    "full_text",
    "is_block",
    "number_text",
    "plain",
    "range_text",
    "short",
    "summary",
    "text_of",
    "to_json",
    "type_text",
    "undefined_of",
]
