"""`device_print`: a line for each element, by the lane that leads for it, as the step machine writes
it: `pid (x, y, z) idx (i, j) prefix: value`."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.agree import copy_bits
from blockstep.compiler.lower.cast import convert
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.creation import program_coordinate
from blockstep.compiler.lower.text import Item, bits_of
from blockstep.ir import Layout, Operation, Value
from blockstep.language import types as ty

_BUFFER = "%printed"  # the arguments of one line, in local memory


@lowers("print")
def _print(lw: Lowering, operation: Operation) -> None:
    prefix, as_hex = operation.attributes["prefix"], operation.attributes["hex"]
    program = [program_coordinate(lw, axis) for axis in range(3)]
    if not operation.operands:
        line = _Line(f"pid (%u, %u, %u){_literal(prefix)}\n", [f"i32 {p}" for p in program])
        lanes.guarded(lw, lw.leaders(None), lambda: _write(lw, line))
    for number, value in enumerate(operation.operands):
        several = len(operation.operands) > 1
        label = f"{prefix}(operand {number}) " if several else prefix
        _print_value(lw, value, label, program, as_hex)


@dataclass(frozen=True, slots=True)
class _Line:
    """A format, and its arguments (`i32 %v`)."""

    format: str
    arguments: list[str]


def _print_value(lw: Lowering, value: Value, label: str, program: list[str], as_hex: bool) -> None:
    layout = value.layout
    assert layout is None or isinstance(layout, Layout)
    pattern, shown = _shown(lw, lw[value], as_hex)
    shape = value.type.shape
    where = ", ".join(f"%{len(str(n - 1))}u" for n in shape)
    text = f"pid (%u, %u, %u) idx ({where}){_literal(label)}{pattern}\n"
    parts, idle = lw.parts(shown), copy_bits(layout)
    base = "0" if layout is None else lw.base(layout)

    def lines() -> None:
        for register, part in enumerate(parts):
            if register & idle:
                continue
            constant = 0 if layout is None else layout.element(register, 0, 0)
            element = lw.b.value(f"xor i32 {base}, {constant}")
            told = [*program, *_coordinates(lw, element, shape)]
            line = [*(f"i32 {v}" for v in told), f"{shown.element} {part}"]
            _write(lw, _Line(text, line))

    lanes.guarded(lw, lw.leaders(layout), lines)


def _coordinates(lw: Lowering, element: str, shape: tuple[int, ...]) -> list[str]:
    found: list[str] = []
    below = 1
    for length in reversed(shape):
        moved = lw.b.value(f"lshr i32 {element}, {below.bit_length() - 1}")
        found.insert(0, lw.b.value(f"and i32 {moved}, {length - 1}"))
        below *= length
    return found


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _shown(lw: Lowering, item: Item, as_hex: bool) -> tuple[str, Item]:
    """The format of a value, and the value as C's variable arguments take it."""
    kind = item.kind
    if kind.is_ptr():
        return "0x%llx", Item(item.name, ty.int64, item.count)
    bits = bits_of(kind)
    if as_hex:
        return _hexadecimal(lw, item, bits)
    if kind.is_floating():
        return "%f", convert(lw, item, ty.float64)
    unsigned = kind.is_int_unsigned() or kind.is_int1()
    if bits == 64:
        return ("%llu" if unsigned else "%lld"), item
    wide = convert(lw, item, ty.uint32 if unsigned else ty.int32)
    return ("%u" if unsigned else "%d"), wide


def _hexadecimal(lw: Lowering, item: Item, bits: int) -> tuple[str, Item]:
    digits = 2 * max(bits // 8, 1)
    name, plain = item.name, {1: ty.int1, 8: ty.uint8, 16: ty.uint16, 32: ty.uint32, 64: ty.uint64}
    held = Item(name, plain[bits], item.count)
    if item.element != held.element:
        held = Item(lw.b.value(f"bitcast {item} to {held.type}"), plain[bits], item.count)
    if bits == 64:
        return f"0x%0{digits}llx", held
    if bits == 1:
        wide = Item("", ty.uint32, item.count).type
        return f"0x%0{digits}x", Item(lw.b.value(f"zext {held} to {wide}"), ty.uint32, item.count)
    return f"0x%0{digits}x", convert(lw, held, ty.uint32)


def _write(lw: Lowering, line: _Line) -> None:
    """Calls `vprintf`, whose arguments lie one after the other, each at a multiple of its size."""
    b, at = lw.b, 0
    buffer = lw.local(_BUFFER, _size(line))
    for argument in line.arguments:
        size = _bytes(argument)
        at = -(-at // size) * size
        place = b.value(f"getelementptr i8, ptr {buffer}, i32 {at}")
        b.effect(f"store {argument}, ptr {place}, align {size}")
        at += size
    text = lw.string(line.format)
    b.call("i32", "vprintf", [f"ptr {text}", f"ptr {buffer}"])


def _bytes(argument: str) -> int:
    return {"i32": 4, "i64": 8, "double": 8}[argument.split(" ")[0]]


def _size(line: _Line) -> int:
    return sum(_bytes(a) for a in line.arguments) + 8
