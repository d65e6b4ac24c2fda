"""What a kernel's own lines call while they run: Triton's compiled meaning of Python's statements.

`blockstep.language.transform` puts these functions into the kernel's code as constants, so they
are neither names that a debugger shows nor frames of the user's file. Compile-time values are
plain Python values here; run-time values are `tensor`s. An assignment, a returned value and a
loop variable turn numbers into tensors; tests must be scalars or plain values.
"""

from __future__ import annotations

import builtins
import math
import os
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NoReturn

from blockstep.errors import CompilationError, UnsupportedLanguageConstruct
from blockstep.language import elementwise, loops
from blockstep.language import types as ty
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.frames import kernel_source, user_frame, user_site
from blockstep.language.op import machine
from blockstep.language.promotion import integer_type, literal_type, to_tensor
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

_NUMBERS = frozenset({int, float, bool})
_STATIC_TESTS = (bool, int, type(None))
_CONSTEXPR = "a constexpr"
_Names = builtins.tuple[str, ...]
_PLAIN = (int, float, bool, str, type(None), builtins.tuple, tl_tuple, ty.dtype)


def complain(message: str, kind: type[CompilationError] = CompilationError) -> NoReturn:
    """Raises a language error at the expression that is running."""
    site = user_site()
    source = kernel_source(site.code)
    span = site.span
    if source is None:
        raise kind(None, None, message, span=span)
    place = source.relative(source.tree)
    place.lineno = span.line - source.line + 1  # type: ignore[attr-defined]
    place.col_offset = max(span.column - 1 - source.column, 0)  # type: ignore[attr-defined]
    raise kind(source.text, place, message, span=span)


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
        return value  # type: ignore[no-any-return]
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


def begin_while(carried: _Names) -> None:
    """Before the first test of a `while` whose body assigns the names `carried`."""
    machine.get().pending.append([carried, None])


def while_test(value: Any) -> bool:
    """The test of a `while`: a scalar int1 known when the program runs."""
    if type(value) is loops.condition:
        value = value.condition
    if type(value) is not tensor:
        complain("the condition of `while` must be a run-time value, not a constexpr")
    if value.type is not ty.int1:
        complain(f"the condition of `while` must be a scalar int1, not {value.type}")
    running = machine.get()
    goes_on = running.truth(value, "while")
    waiting = running.pending[-1]
    if waiting[0]:
        _while_kinds(waiting)
    if not goes_on:
        running.pending.pop()
    return goes_on


def _while_kinds(waiting: list[Any]) -> None:
    carried, before = waiting
    if before is None:
        waiting[1] = _kinds(carried)
    else:
        waiting[0] = ()
        _same_kinds(before)


def begin_choice(value: Any) -> bool:
    """`choice_test` that remembers whether the choice is made at run time, for `end_choice`."""
    chosen = choice_test(value)
    machine.get().pending.append(type(value) is tensor)
    return chosen


def end_choice(value: Any) -> Any:
    """The chosen value; a run-time choice makes it a tensor."""
    return to_tensor(value) if machine.get().pending.pop() else value


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


# Loops


def loop_range(carried: _Names, *args: Any) -> Iterable[Any]:
    """`for i in range(...)`: i is a tensor of the bounds' promoted integer type. `carried` are the
    names that the body assigns."""
    if len(args) == 1:
        return _indices(carried, 0, args[0], 1)
    if not 2 <= len(args) <= 3:
        complain(f"range takes 1 to 3 arguments, not {len(args)}")
    return _indices(carried, args[0], args[1], args[2] if len(args) == 3 else 1)


def loop(carried: _Names, over: Any) -> Iterable[Any]:
    """`for i in over`: a `tl.range` gives tensors, a `tl.static_range` plain numbers."""
    if type(over) is loops.range:
        return _indices(carried, over.start, over.end, over.step)
    if type(over) is loops.static_range:
        return range(over.start, over.end, over.step)
    complain("Only `range` and `static_range` iterators are currently supported")


def _indices(carried: _Names, start: Any, stop: Any, step: Any) -> Iterable[Any]:
    start, stop, step = unwrap(start), unwrap(stop), unwrap(step)
    kinds = [_bound_type(bound) for bound in (start, stop, step)]
    kind = integer_type(integer_type(kinds[0], kinds[1]), kinds[2])
    first, last = _wrapped(start, kind), _wrapped(stop, kind)
    by = machine.get().loop_bound(step) if type(step) is tensor else step
    if by <= 0 and (type(step) is tensor or by == 0):
        complain(f"the step of a loop must be positive, or a negative constexpr; it is {by}")
    return _count(range(first, last, by), kind, carried)


def _bound_type(bound: Any) -> ty.dtype:
    kind = bound.type if type(bound) is tensor else None
    if kind is None and isinstance(bound, (int, float)):
        kind = literal_type(bound)
    if kind is None or not kind.is_int() or kind.shape:
        shown = type(bound).__name__ if kind is None else kind
        complain(f"the bounds and the step of a loop must be scalar integers, not {shown}")
    return kind


