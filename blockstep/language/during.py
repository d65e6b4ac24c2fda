"""What a kernel's own lines call while they run: Triton's compiled meaning of Python's statements.

`blockstep.language.transform` puts these functions into the kernel's code as constants, so they
are neither names that a debugger shows nor frames of the user's file. Compile-time values are
plain Python values here; run-time values are `tensor`s. An assignment and a returned value turn
numbers into tensors; tests must be scalars or plain values. Loops are in `language.looping`.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from blockstep.errors import UnsupportedLanguageConstruct
from blockstep.language import elementwise
from blockstep.language import types as ty
from blockstep.language.allowed import global_message, is_allowed_global
from blockstep.language.complaint import complain
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.op import machine
from blockstep.language.promotion import to_tensor
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

_NUMBERS = frozenset({int, float, bool})
_STATIC_TESTS = (bool, int, type(None))
_PLAIN = (int, float, bool, str, type(None), builtins.tuple, tl_tuple, ty.dtype)


# Assignments and results


def assign(value: Any) -> Any:
    """`x = value`: numbers become tensors, tuples element by element; None and dtypes stay."""
    kind = type(value)
    if kind is tensor or value is None:
        return value
    if kind in _NUMBERS:
        return to_tensor(value)
    return _assign_other(value)


def _assign_other(value: Any) -> Any:
    if isinstance(value, constexpr):
        return assign(value.value)
    if isinstance(value, (builtins.tuple, tl_tuple)):
        return _each(value, assign)
    if isinstance(value, ty.dtype) or hasattr(value, "__blockstep_value__"):
        return value
    if isinstance(value, (int, float)):
        return to_tensor(value)
    raise TypeError(f"cannot convert {value} of type {type(value)} to tensor")


def _each(items: Any, change: Any) -> Any:
    changed = [change(item) for item in items]
    if isinstance(items, tl_tuple):
        fields = items.type.fields
        if fields is None:
            return tl_tuple(changed)
        return tl_tuple(changed, ty.tuple_type([getattr(v, "type", None) for v in changed], fields))
    return type(items)(*changed) if hasattr(items, "_fields") else builtins.tuple(changed)


def unpack(value: Any, count: int) -> Any:
    """`a, b = value`: the first `count` elements of a tuple, as Triton takes them."""
    if not isinstance(value, (builtins.tuple, tl_tuple)):
        shown = value.type if isinstance(value, tensor) else type(value).__name__
        complain(f"cannot unpack {shown} into {count} names: it is not a tuple")
    if len(value) < count:
        complain(f"not enough values to unpack: {count} names, but the tuple has {len(value)}")
    values = assign(value)
    return values if len(value) == count else values[:count]


def constant(value: Any) -> Any:
    """`x: tl.constexpr = value`: the plain value."""
    return unwrap(value)


def result(value: Any) -> Any:
    """`return value`: numbers become tensors, as they do in what a compiled function returns."""
    kind = type(value)
    if kind is tensor or value is None:
        return value
    if kind in _NUMBERS:
        return to_tensor(value)
    if isinstance(value, constexpr):
        return to_tensor(value)
    if isinstance(value, (builtins.tuple, tl_tuple)):
        return _each(value, result)
    if hasattr(value, "__blockstep_value__"):
        return value
    raise TypeError(f"cannot convert {value} of type {type(value)} to tensor")


def tuple_of(items: list[Any]) -> builtins.tuple[Any, ...]:
    """`[f(x) for x in t]`: lists of the language are tuples."""
    return builtins.tuple(items)


def tuple_items(items: Any) -> Any:
    """What a comprehension runs over, which must be a tuple."""
    items = unwrap(items)
    if not isinstance(items, (builtins.tuple, tl_tuple)):
        complain("only tuple comprehensions are supported")
    return items


# Tests


def if_test(value: Any) -> bool:
    """The test of an `if`."""
    if value is True or value is False:
        return value
    if type(value) is tensor:
        if value.type.shape and value.numel != 1:
            complain(
                "Boolean value of Tensor with more than one value is ambiguous",
                UnsupportedLanguageConstruct,
            )
        return machine.get().truth(value, "if")
    return _static_test(value)


def choice_test(value: Any) -> bool:
    """The test of `a if test else b`."""
    if type(value) is tensor:
        if value.type.shape:
            complain(
                f"the condition of a ternary must be a scalar, not {value.type}; use tl.where",
                UnsupportedLanguageConstruct,
            )
        return machine.get().truth(value, "ternary")
    return _static_test(value)


def _static_test(value: Any) -> bool:
    value = unwrap(value)
    if type(value) not in _STATIC_TESTS:
        complain(
            "`if` conditionals can only accept values of type {NoneType, bool, int}, "
            f"not objects of type {type(value).__name__}",
            UnsupportedLanguageConstruct,
        )
    return bool(value)


def begin_choice(value: Any) -> bool:
    """`choice_test` that remembers whether the choice is made at run time, for `end_choice`."""
    chosen = choice_test(value)
    machine.get().pending.append(type(value) is tensor)
    return chosen


def end_choice(value: Any) -> Any:
    """The chosen value; a run-time choice makes it a tensor (a call without a value stays None)."""
    return to_tensor(value) if machine.get().pending.pop() and value is not None else value


# Logic. The operands that are run-time values wait on the program instance's own stack.


def not_(value: Any) -> Any:
    """`not value`."""
    if type(value) is tensor:
        return elementwise.logical_not(value)
    return not unwrap(value)


def begin_and(value: Any) -> Any:
    """The first operand of `and`: False ends the expression, a tensor waits to be combined."""
    machine.get().pending.append([])
    return next_and(value)


def next_and(value: Any) -> Any:
    """A further operand of `and` that is not the last."""
    if type(value) is tensor:
        machine.get().pending[-1].append(value)
        return True
    return True if value else value


def end_and(value: Any) -> Any:
    """The value of `a and b`: no short cut past tensors, Python's rule for plain values."""
    waiting = machine.get().pending.pop()
    if type(value) is tensor:
        waiting.append(value)
    elif not waiting or not value:
        return value
    return _combine(waiting, elementwise.logical_and)


