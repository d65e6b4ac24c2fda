"""Operations that only move elements. Most move nothing between lanes: the layout of the result
says where the elements already are."""

from __future__ import annotations

from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.lower.convert import convert, to_shared
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Operation
from blockstep.ir.layout import images


def _same_registers(lw: Lowering, operation: Operation) -> None:
    """The layout of the result names the same element in each register."""
    (x,), (result,) = operation.operands, operation.results
    lw.bind(result, Item(lw[x].name, result.type.scalar, lw.count(result)))


lowers("expand_dims")(_same_registers)


@lowers("reshape")
def _reshape(lw: Lowering, operation: Operation) -> None:
    (x,), (result,) = operation.operands, operation.results
    if result.layout is None:  # to a scalar: all lanes hold the only element
        item = lw[x]
        lw.bind(result, Item(lw.parts(item)[0], item.kind))
    elif x.layout is None:
        lw.bind(result, lw.splat(lw[x], lw.count(result)))
    else:
        _same_registers(lw, operation)


@lowers("permute")
def _permute(lw: Lowering, operation: Operation) -> None:
    """The image of each register moves with the axes, so the registers stay as they are."""
    _same_registers(lw, operation)


@lowers("broadcast")
def _broadcast(lw: Lowering, operation: Operation) -> None:
    """Along an axis of length 1: the coordinates along it are dropped."""
    (x,), (result,) = operation.operands, operation.results
    source, target = lw.layout(x), lw.layout(result)
    where: dict[int, int] = {}
    for register, element in enumerate(images(source.registers)):
        where.setdefault(element, register)
    kept = [narrowed(basis, target.shape, source.shape) for basis in target.registers]
    lw.bind(result, lw.pick(lw[x], [where[element] for element in images(kept)]))


def narrowed(flat: int, shape: tuple[int, ...], smaller: tuple[int, ...]) -> int:
    """The flat index of an element when some axes shrink to length 1: a linear map."""
    found, scale = 0, 1
    for n, m in zip(reversed(shape), reversed(smaller), strict=True):
        flat, place = divmod(flat, n)
        found += (place if m > 1 else 0) * scale
        scale *= m
    return found


@lowers("convert")
def _convert(lw: Lowering, operation: Operation) -> None:
    (x,), (result,) = operation.operands, operation.results
    if isinstance(result.layout, SharedLayout):
        lw.bind(result, to_shared(lw, lw[x], lw.layout(x), result.layout, result))
    else:
        lw.bind(result, convert(lw, lw[x], lw.layout(x), lw.layout(result)))
