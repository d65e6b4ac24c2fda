"""Which unit computes a matrix product, and how it wants its operands held.

    wgmma   a warpgroup's asynchronous product (sm_90a): B, and mostly A, in swizzled shared memory
    mma     mma.sync of one warp (sm_80 and later): fragments in registers
    fma     no matrix unit for these types or sizes: operands pass through shared memory

Sources: PTX ISA, sections on wgmma.mma_async, mma.sync and their fragments.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler import layouts
from blockstep.compiler.layouts.shared import SharedLayout, swizzle_128b
from blockstep.ir import Layout, Operation, Value, flight
from blockstep.language import types as ty

WARPGROUP = 4
_WIDEST_N = 256
_LARGEST = 2  # accumulator blocks of m64n256 that one lane can hold: 256 registers is too many


@dataclass(frozen=True, slots=True)
class Product:
    """How one `dot` is computed."""

    unit: str  # wgmma, mma, fma
    accumulator: Layout
    itemsize: int  # bytes of an element as the unit reads it
    instruction_n: int = 0  # of wgmma


def of(operation: Operation, num_warps: int, capability: int) -> Product:
    """The unit for a product, and the layout of its result."""
    a, b = operation.operands[0].type, operation.operands[1].type
    shape = operation.results[0].type.shape
    k = a.shape[-1]
    kind = _unit_type(operation, a.scalar, b.scalar, capability)
    if kind is None:
        return Product("fma", _blocked(shape, num_warps), a.scalar.itemsize)
    if capability == 90 and len(shape) == 2 and num_warps % WARPGROUP == 0 and kind.itemsize < 8:
        n = _instruction_n(shape, num_warps)
        if flight.partial(operation):
            n = min(n, _WIDEST_N // 2)  # its sums are there twice
        if n and k * kind.itemsize >= 32:
            made = layouts.wgmma_accumulator(shape, num_warps, n)
            return Product("wgmma", made, kind.itemsize, n)
    step = 4 if kind.itemsize == 8 else 32 // kind.itemsize
    if shape[-2] >= 16 and shape[-1] >= 8 and k >= step:
        warps = _warps(shape, num_warps)
        return Product("mma", layouts.mma_accumulator(shape, warps), kind.itemsize)
    return Product("fma", _blocked(shape, num_warps), a.scalar.itemsize)


def _unit_type(operation: Operation, a: ty.dtype, b: ty.dtype, capability: int) -> ty.dtype | None:
    """The type that a matrix unit reads the factors as; None if there is none."""
    out = operation.results[0].type.scalar
    if a.is_int() and b.is_int():
        return ty.int8 if a.itemsize == b.itemsize == 1 and out.is_int32() else None
    if a.is_fp8() and b.is_fp8() and {a.name, b.name} <= {"fp8e4nv", "fp8e5"}:
        return ty.float8e4nv if capability >= 89 else None
    if a is not b:
        return None
    if a.is_fp16() or a.is_bf16():
        return a
    if a.is_fp32():
        return a if operation.attributes.get("precision") in ("tf32", "tf32x3") else None
    return a if a.is_fp64() and capability >= 80 and out.is_fp64() else None


def _instruction_n(shape: tuple[int, ...], num_warps: int) -> int:
    """The columns of one wgmma, or 0 if the block does not fill whole warpgroups."""
    m, n = shape
    groups = num_warps // WARPGROUP
    if m < 64 or n < 8:
        return 0
    along_m = min(groups, m // 64)
    along_n = groups // along_m
    if n // along_n < 8:
        return 0
    return min(_WIDEST_N, n // along_n)


def _warps(shape: tuple[int, ...], num_warps: int) -> tuple[int, ...]:
    """Warps along each axis: near squares, no more than there are fragments."""
    found = [1] * len(shape)
    room = [*shape[:-2], shape[-2] // 16, shape[-1] // 8]
    left = num_warps
    for axis in range(len(shape) - 2):
        while left > 1 and found[axis] < room[axis]:
            found[axis] *= 2
            left //= 2
    m, n = len(shape) - 2, len(shape) - 1
    while left > 1:
        rows, columns = shape[m] / found[m], shape[n] / found[n]
        axis = m if (rows >= columns and found[m] < room[m]) or found[n] >= room[n] else n
        found[axis] *= 2
        left //= 2
    return tuple(found)


def _blocked(shape: tuple[int, ...], num_warps: int) -> Layout:
    numel = 1
    for length in shape:
        numel *= length
    vector = max(1, min(4, numel // (32 * num_warps)))
    return layouts.coalesced(shape, tuple(reversed(range(len(shape)))), vector, num_warps)


def operand(
    operation: Operation, index: int, product: Product, home: Layout | None
) -> Layout | SharedLayout | None:
    """How operand `index` must be held; `home` is how it is computed, if that is decided. None: in
    any layout."""
    if index == 2:
        return product.accumulator
    if product.unit == "fma":
        return None
    value = operation.operands[index]
    k = operation.operands[0].type.shape[-1]
    if product.unit == "mma" or (index == 0 and home is not None and is_fragment(home)):
        return layouts.mma_operand(product.accumulator, index, k, product.itemsize)
    return shared_operand(value, index, product.itemsize, home)


def shared_operand(value: Value, index: int, itemsize: int, home: Layout | None) -> SharedLayout:
    """A factor of wgmma in shared memory: as it comes where the unit can read it so (16-bit types
    either way), else with k along the rows."""
    shape = value.type.shape
    k_axis = 1 if index == 0 else 0
    axis = k_axis
    if itemsize == 2 and home is not None:
        axis = fastest(home)
    if shape[axis] * itemsize < 32:
        axis = k_axis
    width = min(128, shape[axis] * itemsize)
    return swizzle_128b(shape, (axis, 1 - axis), itemsize, width)


def fastest(layout: Layout) -> int:
    """The axis along which the registers of a lane, or else its lanes, are neighbours."""
    best = (0, 0)
    for axis in range(len(layout.shape)):
        axes = (axis, *(a for a in reversed(range(len(layout.shape))) if a != axis))
        best = max(best, (layouts.contiguous(layout, axes), axis))
    if best[0] > 1:
        return best[1]
    first = next((image for image in layout.lanes if image), 1)
    below = layout.shape[-1]
    return 1 if first < below else 0


def is_fragment(layout: Layout) -> bool:
    """Whether a layout is that of a matrix unit's accumulator: pairs of columns in a lane, four
    lanes a row."""
    if len(layout.shape) < 2 or len(layout.registers) < 2:
        return False
    row = layout.shape[-1]
    return layout.lanes == (2, 4, row, 2 * row, 4 * row) and layout.registers[:2] == (1, 8 * row)


__all__ = ["Product", "fastest", "is_fragment", "of", "operand", "shared_operand"]
