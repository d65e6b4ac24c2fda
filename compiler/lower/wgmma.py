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
from blockstep.ir import Layout, Operation, flight
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


@dataclass(frozen=True, slots=True)
class _Factors:
    """Where an instruction finds its factors: descriptors of the warpgroup's first blocks (0: A, 1: B),
    or A's fragments in registers."""

    lw: Lowering
    layout: Layout
    steps: int
    step: int
    a_tile: Tile | None
    b_tile: Tile
    bases: dict[int, str]
    words: list[str]

    def of(self, register: int) -> list[list[str]]:
        """The operands of each k step of the instruction that begins with a register."""
        row, column = _origin(self.layout, register)
        return [[*self._left(register, row, i), self._right(column, i)] for i in range(self.steps)]

    def _left(self, register: int, row: int, i: int) -> list[str]:
        if self.a_tile is not None:
            return [_at(self.lw, self.bases[0], self.a_tile.offset(row, i * self.step))]
        first = 4 * (_m_tile(self.layout, register) * self.steps + i)
        return self.words[first : first + 4]

    def _right(self, column: int, i: int) -> str:
        return _at(self.lw, self.bases[1], self.b_tile.offset(column, i * self.step))


def _factors(lw: Lowering, operation: Operation, size: int) -> _Factors:
    a, b = operation.operands[:2]
    layout, step = lw.layout(operation.results[0]), 32 // size
    b_tile = tile(b.layout, size, 0)
    a_tile = tile(a.layout, size, 1) if isinstance(a.layout, SharedLayout) else None
    bases = {1: _base(lw, lw[b].name, b_tile, layout, 1)}
    words: list[str] = []
    if a_tile is not None:
        bases[0] = _base(lw, lw[a].name, a_tile, layout, 0)
    else:
        words = lanes.to_registers(lw, lw[a])
    return _Factors(lw, layout, a.type.shape[1] // step, step, a_tile, b_tile, bases, words)


def product(lw: Lowering, operation: Operation, acc: Item | None) -> Item:
    """The sums of a product, complete unless the operation says `in_flight`."""
    a, b = operation.operands[:2]
    chosen = products.of(operation, lw.options.num_warps, lw.options.capability)
    size, n = chosen.itemsize, chosen.instruction_n
    factors, kind = _factors(lw, operation, size), flight.sums(operation)
    text = _instruction(a.type.scalar, b.type.scalar, kind, n)
    per_tile, count = n // 2, factors.layout.per_lane
    held = per_tile // 2 if kind.is_fp16() else per_tile  # registers of a tile
    parts = _registers(lw, acc) if acc is not None else None
    several = flight.partial(operation)
    found: list[str] = []
    for number in range(count // per_tile):
        operands = factors.of(number * per_tile)
        mine = None if parts is None else parts[number * held : (number + 1) * held]
        if several:
            group = max(1, several // factors.step)
            found += _in_parts(lw, text, operands, mine, held, factors, size, group)
            continue
        found += _emit(
            lw, text, operands, mine, held, factors, size, kind,
            first=number == 0, last=(number + 1) * per_tile == count,
        )  # fmt: skip
    if not several and not operation.attributes.get("in_flight"):
        found = _wait(lw, 0, found, kind)
    return _joined(lw, found, kind, count)


def _in_parts(
    lw: Lowering, text: str, operands: list[list[str]], sums: list[str] | None, held: int,
    factors: _Factors, size: int, group: int,
) -> list[str]:  # fmt: skip
    """A block whose k steps are added `group` by `group`: the unit keeps fewer bits of 8-bit floats'
    sums than float32 has, so each group starts from nothing and is added to the rest in float32."""
    for start in range(0, len(operands), group):
        made = _emit(
            lw, text, operands[start : start + group], None, held, factors, size, ty.float32,
            first=True, last=True,
        )  # fmt: skip
        part = lw.join(_wait(lw, 0, made, ty.float32), ty.float32, held)
        if sums is not None:
            rest = lw.join(sums, ty.float32, held)
            added = lw.compute("add", {}, [ty.float32], [rest, part])
            part = added[0]
        sums = lw.parts(part)
    assert sums is not None
    return sums


def _registers(lw: Lowering, item: Item) -> list[str]:
    """Sums as the unit holds them: two of float16 in a register."""
    return lanes.to_registers(lw, item) if item.kind.is_fp16() else lw.parts(item)


def _joined(lw: Lowering, registers: list[str], kind: ty.dtype, count: int | None) -> Item:
    if kind.is_fp16():
        return lanes.from_registers(lw, registers, kind, count)
    return lw.join(registers, kind, count)


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


def _instruction(a: ty.dtype, b: ty.dtype, kind: ty.dtype, n: int) -> str:
    """The instruction without its operands."""
    left, right = _NAMES[a.name], _NAMES[b.name]
    k = 32 // a.itemsize
    sums = {"int32": "s32", "fp16": "f16", "fp32": "f32"}[kind.name]
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sums}.{left}.{right}"


def _emit(
    lw: Lowering, text: str, operands: Sequence[list[str]], acc: list[str] | None, per_tile: int,
    factors: _Factors, size: int, kind: ty.dtype, *, first: bool, last: bool,
) -> list[str]:  # fmt: skip
    """All k steps of one block as one inline assembly text."""
    letter, element = ("f", "float") if kind.is_fp32() else ("r", "i32")
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
        if factors.a_tile is None:
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
            f"{text} {sums}, {a_text}, ${place}, p{_flags(kind, factors.a_tile, factors.b_tile, size)};"
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
    held = [_registers(lw, item) for item in items]
    found = _wait(lw, pending, [p for parts in held for p in parts], items[0].kind)
    made, start = [], 0
    for item, parts in zip(items, held, strict=True):
        mine = found[start : start + len(parts)]
        made.append(_joined(lw, mine, item.kind, item.count))
        start += len(parts)
    return made


def _wait(lw: Lowering, pending: int, parts: list[str], kind: ty.dtype) -> list[str]:
    letter, element = ("f", "float") if kind.is_fp32() else ("r", "i32")
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
