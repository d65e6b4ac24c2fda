"""Moving registers between the lanes of a warp, and to and from shared memory."""

from __future__ import annotations

from blockstep.compiler.lower.core import SHARED, Lowering
from blockstep.compiler.lower.text import Item, bits_of, scalar_type, vector
from blockstep.language import types as ty


def to_registers(lw: Lowering, item: Item) -> list[str]:
    """The elements as 32-bit words: narrow ones share a word where they fill it."""
    bits = bits_of(item.kind)
    count = item.count or 1
    if bits == 64:
        text = lw.b.value(f"bitcast {item} to <{2 * count} x i32>")
        return lw.parts(Item(text, ty.uint32, 2 * count))
    if bits == 32:
        if item.element == "i32":
            return lw.parts(item)
        name = lw.b.value(f"bitcast {item} to {vector(item.count, 'i32')}")
        return lw.parts(Item(name, ty.uint32, item.count))
    if bits >= 8 and count * bits % 32 == 0:
        words = count * bits // 32
        name = lw.b.value(f"bitcast {item} to <{words} x i32>")
        return lw.parts(Item(name, ty.uint32, words))
    if bits >= 8 and count > 1:  # two bytes
        name = lw.b.value(f"bitcast {item} to i{count * bits}")
        return [lw.b.value(f"zext i{count * bits} {name} to i32")]
    integer = vector(item.count, f"i{bits}")
    name = item.name
    if item.element != f"i{bits}":
        name = lw.b.value(f"bitcast {item} to {integer}")
    wide = lw.b.value(f"zext {integer} {name} to {vector(item.count, 'i32')}")
    return lw.parts(Item(wide, ty.uint32, item.count))


def from_registers(lw: Lowering, words: list[str], kind: ty.dtype, count: int | None) -> Item:
    """The inverse of `to_registers`."""
    bits, elements = bits_of(kind), count or 1
    type = vector(count, scalar_type(kind))
    shared = bits == 64 or bits == 32 or (bits >= 8 and elements * bits % 32 == 0)
    if shared:
        joined = lw.join(
            words, ty.uint32, None if len(words) == 1 and count is None else len(words)
        )
        if joined.type == type:
            return Item(joined.name, kind.scalar, count)
        return Item(lw.b.value(f"bitcast {joined} to {type}"), kind.scalar, count)
    if bits >= 8 and elements > 1:  # two bytes
        integer = f"i{elements * bits}"
        narrow = lw.b.value(f"trunc i32 {words[0]} to {integer}")
        return Item(lw.b.value(f"bitcast {integer} {narrow} to {type}"), kind.scalar, count)
    wide = lw.join(words, ty.uint32, count)
    name = lw.b.value(f"trunc {wide} to {vector(count, f'i{bits}')}")
    if scalar_type(kind) != f"i{bits}":
        name = lw.b.value(f"bitcast {vector(count, f'i{bits}')} {name} to {type}")
    return Item(name, kind.scalar, count)


def butterfly(lw: Lowering, item: Item, distance: int) -> Item:
    """The same registers of the lane whose number differs in the bits of `distance`."""
    return _shuffled(lw, item, "bfly", str(distance))


def from_lane(lw: Lowering, item: Item, lane: str) -> Item:
    """The same registers of another lane, whose number is an i32."""
    return _shuffled(lw, item, "idx", lane)


def _shuffled(lw: Lowering, item: Item, mode: str, operand: str) -> Item:
    words = [
        lw.b.call(
            "i32", f"llvm.nvvm.shfl.sync.{mode}.i32",
            ["i32 -1", f"i32 {w}", f"i32 {operand}", "i32 31"], "#1",
        )
        for w in to_registers(lw, item)
    ]  # fmt: skip
    return from_registers(lw, words, item.kind, item.count)


def as_bytes(lw: Lowering, item: Item) -> Item:
    """An int1 travels as a byte; anything else as it is."""
    if not item.kind.is_int1():
        return item
    name = lw.b.value(f"zext {item} to {vector(item.count, 'i8')}")
    return Item(name, ty.int8, item.count)


def from_bytes(lw: Lowering, item: Item, kind: ty.dtype) -> Item:
    """The inverse of `as_bytes`."""
    if not kind.is_int1():
        return item
    zero = lw.constant(0, ty.int8, item.count)
    return Item(lw.b.value(f"icmp ne {item}, {zero.name}"), kind.scalar, item.count)


def bytes_of(kind: ty.dtype) -> int:
    """Bytes of one element in shared memory."""
    return max(bits_of(kind), 8) // 8


def put(lw: Lowering, offset: str, item: Item) -> None:
    """A value (an element or a vector of neighbours) to shared memory at a byte offset."""
    item = as_bytes(lw, item)
    size = bytes_of(item.kind) * (item.count or 1)
    align = min(size, 16)
    pointer = lw.shared_pointer(offset)
    lw.b.effect(f"store {item}, ptr addrspace(3) {pointer}, align {align}")


def get(lw: Lowering, offset: str, kind: ty.dtype, count: int | None) -> Item:
    """A value from shared memory at a byte offset."""
    stored = ty.int8 if kind.is_int1() else kind
    wanted = Item("", stored, count)
    align = min(bytes_of(stored) * (count or 1), 16)
    pointer = lw.shared_pointer(offset)
    name = lw.b.value(f"load {wanted.type}, ptr addrspace(3) {pointer}, align {align}")
    return from_bytes(lw, Item(name, stored.scalar, count), kind)


def guarded(lw: Lowering, predicate: str, body: object) -> None:
    """Runs `body()` where the predicate holds: a branch, so nothing in it may be collective."""
    if predicate == "true":
        body()  # type: ignore[operator]
        return
    then, after = lw.b.name("do"), lw.b.name("after")
    lw.b.choose(predicate, then, after)
    lw.b.label(then)
    body()  # type: ignore[operator]
    lw.b.branch(after)
    lw.b.label(after)


__all__ = [
    "SHARED", "as_bytes", "butterfly", "bytes_of", "from_bytes", "from_lane", "from_registers",
    "get", "guarded", "put", "to_registers",
]  # fmt: skip
