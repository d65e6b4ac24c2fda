"""Bugs in placement, lowering and what comes after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blockstep.compiler.emit import emit
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
)
from blockstep.compiler.placement import memory as placed_memory
from blockstep.compiler.placement import place
from blockstep.ir import Operation
from blockstep.runtime.gpu.compiling import hints_of
from blockstep.runtime.ladder import compiling
from blockstep.runtime.ladder import launch as ladder_launch
from tests.ladder.planting import planted

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


@planted(
    "a group of copies never committed",
    "matmul",
    "ptx, exact",
    says="without the pass `pipeline` the compiled code is right",
)
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


@planted("every lane makes an atomic", "counted", "ptx, exact", "atomic")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(core.Lowering, "leaders", lambda self, layout: "true")


@planted("placement forgets a conversion", "transposed", "after place", says="fails")
def _(patch: pytest.MonkeyPatch) -> None:
    right = place._Placing.make

    def make(self: Any, value: Any, layout: Any) -> Any:
        made = right(self, value, layout)
        producer = made.producer
        if producer is not None and producer.name == "convert":
            made.replace_with(value)
            return value
        return made

    patch.setattr(place._Placing, "make", make)


@planted("the optimiser exchanges two instructions", "two ranges", "ptx, exact", says="in LLVM")
def _(patch: pytest.MonkeyPatch) -> None:
    def emitted(text: str, target: str, *, exact: bool, optimised: bool) -> str:
        found = emit(text, target, exact=exact, optimised=optimised)
        return found.replace("sub.rn.f32", "add.rn.f32") if optimised else found

    patch.setattr(compiling, "emit", emitted)
