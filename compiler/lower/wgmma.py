"""Asynchronous products of a warpgroup (PTX ISA, wgmma.mma_async).

One inline assembly text holds all k steps of one m64nN block; its accumulators are tied operands, so
LLVM keeps them in registers. The sums are in flight until a `wait` that names them: nothing else may
touch them before. Descriptors (64 bits): address >> 4, leading and stride offsets >> 4, swizzle mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockstep.compiler.layouts import axes
from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, Unlowered
from blockstep.compiler.lower.text import Item
from blockstep.compiler.placement import products
from blockstep.ir import Layout, Operation
from blockstep.language import types as ty

_NAMES = {"fp16": "f16", "bf16": "bf16", "fp32": "tf32", "fp8e4nv": "e4m3", "fp8e5": "e5m2",
          "int8": "s8", "uint8": "u8"}  # fmt: skip
_MODES = {128: 1, 64: 2, 32: 3}


@dataclass(frozen=True, slots=True)
class Tile:
    """A factor in swizzled shared memory. `rows` counts along the axis across the rows of a box."""

    layout: SharedLayout
    itemsize: int
    k_major: bool
    width: int  # bytes of a box's row
    rows: int

    @property
    def box(self) -> int:
        """Bytes from one box to the next along the rows' axis."""
        return self.rows * self.width

    def offset(self, along: int, k: int) -> int:
        """Bytes from the start to the position `along` m or n, and `k` (multiples of a step)."""
        row, column = (along, k) if self.k_major else (k, along)
        column *= self.itemsize
        return row * self.width + column // self.width * self.box + column % self.width

    @property
    def descriptor(self) -> int:
        """The bits of a descriptor that do not depend on the address."""
        stride = 8 * self.width
        leading = 16 if self.k_major else self.box
        return leading >> 4 << 16 | stride >> 4 << 32 | _MODES[self.width] << 62


def tile(layout: SharedLayout, itemsize: int, k_axis: int) -> Tile:
    """How a factor lies: the row axis is that of address bit 0."""
    shape = layout.shape
    fastest = next(a for a, c in enumerate(axes.coordinates(shape, layout.elements[0])) if c)
    width = min(128, shape[fastest] * itemsize)
    return Tile(layout, itemsize, fastest == k_axis, width, shape[1 - fastest])