def _wrapped(bound: Any, kind: ty.dtype) -> int:
    value = machine.get().loop_bound(bound) if type(bound) is tensor else int(bound)
    if kind.lowest <= value <= kind.highest:
        return value
    size = 1 << kind.int_bitwidth
    return (value - kind.lowest) % size + kind.lowest


def _count(values: range, kind: ty.dtype, carried: _Names) -> Iterator[tensor]:
    scalar = kind.numpy.type
    before = _kinds(carried)
    second = values[1] if len(values) > 1 else None
    for value in values:
        if value == second:
            _same_kinds(before)
        index = tensor(scalar(value), kind)
        index.bounds = (value, value)
        yield index
    _same_kinds(before)


def _kinds(carried: _Names) -> dict[str, Any]:
    """The types of a loop's variables as the loop begins."""
    if not carried:
        return {}
    frame = user_frame(2)
    known = {} if frame is None else frame.f_locals
    return {name: _kind(known[name]) for name in carried if name in known}


def _kind(value: Any) -> Any:
    if type(value) is tensor:
        return value.type
    if isinstance(value, (builtins.tuple, tl_tuple)):
        return [_kind(item) for item in value]
    if value is None or isinstance(value, ty.dtype):
        return value
    return value.type if hasattr(value, "__blockstep_value__") else _CONSTEXPR


def _same_kinds(before: dict[str, Any]) -> None:
    """A variable carried around a loop must leave the body with the type it came in with."""
    frame = user_frame(2) if before else None
    if frame is None:
        return
    now = frame.f_locals
    for name, kind in before.items():
        found = _kind(now[name])
        if found == kind:
            continue
        if kind is None:
            complain(
                f"Loop carried variable {name} is not a triton value: it is None before the loop "
                f"and {found} after the first pass"
            )
        if kind is _CONSTEXPR:
            complain(f"cannot reassign constexpr {name} in the loop: it becomes {found}")
        complain(
            f"Loop-carried variable {name} has initial type {kind} but is re-assigned to {found} "
            "in loop! Please make sure that the type stays consistent."
        )


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
    classes = builtins.tuple(classes) if isinstance(classes, (builtins.tuple, tl_tuple)) else (classes,)
    return isinstance(value, classes) or (type(value) is builtins.tuple and tl_tuple in classes)


def value_of(x: Any) -> Any:
    """`x.value`: a plain value is its own value."""
    if isinstance(x, _PLAIN) and not hasattr(x, "value"):
        return x
    return x.value


def assert_(condition: Any, message: Any = "") -> None:
    """`assert condition, message`: a device assertion."""
    from blockstep.language.control import device_assert

    device_assert(condition, message)


# Globals

_SUPPORTED_BUILTINS = frozenset(
    {"len", "list", "range", "float", "int", "isinstance", "getattr", "hasattr", "print", "min", "max"}
)
DEBUGGERS = frozenset(
    {"pdb", "bdb", "ipdb", "pudb", "pdbpp", "debugpy", "pydevd", "IPython", "rich", "pprint"}
)


def is_supported_builtin(name: str) -> bool:
    """Whether kernels may call Python's builtin `name`."""
    return name in _SUPPORTED_BUILTINS or name == "breakpoint"


def is_our_object(value: Any) -> bool:
    """Whether the language itself provides `value`, or a debugger does."""
    if getattr(value, "__triton_builtin__", False) or getattr(value, "__triton_aggregate__", False):
        return True
    for module in (getattr(value, "__module__", None), type(value).__module__):
        if isinstance(module, str) and module.partition(".")[0] in ("blockstep", "triton", *DEBUGGERS):
            return True
    return False


def is_allowed_global(value: Any) -> bool:
    """Whether a kernel may read a global or captured variable that holds `value`."""
    return (
        value is None
        or type(value) is ModuleType
        or is_our_object(value)
        or (isinstance(value, type) and issubclass(value, builtins.tuple) and hasattr(value, "_fields"))
        or os.environ.get("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "").lower() in ("1", "true", "on", "yes", "y")
    )


def global_message(name: str) -> str:
    """Why a kernel may not read the global `name`, and what to write instead."""
    return (
        f"Cannot access global variable {name} from within @jit'ed function: only constexpr globals "
        f"can be read. Write `{name} = tl.constexpr(...)` (annotating it as constexpr is not "
        f"enough), pass it as an argument, or set TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1"
    )


def checked_global(value: Any, name: str) -> Any:
    """A global whose value was not allowed when the kernel was prepared; it may be by now."""
    if not is_allowed_global(value):
        complain(global_message(name))
    return unwrap(value)


def is_constexpr(value: Any) -> bool:
    """Whether a global is a `tl.constexpr(...)`, which a kernel sees as its plain value."""
    return isinstance(value, constexpr)
