"""What an operation is, and the way to whichever machine is in force.

A public `tl` function validates and promotes its arguments and calls `emit`. An `Op` is the
*definition* that every machine shares: its type rule and, where it does not touch memory or
control, its **meaning**: a NumPy function on true dtypes whose axes are counted from the right, so
that any number of leading lane axes may stand before them. The step machine calls the meaning at
once; the front end records an operation; folding calls the meaning too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from blockstep.language.types import dtype


class Family(Enum):
    """How a mark (poison, wrapped, …) on an operand's elements moves to the result's elements."""

    SOURCE = "no operands: arange, program_id, constants"
    ELEMENTWISE = "element i comes from element i of every operand"
    SELECT = "element i comes from element i of the condition and of the chosen operand"
    SHAPE = "elements only move: the meaning itself moves the marks"
    GATHER = "elements move by an index block"
    REDUCE = "an element comes from all elements along an axis"
    SCAN = "an element comes from all elements before it along an axis"
    DOT = "an element comes from a row of one operand and a column of the other"
    MIX = "any element may come from any element"
    MEMORY = "reads or writes memory: each machine has its own handler"
    CONTROL = "acts on the machine: asserts, prints, barriers, hints"


@dataclass(frozen=True, eq=False, slots=True)
class Op:
    """The definition of one operation. `rule` maps operand types and attributes to a type (or a
    tuple of types) and raises TypeError where the language has no such operation; `meaning` maps
    operand arrays and attributes to the result array (or a tuple of arrays)."""

    name: str
    family: Family
    rule: Callable[..., Any]
    meaning: Callable[..., Any] | None
    doc: str
    wraps: bool = False  # integer arithmetic that can leave its type's range


OPS: dict[str, Op] = {}


def define(
    name: str,
    family: Family,
    rule: Callable[..., Any],
    meaning: Callable[..., Any] | None,
    doc: str,
    *,
    wraps: bool = False,
) -> Op:
    """Registers an operation under its name, which must be new."""
    if name in OPS:
        raise ValueError(f"two operations are called {name!r}")
    op = OPS[name] = Op(name, family, rule, meaning, doc, wraps)
    return op


def same(x: dtype, *_: dtype, **__: Any) -> dtype:
    """The type rule of most operations: the type of the first operand."""
    return x


class Machine(Protocol):
    """What the language asks of a machine."""

    pending: list[Any]

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any: ...

    def truth(self, x: Any, kind: str) -> bool: ...

    def loop_bound(self, x: Any) -> int: ...


machine: ContextVar[Machine] = ContextVar("blockstep_machine")


def emit(op: Op, *operands: Any, **attributes: Any) -> Any:
    """Hands one operation to the machine in force.

    Raises RuntimeError outside of a kernel: there is no machine to run it."""
    try:
        running = machine.get()
    except LookupError:
        raise RuntimeError(
            f"`{op.name}` was used outside of a kernel; language functions work inside "
            "functions decorated with @jit, called through kernel[grid](...)"
        ) from None
    return running.emit(op, operands, attributes)
