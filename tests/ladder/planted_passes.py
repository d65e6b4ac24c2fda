"""Bugs in the passes of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blockstep.compiler.passes import (
    cse,
    dce,
    descriptors,
    effects,
    flight,
    fold,
    inline,
    licm,
    pipeline,
    products,
    simplify,
)
from blockstep.compiler.passes.fold import constant_of, make_constant
from blockstep.compiler.passes.prefetch import parts_of
from blockstep.ir import Operation
from tests.ladder.planting import planted

PASSES = "blockstep.compiler.passes"


# ---- simplify


@planted("x * 0 is 0", "arithmetic", "after simplify", "times zero", "mul")
def _(patch: pytest.MonkeyPatch) -> None:
    def rule(operation: Operation) -> Any:
        _, right = operation.operands
        return [right] if constant_of(right) == 0 else None

    patch.setitem(simplify.RULES, "mul", rule)


@planted("x - x is 0", "arithmetic", "after simplify", "minus itself", "sub")
def _(patch: pytest.MonkeyPatch) -> None:
    def rule(operation: Operation) -> Any:
        left, right = operation.operands
        same = left is right
        return [make_constant(0.0, left.type, operation)] if same else None

    patch.setitem(simplify.RULES, "sub", rule)


@planted("x + 0.0 is x", "arithmetic", "after simplify", "plus zero", "add")
def _(patch: pytest.MonkeyPatch) -> None:
    def rule(operation: Operation) -> Any:
        left, right = operation.operands
        return [left] if constant_of(right) == 0 else None

    patch.setitem(simplify.RULES, "add", rule)


@planted("folding does not round", "constants", "after simplify", "folded")
def _(patch: pytest.MonkeyPatch) -> None:
    how = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y}
    right = fold.folded
    exact: dict[Any, float] = {}  # of constants that were rounded, by the value

    def folded(operation: Operation) -> Any:
        if operation.name not in how:
            return right(operation)
        numbers = [exact.get(v, constant_of(v)) for v in operation.operands]
        if any(n is None for n in numbers):
            return right(operation)
        number = how[operation.name](*numbers)
        made = make_constant(number, operation.results[0].type, operation)
        exact[made] = number
        return number

    make = make_constant

    def kept(number: Any, kind: Any, like: Operation) -> Any:
        made = make(number, kind, like)
        exact[made] = number
        return made

    patch.setattr(f"{PASSES}.simplify.folded", folded)
    patch.setattr(f"{PASSES}.simplify.make_constant", kept)


# ---- the other passes of block IR


@planted("CSE merges loads across a store", "store between", "after cse:1", "load after the store")
def _(patch: pytest.MonkeyPatch) -> None:
    pure = effects.is_pure
    patch.setattr(cse, "is_pure", lambda o: o.name == "load" or pure(o))


@planted("CSE takes two ranges for one", "two ranges", "after cse:1", "other range", "arange")
def _(patch: pytest.MonkeyPatch) -> None:
    right = cse._key

    def key(operation: Operation) -> Any:
        made: Any = right(operation)
        name, operands, attributes, results = made
        return name, operands, None if name == "arange" else attributes, results

    patch.setattr(cse, "_key", key)


@planted("LICM hoists a load over a store", "guarded load", "after licm", "load in the loop")
def _(patch: pytest.MonkeyPatch) -> None:
    pure = effects.is_pure
    patch.setattr(licm, "is_pure", lambda o: o.name == "load" or pure(o))


@planted("DCE drops an atomic", "counted", "after dce:1")
def _(patch: pytest.MonkeyPatch) -> None:
    removable = effects.is_removable
    patch.setattr(dce, "is_removable", lambda o: o.name == "atomic_rmw" or removable(o))


@planted("inlining exchanges the arguments", "calling", "after inline", "call")
def _(patch: pytest.MonkeyPatch) -> None:
    right = inline._inline

    def wrong(call: Operation) -> None:
        first, second = call.operands
        call.set_operand(0, second)
        call.set_operand(1, first)
        right(call)

    patch.setattr(inline, "_inline", wrong)


@planted("the first stride of a descriptor is taken for 1", "boxes", "after descriptors")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        descriptors, "_STRIDE", type("Stride", (), {"fullmatch": staticmethod(_first_stride)})
    )


def _first_stride(name: str) -> Any:
    """A match for the first stride alone, told as the last."""
    import re

    match = re.fullmatch(r"(.+)\.stride0", name)
    return None if match is None else re.fullmatch(r"(.+)\.stride(\d+)", f"{match[1]}.stride1")


@planted("tf32x3 loses a part", "tf32x3", "after products", "tf32x3")
def _(patch: pytest.MonkeyPatch) -> None:
    right = products._tf32_parts
    patch.setattr(products, "_tf32_parts", lambda x: [right(x)[0], right(x)[0]])


# ---- the passes of placed IR


@planted("a product in flight is not waited for", "product by wgmma", "after flight", says="flight")
def _(patch: pytest.MonkeyPatch) -> None:
    def leave(operation: Operation) -> None:
        operation.attributes["in_flight"] = True

    patch.setattr(flight, "_leave", leave)


@planted("a wait one too late", "matmul", "after pipeline", says="async")
def _(patch: pytest.MonkeyPatch) -> None:
    _emitting(patch, "async_wait", lambda told: {**told, "pending": told["pending"] + 1})


@planted("a copy without its mask", "matmul", "after pipeline")
def _(patch: pytest.MonkeyPatch) -> None:
    parts = parts_of
    patch.setattr(pipeline, "parts_of", lambda load: {**parts(load), "mask": None})


@planted("copies one iteration too far", "matmul", "after pipeline")
def _(patch: pytest.MonkeyPatch) -> None:
    right = pipeline._Pipelining._fetch

    def fetch(self: Any, state: Any, slot: Any, body: Any, before: Any) -> Any:
        step = self.loop.operands[2]
        further = self._emit("add", [state[0], step], [state[0].type], {}, before)
        return right(self, [further, *state[1:]], slot, body, before)

    patch.setattr(pipeline._Pipelining, "_fetch", fetch)


@planted("the phase never turns", "boxes", "after pipeline", says="async")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pipeline._Pipelining, "_flip", lambda self, phase, slot, zero, one, before: phase)


@planted("a box of other bytes is announced", "boxes", "after pipeline", says="async")
def _(patch: pytest.MonkeyPatch) -> None:
    _emitting(patch, "tensor_copy", lambda told: {**told, "announced": told["announced"] + 128})


def _emitting(patch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]) -> None:
    """The pipeline's operations of a name get other attributes."""
    right = pipeline._Pipelining._emit

    def emit(self: Any, op: Any, operands: Any, kinds: Any, told: Any, *rest: Any) -> Any:
        named = op if isinstance(op, str) else op.name
        return right(self, op, operands, kinds, change(told) if named == name else told, *rest)

    patch.setattr(pipeline._Pipelining, "_emit", emit)
