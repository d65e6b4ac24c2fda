"""The step machine: one program instance at a time, each operation evaluated as it is called.

The user's own function runs under CPython; a `tl` call hands an operation here and gets a value
whose `handle` is a NumPy array or scalar of exactly the value's type. So a debugger stands in the
user's lines and sees results, not symbols.

Invariant: `emit` calls an operation's meaning and nothing else for its value; what checkers need
(marks, limits, provenance) is kept beside it and never changes it. Operations without a meaning
have a handler in `interp.effects`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from blockstep.errors import DeviceAssertionError
from blockstep.findings import Event, Lanes, Site, Span, UndefinedReached
from blockstep.interp import marks
from blockstep.interp.arithmetic import WATCHES, watch_sum
from blockstep.interp.effects import HANDLERS
from blockstep.interp.events import Checker, Unread
from blockstep.interp.forms import compact, uniform
from blockstep.interp.memory import AddressSpace
from blockstep.interp.rules import RULES
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.language.frames import callers_of, user_site
from blockstep.language.op import Family, Op, same
from blockstep.language.value import tensor
from blockstep.target import Target


class Judge(Protocol):
    """Who hears of events: the launch, which turns them into findings."""

    def __call__(self, event: Event) -> None: ...


@dataclass(slots=True, eq=False)
class StepMachine:
    """Evaluates the operations of one launch. `judge` is None when nothing is checked."""

    kernel: str
    grid: Program
    space: AddressSpace
    scheduler: Scheduler
    device: Target
    num_warps: int = 4
    checkers: Sequence[Checker] = ()
    judge: Judge | None = None
    host: Span | None = None
    launch: int | None = None
    watched: frozenset[str] = frozenset()  # names of marks that are wanted
    sanitize: bool = (
        False  # a wrapped sum, difference or product ends the launch, as with debug=True
    )
    pending: list[Any] = field(default_factory=list)
    known: Any = None  # lanes of the running access whose address was reported
    unread: list[Unread] = field(default_factory=list)  # of the load that is being executed
    ears: tuple[Any, ...] | None = None  # what accesses are shown to; None: not yet known

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """The value of one operation."""
        meaning = op.meaning
        if meaning is None:
            return HANDLERS[op.name](self, op, operands, attributes)
        marked = False
        for x in operands:
            if x.marks is not None:
                marked = True
                break
        if not marked:
            rule = RULES.get(op.name)
            found = None if rule is None else rule(operands, attributes)
            if found is not None:
                return found
        result = self._evaluate(op, meaning, operands, attributes)
        if self.watched or self.judge is not None or self.sanitize:
            if marked:
                marks.spread(op, operands, attributes, result)
            if type(result) is tensor and not result.type.scalar._floating:
                self._limits(op, operands, attributes, result)
        return result

    def _evaluate(
        self, op: Op, meaning: Any, operands: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        if op.rule is same:
            kind = operands[0].type
        else:
            kind = op.rule(*[x.type for x in operands], **attributes)
        if op.family is not Family.ELEMENTWISE and op.family is not Family.SELECT:
            data = meaning(*[x.handle for x in operands], **attributes)
            if type(kind) is tuple:
                return tuple([tensor(d, k) for d, k in zip(data, kind, strict=True)])
            result = tensor(data, kind)
        else:
            arrays = [x._handle if x.form is None else compact(x) for x in operands]
            data = meaning(*arrays, **attributes)
            if type(kind) is tuple:
                return tuple([_held(d, k) for d, k in zip(data, kind, strict=True)])
            result = _held(data, kind)
        if not kind.scalar._floating and kind.scalar.is_ptr():
            result.origin = _origin(operands)
        return result

    def _limits(
        self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any], result: tensor
    ) -> None:
        """Limits of an integer result, and marks on what wrapped."""
        watch = WATCHES.get(op.name)
        if watch is not None:
            if result.type.scalar._integer:
                watch(op, operands, result, self.scheduler.program)
                if self.sanitize and result.marks is not None:
                    _check_wrap(op, result)
        elif op.family is Family.REDUCE or op.family is Family.SCAN:
            watch_sum(op, operands, attributes, result, self.scheduler.program)
        elif op.family is Family.SHAPE and len(operands) == 1:
            result.bounds = operands[0].bounds

    def truth(self, x: Any, kind: str) -> bool:
        """The value of a scalar condition; `kind` is what it decides ("branch", "while")."""
        if x.numel != 1:
            raise ValueError(
                "a condition must be a scalar: reduce the block first, or use tl.where"
                f" (this one is {x.type})"
            )
        if x.marks is not None and self.judge is not None:
            self.reach(x, "branch", user_site(), op=kind)
        return bool(np.asarray(x.handle).reshape(()))

    def loop_bound(self, x: Any) -> int:
        """A loop's start, end or step as a number."""
        if not isinstance(x, tensor):
            return int(x)
        if x.numel != 1 or not x.type.scalar.is_int():
            raise TypeError(f"a loop bound must be an integer scalar, not {x.type}")
        if x.marks is not None and self.judge is not None:
            self.reach(x, "loop-bound", user_site(), op="range")
        return int(np.asarray(x.handle).reshape(()))

    def reach(
        self,
        x: tensor,
        sink: Any,
        site: Site,
        *,
        active: Any = None,
        op: str = "",
        view: Any = None,
        only: frozenset[str] | None = None,
    ) -> Any:
        """Reports the marked elements of `x` that decide something at `site`: which (None: none)."""
        from blockstep.findings import Argument

        told = None
        for name, taint in (x.marks or {}).items():
            if name not in self.watched or (only is not None and name not in only):
                continue
            lanes = np.broadcast_to(taint.lanes, x.type.shape)
            if active is not None:
                lanes = lanes & active
            if np.any(lanes):
                if name != "nan":  # a doubt: what comes of it is still reported
                    told = lanes if told is None else told | lanes
                mark = taint.born()
                if mark is None:  # an unread element: it has told on the load
                    continue
                argument = None if view is None else Argument.of(view)
                self.report(
                    UndefinedReached,
                    site,
                    mark=mark,
                    sink=sink,
                    lanes=Lanes.of(lanes),
                    op=op,
                    argument=argument,
                )
        return told

    def report(self, event: type[Event], site: Site, **fields: Any) -> None:
        """Tells the judge of an event at `site` in the running program instance."""
        if self.judge is not None:
            self.judge(event(**self.context(site), **fields))

    def context(self, site: Site) -> dict[str, Any]:
        """The fields that every event shares."""
        return {
            "span": site.span,
            "kernel": self.kernel,
            "program": self.scheduler.program,
            "grid": self.grid,
            "host": self.host,
            "launch": self.launch,
            "callers": callers_of(site),
        }


def _check_wrap(op: Op, result: tensor) -> None:
    """Raises for a wrapped result. Operands that wrapped have raised before."""
    if op.name in ("add", "sub", "mul") and "wrap" in (result.marks or {}):
        raise DeviceAssertionError(
            f"device-side assert: {result.type.scalar} overflow detected for operation {op.name}"
        )


def _held(data: Any, kind: Any) -> tensor:
    """An elementwise result: a 0-d one for a block type is one value for all elements."""
    return tensor(data, kind) if not kind.shape or data.ndim else uniform(data, kind)


def _origin(operands: tuple[Any, ...]) -> Any:
    """Where a pointer comes from: the one view of its operands, or all of them."""
    found: list[Any] = []
    for x in operands:
        views = x.origin if isinstance(x.origin, tuple) else (x.origin,)
        for view in views:
            if view is not None and view not in found:
                found.append(view)
    if len(found) == 1:
        return found[0]
    return tuple(found) or None
