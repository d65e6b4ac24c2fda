"""Products of one warp from fragments in registers (PTX ISA, mma.sync)."""

from __future__ import annotations

from blockstep.compiler.layouts import axes
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item
from blockstep.compiler.placement import products
from blockstep.ir import Layout, Operation, flight
from blockstep.language import types as ty

_NAMES = {"fp16": "f16", "bf16": "bf16", "fp32": "tf32", "fp8e4nv": "e4m3", "fp8e5": "e5m2",
          "int8": "s8", "uint8": "u8", "fp64": "f64"}  # fmt: skip


def product(lw: Lowering, operation: Operation, acc: Item | None) -> Item:
    """The sums of a product."""
    a, b = operation.operands[:2]
    (result,) = operation.results
    layout = lw.layout(result)
    size = products.of(operation, lw.options.num_warps, lw.options.capability).itemsize
    if size == 8:
        return _double(lw, operation, acc)
    k = a.type.shape[-1]
    step = 32 // size
    a_words = _words(lw, operation, 0, size)
    b_words = _words(lw, operation, 1, size)
    kind = flight.sums(operation)
    fragment = 2 if kind.is_fp16() else 4  # registers: those of float16 hold two sums each
    sums = _start(lw, acc, layout.per_lane * fragment // 4, kind)
    text = _instruction(a.type.scalar, b.type.scalar, kind, step, acc is None)
    steps = k // step
    for number in range(layout.per_lane // 4):
        row, column = _fragments(layout, 4 * number)
        part = sums[fragment * number :][:fragment]
        for i in range(steps):
            left = a_words[4 * (row * steps + i) :][:4]
            right = b_words[2 * (column * steps + i) :][:2]
            part = _multiply(lw, text, part, left, right, kind)
        sums[fragment * number : fragment * (number + 1)] = part
    if kind.is_fp16():
        return lanes.from_registers(lw, sums, kind, layout.per_lane)
    return lw.join(sums, kind, layout.per_lane)


def _words(lw: Lowering, operation: Operation, index: int, size: int) -> list[str]:
    """The 32-bit registers of a factor's fragments. The unit leaves out what tf32 has no bits
    for."""
    return lanes.to_registers(lw, lw[operation.operands[index]])


def _start(lw: Lowering, acc: Item | None, count: int, kind: ty.dtype) -> list[str]:
    """The registers that a product starts from."""
    if acc is not None:
        return lanes.to_registers(lw, acc) if kind.is_fp16() else lw.parts(acc)
    return ["0.0" if kind in (ty.float32, ty.float64) else "0"] * count


def _fragments(layout: Layout, register: int) -> tuple[int, int]:
    """Which of the lane's fragments along m (batches before) and n a register belongs to, in the
    order in which the factors' registers hold them."""
    m, n = len(layout.shape) - 2, len(layout.shape) - 1
    row = column = rows = columns = 0
    for k, image in enumerate(layout.registers[2:]):
        place = axes.coordinates(layout.shape, image)
        bit = register >> (k + 2) & 1
        if place[n] and not any(place[:n]):
            column |= bit << columns
            columns += 1
        elif place[m] and not place[n]:
            row |= bit << rows
            rows += 1
        else:  # a batch: both factors have it
            row |= bit << rows
            column |= bit << columns
            rows += 1
            columns += 1
    return row, column


def _instruction(a: ty.dtype, b: ty.dtype, kind: ty.dtype, step: int, fresh: bool) -> str:
    """Sums of integers wrap; those that start from nothing cannot reach the end of int32, so it is
    all the same that the unit is told to stop there."""
    left, right = _NAMES[a.name], _NAMES[b.name]
    sums = {"int32": "s32", "fp16": "f16", "fp32": "f32"}[kind.name]
    end = ".satfinite" if kind.is_int() and fresh else ""
    return f"mma.sync.aligned.m16n8k{step}.row.col{end}.{sums}.{left}.{right}.{sums}"


def _multiply(
    lw: Lowering, text: str, sums: list[str], left: list[str], right: list[str], kind: ty.dtype
) -> list[str]:
    count = len(sums)
    letter, element = ("f", "float") if kind.is_fp32() else ("r", "i32")
    constraints = [f"={letter}"] * count + ["r"] * 6 + [str(i) for i in range(count)]
    operands = [f"i32 {w}" for w in [*left, *right]] + [f"{element} {s}" for s in sums]
    result = lw.b.structure([element] * count)
    held, x, y = (_places(*span) for span in ((0, count), (count, 4), (count + 4, 2)))
    made = lw.b.asm(
        result, f"{text} {held}, {x}, {y}, {held};", ",".join(constraints), operands, effects=True
    )
    return lw.b.fields(result, made, count)


def _places(first: int, count: int) -> str:
    return "{" + ", ".join(f"${first + i}" for i in range(count)) + "}"


def _double(lw: Lowering, operation: Operation, acc: Item | None) -> Item:
    """float64: m8n8k4, two of them one above the other in each fragment."""
    a, b = operation.operands[:2]
    layout = lw.layout(operation.results[0])
    steps = a.type.shape[-1] // 4
    left, right = lw.parts(lw[a]), lw.parts(lw[b])
    sums = _start(lw, acc, layout.per_lane, ty.float64)
    for first in range(0, layout.per_lane, 2):
        row, column = _fragments(layout, first & ~3)
        half = first >> 1 & 1
        part = sums[first : first + 2]
        for i in range(steps):
            x = left[(row * steps + i) * 2 + half]
            y = right[column * steps + i]
            part = _multiply_double(lw, part, x, y)
        sums[first : first + 2] = part
    return lw.join(sums, ty.float64, layout.per_lane)


def _multiply_double(lw: Lowering, sums: list[str], x: str, y: str) -> list[str]:
    text = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$0, $1};"
    result = lw.b.structure(["double"] * 2)
    operands = [f"double {v}" for v in (x, y, *sums)]
    made = lw.b.asm(result, text, "=d,=d,d,d,0,1", operands)
    return lw.b.fields(result, made, 2)
