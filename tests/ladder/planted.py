"""Bugs to plant in the compiler, each by changing one function of it for the time of a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from blockstep.compiler.lower import (
    asynchronous,
    cast_fp8,
    convert,
    core,
    memory,
    mma,
    reduce,
    scan,
    wgmma,
)
from blockstep.compiler.passes import (
    barriers,
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
from blockstep.compiler.placement import memory as placed_memory
from blockstep.ir import Operation
from blockstep.runtime.gpu.compiling import hints_of
from blockstep.runtime.ladder import launch as ladder_launch

PASSES = "blockstep.compiler.passes"
Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Planted:
    """`launch` is one of `LAUNCHES`; `rung` the first that must differ; `mark` the line of the
    kernel that must be named, if one must; `says` a word of the finding."""

    launch: str
    rung: str
    plant: Plant
    mark: str = ""
    says: str = ""


PLANTED: dict[str, Planted] = {}


def planted(name: str, launch: str, rung: str, mark: str = "", says: str = "") -> Any:
    """Enters a bug."""

    def enter(plant: Plant) -> Plant:
        PLANTED[name] = Planted(launch, rung, plant, mark, says)
        return plant

    return enter


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


# ---- placement and lowering


@planted("contiguity over-claimed", "strided", "ptx, exact", "strided load")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(placed_memory, "vector_width", lambda *given: 2)


@planted("divisibility over-claimed", "shifted", "ptx, exact", "shifted load", "alignment")
def _(patch: pytest.MonkeyPatch) -> None:
    right = hints_of

    def hints(bound: Any) -> Any:
        return {name: replace(hint, divisible_by=16) for name, hint in right(bound).items()}

    patch.setattr(ladder_launch, "hints_of", hints)


@planted("a barrier removed from a sum", "row sum", "ptx, exact", "sum", "race")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(core.Lowering, "barrier", lambda self: None)


@planted("a sum combined twice", "row sum", "ptx, exact", "sum")
def _(patch: pytest.MonkeyPatch) -> None:
    right = reduce._in_warp

    def twice(lw: Any, region: Any, items: Any, layout: Any, axis: int) -> Any:
        items = right(lw, region, items, layout, axis)
        return lw.apply(region, [*items, *items])

    patch.setattr(reduce, "_in_warp", twice)


@planted("a scan in the other direction", "prefix", "ptx, exact", "scan")
def _(patch: pytest.MonkeyPatch) -> None:
    right = scan._Scan
    patch.setattr(
        scan,
        "_Scan",
        lambda lw, region, layout, axis, reverse: right(lw, region, layout, axis, not reverse),
    )


@planted("a swizzle with two bits exchanged", "transposed", "ptx, exact")
def _(patch: pytest.MonkeyPatch) -> None:
    right = convert.load

    def load(lw: Any, kind: Any, layout: Any, swizzle: Any, *rest: Any) -> Any:
        first, second, *others = swizzle.elements[::-1]
        return right(
            lw, kind, layout, replace(swizzle, elements=(*others[::-1], first, second)), *rest
        )

    patch.setattr(convert, "load", load)


@planted("the mask of a store dropped", "masked", "ptx, exact", "masked store")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory, "both", lambda lw, a, b: a)


@planted("the mask of a load dropped", "masked inside", "ptx, exact", "masked load", "never reads")
def _(patch: pytest.MonkeyPatch) -> None:
    right = memory.read

    def read(lw: Any, address: str, predicate: Any, filled: Any, *rest: Any) -> Any:
        return right(lw, address, None, None, *rest)

    patch.setattr(memory, "read", read)


@planted("signed numbers divided as unsigned ones", "integers", "ptx, exact", "division", "idiv")
def _(patch: pytest.MonkeyPatch) -> None:
    right = core.RULES["idiv"]
    patch.setitem(core.RULES, "idiv", _unsigned(right))


@planted("signed numbers compared as unsigned ones", "integers", "ptx, exact", "comparison", "lt")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(core.RULES, "lt", _unsigned(core.RULES["lt"]))


def _unsigned(rule: Any) -> Any:
    from blockstep.language import types as ty

    def wrong(lw: Any, attributes: Any, kind: Any, x: Any, y: Any) -> Any:
        if not x.kind.is_int() or x.kind.is_int1():
            return rule(lw, attributes, kind, x, y)
        other = ty.dtype("u" + x.kind.name)
        found = rule(lw, attributes, kind, replace(x, kind=other), replace(y, kind=other))
        return replace(found, kind=x.kind) if found.kind is other else found

    return wrong


@planted("a negative offset not sign-extended", "backwards", "ptx, exact")
def _(patch: pytest.MonkeyPatch) -> None:
    from blockstep.language import types as ty

    right = core.RULES["addptr"]

    def wrong(lw: Any, attributes: Any, kind: Any, x: Any, offset: Any) -> Any:
        if offset.kind is ty.int32:
            offset = replace(offset, kind=ty.uint32)
        return right(lw, attributes, kind, x, offset)

    patch.setitem(core.RULES, "addptr", wrong)


@planted("fp8 without saturation", "to fp8", "ptx, exact", "to fp8")
def _(patch: pytest.MonkeyPatch) -> None:
    right = cast_fp8._Bits.op

    def op(self: Any, name: str, other: Any) -> Any:
        return self if name == "llvm.umin" else right(self, name, other)

    patch.setattr(cast_fp8._Bits, "op", op)


@planted("a fragment of mma in another order", "product by mma", "ptx, exact", "product", "dot")
def _(patch: pytest.MonkeyPatch) -> None:
    right = mma._multiply

    def wrong(lw: Any, text: str, sums: Any, left: Any, other: Any, kind: Any) -> Any:
        return right(lw, text, sums, [left[0], left[2], left[1], left[3]], other, kind)

    patch.setattr(mma, "_multiply", wrong)


@planted(
    "a descriptor of wgmma with another stride", "product by wgmma", "ptx, exact", "product", "dot"
)
def _(patch: pytest.MonkeyPatch) -> None:
    right = vars(wgmma.Tile)["descriptor"].fget
    patch.setattr(wgmma.Tile, "descriptor", property(lambda self: right(self) ^ 1 << 37))


@planted("an offset of wgmma's k steps", "product by wgmma", "ptx, exact", "product", "dot")
def _(patch: pytest.MonkeyPatch) -> None:
    right = wgmma.Tile.offset
    patch.setattr(wgmma.Tile, "offset", lambda self, along, k: right(self, along, 0))


@planted("a group of copies never committed", "matmul", "ptx, exact", says="async")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(core.LOWERINGS, "async_commit", lambda lw, operation: None)


@planted("copies waited for one group too late", "matmul", "ptx, exact", says="async")
def _(patch: pytest.MonkeyPatch) -> None:
    right = asynchronous._async_wait

    def wait(lw: Any, operation: Operation) -> None:
        told = dict(operation.attributes)
        operation.attributes["pending"] = told["pending"] + 1
        right(lw, operation)

    patch.setitem(core.LOWERINGS, "async_wait", wait)


@planted(
    "the barrier before a value is read back",
    "read back",
    "ptx, exact",
    "read back",
    "`barriers` leaves one out",
)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(barriers._Walk, "meet", lambda *given: False)