def begin_or(value: Any) -> Any:
    """The first operand of `or`: a true plain value ends the expression, a tensor waits."""
    machine.get().pending.append([])
    return next_or(value)


def next_or(value: Any) -> Any:
    """A further operand of `or` that is not the last."""
    if type(value) is tensor:
        machine.get().pending[-1].append(value)
        return False
    return value if value else False


def end_or(value: Any) -> Any:
    """The value of `a or b`."""
    waiting = machine.get().pending.pop()
    if type(value) is tensor:
        waiting.append(value)
    elif not waiting or value:
        return value
    return _combine(waiting, elementwise.logical_or)


def _combine(waiting: list[Any], function: Any) -> Any:
    combined = waiting.pop()
    while waiting:
        combined = function(waiting.pop(), combined)
    return combined


# Python's own functions, as the language has them


def _extreme(name: str, args: Any, python: Any, function: Any) -> Any:
    args = [unwrap(a) for a in args]
    if len(args) < 2:
        complain(f"{name} requires at least 2 values")
    if any(isinstance(a, tensor) for a in args):
        best = args[0]
        for arg in args[1:]:
            best = function(best, arg)
        return best
    if any(math.isnan(a) or (a == 0 and math.copysign(1, a) < 0) for a in args):
        complain(f"{name} of constexprs does not take NaN or negative zero")
    return python(args)


def min_(*args: Any) -> Any:
    """`min(a, b, ...)`."""
    return _extreme("min", args, min, elementwise.minimum)


def max_(*args: Any) -> Any:
    """`max(a, b, ...)`."""
    return _extreme("max", args, max, elementwise.maximum)


def isinstance_(value: Any, classes: Any) -> bool:
    """`isinstance`; a constexpr counts as its value, a Python tuple as a `tl.tuple`."""
    value, classes = unwrap(value), unwrap(classes)
    classes = (
        builtins.tuple(classes) if isinstance(classes, (builtins.tuple, tl_tuple)) else (classes,)
    )
    return isinstance(value, classes) or (type(value) is builtins.tuple and tl_tuple in classes)


def value_of(x: Any) -> Any:
    """`x.value`: a plain value is its own value."""
    if isinstance(x, _PLAIN) and not hasattr(x, "value"):
        return x
    return x.value


def type_of(x: Any) -> Any:
    """`x.type`: that of a plain value holds the value."""
    if type(x) is tensor:
        return x.type
    if isinstance(x, _PLAIN) and not hasattr(x, "type"):
        return ty.constexpr_type(x)
    return getattr(x, "type")  # noqa: B009


def assert_(condition: Any, message: Any = "") -> None:
    """`assert condition, message`: a device assertion."""
    from blockstep.language.control import device_assert

    device_assert(condition, message)


def checked_global(value: Any, name: str) -> Any:
    """A global whose value was not allowed when the kernel was prepared; it may be by now."""
    if not is_allowed_global(value):
        complain(global_message(name))
    return unwrap(value)
