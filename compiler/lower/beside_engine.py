"""What the copy engine refuses to write: the lanes do it, element by element.

The engine begins a box it writes at no coordinate below zero, and in no row at anything but a multiple
of 16 bytes; either ends the launch. (It reads such boxes, and cuts those that reach past an end.) So a
store first tests its coordinates, the same number in every lane, and where the engine cannot do it the
lanes of the CTA take the block out of shared memory, where it lies in the engine's order already.

Invariant: nothing here is computed where the engine does the work. Values that this branch alone needs
are hidden from LLVM, which would move what is made of them ahead of loops, into everybody's registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.atomic_text import rmw
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.memory import letter, memory_bits, to_words, write
from blockstep.compiler.lower.text import Item
from blockstep.ir import Operation
from blockstep.language import types as ty

_WARP = 32
_SIGN = -(1 << 31)


def refused(lw: Lowering, places: Sequence[str], last: Sequence[int], granule: int) -> str:
    """Whether the engine cannot write a block: an i1, `true` or `false`.

    `places` is where its first box begins, `last` how far beyond the last one begins (a sum that
    wraps is below zero as well); the innermost come first, and must be multiples of `granule`, a
    power of two (1: they are known to be)."""
    signs = list(places)
    for place, step in zip(places, last, strict=True):
        if step and place.startswith("%"):
            signs.append(lw.b.value(f"add i32 {place}, {step}"))
        elif step:
            signs.append(str(int(place) + step))
    mask = {name: _SIGN for name in signs}
    mask[places[0]] |= granule - 1
    constants = [name for name in mask if not name.startswith("%")]
    if any(int(name) & mask[name] for name in constants):
        return "true"
    plain = [name for name in mask if name not in constants]
    if not plain:
        return "false"
    if places[0] in constants or granule == 1:
        return lw.b.value(f"icmp slt i32 {_either(lw, plain)}, 0")
    total = lw.b.value(f"and i32 {_either(lw, plain)}, {_SIGN}")
    low = lw.b.value(f"and i32 {places[0]}, {granule - 1}")
    return lw.b.value(f"icmp ne i32 {_either(lw, [total, low])}, 0")


def _either(lw: Lowering, names: Sequence[str]) -> str:
    total = names[0]
    for name in names[1:]:
        total = lw.b.value(f"or i32 {total}, {name}")
    return total


@dataclass(frozen=True, slots=True)
class Block:
    """A block in shared memory, at the byte offset `place`: the columns from `column` on of the box
    that a `tensor_store` or `tensor_reduce` writes."""

    operation: Operation
    shape: tuple[int, ...]
    shared: SharedLayout
    place: str
    column: int


def write_elements(lw: Lowering, block: Block) -> None:
    """Every element that lies inside of the array, by some lane of the CTA (of a cluster's first one:
    the others have the same). All lanes come here, as to a barrier.

    What the engine has begun is over first, and it begins nothing before this is over: the lane that
    starts it comes to a barrier before each block, and lanes have fenced ahead of that."""
    lw.b.asm("void", "cp.async.bulk.wait_group 0;", "~{memory}", [])
    lw.barrier()
    count = prod(block.shape)
    array = _Array(lw, block)

    def elements(first: str) -> None:
        step = _WARP * lw.options.num_warps
        _counted(lw, first, count, step, lambda number: _element(lw, block, array, number))

    first = lw.first_cta()
    start = _hidden(lw, Item(lw.tid, ty.int32))
    lanes.guarded(lw, first, lambda: elements(start))
    lw.b.asm("void", "fence.proxy.async;", "~{memory}", [])


def _counted(lw: Lowering, first: str, end: int, step: int, body: Callable[[str], None]) -> None:
    """`body` for the numbers from `first` on, below `end`."""
    b, before = lw.b, lw.b.block
    inside, after = b.name("element"), b.name("after")
    b.choose(b.value(f"icmp ult i32 {first}, {end}"), inside, after)
    b.label(inside)
    number = b.phi("i32")
    number.add(first, before)
    body(number.name)
    following = b.value(f"add nuw i32 {number.name}, {step}")
    number.add(following, b.block)
    b.choose(b.value(f"icmp ult i32 {following}, {end}"), inside, after)
    b.label(after)


def _hidden(lw: Lowering, item: Item) -> str:
    """The same number, of which LLVM knows nothing before this point."""
    if not item.name.startswith("%"):
        return item.name
    how = letter(memory_bits(item.kind))
    return lw.b.asm(item.type, "", f"={how},0", [str(item)])


class _Array:
    """Base, and of each axis where the block begins, how long it is and how many bytes a step takes:
    all of 64 bits."""

    def __init__(self, lw: Lowering, block: Block) -> None:
        made = block.operation.operands[0].producer
        assert made is not None, "the verifier has seen it"
        element: ty.dtype = made.attributes["element"]
        base, *rest = lw.operands(made)
        lengths, strides = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        self.base = _hidden(lw, base)
        self.starts = [_wide(lw, lw[offset]) for offset in block.operation.operands[2:]]
        if block.column:
            self.starts[-1] = lw.b.value(f"add i64 {self.starts[-1]}, {block.column}")
        self.lengths = [_not_below_zero(lw, _wide(lw, length)) for length in lengths]
        self.steps = [
            lw.b.value(f"mul i64 {_wide(lw, stride)}, {element.itemsize}") for stride in strides
        ]


def _wide(lw: Lowering, item: Item) -> str:
    name = _hidden(lw, item)
    if item.element == "i64" or not name.startswith("%"):
        return name
    how = "sext" if item.kind.is_int_signed() else "zext"
    return lw.b.value(f"{how} {item.type} {name} to i64")


def _not_below_zero(lw: Lowering, name: str) -> str:
    if not name.startswith("%"):
        return str(max(int(name), 0))
    return lw.b.call("i64", "llvm.smax.i64", [f"i64 {name}", "i64 0"])


def _element(lw: Lowering, block: Block, array: _Array, number: str) -> None:
    """One element, numbered as in row-major order."""
    value = block.operation.operands[1]
    kind, combine = value.type.scalar, block.operation.attributes.get("combine")
    address, inside, below = array.base, "true", prod(block.shape)
    for axis, length in enumerate(block.shape):
        below //= length
        at = lw.b.value(f"lshr i32 {number}, {below.bit_length() - 1}")
        at = lw.b.value(f"and i32 {at}, {length - 1}")
        at = lw.b.value(f"zext i32 {at} to i64")
        at = lw.b.value(f"add i64 {array.starts[axis]}, {at}")
        # Below the length as unsigned numbers: one below zero is greater than any length.
        fits = lw.b.value(f"icmp ult i64 {at}, {array.lengths[axis]}")
        inside = lw.both(inside, fits)
        moved = lw.b.value(f"mul i64 {at}, {array.steps[axis]}")
        address = lw.b.value(f"add i64 {address}, {moved}")
    size = lanes.bytes_of(kind)
    images = [(number, bit, block.shared.address(1 << bit) * size)
              for bit in range(prod(block.shape).bit_length() - 1)]  # fmt: skip
    offset = lw.b.value(f"add i32 {block.place}, {lw.thread_bits(images)}")
    words = to_words(lw, lanes.get(lw, offset, kind, None), [0], memory_bits(kind))
    if combine is None:
        write(lw, address, inside, words, 1, memory_bits(kind), ".global")
    else:
        rmw(lw, combine, kind, ".relaxed.gpu", 1, False).emit(lw, address, words, inside)


__all__ = ["Block", "refused", "write_elements"]
