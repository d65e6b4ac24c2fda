"""Rules that compute with compact forms (`blockstep.interp.forms`) before any array is made.

The machine asks `RULES` first. A rule answers None where it cannot decide exactly, and the
operation's meaning runs on arrays instead.

Invariant: a rule's result is, bit for bit, the meaning's. Rules never see marked values and never
leave the type's range: what wraps goes to the meaning, so that the overflow checker sees it.
Results may be shared, since values never change. (`tests/interp/test_forms.py` holds rules against
meanings.)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from blockstep.interp.comparisons import COMPARISONS, Attributes, Operands, Rule
from blockstep.interp.forms import (
    Affine,
    Uniform,
    added,
    formed,
    integers,
    known,
    scaled,
    uniform,
)
from blockstep.language.ops.cast import CAST
from blockstep.language.types import block_type, blocked, dtype, int1, int32
from blockstep.language.value import tensor

# Arithmetic.


def _integer_forms(operands: Operands) -> tuple[Affine, Affine] | None:
    """The forms of two integer operands, int1 apart, where both are known."""
    x, y = operands
    scalar = x.type.scalar
    if not scalar._integer or scalar is int1:
        return None
    a = known(x)
    b = known(y) if a is not None else None
    return None if a is None or b is None else (a, b)


def _add(operands: Operands, attributes: Attributes) -> tensor | None:
    forms = _integer_forms(operands)
    if forms is None:
        return None
    a, b = forms
    return integers(a.const + b.const, added(a.strides, b.strides), operands[0].type)


def _sub(operands: Operands, attributes: Attributes) -> tensor | None:
    forms = _integer_forms(operands)
    if forms is None:
        return None
    a, b = forms
    return integers(a.const - b.const, added(a.strides, scaled(b.strides, -1)), operands[0].type)


def _mul(operands: Operands, attributes: Attributes) -> tensor | None:
    forms = _integer_forms(operands)
    if forms is None:
        return None
    a, b = forms
    if b.strides is not None:
        if a.strides is not None:
            return None
        a, b = b, a
    return integers(a.const * b.const, scaled(a.strides, b.const), operands[0].type)


def _addptr(operands: Operands, attributes: Attributes) -> tensor | None:
    pointer, offset = operands
    a = known(pointer)
    b = known(offset) if a is not None else None
    if a is None or b is None:
        return None
    size = attributes["itemsize"]
    const = a.const + b.const * size
    if not 0 <= const < 1 << 62:
        return None
    result = tensor(None, pointer.type)
    result.form = Affine(const, added(a.strides, scaled(b.strides, size)))
    result.origin = pointer.origin
    return result


def _quotient(operands: Operands, attributes: Attributes) -> tensor | None:
    x, y = operands
    if x.bounds is None or y.bounds is None:
        return None
    (a, b), (c, d) = x.bounds, y.bounds
    if c != d or c == 0:
        return None
    low, high = _truncated(a, c), _truncated(b, c)
    if low != high or not (a == b or (a >= 0) == (b >= 0) or low == 0):
        return None
    return integers(low, None, x.type)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def _remainder(operands: Operands, attributes: Attributes) -> tensor | None:
    x, y = operands
    if x.bounds is None or y.bounds is None:
        return None
    (a, b), (c, d) = x.bounds, y.bounds
    if c != d or c == 0:
        return None
    if abs(a) < abs(c) and abs(b) < abs(c):
        return x  # type: ignore[no-any-return]
    return integers(a - _truncated(a, c) * c, None, x.type) if a == b else None


def _extreme(greatest: bool) -> Rule:
    def rule(operands: Operands, attributes: Attributes) -> tensor | None:
        x, y = operands
        if x.bounds is None or y.bounds is None or not x.type.scalar._integer:
            return None
        if x.bounds[0] >= y.bounds[1]:
            return x if greatest else y  # type: ignore[no-any-return]
        if x.bounds[1] <= y.bounds[0]:
            return y if greatest else x  # type: ignore[no-any-return]
        return None

    return rule


def _select(operands: Operands, attributes: Attributes) -> tensor | None:
    condition, x, y = operands
    if type(condition.form) is Uniform:
        return x if condition.form.value else y  # type: ignore[no-any-return]
    return None


# Shapes.


def _splat(operands: Operands, attributes: Attributes) -> tensor:
    (x,) = operands
    form, shape = x.form, attributes["shape"]
    if form is None:
        number = (x.type._integer or x.type.is_ptr()) and x.type is not int1
        form = known(x) if number else Uniform(x.handle)
    memo = form.memo
    found: tensor | None = None if memo is None else memo.get((x.type, shape))
    if found is None:
        found = _moved(x, form, block_type(x.type, shape))
        if memo is not None:
            memo[x.type, shape] = found
    x.stretched = found
    return found


def _moved(x: tensor, form: Any, kind: dtype) -> tensor:
    """The same elements in another arrangement."""
    result = tensor(None, kind)
    result.form, result.bounds, result.origin = form, x.bounds, x.origin
    return result


def _broadcast(operands: Operands, attributes: Attributes) -> tensor | None:
    (x,) = operands
    if x.form is None:
        return None
    shape = attributes["shape"]
    return _moved(x, x.form.stretched(x.type.shape, shape), block_type(x.type.scalar, shape))


def _expand_dims(operands: Operands, attributes: Attributes) -> tensor | None:
    (x,) = operands
    if x.form is None:
        return None
    axis, shape = attributes["axis"], x.type.shape
    memo = x.form.memo
    found: tensor | None = None if memo is None else memo.get((x.type, axis))
    if found is None:
        kind = block_type(x.type.scalar, (*shape[:axis], 1, *shape[axis:]))
        found = _moved(x, x.form.expanded(axis), kind)
        if memo is not None:
            memo[x.type, axis] = found
    return found


def _permute(operands: Operands, attributes: Attributes) -> tensor | None:
    (x,) = operands
    if x.form is None:
        return None
    dims, shape = attributes["dims"], x.type.shape
    kind = block_type(x.type.scalar, tuple([shape[d] for d in dims]))
    return _moved(x, x.form.permuted(dims), kind)


# Sources and casts.


def _arange(operands: Operands, attributes: Attributes) -> tensor:
    return _range(attributes["start"], attributes["end"])


@lru_cache(maxsize=1024)
def _range(start: int, end: int) -> tensor:
    form = Affine(start, (1 if end - start > 1 else 0,), {})
    result = formed(form, block_type(int32, (end - start,)))
    result.bounds = (start, end - 1)
    result.handle.flags.writeable = False
    return result


def _cast(operands: Operands, attributes: Attributes) -> tensor | None:
    (x,) = operands
    target = attributes["target"]
    if type(x.form) is Uniform:
        return _cast_constant(x, attributes)
    if target._floating and not x.type.shape and x.type._integer:
        number = known(x)
        return None if number is None else _as_float(number.const, x.type, target)
    if not target._integer or x.bounds is None or target is int1 or not x.type.scalar._integer:
        return None
    if not (target.lowest <= x.bounds[0] and x.bounds[1] <= target.highest):
        return None
    kind = blocked(target, x.type.shape)
    if type(x.form) is Affine:
        return _moved(x, x.form, kind)
    return integers(x.bounds[0], None, kind) if x.bounds[0] == x.bounds[1] else None


@lru_cache(maxsize=4096)
def _as_float(number: int, source: dtype, target: dtype) -> tensor:
    """An integer as a float; most are lengths that every program instance converts."""
    assert CAST.meaning is not None
    return _kept(CAST.meaning(source.numpy.type(number), source, target), target)


def _cast_constant(x: tensor, attributes: Attributes) -> tensor | None:
    """The cast of a constant is a constant."""
    form = x.form
    if form.memo is None:
        return None
    key = (x.type, attributes["target"], attributes["rounding"])
    found: tensor | None = form.memo.get(key)
    if found is None:
        value = CAST.meaning(form.value, **attributes)  # type: ignore[misc]
        found = _kept(value, blocked(attributes["target"], x.type.shape))
        form.memo[key] = found
    return found


def _kept(value: Any, kind: dtype) -> tensor:
    """A constant that is no integer."""
    found = tensor(None if kind.shape else value, kind)
    found.form = Uniform(value, {})
    return found


_constants: dict[tuple[Any, ...], tensor] = {}
_MOST_CONSTANTS = 4096


def _constant(operands: Operands, attributes: Attributes) -> tensor:
    """Constants are made once. (0.0 and -0.0 are equal keys: zeros are told apart by their text.)"""
    kind, value = attributes["type"], attributes["value"]
    key = (kind, value) if value else (kind, repr(value))
    found = _constants.get(key)
    if found is not None:
        return found
    if kind.scalar._integer and kind.scalar is not int1:
        made = integers(int(value), None, kind)
        found = uniform(kind.numpy.type(value), kind) if made is None else made
    else:
        found = _kept(kind.numpy.type(value), kind)
        found.bounds = (int(value), int(value)) if kind.scalar is int1 else None
    if len(_constants) < _MOST_CONSTANTS and value == value:
        _constants[key] = found
    return found


RULES: dict[str, Rule] = {
    "constant": _constant,
    "arange": _arange,
    "splat": _splat,
    "broadcast": _broadcast,
    "expand_dims": _expand_dims,
    "permute": _permute,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "addptr": _addptr,
    "idiv": _quotient,
    "irem": _remainder,
    "minimum": _extreme(False),
    "maximum": _extreme(True),
    **COMPARISONS,
    "select": _select,
    "cast": _cast,
}
