"""How memory accesses want their blocks held: neighbours in memory in neighbouring lanes, as many of
them in a lane as one instruction moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockstep.compiler import layouts
from blockstep.compiler.analysis import order, vector_width
from blockstep.compiler.layouts import f2
from blockstep.compiler.placement import products
from blockstep.ir import Layout, Operation, Value
from blockstep.language import types as ty

SECTOR = 32  # bytes that memory moves at least
_VECTORS = 90  # the first architecture with additions of several elements in memory


def itemsize(pointer: Value) -> int:
    """Bytes of the element that a pointer names."""
    return max(1, int(_pointee(pointer).primitive_bitwidth) // 8)


def _pointee(pointer: Value) -> ty.dtype:
    element: ty.dtype = pointer.type.scalar.element_ty  # type: ignore[attr-defined]
    return element


def mask_of(operation: Operation) -> Value | None:
    """The mask of a load, store or atomic, if it has one."""
    names = {
        "load": ("pointer", "mask", "other"),
        "store": ("pointer", "value", "mask"),
        "atomic_rmw": ("pointer", "value", "mask"),
        "atomic_load": ("pointer", "mask"),
        "atomic_store": ("pointer", "value", "mask"),
        "atomic_cas": ("pointer", "expected", "value"),
    }[operation.name]
    slots = operation.attributes.get("operand_slots", (True,) * len(operation.operands))
    given = iter(operation.operands)
    found = {n: next(given) for n, there in zip(names, slots, strict=False) if there}
    return found.get("mask")


def wanted(
    operation: Operation, facts: Mapping[Value, Any], num_warps: int, capability: int
) -> Layout:
    """The layout in which an access is widest and its lanes stand side by side."""
    pointer = operation.operands[0]
    shape = pointer.type.shape
    axes = order(facts[pointer]) if pointer in facts else tuple(reversed(range(len(shape))))
    width = _width(operation, facts, axes[0], capability)
    numel = 1
    for n in shape:
        numel *= n
    most = max(1, numel // (32 * num_warps))
    return layouts.coalesced(shape, axes, min(width, most), num_warps)


def _width(operation: Operation, facts: Any, axis: int, capability: int) -> int:
    pointer = operation.operands[0]
    most = _most(operation, _pointee(pointer), capability)
    if most == 1 or pointer not in facts:
        return 1
    return min(most, vector_width(pointer, mask_of(operation), itemsize(pointer), facts, axis))


def _most(operation: Operation, element: ty.dtype, capability: int) -> int:
    """Elements that one instruction may move; of atomics only additions take several."""
    if operation.name in ("load", "store"):
        return 16
    if operation.name != "atomic_rmw" or operation.attributes["combine"] != "add":
        return 1
    unused = not operation.results[0].uses
    if element.is_fp32():
        return 4 if unused and capability >= _VECTORS else 1
    if element.is_fp16() or (element.is_bf16() and capability >= _VECTORS):
        return 8 if unused and capability >= _VECTORS else 2
    return 1


def access_width(
    operation: Operation, facts: Mapping[Value, Any], layout: Layout, capability: int
) -> int:
    """Elements that one instruction moves when the block is held as `layout`."""
    pointer = operation.operands[0]
    if not pointer.type.shape or pointer not in facts:
        return 1
    best = 1
    for axis in range(len(layout.shape)):
        axes = (axis, *(a for a in reversed(range(len(layout.shape))) if a != axis))
        run = layouts.contiguous(layout, axes)
        best = max(best, min(_width(operation, facts, axis, capability), run))
    return best


def is_good(
    operation: Operation, facts: Mapping[Value, Any], layout: Layout, best: Layout, capability: int
) -> bool:
    """Whether a store or an atomic may as well go from `layout`: at most twice the instructions of the best
    layout (a product's fragment: no more), and at least half of each sector that one instruction
    touches."""
    size = itemsize(operation.operands[0])
    if operation.name.startswith("atomic") and not _has_leaders(layout):
        return False
    mine = access_width(operation, facts, layout, capability)
    other = access_width(operation, facts, best, capability)
    if layout == best:
        return True
    if mine * (1 if products.is_fragment(layout) else 2) < other:
        return False
    return _use(operation, facts, layout, mine, size) * 2 >= _use(
        operation, facts, best, other, size
    )


def _has_leaders(layout: Layout) -> bool:
    """Whether zero bases alone make copies: one lane can be told to act for each element."""
    moving = [basis for basis in layout.bases if basis]
    return len(f2.independent(moving)) == len(moving)


def _use(
    operation: Operation, facts: Mapping[Value, Any], layout: Layout, width: int, size: int
) -> float:
    """Bytes moved over bytes of the sectors touched, by the first access of the first warp."""
    axes = order(facts[operation.operands[0]])
    fastest = axes[0]
    below = 1
    for n in layout.shape[fastest + 1 :]:
        below *= n
    touched: set[tuple[int, int]] = set()
    distinct: set[int] = set()
    for lane in range(32):
        element = layout.element(0, lane, 0)
        along = element // below % layout.shape[fastest]
        rest = element - along * below
        distinct.add(element)
        first = along * size
        for sector in range(first // SECTOR, (first + width * size - 1) // SECTOR + 1):
            touched.add((rest, sector))
    return len(distinct) * width * size / (len(touched) * SECTOR)


__all__ = ["access_width", "is_good", "itemsize", "mask_of", "wanted"]
