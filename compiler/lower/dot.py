"""Matrix products: by the unit that the placement chose."""

from __future__ import annotations

from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.lower import fma, mma, wgmma
from blockstep.compiler.lower.cast import convert
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.compiler.placement import products
from blockstep.ir import Operation, flight
from blockstep.language import types as ty


@lowers("dot")
def _dot(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    out = result.type.scalar
    acc = lw[operation.operands[2]] if len(operation.operands) > 2 else None
    shared = isinstance(operation.operands[1].layout, SharedLayout)
    unit = shared or (products.is_fragment(lw.layout(result)) and _is_mma(lw, operation))
    sums = flight.sums(operation)
    if sums.is_fp16() and not unit:
        sums = ty.float32
    if acc is not None:
        acc = convert(lw, acc, sums)
    if shared:
        found = wgmma.product(lw, operation, acc)
    elif unit:
        found = mma.product(lw, operation, acc)
    else:
        found = fma.product(lw, operation, acc, sums)
    lw.bind(result, convert(lw, Item(found.name, sums, found.count), out))


def _is_mma(lw: Lowering, operation: Operation) -> bool:
    return products.of(operation, lw.options.num_warps, lw.options.capability).unit != "fma"


@lowers("dot_wait")
def _dot_wait(lw: Lowering, operation: Operation) -> None:
    items = lw.operands(operation)
    found = wgmma.wait(lw, operation.attributes["pending"], items)
    for result, item in zip(operation.results, found, strict=True):
        lw.bind(result, item)
