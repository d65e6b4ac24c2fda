"""Constants, ranges, the program's place in the grid."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item, float_text
from blockstep.ir import Operation
from blockstep.language import types as ty


def constant_item(value: Any, kind: ty.dtype) -> Item:
    """A constant scalar."""
    kind = kind.scalar
    if kind.is_floating() and not kind.is_fp8():
        return Item(float_text(float(value), Item("", kind).element), kind)
    if kind.is_fp8():
        bits = np.array(value).astype(kind.numpy).view(np.uint8)
        return Item(str(int(bits)), kind)
    if kind.is_int1():
        return Item("true" if value else "false", kind)
    return Item(str(int(value)), kind)


@lowers("constant")
def _constant(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    item = constant_item(operation.attributes["value"], result.type)
    lw.bind(result, lw.splat(item, lw.count(result)))


@lowers("splat")
def _splat(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    lw.bind(result, lw.splat(lw[operation.operands[0]], lw.count(result)))


@lowers("arange")
def _arange(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    layout = lw.layout(result)
    start = operation.attributes["start"]
    base = lw.base(layout)
    count = lw.count(result)
    assert count is not None
    offsets = [layout.element(r, 0, 0) for r in range(count)]
    moving = reduce(or_, (*layout.lanes, *layout.warps, *layout.ctas), 0)
    together = any(o & moving for o in offsets)
    rows = ", ".join(f"i32 {o + (0 if together else start)}" for o in offsets)
    spread = lw.splat(Item(base, ty.int32), count)
    combine = "xor" if together else "add nuw nsw" if start >= 0 else "add nsw"
    name = lw.b.value(f"{combine} {spread}, <{rows}>")
    if together and start:
        name = lw.b.value(f"add {spread.type} {name}, {lw.constant(start, ty.int32, count).name}")
    lw.bind(result, name)


def program_coordinate(lw: Lowering, axis: int) -> str:
    """The program's place along an axis of the grid: an i32."""
    register = "ctaid" if lw.options.num_ctas == 1 else "clusterid"
    return lw.b.call("i32", f"llvm.nvvm.read.ptx.sreg.{register}.{'xyz'[axis]}", [])


@lowers("program_id")
def _program_id(lw: Lowering, operation: Operation) -> None:
    lw.bind(operation.results[0], program_coordinate(lw, operation.attributes["axis"]))


@lowers("num_programs")
def _num_programs(lw: Lowering, operation: Operation) -> None:
    register = "nctaid" if lw.options.num_ctas == 1 else "nclusterid"
    axis = "xyz"[operation.attributes["axis"]]
    found = lw.b.call("i32", f"llvm.nvvm.read.ptx.sreg.{register}.{axis}", [])
    lw.bind(operation.results[0], found)
