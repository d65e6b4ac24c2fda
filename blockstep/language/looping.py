"""What a kernel's loops call while they run: their bounds, variables, and what they carry around.

A `for` over `range` gives tensors of the bounds' promoted type, `tl.static_range` plain numbers; a
`while` needs a run-time test. A variable bound before a loop and assigned in it must keep its type
(checked after the first pass and at the end): Triton's compiler rejects the loop otherwise.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Any

from blockstep.language import loops
from blockstep.language import types as ty
from blockstep.language.complaint import complain
from blockstep.language.constant import unwrap
from blockstep.language.frames import user_frame
from blockstep.language.op import machine
from blockstep.language.promotion import integer_type, literal_type
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

_CONSTEXPR = "a constexpr"
_Names = builtins.tuple[str, ...]


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
        return _told(range(over.start, over.end, over.step))
    complain("Only `range` and `static_range` iterators are currently supported")


def _told(values: range) -> Iterable[int]:
    """A loop's numbers. A machine that follows loops is told of each turn, and of the end."""
    turn = getattr(machine.get(), "turn", None)
    return values if turn is None else _turns(values, turn)


def _turns(values: range, turn: Any) -> Iterator[int]:
    loop = object()
    for number, value in enumerate(values):
        turn(loop, number, value)
        yield value
    turn(loop, None, None)


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
    known = getattr(machine.get(), "index", None)
    for value in _told(values):
        if value == second:
            _same_kinds(before)
        index = tensor(scalar(value), kind)
        index.bounds = (value, value)
        if known is not None:
            known(index)
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
    if hasattr(value, "__triton_aggregate__"):
        return [type(value), {name: _kind(held) for name, held in vars(value).items()}]
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