def product(lw: Lowering, operation: Operation, acc: Item | None) -> Item:
    """The sums of a product, complete unless the operation says `in_flight`."""
    a, b = operation.operands[:2]
    (result,) = operation.results
    layout = lw.layout(result)
    chosen = products.of(operation, lw.options.num_warps, lw.options.capability)
    k = a.type.shape[1]
    size, n = chosen.itemsize, chosen.instruction_n
    step = 32 // size
    b_tile = tile(b.layout, size, 0)
    a_tile = tile(a.layout, size, 1) if isinstance(a.layout, SharedLayout) else None
    bases = {1: _base(lw, lw[b].name, b_tile, layout, 1)}
    if a_tile is not None:
        bases[0] = _base(lw, lw[a].name, a_tile, layout, 0)
        words: list[str] = []
    else:
        words = lanes.to_registers(lw, lw[a])
    text = _instruction(a.type.scalar, b.type.scalar, result.type.scalar, n)
    per_tile = n // 2
    count = layout.per_lane
    parts = lw.parts(acc) if acc is not None else None
    kind = ty.int32 if result.type.scalar.is_int() else ty.float32
    found: list[str] = []
    tiles = count // per_tile
    steps = k // step
    for number in range(tiles):
        row, column = _origin(layout, number * per_tile)
        operands = []
        for i in range(steps):
            if a_tile is not None:
                operands.append([_at(lw, bases[0], a_tile.offset(row, i * step))])
            else:
                first = 4 * (row // 64 // _groups(layout) * steps + i) if tiles > 1 else 4 * i
                first = 4 * (_m_tile(layout, number * per_tile) * steps + i)
                operands.append(words[first : first + 4])
            operands[-1].append(_at(lw, bases[1], b_tile.offset(column, i * step)))
        mine = None if parts is None else parts[number * per_tile : (number + 1) * per_tile]
        found += _emit(
            lw, text, operands, mine, per_tile, a_tile, b_tile, size, kind,
            first=number == 0, last=number == tiles - 1,
        )  # fmt: skip
    if not operation.attributes.get("in_flight"):
        found = _wait(lw, 0, found, kind)
    return lw.join(found, kind, count)


def _groups(layout: Layout) -> int:
    return max(1, layout.num_warps // 4)


def _origin(layout: Layout, register: int) -> tuple[int, int]:
    """Row and column of an instruction's first element, in the first warpgroup."""
    row, column = axes.coordinates(layout.shape, layout.element(register, 0, 0))
    return row, column


def _m_tile(layout: Layout, register: int) -> int:
    """Which of the lane's row blocks a register belongs to."""
    rows = sorted({_origin(layout, r)[0] for r in range(layout.per_lane)} - {8})
    tops = [r for r in rows if r % 16 == 0]
    return tops.index(_origin(layout, register)[0])


def _base(lw: Lowering, offset: str, tile_: Tile, layout: Layout, axis: int) -> str:
    """The descriptor of this warpgroup's first block: an i64."""
    images = []
    for k, image in enumerate(layout.warps[2:]):
        along = axes.coordinates(layout.shape, image)[axis]
        images.append((lw.group, k, tile_.offset(along, 0)))
    moved = lw.thread_bits(images)
    address = lw.shared_address(offset)
    if moved != "0":
        address = lw.b.value(f"add i32 {address}, {moved}")
    field = lw.b.value(f"lshr i32 {address}, 4")
    field = lw.b.value(f"and i32 {field}, 16383")
    wide = lw.b.value(f"zext i32 {field} to i64")
    return lw.b.value(f"or i64 {wide}, {_signed(tile_.descriptor)}")


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def _at(lw: Lowering, base: str, offset: int) -> str:
    return lw.b.value(f"add i64 {base}, {offset >> 4}") if offset else base


def _instruction(a: ty.dtype, b: ty.dtype, out: ty.dtype, n: int) -> str:
    """The instruction without its operands."""
    left, right = _NAMES[a.name], _NAMES[b.name]
    k = 32 // a.itemsize
    sums = "s32" if out.is_int() else "f32"
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sums}.{left}.{right}"


def _emit(
    lw: Lowering, text: str, operands: Sequence[list[str]], acc: list[str] | None, per_tile: int,
    a_tile: Tile | None, b_tile: Tile, size: int, kind: ty.dtype, *, first: bool, last: bool,
) -> list[str]:  # fmt: skip
    """All k steps of one block as one inline assembly text."""
    letter, element = ("r", "i32") if kind.is_int() else ("f", "float")
    sums = "{" + ", ".join(f"${i}" for i in range(per_tile)) + "}"
    place = per_tile * (1 if acc is None else 2)
    lines = [".reg .pred p;"]
    lines.append("setp.ne.b32 p, 0, 0;" if acc is None else "setp.eq.b32 p, 0, 0;")
    if first:
        lines.append("wgmma.fence.sync.aligned;")
    given: list[str] = [] if acc is None else [f"{element} {v}" for v in acc]
    constraints = [f"={letter}"] * per_tile
    if acc is not None:
        constraints += [str(i) for i in range(per_tile)]
    for number, row in enumerate(operands):
        *left, right = row
        if a_tile is None:
            a_text = "{" + ", ".join(f"${place + i}" for i in range(4)) + "}"
            given += [f"i32 {w}" for w in left]
            constraints += ["r"] * 4
            place += 4
        else:
            a_text = f"${place}"
            given.append(f"i64 {left[0]}")
            constraints.append("l")
            place += 1
        given.append(f"i64 {right}")
        constraints.append("l")
        lines.append(
            f"{text} {sums}, {a_text}, ${place}, p{_flags(kind, a_tile, b_tile, size)};"
        )
        place += 1
        if number == 0 and acc is None:
            lines.append("setp.eq.b32 p, 0, 0;")
    if last:
        lines.append("wgmma.commit_group.sync.aligned;")
    result = lw.b.structure([element] * per_tile)
    body = "{ " + " ".join(lines) + " }"
    made = lw.b.asm(result, body, ",".join([*constraints, "~{memory}"]), given)
    return lw.b.fields(result, made, per_tile)


def _flags(kind: ty.dtype, a_tile: Tile | None, b_tile: Tile, size: int) -> str:
    """Negations (floats only), and which factors are transposed (16-bit types only)."""
    flags = "" if kind.is_int() else ", 1, 1"
    if size != 2:
        if not b_tile.k_major or (a_tile is not None and not a_tile.k_major):
            raise Unlowered("a product whose factor has no k along its rows")
        return flags
    if a_tile is not None:
        flags += f", {0 if a_tile.k_major else 1}"
    return flags + f", {0 if b_tile.k_major else 1}"


def wait(lw: Lowering, pending: int, items: Sequence[Item]) -> list[Item]:
    """The sums once at most `pending` groups are in flight."""
    if not items:
        lw.b.asm("void", f"wgmma.wait_group.sync.aligned {pending};", "~{memory}", [])
        return []
    parts = [p for item in items for p in lw.parts(item)]
    found = _wait(lw, pending, parts, items[0].kind)
    made, start = [], 0
    for item in items:
        count = item.count or 1
        made.append(lw.join(found[start : start + count], item.kind, item.count))
        start += count
    return made


def _wait(lw: Lowering, pending: int, parts: list[str], kind: ty.dtype) -> list[str]:
    letter, element = ("r", "i32") if kind.is_int() else ("f", "float")
    count = len(parts)
    result = lw.b.structure([element] * count) if count > 1 else element
    constraints = [f"={letter}"] * count + [str(i) for i in range(count)] + ["~{memory}"]
    made = lw.b.asm(
        result, f"wgmma.wait_group.sync.aligned {pending};", ",".join(constraints),
        [f"{element} {p}" for p in parts],
    )  # fmt: skip
    if count == 1:
        return [made]
    return lw.b.fields(result, made, count)
