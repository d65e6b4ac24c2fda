"""Where an operation's error passes a bound: float64 beside every value, and one question.

It is asked of the operation that takes the error past the bound, not of those behind it: an operand that is
as far off already says nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from blockstep.debugger.moments import Strayed
from blockstep.findings import Program
from blockstep.interp.bounds.ranges import form, widened
from blockstep.interp.events import Launched
from blockstep.interp.shadows.follow import Shadows, shadow_of
from blockstep.language.frames import user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor


class Straying(Shadows):
    """Tells `found` of such operations. The launch may come in several parts: values keep their shadows
    from one to the next. `limit`: units in the last place; None for the time when nobody asks."""

    name: ClassVar[str] = "straying"

    def __init__(self, limit: Callable[[], float | None], found: Callable[[Strayed], None]) -> None:
        super().__init__()
        self._limit, self._found = limit, found
        self._begun = False

    def launch(self, launch: Launched) -> None:
        """The launch, or the next part of it, begins."""
        if not self._begun:
            super().launch(launch)
            self._begun = True

    def value(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], result: Any
    ) -> Any:
        """An operation was evaluated."""
        made = super().value(program, op, operands, attributes, result)
        limit = self._limit()
        if limit is not None and op.family is not Family.MEMORY:
            self._look(limit, program, op, operands, result)
        return made

    def _look(self, limit: float, program: Program, op: Op, operands: Any, result: Any) -> None:
        for x in result if isinstance(result, tuple) else (result,):
            off = _ulps(x)
            if off is None or not float(off.max(initial=0.0)) > limit:
                continue
            before = [_ulps(o) for o in operands]
            if any(o is not None and float(o.max(initial=0.0)) > limit for o in before):
                continue
            flat = int(np.argmax(off))
            element = tuple(int(i) for i in np.unravel_index(flat, off.shape))
            value, shadow = _real(x), np.broadcast_to(shadow_of(x), off.shape)
            span = user_site(2).span
            self._found(
                Strayed(
                    op.name,
                    program,
                    element,
                    float(off[element]),
                    float(value[element]),
                    float(shadow[element]),
                    span.file,
                    span.line,
                )  # fmt: skip
            )


def _real(x: tensor) -> Any:
    return widened(np.asarray(x.handle), x.type.scalar)


def _ulps(x: Any) -> Any:
    """How far each defined element is off, in units in the last place; None for what has no error."""
    shadow = shadow_of(x)
    if shadow is None or type(x) is not tensor or not x.type.scalar.is_floating():
        return None
    told = form(x.type.scalar)
    tiny = 2.0 ** (1 - told.bias)
    value, shadow = np.broadcast_arrays(_real(x), shadow)
    with np.errstate(all="ignore"):
        off = np.abs(value - shadow) / (np.maximum(np.abs(shadow), tiny) * 2.0**-told.fraction)
    off = np.where(np.isfinite(off), off, 0.0)
    poison = (x.marks or {}).get("poison")
    return off if poison is None else np.where(np.broadcast_to(poison.lanes, off.shape), 0.0, off)


__all__ = ["Straying"]
